package kustomize

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
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
			err = w.lacking(k, err)
			k.replaced[from.text] = ""
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
		k.replaced[from.text] = filepath.ToSlash(below)
		return target, nil
	}
	if each == nil {
		return "", from.invalid("%s is not a directory", from.text)
	}
	content, err := w.content(target, maxFetched)
	if err != nil {
		return "", from.invalid("%s: %w", from.text, err)
	}
	name := path.Join(k.dir, fmt.Sprintf(".fetched-%d.yaml", len(k.replaced))) // a file has to be below its kustomization
	w.disk.generate(name, content)
	k.replaced[from.text] = path.Base(name)
	return "", each(name)
}
