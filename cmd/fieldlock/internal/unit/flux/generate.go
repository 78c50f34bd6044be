package flux

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/sourceignore/gitignore"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/kustomize"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// The controller does not run kustomize on the kustomization of its path, but on one that it writes: the file that is
// there, or a list of all manifests, with the fields of its object added. This file does the same, by the rules of the
// package github.com/fluxcd/pkg/kustomize, version 1.41.0 (kustomize_generator.go). That package itself writes to a
// disk.

// generated is the kustomization that the controller writes.
type generated struct {
	content []byte
	read    []string // files that decided what is in it, besides the kustomization file
}

func (g generated) options() kustomize.Options {
	return kustomize.Options{Anywhere: true, Kustomization: g.content}
}

// generate returns the kustomization that the controller writes.
func (k *Kustomization) generate(tree fs.FS) (g generated, err error) {
	spec := types.Kustomization{TypeMeta: types.TypeMeta{APIVersion: types.KustomizationVersion,
		Kind: types.KustomizationKind}}
	if file := k.file(tree); file != "" {
		content, err := fs.ReadFile(tree, file)
		if err != nil {
			return g, &rendered.Invalid{File: file, Err: err}
		}
		if err := yaml.Unmarshal(content, &spec); err != nil {
			return g, &rendered.Invalid{File: file, Err: err}
		}
		if len(spec.Resources) == 0 {
			spec.BuildMetadata = []string{types.OriginAnnotations}
		}
	} else {
		if spec.Resources, g.read, err = k.manifests(tree, k.Path); err != nil {
			return g, err
		}
		if len(spec.Resources) == 0 {
			spec.Namespace = "_placeholder" // otherwise, kustomize would call it empty
		}
	}
	if err := k.add(&spec, tree); err != nil {
		return g, k.invalid(err)
	}
	g.content, err = yaml.Marshal(spec)
	return g, err
}

// add adds the fields of the object to a kustomization.
func (k *Kustomization) add(spec *types.Kustomization, tree fs.FS) error {
	for field, value := range map[*string]*string{
		&spec.Namespace: k.spec.TargetNamespace, &spec.NamePrefix: k.spec.NamePrefix,
		&spec.NameSuffix: k.spec.NameSuffix,
	} {
		if value != nil {
			*field = *value
		}
	}
	for _, p := range k.spec.Patches {
		spec.Patches = append(spec.Patches, types.Patch{Patch: p.Patch, Target: p.Target})
	}
	for _, p := range k.spec.PatchesStrategicMerge {
		//lint:ignore SA1019 it is where the controller puts them
		spec.PatchesStrategicMerge = append(spec.PatchesStrategicMerge, types.PatchStrategicMerge(p))
	}
	for _, p := range k.spec.PatchesJSON6902 {
		//lint:ignore SA1019 it is where the controller puts them
		spec.PatchesJson6902 = append(spec.PatchesJson6902, types.Patch{Patch: string(p.Patch), Target: p.Target})
	}
	for _, c := range k.spec.Components {
		if path.IsAbs(c) || strings.Contains(c, "://") {
			return fmt.Errorf("component path %s must be local and relative", c)
		}
		if _, err := fs.Stat(tree, path.Join(k.Path, c)); err != nil && k.spec.IgnoreMissingComponents {
			continue
		}
		spec.Components = append(spec.Components, c)
	}
	for _, i := range k.spec.Images {
		addImage(spec, i)
	}
	if len(k.spec.BuildMetadata) > 0 {
		spec.BuildMetadata = k.spec.BuildMetadata
	}
	return nil
}

// addImage adds an image, or changes that of the same name. A tag and a digest replace each other.
func addImage(spec *types.Kustomization, i types.Image) {
	at := slices.IndexFunc(spec.Images, func(have types.Image) bool { return have.Name == i.Name })
	if at < 0 {
		spec.Images = append(spec.Images, i)
		return
	}
	if i.NewName != "" {
		spec.Images[at].NewName = i.NewName
	}
	if i.NewTag != "" || i.Digest != "" {
		spec.Images[at].NewTag, spec.Images[at].Digest = i.NewTag, i.Digest
	}
}

// ignoreFile is the name of the files that exclude files from what the controller gets.
const ignoreFile = sourceignore.IgnoreFile

// manifests returns the resources of a directory without a kustomization file: all manifests, and the directories below
// it that have such a file, which are not searched further. Files that the source leaves out by default, such as
// .sops.yaml, or because a .sourceignore file says so, are not among them. It also returns the .sourceignore files.
func (k *Kustomization) manifests(tree fs.FS, dir string) (resources, ignores []string, err error) {
	if info, err := fs.Stat(tree, dir); err != nil || !info.IsDir() {
		if err == nil {
			err = errors.New("not a directory")
		}
		return nil, nil, &rendered.Invalid{File: dir, Err: fmt.Errorf("the path of a Kustomization: %w", err)}
	}
	ignored, ignores, err := k.ignore(tree, dir, true)
	if err != nil {
		return nil, nil, err
	}
	err = fs.WalkDir(tree, dir, func(name string, entry fs.DirEntry, err error) error {
		parts := strings.Split(name, "/")
		below := "./" + strings.TrimPrefix(name, dir+"/")
		switch {
		case err != nil:
			return err
		case name == dir:
			return nil
		case entry.IsDir():
			if entry.Name() == ".git" {
				return fs.SkipDir
			}
			if kustomize.File(tree, name) == "" || ignored.Match(parts, true) {
				return nil
			}
			resources = append(resources, below)
			return fs.SkipDir
		}
		if extension := path.Ext(name); (extension == ".yaml" || extension == ".yml") && !ignored.Match(parts, false) {
			resources = append(resources, below)
		}
		return nil
	})
	if err != nil {
		return nil, nil, &rendered.Invalid{File: dir, Err: err}
	}
	return resources, ignores, nil
}

// file returns the kustomization file of the path. It returns "" if the path has none or the source leaves it out.
func (k *Kustomization) file(tree fs.FS) string {
	name := kustomize.File(tree, k.Path)
	if ignored, _, err := k.ignore(tree, k.Path, false); name == "" ||
		err == nil && ignored.Match(strings.Split(name, "/"), false) {
		return ""
	}
	return name
}

// ignore reads what the source leaves out: the .sourceignore files from the root to dir, those below dir if asked for,
// and its own field.
func (k *Kustomization) ignore(tree fs.FS, dir string, below bool) (gitignore.Matcher, []string, error) {
	var patterns []gitignore.Pattern
	var files []string
	read := func(in string) {
		name := path.Join(in, ignoreFile)
		content, err := fs.ReadFile(tree, name)
		if err != nil {
			return
		}
		var domain []string
		if in != "." {
			domain = strings.Split(in, "/")
		}
		files = append(files, name)
		patterns = append(patterns, sourceignore.ReadPatterns(strings.NewReader(string(content)), domain)...)
	}
	for i, part := range "./" + dir + "/" {
		if part == '/' && dir != "." {
			read(path.Clean(("./" + dir)[:i]))
		}
	}
	if dir == "." {
		read(dir)
	}
	err := fs.WalkDir(tree, dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !below:
			return fs.SkipAll
		case !entry.IsDir():
			return nil
		case entry.Name() == ".git":
			return fs.SkipDir
		}
		if name != dir {
			read(name)
		}
		return nil
	})
	if err != nil {
		return nil, nil, &rendered.Invalid{File: dir, Err: err}
	}
	patterns = append(patterns, sourceignore.ReadPatterns(strings.NewReader(k.Ignore), nil)...)
	return sourceignore.NewDefaultMatcher(patterns, nil), files, nil
}
