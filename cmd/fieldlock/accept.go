package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/git"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/internal/accept"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// acceptances reads the lists of accepted findings of both sides; nil for none. With t nil there is only one.
func (o *sources) acceptances(t *trees) (newList, oldList *accept.List, err error) {
	switch {
	case o.accept != "":
		if newList, err = readAccept(o.accept); o.writeAccept && errors.Is(err, os.ErrNotExist) {
			newList, err = nil, nil // it is about to be made
		}
	case t != nil:
		if newList, err = treeAccept(t.new); err == nil {
			oldList, _ = treeAccept(t.old) // a mistake in OLD is over
		}
	default:
		if newList, err = readAccept(manifest.AcceptFile); errors.Is(err, os.ErrNotExist) {
			newList, err = nil, nil
			if repo, gitErr := git.Open("."); gitErr == nil {
				newList, err = readAccept(filepath.Join(repo.Root, manifest.AcceptFile))
			}
		}
	}
	if o.accept == "" && errors.Is(err, os.ErrNotExist) {
		return nil, nil, nil
	}
	return newList, oldList, err
}

func readAccept(path string) (*accept.List, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--accept: %w", err)
	}
	return accept.Parse(filepath.ToSlash(path), data)
}

func treeAccept(t *git.Tree) (*accept.List, error) {
	data, ok, err := t.File(manifest.AcceptFile)
	if err != nil || !ok {
		return nil, err
	}
	return accept.Parse(manifest.AcceptFile, data)
}

// acceptAll writes the entries that accept everything that was found.
func (o *sources) acceptAll(out io.Writer, entries func(reason string) []accept.Entry, noun string) error {
	path := o.accept
	if path == "" {
		path = manifest.AcceptFile
		if repo, err := git.Open("."); err == nil {
			if _, err := os.Stat(path); err != nil {
				path = filepath.Join(repo.Root, path)
			}
		}
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("--write-accept: %w", err)
	}
	list := entries("accepted with --write-accept")
	if data, err = accept.Add(path, data, list); err != nil {
		return fmt.Errorf("--write-accept: %w", err)
	}
	if err := manifest.WriteFile(path, data, ""); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s accepted in %s; give each entry its reason\n", report.Count(len(list), noun), report.Printable(path))
	return nil
}
