package kustomize

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// Kustomize gets files and bases that are named by a URL from the network. Here, they were fetched before, and
// kustomize gets a kustomization that names them as files and directories.

// What was fetched for a URL is in its directory: the files below FetchedTree, and in FetchedAt the path of the base or
// file there.
const (
	FetchedTree = "tree"
	FetchedAt   = "at"
)

// maxFetched is the largest fetched file that is read.
const maxFetched = 10 << 20

// remote follows a URL to what was fetched, or notes that it has to be. A file is given to each, unless that is nil;
// for a kustomization it returns the directory, which is for the caller to follow.
func (k *kustomization) remote(w *walk, from reference, each func(name string) error) (base string, err error) {
	if w.options.Elsewhere != nil {
		*w.options.Elsewhere = append(*w.options.Elsewhere, helm.Dependency{Repository: from.text})
		return "", nil
	}
	dir := helm.FetchedDir(from.text, "", "")
	if err := helm.FetchError(w.disk.tree, from.text, dir); err != nil {
		return "", from.notCovered("%s", err)
	}
	at, err := fs.ReadFile(w.disk.tree, path.Join(dir, FetchedAt))
	if err != nil {
		err = from.notCovered("%s is not in this repository", from.text)
		if slices.Contains(k.Resources, from.text) { // a component changes what is here
			err = w.options.Lacking.Lacks(err)
			k.replace(w, from.text, "")
		}
		return "", err
	}
	target := path.Join(dir, FetchedTree, string(at))
	info, err := fs.Stat(w.disk.tree, target)
	if err != nil {
		return "", from.invalid("%s: %w", from.text, plain(err))
	}
	if info.IsDir() {
		below, err := filepath.Rel(filepath.FromSlash(k.dir), filepath.FromSlash(target))
		if err != nil {
			return "", from.invalid("%w", err)
		}
		k.replace(w, from.text, filepath.ToSlash(below))
		return target, nil
	}
	if each == nil {
		return "", from.invalid("%s is not a directory", from.text)
	}
	content, err := w.content(target, maxFetched)
	if err != nil {
		return "", from.invalid("%s: %w", from.text, err)
	}
	name := path.Join(k.dir, fmt.Sprintf(".fetched-%d.yaml", len(w.replaced[k]))) // a file has to be below its kustomization
	w.disk.generate(name, content)
	k.replace(w, from.text, path.Base(name))
	return "", each(name)
}

// replaceRemotes puts what was fetched in the place of URLs, and leaves out what the kustomization is built without.
func (w *walk) replaceRemotes() error {
	changed := map[*kustomization]bool{}
	for k := range w.replaced {
		changed[k] = true
	}
	for k := range w.without {
		changed[k] = true
	}
	for k := range changed {
		by := w.replaced[k]
		content, err := withFields(k.content, func(fields map[string]json.RawMessage) error {
			for key, value := range fields {
				var err error
				switch strings.ToLower(key) {
				case "resources", "bases", "components":
					fields[key], err = replacedIn(value, by)
				case "configmapgenerator", "secretgenerator":
					fields[key], err = withoutGenerators(value, strings.ToLower(key), w.without[k])
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return &rendered.Invalid{File: k.file, Err: err}
		}
		k.content = content
		w.disk.generate(k.file, content)
	}
	return nil
}

// replace puts something in the place of a reference, "" to leave it out.
func (k *kustomization) replace(w *walk, text, by string) {
	if w.replaced == nil {
		w.replaced = map[*kustomization]map[string]string{}
	}
	if w.replaced[k] == nil {
		w.replaced[k] = map[string]string{}
	}
	w.replaced[k][text] = by
}

// replacedIn returns a list of references with what takes the place of some.
func replacedIn(value json.RawMessage, by map[string]string) (json.RawMessage, error) {
	var list []string
	if err := json.Unmarshal(value, &list); err != nil {
		return nil, err
	}
	kept := []string{}
	for _, ref := range list {
		name, ok := by[ref]
		switch {
		case !ok:
			kept = append(kept, ref)
		case name != "":
			kept = append(kept, name)
		}
	}
	return json.Marshal(kept)
}
