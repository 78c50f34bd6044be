package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestDesignNamesFiles: the files that the design page names are there.
func TestDesignNamesFiles(t *testing.T) {
	page, err := os.ReadFile("../../docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`([a-z_]+/[a-z_/]+[a-z])(\\.go)?`").FindAllStringSubmatch(string(page), -1)
	if len(names) < 20 {
		t.Fatalf("found only %d names", len(names))
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join("../..", name[1]+name[2])); err != nil {
			t.Errorf("docs/design.md names %s: %v", name[1]+name[2], err)
		}
	}
}

// TestPagesAreUpToDate compares the pages in docs with the data that they are made from.
func TestPagesAreUpToDate(t *testing.T) {
	for name, want := range pages() {
		got, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("docs/%s is stale: run go run ./hack/docs", name)
		}
	}
}
