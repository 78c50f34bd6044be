package kustomize

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// A Kustomization is a directory with a kustomization file.
type Kustomization struct {
	// Dir is the directory, "." for the root of the tree, and File its kustomization file.
	Dir, File string
	// Component tells whether its kind is Component: it can be included but not built.
	Component bool
	// Included tells whether another kustomization includes it.
	Included bool
}

// Unit tells whether the kustomization is applied as it is: no other includes it, and it is not a component.
func (k Kustomization) Unit() bool { return !k.Component && !k.Included }

// Find returns the kustomizations of a tree, sorted by directory. Files that have the name of a kustomization file and
// another apiVersion or kind, such as Flux's Kustomization, are left out. The directory .git is not searched. Find
// reads all kustomization files and no other; it fails only if the tree cannot be read.
func Find(tree fs.FS, o Options) ([]Kustomization, error) {
	found := map[string]*Kustomization{}
	w := newWalk(tree, ".", o)
	includes := map[string][]string{}
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case entry.IsDir() || !slices.Contains(konfig.RecognizedKustomizationFileNames(), entry.Name()):
			return nil
		}
		dir := path.Dir(name)
		if _, ok := found[dir]; ok {
			return nil
		}
		if k, included := w.look(dir, name); k != nil {
			found[dir], includes[dir] = k, included
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for dir, list := range includes {
		for _, included := range list {
			if k := found[included]; k != nil && included != dir {
				k.Included = true
			}
		}
	}
	all := make([]Kustomization, 0, len(found))
	for _, dir := range slices.Sorted(maps.Keys(found)) {
		all = append(all, *found[dir])
	}
	return all, nil
}

// look reads one kustomization file and returns it with the directories that it includes; nil if it is something else.
func (w *walk) look(dir, name string) (*Kustomization, []string) {
	k := &Kustomization{Dir: dir, File: name}
	content, err := w.content(name, maxKustomization)
	if err != nil {
		return k, nil
	}
	var meta types.TypeMeta
	if yaml.Unmarshal(content, &meta) == nil && isForeign(meta) {
		return nil, nil
	}
	k.Component = meta.Kind == types.ComponentKind
	parsed, err := w.options.Parsed.parse(content)
	if err != nil {
		dirs, _ := w.mentioned(dir, content)
		return k, dirs
	}
	var included []string
	for _, ref := range slices.Concat(parsed.Resources, parsed.Components, parsed.Generators, parsed.Transformers,
		parsed.Validators) {
		if isURL(ref) || isRepository(ref) || path.IsAbs(ref) || strings.Contains(ref, "\n") {
			continue
		}
		if sub, isDir, err := w.disk.find(path.Join(top, dir, ref)); err == nil && isDir {
			included = append(included, sub)
		}
	}
	return k, included
}
