// Package apitest tests what the public packages promise to their users: their names, and what importing them costs.
package apitest

import (
	"bytes"
	"flag"
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/api.txt")

const root = "../../.."

// TestAPI: testdata/api.txt has a line for each exported constant, variable, function, type, field and method of the
// public packages, so that a change of the API shows in review. -update writes it.
func TestAPI(t *testing.T) {
	var got []string
	for _, dir := range publicDirs(t) {
		got = append(got, surfaceOf(t, dir)...)
	}
	methods := len(slices.DeleteFunc(slices.Clone(got), func(line string) bool { return !strings.Contains(line, ": func (") }))
	names := len(slices.DeleteFunc(slices.Clone(got), func(line string) bool { return strings.Contains(line, ": func (") || isMember(line) }))
	t.Logf("%d names, %d methods", names, methods)
	const golden = "testdata/api.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(string(want)), "\n"), got); diff != "" {
		t.Errorf("the API has changed; if that is meant, write it with go test ./internal/testing/apitest -update (-want +got):\n%s", diff)
	}
}

// publicDirs returns the directories of the packages that users of the module can import, sorted.
func publicDirs(t *testing.T) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case !d.IsDir():
			if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
				dirs = append(dirs, filepath.Dir(path))
			}
		case path != root && isFile(filepath.Join(path, "go.mod")), // a module of its own
			name == "internal", name == "testdata", name == "node_modules", name == "docs", name == "hack",
			path != root && strings.HasPrefix(name, "."):
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// isMember reports whether a line is about a field of a struct or a method of an interface.
func isMember(line string) bool {
	return strings.Contains(line, " struct, ") || strings.Contains(line, " interface, ")
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// surface collects the lines of one package.
type surface struct {
	t       *testing.T
	name    string // from the root of the module
	set     *token.FileSet
	imports map[*ast.Ident]string // the packages that names stand for
	lines   []string
}

// surfaceOf returns the lines of the package in a directory, sorted.
func surfaceOf(t *testing.T, dir string) []string {
	t.Helper()
	built, err := build.ImportDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	name, err := filepath.Rel(root, dir)
	if err != nil {
		t.Fatal(err)
	}
	s := &surface{t: t, name: filepath.ToSlash(name), set: token.NewFileSet(), imports: map[*ast.Ident]string{}}
	var files []*ast.File
	for _, file := range built.GoFiles {
		f, err := parser.ParseFile(s.set, filepath.Join(dir, file), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		s.resolve(f)
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(s.set, files, module+"/"+s.name)
	if err != nil {
		t.Fatal(err)
	}
	s.values(p.Consts)
	s.values(p.Vars)
	s.functions(p.Funcs)
	for _, typ := range p.Types {
		s.values(typ.Consts)
		s.values(typ.Vars)
		s.functions(typ.Funcs)
		s.typ(typ.Decl.Specs[0].(*ast.TypeSpec))
		s.functions(typ.Methods)
	}
	slices.Sort(s.lines)
	return s.lines
}

// resolve notes which import each name before a dot stands for.
func (s *surface) resolve(f *ast.File) {
	paths := map[string]string{}
	for _, imported := range f.Imports {
		path, _ := strconv.Unquote(imported.Path.Value)
		name := path[strings.LastIndexByte(path, '/')+1:]
		if imported.Name != nil {
			name = imported.Name.Name
		}
		paths[name] = path
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := selector.X.(*ast.Ident); ok && paths[x.Name] != "" {
				s.imports[x] = paths[x.Name]
			}
		}
		return true
	})
}

// add adds a line that ends with a declaration, which may not mention an internal package: nobody else can name its
// types.
func (s *surface) add(prefix string, declaration ast.Node) {
	var b bytes.Buffer
	if err := printer.Fprint(&b, s.set, declaration); err != nil {
		s.t.Fatal(err)
	}
	line := s.name + ": " + prefix + strings.Join(strings.Fields(b.String()), " ")
	ast.Inspect(declaration, func(n ast.Node) bool {
		if x, ok := n.(*ast.Ident); ok && strings.Contains(s.imports[x], "/internal/") {
			s.t.Errorf("%s\nmentions %s, which users cannot import", line, s.imports[x])
		}
		return true
	})
	s.lines = append(s.lines, line)
}

// values adds constants and variables: name and type, of a constant with its value where that is written out.
func (s *surface) values(groups []*doc.Value) {
	for _, group := range groups {
		var typ ast.Expr // of the constants that repeat it
		for _, spec := range group.Decl.Specs {
			v := spec.(*ast.ValueSpec)
			if v.Type != nil || len(v.Values) > 0 {
				typ = v.Type
			}
			for i, name := range v.Names {
				if !name.IsExported() {
					continue
				}
				one := &ast.ValueSpec{Names: []*ast.Ident{ast.NewIdent(name.Name)}, Type: typ}
				if i < len(v.Values) && group.Decl.Tok == token.CONST {
					if _, ok := v.Values[i].(*ast.BasicLit); ok {
						one.Values = v.Values[i : i+1]
					}
				}
				s.add(group.Decl.Tok.String()+" ", one)
			}
		}
	}
}

func (s *surface) functions(list []*doc.Func) {
	for _, f := range list {
		declaration := *f.Decl
		declaration.Doc, declaration.Body = nil, nil
		s.add("", &declaration)
	}
}

// typ adds a type, and a line for each field or method that it declares.
func (s *surface) typ(spec *ast.TypeSpec) {
	head := *spec
	head.Doc, head.Comment = nil, nil
	prefix := "type " + spec.Name.Name
	switch typ := spec.Type.(type) {
	case *ast.StructType:
		head.Type = &ast.StructType{Fields: &ast.FieldList{}}
		s.add("type ", &head)
		s.members(prefix+" struct, ", typ.Fields)
	case *ast.InterfaceType:
		head.Type = &ast.InterfaceType{Methods: &ast.FieldList{}}
		s.add("type ", &head)
		s.members(prefix+" interface, ", typ.Methods)
	default:
		s.add("type ", &head)
	}
}

// members adds the fields of a struct or the methods of an interface. doc has left out those that are not exported.
func (s *surface) members(prefix string, list *ast.FieldList) {
	for _, member := range list.List {
		if len(member.Names) == 0 {
			s.add(prefix+"embedded ", member.Type)
		}
		for _, name := range member.Names {
			if f, ok := member.Type.(*ast.FuncType); ok && strings.Contains(prefix, " interface, ") {
				s.add(prefix, &ast.FuncDecl{Name: name, Type: f})
			} else {
				s.add(prefix+name.Name+" ", member.Type)
			}
		}
	}
}
