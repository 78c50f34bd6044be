package markers

import (
	"bytes"
	"go/ast"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

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
// so the rule is of the package jobset. A rule that no marker beside the field makes is not of the Go source at all. And
// json tags tell which values Go clients leave out. Syntax tells this. What it does not tell is not known, and nothing
// is compiled or downloaded.

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
// for fields of other modules, and for fields of which the syntax does not tell whether encoding/json leaves out their
// zero value.
func (t *Tree) Field(n Node) (Field, bool) {
	f, ok := t.find(n)
	if !ok || f.imported != "" || !f.whole {
		return Field{}, false
	}
	declared, known := t.declared(f.typeExpr)
	_, isStruct := declared.expr.(*ast.StructType)
	switch {
	case declared.imported == quantityPackage || declared.imported == intstrPackage:
		isStruct = true
	case declared.pointer:
	case declared.imported != "" || !known && !isBasic(declared.expr):
		return Field{}, false
	}
	_, options, _ := strings.Cut(f.tag, ",")
	omits := func(option string) bool { return slices.Contains(strings.Split(options, ","), option) }
	return Field{Pointer: declared.pointer, Omitted: omits("omitzero") ||
		omits("omitempty") && (declared.pointer || !isStruct)}, true
}

// Unruled reports whether no marker of a CEL rule is where a node of a CRD is declared: its rules come from something
// else than its Go source, or from what that was before. It returns false if the syntax does not tell.
func (t *Tree) Unruled(n Node) bool {
	f, ok := t.find(n)
	if !ok || f.imported != "" {
		return false
	}
	declared, known := t.declared(f.at)
	if declared.imported != "" || !known && !isBasic(declared.expr) {
		return false
	}
	return !ruleMarker.MatchString(f.above + t.above(f.at, 0))
}

// ruleMarker finds markers from which a program makes CEL rules.
var ruleMarker = regexp.MustCompile(`\+\S*(XValidation|:cel\b|[iI]mmutable|k8s:update)`)

// above returns the comments above the types that an expression names, and those that they embed.
func (t *Tree) above(at typeExpr, depth int) string {
	to, ok := t.declared(at)
	s, isStruct := to.expr.(*ast.StructType)
	if !ok || !isStruct || depth == maxNames {
		return to.above
	}
	for _, f := range s.Fields.List {
		if isInlined(f) {
			to.above += t.above(typeExpr{f.Type, to.file}, depth+1)
		}
	}
	return to.above
}

// The packages of Quantity and IntOrString, which are structs, although they are a text or a number in JSON.
const (
	quantityPackage = "k8s.io/apimachinery/pkg/api/resource"
	intstrPackage   = "k8s.io/apimachinery/pkg/util/intstr"
)

// isBasic reports whether an expression names a type of the language: string, bool, a number.
func isBasic(x ast.Expr) bool {
	name, ok := x.(*ast.Ident)
	return ok && types.Universe.Lookup(name.Name) != nil
}

// treeField is a field of a struct.
type treeField struct {
	declaredType          // of the field
	tag          string   // for JSON
	whole        bool     // a node is the field, and not an item or a value in it
	at           typeExpr // the type of the node
}

// find returns the field that a node is made from, with the comments from there to the node. A field of a type from
// outside of the tree has the package alone.
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
		found.above += declared.above
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
	found.at = at
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
		kinds = slices.DeleteFunc(kinds, func(kind treeType) bool {
			return !names(filepath.Dir(kind.file.name), n.Group)
		})
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
	above    string // the comments above the declarations on the way
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
			at, to.above = typeExpr{named.spec.Type, named.file}, to.above+named.above
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
			at, to.above = typeExpr{named.spec.Type, named.file}, to.above+named.above
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
	fields := at.expr.(*ast.StructType).Fields
	list, before := fields.List, fields.Opening
	for _, f := range list {
		if jsonName(f) == name {
			of := typeExpr{f.Type, at.file}
			return treeField{declaredType{typeExpr: of, above: at.file.comments(before, f.Pos())},
				jsonTag(f), true, of}, true
		}
		before = f.End()
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
