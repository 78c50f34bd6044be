package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDesignNamesFiles: the files that the design page names are there.
func TestDesignNamesFiles(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`([a-z_]+/[a-z_/]+[a-z])(\\.go)?`").FindAllStringSubmatch(string(page), -1)
	if len(names) < 20 {
		t.Fatalf("found only %d names", len(names))
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join("../../../..", name[1]+name[2])); err != nil {
			t.Errorf("docs/design.md names %s: %v", name[1]+name[2], err)
		}
	}
}

// TestDesignNamesCases: the tests and the rows that the design page names for each attempt are there.
func TestDesignNamesCases(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## What must not get through")
	named := 0
	var sources strings.Builder
	err = filepath.WalkDir("../../../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		sources.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`").FindAllStringSubmatch(table, -1) {
		named++
		if !strings.Contains(sources.String(), "func "+test[1]+"(") {
			t.Errorf("docs/design.md names %s, which is not there", test[1])
		}
	}
	for _, rows := range regexp.MustCompile("`([a-z]+\\.yaml)` (\"[^`|;]+\")").FindAllStringSubmatch(table, -1) {
		file := "../../../../testdata/suites/" + rows[1]
		if rows[1] == "cases.yaml" {
			file = "../../../../testdata/admission/cases.yaml"
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range strings.Split(strings.Trim(rows[2], `"`), `", "`) {
			named++
			if !strings.Contains(string(data), "name: "+name) && !strings.Contains(string(data), `name: "`+name) {
				t.Errorf("docs/design.md names the row %q, which is not in %s", name, rows[1])
			}
		}
	}
	if named < 30 {
		t.Errorf("only %d cases are named", named)
	}
}

// TestPagesAreUpToDate compares the pages in docs with the data that they are made from.
func TestPagesAreUpToDate(t *testing.T) {
	all := pages()
	files, err := filepath.Glob("../../../../docs/fields/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if _, ok := all["fields/"+filepath.Base(file)]; !ok {
			t.Errorf("%s is the page of no kind: remove it", file)
		}
	}
	for name, want := range all {
		got, err := os.ReadFile(filepath.Join("../../../../docs", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("docs/%s is stale: run go run ./cmd/fieldlock/internal/pages", name)
		}
	}
}
