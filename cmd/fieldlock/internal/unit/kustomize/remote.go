package kustomize

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
)

// maxFetched is the largest fetched file that is read.
const maxFetched = 10 << 20

// A Kustomization is a directory with a kustomization file.
type Kustomization struct {
	// Dir is the directory, "." for the root of the tree, and File its kustomization file.
	Dir, File string
	// Component tells whether its kind is Component: it can be included but not built.
	Component bool
	// IncludedBy are the directories of the kustomizations that include it directly, sorted.
	IncludedBy []string
	// Err is what is wrong with the file. Kustomizations that it would include are not known.
	Err error
}

// Unit tells whether the kustomization is applied as it is: no other includes it, and it is not a component.
func (k Kustomization) Unit() bool { return !k.Component && len(k.IncludedBy) == 0 }

// Find returns the kustomizations of a tree, sorted by directory. Files that have the name of a kustomization file and
// another apiVersion or kind, such as Flux's Kustomization, are left out. The directory .git is not searched. Find reads
// all kustomization files and no other; it fails only if the tree cannot be read.
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
	for _, dir := range slices.Sorted(maps.Keys(includes)) {
		for _, included := range includes[dir] {
			if k := found[included]; k != nil && included != dir && !slices.Contains(k.IncludedBy, dir) {
				k.IncludedBy = append(k.IncludedBy, dir)
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
		k.Err = err
		return k, nil
	}
	var meta types.TypeMeta
	if yaml.Unmarshal(content, &meta) == nil && isForeign(meta) {
		return nil, nil
	}
	k.Component = meta.Kind == types.ComponentKind
	parsed, err := w.options.Parsed.parse(content)
	if err != nil {
		k.Err = err
		dirs, _ := w.mentioned(dir, content)
		return k, dirs
	}
	var included []string
	for _, ref := range slices.Concat(parsed.Resources, parsed.Components, parsed.Generators, parsed.Transformers, parsed.Validators) {
		if isURL(ref) || isRepository(ref) || path.IsAbs(ref) || strings.Contains(ref, "\n") {
			continue
		}
		if sub, isDir, err := w.disk.find(path.Join(top, dir, ref)); err == nil && isDir {
			included = append(included, sub)
		}
	}
	return k, included
}

// Parsed keeps what kustomization files say, by their content: overlays include the same bases, and most files are alike in both trees of a
// comparison. Nobody may change what it keeps. The zero value is ready to use, and safe for concurrent use.
type Parsed struct {
	files sync.Map // of types.Kustomization by SHA-256
}

// parse is the function parse for files that may be known. p may be nil.
func (p *Parsed) parse(content []byte) (types.Kustomization, error) {
	if p == nil {
		return parse(content)
	}
	id := sha256.Sum256(content)
	if known, ok := p.files.Load(id); ok {
		return known.(types.Kustomization), nil
	}
	k, err := parse(content)
	if err == nil {
		p.files.Store(id, k)
	}
	return k, err
}

// parse reads a kustomization file, with the deprecated fields moved to those that replaced them.
func parse(content []byte) (types.Kustomization, error) {
	var k types.Kustomization
	if err := k.Unmarshal(content); err != nil {
		return k, err
	}
	k.FixKustomization()
	if err := k.CheckEmpty(); err != nil {
		return k, err
	}
	if mistakes := k.EnforceFields(); len(mistakes) > 0 {
		return k, errors.New(strings.Join(mistakes, "; "))
	}
	return k, nil
}

// isForeign reports whether the apiVersion or kind of a file is not that of a kustomization.
func isForeign(meta types.TypeMeta) bool {
	group, _, _ := strings.Cut(types.KustomizationVersion, "/")
	return meta.APIVersion != "" && !strings.HasPrefix(meta.APIVersion, group+"/") ||
		meta.Kind != "" && meta.Kind != types.KustomizationKind && meta.Kind != types.ComponentKind
}

// Kustomize gets files and bases that are named by a URL from the network. Here, they were fetched before, and kustomize gets a
// kustomization that names them as files and directories.

// What was fetched for a URL is in its directory: the files below FetchedTree, and in FetchedAt the path of the base or file there.
const (
	FetchedTree = "tree"
	FetchedAt   = "at"
)

// remote follows a URL to what was fetched, or notes that it has to be. A file is given to each, unless that is nil.
func (k *kustomization) remote(w *walk, from reference, each func(name string) error) error {
	if w.options.Elsewhere != nil {
		*w.options.Elsewhere = append(*w.options.Elsewhere, helm.Dependency{Repository: from.text})
		return nil
	}
	dir := helm.FetchedDir(from.text, "", "")
	if err := helm.FetchError(w.disk.tree, from.text, dir); err != nil {
		return from.notCovered("%s", err)
	}
	at, err := fs.ReadFile(w.disk.tree, path.Join(dir, FetchedAt))
	if err != nil {
		err = from.notCovered("%s is not in this repository", from.text)
		if slices.Contains(k.Resources, from.text) { // a component changes what is here
			err = w.options.Lacking.Lacks(err)
			k.replace(w, from.text, "")
		}
		return err
	}
	target := path.Join(dir, FetchedTree, string(at))
	info, err := fs.Stat(w.disk.tree, target)
	if err != nil {
		return from.invalid("%s: %w", from.text, plain(err))
	}
	if info.IsDir() {
		below, err := filepath.Rel(filepath.FromSlash(k.dir), filepath.FromSlash(target))
		if err != nil {
			return from.invalid("%w", err)
		}
		k.replace(w, from.text, filepath.ToSlash(below))
		k.includes = append(k.includes, target)
		return w.directory(path.Join(top, target), from)
	}
	if each == nil {
		return from.invalid("%s is not a directory", from.text)
	}
	content, err := w.content(target, maxFetched)
	if err != nil {
		return from.invalid("%s: %w", from.text, err)
	}
	name := path.Join(k.dir, fmt.Sprintf(".fetched-%d.yaml", len(w.replaced[k]))) // a file has to be below its kustomization
	w.disk.generate(name, content, k.file)
	k.replace(w, from.text, path.Base(name))
	return each(name)
}
