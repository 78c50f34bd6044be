package compare

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestChapters: doc.go lists the files of the package, and each uses names of those below it only.
func TestChapters(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	files, home := map[string]*ast.File{}, map[string]string{}
	for _, entry := range entries {
		chapter, ok := strings.CutSuffix(entry.Name(), ".go")
		if !ok || strings.HasSuffix(chapter, "_test") || chapter == "doc" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files[chapter] = file
		for name := range file.Scope.Objects {
			home[name] = chapter
		}
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(doc), "// The chapters")
	var order []string
	for _, line := range regexp.MustCompile(`(?m)^//\t(\w+)  `).FindAllStringSubmatch(list, -1) {
		order = append(order, line[1])
	}
	if listed, there := slices.Sorted(slices.Values(order)), slices.Sorted(maps.Keys(files)); !slices.Equal(listed, there) {
		t.Fatalf("doc.go lists %q, the files are %q", listed, there)
	}
	for place, chapter := range order {
		for _, name := range files[chapter].Unresolved { // names of other files, of Go, and of imports
			if above, ok := home[name.Name]; ok && slices.Index(order, above) < place {
				t.Errorf("%s.go uses %s of %s.go, which stands above it", chapter, name.Name, above)
			}
		}
	}
}
