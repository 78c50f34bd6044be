package paramcase

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	root = "../../../"
	page = root + "docs/design/parameters-proposals.md"
)

// TestDocs checks that every case and Go test in the tables of the documentation exists.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	names := caseNames(t)
	tests := goTests(t)
	cited := 0
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 2 || !strings.Contains(line, ".yaml`: ") && !strings.Contains(line, "Go: ") {
			continue
		}
		for _, source := range strings.Split(strings.TrimSuffix(cells[1], " |"), " · ") {
			if list, ok := strings.CutPrefix(source, "Go: "); ok {
				for _, name := range strings.Split(list, ", ") {
					cited++
					if !tests[strings.Trim(name, "`")] {
						t.Errorf("there is no Go test %s", name)
					}
				}
				continue
			}
			file, list, _ := strings.Cut(source, ": ")
			for _, name := range strings.Split(list, "; ") {
				cited++
				if !names[strings.Trim(file, "`")+": "+name] {
					t.Errorf("%s has no case %q", file, name)
				}
			}
		}
	}
	if cited < 60 {
		t.Errorf("only %d cases are cited: the tables are not read any more", cited)
	}
}

// caseNames returns "file: name" of every case.
func caseNames(t *testing.T) map[string]bool {
	names := map[string]bool{}
	suites, err := Load(root + "testdata/params")
	if err != nil {
		t.Fatal(err)
	}
	for file, cases := range suites {
		for _, c := range cases {
			names[file+": "+c.Name] = true
		}
	}
	enhance, err := LoadEnhance(root + "testdata/params/enhance/enhance.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range enhance {
		names["enhance/enhance.yaml: "+c.Name] = true
	}
	return names
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// goTests returns the test functions of the packages that have to do with parameters.
func goTests(t *testing.T) map[string]bool {
	tests := map[string]bool{}
	for _, pattern := range []string{"immutability/parameter/*/*_test.go", "cmd/fieldlock/params*_test.go", "examples/instances/*_test.go"} {
		files, err := filepath.Glob(root + pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files and %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range testFunction.FindAllSubmatch(text, -1) {
				tests[string(match[1])] = true
			}
		}
	}
	return tests
}
