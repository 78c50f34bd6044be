package catalogue_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/finding/catalogue"
)

const root = "../../.."

// ids returns the values of the constants of package finding without a type: the IDs.
func ids(t *testing.T) []string {
	t.Helper()
	var list []string
	for path := range walk(t, ".go") {
		if strings.HasSuffix(path, "_test.go") || filepath.Dir(path) != filepath.Join(root, "internal", "finding") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			constants, ok := decl.(*ast.GenDecl)
			if !ok || constants.Tok != token.CONST {
				continue
			}
			for _, s := range constants.Specs {
				if spec := s.(*ast.ValueSpec); spec.Type == nil {
					text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
					if err != nil {
						t.Fatal(err)
					}
					list = append(list, text)
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

// literals returns the string literals of a Go file by position.
func literals(t *testing.T, path string) map[token.Position]string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := map[token.Position]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				found[files.Position(lit.Pos())] = text
			}
		}
		return true
	})
	return found
}

func TestCatalogue(t *testing.T) {
	var got []string
	kebab := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	for _, r := range catalogue.All() {
		got = append(got, r.ID)
		if !kebab.MatchString(r.ID) {
			t.Errorf("%s is not in kebab case", r.ID)
		}
		if r.Severity != finding.Error && r.Severity != finding.Warning && r.Severity != finding.Note {
			t.Errorf("%s has the severity %q", r.ID, r.Severity)
		}
		if r.Hole && r.Severity != finding.Warning {
			t.Errorf("%s names a hole, which is a warning", r.ID)
		}
		for name, text := range map[string]string{"text": r.Text, "reason": r.Why, "fix": r.Fix} {
			if !strings.HasSuffix(text, ".") || strings.Contains(text, "\n") {
				t.Errorf("%s: the %s is not a line of sentences: %q", r.ID, name, text)
			}
		}
		var example any
		if err := yaml.Unmarshal([]byte(r.Example), &example); err != nil || example == nil {
			t.Errorf("%s: the example is not YAML: %v", r.ID, err)
		}
		if found, ok := catalogue.Find(r.ID); !ok || found != r {
			t.Errorf("Find(%q) returns %v, %v", r.ID, found, ok)
		}
	}
	if want := ids(t); !slices.Equal(got, want) {
		t.Errorf("the catalogue has %q, the constants are %q", got, want)
	}
	if r, ok := catalogue.Find("no-such-rule"); ok {
		t.Errorf("Find returns %v for an unknown ID", r)
	}
}

// TestHoles: the findings that objects can show, and the only ones that a note can stand in for.
func TestHoles(t *testing.T) {
	want := []string{finding.AtomicItems, finding.CELOptionalParent, finding.CELRenamableKey, finding.CELTwoSteps, finding.CELUnknownKeys, finding.CELUnsetThenSet, finding.CELVersionWithoutRule,
		finding.OptionalParent, finding.RenamableKey, finding.UnsetThenSet, finding.VersionDefault, finding.VersionUnlocked}
	var got []string
	for _, r := range catalogue.All() {
		if r.Hole {
			got = append(got, r.ID)
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestHelp: why, an example that is fenced as YAML, and how to mend it.
func TestHelp(t *testing.T) {
	for _, r := range catalogue.All() {
		if want := r.Why + "\n\n```yaml\n" + strings.TrimSpace(r.Example) + "\n```\n\n**Fix**: " + r.Fix + "\n"; r.Help() != want {
			t.Errorf("%s: the help is\n%s\nwant\n%s", r.ID, r.Help(), want)
		}
	}
}

// TestLiterals: the IDs are spelled in package finding only, so that a finding is found, renamed and documented in one place.
func TestLiterals(t *testing.T) {
	known := ids(t)
	for path := range walk(t, ".go") {
		if strings.HasSuffix(path, "_test.go") || filepath.Dir(path) == filepath.Join(root, "internal", "finding") {
			continue
		}
		for at, text := range literals(t, path) {
			if slices.Contains(known, text) {
				t.Errorf("%s: %q is a literal: use the constant of internal/finding", at, text)
			}
		}
	}
}

// TestCases: every rule has a case in some testdata directory. Cases name their rules as values of the key "rule".
func TestCases(t *testing.T) {
	// Rules whose check is not there yet. Delete the line when it lands with its case.
	var awaited []string
	covered := map[string]bool{}
	for path := range walk(t, ".yaml") {
		if !strings.Contains(path, "testdata"+string(filepath.Separator)) {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\brule: ([a-z0-9-]+)\b`).FindAllSubmatch(data, -1) {
			covered[string(m[1])] = true
		}
	}
	for _, r := range catalogue.All() {
		if waits := slices.Contains(awaited, r.ID); covered[r.ID] == waits {
			t.Errorf("%s: has a case in testdata: %v; awaited: %v", r.ID, covered[r.ID], waits)
		}
	}
}

// walk yields the files of the project whose names end in suffix.
func walk(t *testing.T, suffix string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		t.Helper()
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.HasSuffix(path, suffix) && !yield(path) {
				return fs.SkipAll
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
