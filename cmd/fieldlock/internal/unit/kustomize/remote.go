package kustomize

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

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
		return from.notCovered("%s is not in this repository", from.text)
	}
	target := path.Join(dir, FetchedTree, string(at))
	info, err := fs.Stat(w.disk.tree, target)
	if err != nil {
		return from.invalid("%s: %w", from.text, plain(err))
	}
	if w.remotes == nil {
		w.remotes = map[*kustomization]map[string]string{}
	}
	if w.remotes[k] == nil {
		w.remotes[k] = map[string]string{}
	}
	if info.IsDir() {
		below, err := filepath.Rel(filepath.FromSlash(k.dir), filepath.FromSlash(target))
		if err != nil {
			return from.invalid("%w", err)
		}
		w.remotes[k][from.text] = filepath.ToSlash(below)
		k.includes = append(k.includes, target)
		return w.directory(path.Join(top, target), from)
	}
	if each == nil {
		return from.invalid("%s is not a directory", from.text)
	}
	content, err := w.content(target, maxChartValues)
	if err != nil {
		return from.invalid("%s: %w", from.text, err)
	}
	name := path.Join(k.dir, fmt.Sprintf(".fetched-%d.yaml", len(w.remotes[k]))) // a file has to be below its kustomization
	w.disk.generate(name, content, k.file)
	w.remotes[k][from.text] = path.Base(name)
	return each(name)
}

// replaceRemotes puts what was fetched in the place of URLs.
func (w *walk) replaceRemotes() error {
	for k, by := range w.remotes {
		content, err := withFields(k.content, func(fields map[string]json.RawMessage) error {
			for key, value := range fields {
				switch strings.ToLower(key) {
				case "resources", "bases", "components":
				default:
					continue
				}
				var list []string
				if err := json.Unmarshal(value, &list); err != nil {
					return err
				}
				for i, ref := range list {
					if name, ok := by[ref]; ok {
						list[i] = name
					}
				}
				var err error
				if fields[key], err = json.Marshal(list); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return &rendered.Invalid{File: k.file, Err: err}
		}
		k.content = content
		w.disk.generate(k.file, content, k.file)
	}
	return nil
}
