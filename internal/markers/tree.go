package markers

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/mod/modfile"

	"github.com/fieldlock/fieldlock/internal/pointer"
)

// A CRD has rules of which its authors write none: those of a type that it embeds from another module, and those of
// types that a program writes. A fix beside such a rule is lost when the CRD is generated again, and its place in Go is
// not theirs to edit. For the CRD of
//
//	type RuntimeSpec struct {
//		Template jobset.JobSetSpec `json:"template"`
//	}
//
// and a rule on spec.template.network, the tree of the CRD has the type RuntimeSpec and imports the type of Template,
// so the rule is of the package jobset. Syntax tells this. What it does not tell is not known, and nothing is compiled
// or downloaded.

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
	spec *ast.TypeSpec
	file *treeFile
}

type treeFile struct {
	*ast.File
	name string
	home *treePackage
}

// ReadTree finds the Go packages below a directory.
func ReadTree(root string) *Tree {
	t := &Tree{
		modules: map[string]string{}, folders: map[string][]string{}, vendored: map[string][]string{}, packages: map[string]*treePackage{},
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

// Origin is where a field is declared.
type Origin struct {
	Import    string // the package, if it is of a module outside of the tree
	Generated string // the file, if a program writes it
}

// Origin returns where the field that a node is made from is declared. It returns false if the syntax does not tell.
func (t *Tree) Origin(n Node) (Origin, bool) {
	f, ok := t.find(n)
	switch {
	case !ok:
		return Origin{}, false
	case f.imported != "":
		return Origin{Import: f.imported}, true
	case ast.IsGenerated(f.file.File):
		return Origin{Generated: f.file.name}, true
	}
	return Origin{}, true
}

// Field returns what the syntax says about the field that a node is made from, but for its comment. It returns false
// for fields of other modules, and for fields of which the syntax does not tell whether their zero value has a length.
func (t *Tree) Field(n Node) (Field, bool) {
	f, ok := t.find(n)
	if !ok || f.imported != "" || !f.whole {
		return Field{}, false
	}
	declared, known := t.declared(f.typeExpr)
	if declared.imported != "" && !declared.pointer || !known && !declared.pointer && !isBasic(declared.expr) {
		return Field{}, false
	}
	_, isStruct := declared.expr.(*ast.StructType)
	_, options, _ := strings.Cut(f.tag, ",")
	omits := func(option string) bool { return slices.Contains(strings.Split(options, ","), option) }
	return Field{Pointer: declared.pointer, Omitted: omits("omitzero") || omits("omitempty") && (declared.pointer || !isStruct)}, true
}

// isBasic reports whether an expression names a type of the language: string, bool, a number.
func isBasic(x ast.Expr) bool {
	name, ok := x.(*ast.Ident)
	return ok && types.Universe.Lookup(name.Name) != nil
}

// treeField is a field of a struct.
type treeField struct {
	declaredType        // of the field
	tag          string // for JSON
	whole        bool   // a node is the field, and not an item or a value in it
}

// find returns the field that a node is made from. A field of a type from outside of the tree has the package alone.
func (t *Tree) find(n Node) (found treeField, ok bool) {
	kind, ok := t.kind(n)
	if !ok {
		return treeField{}, false
	}
	at := typeExpr{kind.spec.Type, kind.file}
	known := false
	steps := pointer.Names(n.SchemaPath)
	for len(steps) > 0 {
		declared, ok := t.declared(at)
		if !ok {
			return treeField{}, false
		}
		if declared.imported != "" {
			return treeField{declaredType: declared}, true
		}
		step := steps[0]
		steps = steps[1:]
		found.whole = false
		switch x := declared.expr.(type) {
		case *ast.StructType:
			if step != "properties" || len(steps) == 0 {
				return treeField{}, false
			}
			if found, ok = t.field(declared.typeExpr, steps[0], 0); !ok || found.imported != "" {
				return found, ok
			}
			at, known = found.typeExpr, true
			steps = steps[1:]
		case *ast.ArrayType:
			at = typeExpr{x.Elt, declared.file}
		case *ast.MapType:
			at = typeExpr{x.Value, declared.file}
		default:
			return treeField{}, false
		}
	}
	return found, known
}

// kind returns the type of the kind of a node. Of several packages that declare it, the one counts that names its group.
// It returns false if there is none, or still more than one.
func (t *Tree) kind(n Node) (treeType, bool) {
	var kinds []treeType
	for _, dir := range t.folders[n.Version] {
		if kind, ok := t.read(dir).types[n.Kind]; ok {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) > 1 {
		kinds = slices.DeleteFunc(kinds, func(kind treeType) bool { return !names(filepath.Dir(kind.file.name), n.Group) })
	}
	if len(kinds) != 1 {
		return treeType{}, false
	}
	return kinds[0], true
}

// names reports whether a Go file of a directory has an API group: in Group: "example.com", or +groupName=example.com.
func names(dir, group string) bool {
	return slices.ContainsFunc(goFiles(dir), func(name string) bool {
		data, _ := os.ReadFile(name)
		return bytes.Contains(data, []byte(`"`+group+`"`)) || bytes.Contains(data, []byte("+groupName="+group+"\n"))
	})
}

// typeExpr is a type as a file spells it.
type typeExpr struct {
	expr ast.Expr
	file *treeFile
}

// declaredType is the type that an expression comes to: a literal, or the package that it is imported from.
type declaredType struct {
	typeExpr
	imported string // "" if it is declared in the tree
	pointer  bool   // to it
}

// maxNames bounds how many declarations lead from a name to a type, and how many structs are embedded in each other.
const maxNames = 20

// declared follows the names of types. It returns false for a basic type, and for what syntax does not tell, with the
// last name.
func (t *Tree) declared(at typeExpr) (to declaredType, ok bool) {
	for range maxNames {
		to.typeExpr = at
		switch x := at.expr.(type) {
		case *ast.StarExpr:
			at.expr, to.pointer = x.X, true
		case *ast.ParenExpr:
			at.expr = x.X
		case *ast.Ident:
			named, ok := at.file.home.types[x.Name]
			if !ok || named.spec.TypeParams != nil {
				return to, false
			}
			at = typeExpr{named.spec.Type, named.file}
		case *ast.SelectorExpr:
			imported, ok := importOf(at.file, x)
			if !ok {
				return to, false
			}
			dir, inTree := t.dirOf(imported)
			if !inTree {
				to.imported = imported
				return to, true
			}
			named, ok := t.read(dir).types[x.Sel.Name]
			if !ok || named.spec.TypeParams != nil {
				return to, false
			}
			at = typeExpr{named.spec.Type, named.file}
		case *ast.IndexExpr, *ast.IndexListExpr:
			return to, false
		default:
			return to, true
		}
	}
	return to, false
}

// importOf returns the path of the package that a selector such as jobset.JobSetSpec names.
func importOf(file *treeFile, x *ast.SelectorExpr) (string, bool) {
	name, ok := x.X.(*ast.Ident)
	if !ok {
		return "", false
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		if spec.Name != nil && spec.Name.Name == name.Name || spec.Name == nil && path.Base(imported) == name.Name {
			return imported, true
		}
	}
	return "", false
}

// dirOf returns the directory of a package in the tree.
func (t *Tree) dirOf(imported string) (string, bool) {
	for module := imported; module != "."; module = path.Dir(module) {
		if dir, ok := t.modules[module]; ok {
			return filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(imported, module))), true
		}
	}
	return "", false
}

// field returns the field of a struct that has a name in JSON, with its type and the file that declares it. A field of
// another struct, which is embedded, counts.
func (t *Tree) field(at typeExpr, name string, depth int) (treeField, bool) {
	list := at.expr.(*ast.StructType).Fields.List
	for _, f := range list {
		if jsonName(f) == name {
			return treeField{declaredType{typeExpr: typeExpr{f.Type, at.file}}, jsonTag(f), true}, true
		}
	}
	for _, f := range list {
		if depth == maxNames || !isInlined(f) {
			continue
		}
		embedded, ok := t.declared(typeExpr{f.Type, at.file})
		if !ok || embedded.imported != "" {
			continue
		}
		if _, ok := embedded.expr.(*ast.StructType); !ok {
			continue
		}
		if found, ok := t.field(embedded.typeExpr, name, depth+1); ok {
			return found, true
		}
	}
	return treeField{}, false
}

// jsonName returns the name of a field in JSON, "" if its tag has none.
func jsonName(f *ast.Field) string {
	name, _, _ := strings.Cut(jsonTag(f), ",")
	return name
}

// isInlined reports whether the fields of f's type are fields of the struct that has f.
func isInlined(f *ast.Field) bool {
	name, options, _ := strings.Cut(jsonTag(f), ",")
	return name == "" && (len(f.Names) == 0 || slices.Contains(strings.Split(options, ","), "inline"))
}

func jsonTag(f *ast.Field) string {
	if f.Tag == nil {
		return ""
	}
	text, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return ""
	}
	return reflect.StructTag(text).Get("json")
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
		for _, decl := range syntax.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
			for _, spec := range gen.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok {
					pkg.types[s.Name.Name] = treeType{s, file}
				}
			}
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
