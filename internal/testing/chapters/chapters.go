// Package chapters tests that the files of a package can be read from top to bottom.
//
// The package comment lists the files, one chapter each, in the order in which they are read:
//
//	// The chapters, each of which uses only those below it:
//	//
//	//	render   what `helm template` prints
//	//	chart    a chart loaded with its dependencies
package chapters

import (
	"errors"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Check fails if the comment of the package in the working directory does not list its files, or if a file uses a name
// or a method that is declared in a file above it. Other packages are not read, so a method that is called on their
// values is not seen.
func Check(t *testing.T) {
	t.Helper()
	fset := token.NewFileSet()
	files, comment := read(t, fset)
	order := listed(comment)
	if inPackage := slices.Sorted(maps.Keys(files)); !slices.Equal(slices.Sorted(slices.Values(order)), inPackage) {
		t.Fatalf("the package comment lists the chapters %q, the files are %q", order, inPackage)
	}
	chapterOf := func(pos token.Pos) string { return chapter(fset.Position(pos).Filename) }
	seen := map[string]bool{}
	for name, used := range uses(fset, slices.Collect(maps.Values(files))) {
		user, home := chapterOf(name.Pos()), chapterOf(used.Pos())
		message := user + ".go uses " + name.Name + " of " + home + ".go, which stands above it"
		if slices.Index(order, home) < slices.Index(order, user) && !seen[message] {
			seen[message] = true
			t.Error(message)
		}
	}
}

// read parses the files of the package, but for its tests and what other systems build, and returns them by chapter
// with the comment of the package. A file that holds nothing but the comment is not a chapter.
func read(t *testing.T, fset *token.FileSet) (files map[string]*ast.File, comment string) {
	t.Helper()
	pkg, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]*ast.File{}
	for _, name := range pkg.GoFiles {
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if file.Doc != nil {
			comment += file.Doc.Text()
		}
		if len(file.Decls) > 0 {
			files[chapter(name)] = file
		}
	}
	return files, comment
}

func chapter(file string) string { return strings.TrimSuffix(filepath.Base(file), ".go") }

// listed returns the chapters that a package comment lists.
func listed(comment string) []string {
	_, list, _ := strings.Cut(comment, "The chapters")
	var order []string
	for _, line := range regexp.MustCompile(`(?m)^\t(\w+)  `).FindAllStringSubmatch(list, -1) {
		order = append(order, line[1])
	}
	return order
}

// uses returns where the files name what the package itself declares at its top: functions, types, variables, methods.
func uses(fset *token.FileSet, files []*ast.File) map[*ast.Ident]types.Object {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: noPackages{}, Error: func(error) {}} // names of other packages are errors
	pkg, _ := config.Check("p", fset, files, info)
	maps.DeleteFunc(info.Uses, func(_ *ast.Ident, used types.Object) bool {
		_, isFunc := used.(*types.Func)
		return used.Pkg() != pkg || !isFunc && used.Parent() != pkg.Scope()
	})
	return info.Uses
}

// noPackages imports nothing.
type noPackages struct{}

var _ types.Importer = noPackages{}

func (noPackages) Import(string) (*types.Package, error) { return nil, errors.New("not read") }
