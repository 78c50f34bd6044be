package kustomize_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/kustomize"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// TestCases runs the cases of testdata. The comment of a case says why it exists. Its files are the tree; a file whose
// content is "link: TARGET" is a link. The kustomization of the directory live is built. The file want/files has what
// Files returns (without the link and file names that begin with live/, where this is "same", all files of the tree);
// want/objects what Build prints, each object behind "---"; want/error the error instead. The file
// options has the word anywhere.
func TestCases(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, name := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			runCase(t, archive)
		})
	}
}

func runCase(t *testing.T, archive *txtar.Archive) {
	tree, want := fstest.MapFS{}, map[string]string{}
	for _, f := range archive.Files {
		target, link := strings.CutPrefix(string(f.Data), "link: ")
		switch {
		case strings.HasPrefix(f.Name, "want/") || f.Name == "options":
			want[f.Name] = string(f.Data)
		case link:
			tree[f.Name] = &fstest.MapFile{Data: []byte(strings.TrimSpace(target)), Mode: fs.ModeSymlink | 0o777}
		default:
			tree[f.Name] = &fstest.MapFile{Data: f.Data}
		}
	}
	options := kustomize.Options{Anywhere: strings.Contains(want["options"], "anywhere")}
	var outside error
	if strings.Contains(want["options"], "outside") {
		options.Outside = &outside
	}
	files, err := kustomize.Files(tree, "live", options)
	if err == nil {
		if got := strings.Join(files, "\n") + "\n"; want["want/files"] != "" && got != want["want/files"] {
			t.Errorf("files:\n%swant:\n%s", got, want["want/files"])
		}
		tree = only(tree, files)
	}
	objects, buildErr := kustomize.Build(context.Background(), tree, "live", options)
	if err != nil && (buildErr == nil || buildErr.Error() != err.Error()) {
		t.Errorf("Files: %v; Build: %v", err, buildErr)
	}
	if got := describe(outside); got != want["want/outside"] {
		t.Errorf("outside %swant  %s", got, want["want/outside"])
	}
	sameInJSON(t, tree, options)
	if got := describe(buildErr); got != want["want/error"] || strings.Contains(got, "{0x") {
		t.Errorf("error %swant  %s", got, want["want/error"])
	}
	if got := show(objects); got != want["want/objects"] {
		t.Errorf("objects:\n%swant:\n%s", got, want["want/objects"])
	}
}

// only returns the files of a tree with the given names.
func only(tree fstest.MapFS, names []string) fstest.MapFS {
	small := fstest.MapFS{}
	for name, file := range tree {
		if slices.Contains(names, name) {
			small[name] = file
		}
	}
	return small
}

// describe returns the kind and the text of an error.
func describe(err error) string {
	var notCovered *rendered.NotCovered
	var invalid *rendered.Invalid
	switch {
	case err == nil:
		return ""
	case errors.As(err, &notCovered):
		return fmt.Sprintf("not covered: %v\n", err)
	case errors.As(err, &invalid):
		return fmt.Sprintf("invalid: %v\n", err)
	}
	return fmt.Sprintf("other: %v\n", err)
}

// show returns objects as text.
func show(objects []rendered.Object) string {
	var text strings.Builder
	for _, o := range objects {
		fmt.Fprintf(&text, "---\n%s", o.YAML)
	}
	return text.String()
}
