package markers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/modfile"
)

// Tree is the Go source around CRDs: every module in a working tree, as far as it is needed to find where the fields of
// a CRD are declared. It is read once, and not safe for concurrent use.
type Tree struct {
	modules  map[string]string   // the directories of modules, by their paths
	folders  map[string][]string // directories with Go files, by their last step
	vendored map[string][]string // the same in directories named vendor
	packages map[string]*treePackage
	structs  func() map[string]bool // the names of all struct types, as far as gofmt lays them out
}

// treePackage is the syntax of one package, without what it imports.
type treePackage struct {
	types map[string]treeType
}

// treeType is the declaration of a type.
type treeType struct {
	spec  *ast.TypeSpec
	file  *treeFile
	above string // the comments above it
}

type treeFile struct {
	*ast.File
	name string
	home *treePackage
}

// comments returns the comments between two positions. Markers need not be in the comment right above a declaration.
func (f *treeFile) comments(from, to token.Pos) string {
	text := ""
	for _, group := range f.Comments {
		for _, line := range group.List {
			if from <= line.Pos() && line.End() <= to {
				text += line.Text + "\n"
			}
		}
	}
	return text
}

// ReadTree finds the Go packages below a directory.
func ReadTree(root string) *Tree {
	t := &Tree{
		modules: map[string]string{}, folders: map[string][]string{}, vendored: map[string][]string{},
		packages: map[string]*treePackage{},
	}
	_ = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // an unreadable directory is not known
		case entry.IsDir() && name != root && isSkipped(entry.Name()):
			return filepath.SkipDir
		case entry.Name() == "go.mod":
			if data, err := os.ReadFile(name); err == nil {
				t.modules[modfile.ModulePath(data)] = filepath.Dir(name)
			}
		case strings.HasSuffix(entry.Name(), ".go"):
			folders := t.folders
			if _, vendored := vendoredPackage(name); vendored {
				folders = t.vendored
			}
			dir := filepath.Dir(name)
			if last := filepath.Base(dir); !slices.Contains(folders[last], dir) {
				folders[last] = append(folders[last], dir)
			}
		}
		return nil
	})
	t.structs = sync.OnceValue(t.listStructs)
	return t
}

// listStructs reads all files, without their syntax.
func (t *Tree) listStructs() map[string]bool {
	structs := map[string]bool{}
	for _, dirs := range t.folders {
		for _, dir := range dirs {
			for _, name := range goFiles(dir) {
				data, _ := os.ReadFile(name)
				for _, match := range structType.FindAllSubmatch(data, -1) {
					structs[string(match[1])] = true
				}
			}
		}
	}
	return structs
}

var structType = regexp.MustCompile(`(?m)^\s*(?:type )?(\w+) +struct ?\{`)

// Lacks reports whether the tree has Go source, but no type of a kind beside vendored ones: a CRD that controller-gen
// wrote for the kind is a copy of another project's.
func (t *Tree) Lacks(kind string) bool { return len(t.folders) > 0 && !t.structs()[kind] }

// Vendored returns the vendored package that declares a kind of a version, "" if there is none.
func (t *Tree) Vendored(version, kind string) string {
	for _, dir := range t.vendored[version] {
		if _, ok := t.read(dir).types[kind]; ok {
			imported, _ := vendoredPackage(filepath.Join(dir, "x.go"))
			return imported
		}
	}
	return ""
}

// vendoredPackage returns the import path of the package of a vendored file.
func vendoredPackage(file string) (imported string, ok bool) {
	_, imported, ok = strings.Cut(filepath.ToSlash(filepath.Dir(file)), "/vendor/")
	return imported, ok
}

// isSkipped reports whether the go command does not look for packages in a directory.
func isSkipped(name string) bool {
	return name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

// TreeRoot returns the directory of the working tree of a file: the closest one above it that has .git, or else the
// closest one with go.mod. It returns "" if there is none.
func TreeRoot(file string) string {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return ""
	}
	module := ""
	for dir := filepath.Dir(absolute); ; dir = filepath.Dir(dir) {
		if exists(filepath.Join(dir, ".git")) {
			return dir
		}
		if module == "" && exists(filepath.Join(dir, "go.mod")) {
			module = dir
		}
		if dir == filepath.Dir(dir) {
			return module
		}
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// read reads the files of a package, without tests. A file that is not Go has the types before the mistake.
func (t *Tree) read(dir string) *treePackage {
	if known := t.packages[dir]; known != nil {
		return known
	}
	pkg := &treePackage{types: map[string]treeType{}}
	t.packages[dir] = pkg
	for _, name := range goFiles(dir) {
		syntax, _ := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if syntax == nil {
			continue
		}
		file := &treeFile{syntax, name, pkg}
		before := syntax.Name.End()
		for _, decl := range syntax.Decls {
			if gen, ok := decl.(*ast.GenDecl); ok {
				for _, spec := range gen.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok {
						pkg.types[s.Name.Name] = treeType{s, file, file.comments(before, s.Pos())}
					}
					before = spec.End()
				}
			}
			before = decl.End()
		}
	}
	return pkg
}

// goFiles returns the Go files of a directory, without tests.
func goFiles(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			names = append(names, filepath.Join(dir, name))
		}
	}
	return names
}
