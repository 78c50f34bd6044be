package markers

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/fieldlock/fieldlock/internal/pointer"
)

// Place is where Go source declares a field or type.
type Place struct {
	File string // relative to the folder of Load where it is below it
	Line int
	Name string // "DatabaseSpec.Backup", or "Database" for a type
}

// String returns FILE:LINE (NAME).
func (p Place) String() string { return fmt.Sprintf("%s:%d (%s)", p.File, p.Line, p.Name) }

// Node names one node of the schema of an API type.
type Node struct {
	Group, Version, Kind string
	SchemaPath           string // JSON pointer from the root of the schema of the version
}

func (n Node) kind() kind { return kind{n.Group, n.Version, n.Kind} }

// Place returns the field that a node is made from: for items and for the values of a map the field that holds them,
// for the root the type of the kind. It returns false if the packages have no such type or field.
func (s *Source) Place(n Node) (Place, bool) {
	t, ok := s.find(n)
	if !ok {
		return Place{}, false
	}
	return s.placeOf(t.declaration()), true
}

// Field is what Go source says about the field that a node is made from.
type Field struct {
	Pointer bool // it tells the zero value from an absent one
	Omitted bool // clients leave out the zero value, or nil
	// Comment is the text above the field and its type, with markers only as far as they speak of deprecation.
	Comment string
}

// Field returns what Go source says about the field that a node is made from. It returns false if the packages have no
// such field.
func (s *Source) Field(n Node) (Field, bool) {
	t, ok := s.find(n)
	if !ok || t.field == nil || len(t.steps) > 0 {
		return Field{}, false
	}
	comment := t.field.hints.comment + t.field.typ.hints.comment
	return Field{Pointer: t.field.pointer, Omitted: t.field.omitted(), Comment: comment}, true
}

func (s *Source) placeOf(d declaration) Place {
	return Place{File: (&problems{dir: s.dir}).relative(d.pos.Filename), Line: d.pos.Line, Name: d.name}
}

// declaration is where a field or type is declared.
type declaration struct {
	pos  token.Position // of its name
	name string
}

// target is what a schema node is made from.
type target struct {
	root  *use
	field *field // the innermost one, nil for the root
	steps []string
	use   *use

	guarded bool // a type or field above has a CEL rule that reads oldSelf
}

// declaration returns that of the field, or of the type of the root.
func (t target) declaration() declaration {
	if t.field == nil {
		return t.root.typ.declared
	}
	return t.field.declaration()
}

// find returns what a node is made from.
func (s *Source) find(n Node) (target, bool) {
	root := s.roots[n.kind()]
	if root == nil {
		return target{}, false
	}
	return find(root, n.SchemaPath)
}

// find follows a schema path through the Go types.
func find(root *use, schemaPath string) (target, bool) {
	t := target{root: root, use: root}
	names := pointer.Names(schemaPath)
	for len(names) > 0 {
		step := names[0]
		names = names[1:]
		switch {
		case step == "properties" && len(names) > 0:
			f := t.use.typ.property(names[0])
			if f == nil {
				return target{}, false
			}
			t.guarded = t.guarded || t.use.typ.transition || t.field != nil && t.field.transition
			t.field, t.use, t.steps = f, f.use, nil
			names = names[1:]
		case step == "items" && t.use.typ.form == listForm, step == "additionalProperties" && t.use.typ.form == mapForm:
			t.use, t.steps = t.use.typ.elem, append(t.steps, step)
		default:
			return target{}, false
		}
	}
	return t, true
}

// filesOf returns the files of packages by their absolute names, and whether each is generated.
func filesOf(pkgs []*packages.Package) map[string]bool {
	files := map[string]bool{}
	for _, pkg := range pkgs {
		for _, file := range pkg.Syntax {
			files[pkg.Fset.PositionFor(file.FileStart, false).Filename] = ast.IsGenerated(file)
		}
	}
	return files
}

// listNodes returns the nodes that each field and each declared type makes in the kinds of the packages.
func (s *Source) listNodes() map[declaration][]Node {
	all := map[declaration][]Node{}
	for k, root := range s.roots {
		if !root.typ.isKind() {
			continue
		}
		var within []*goType
		var visit func(u *use, path string)
		visit = func(u *use, path string) {
			n := Node{k.group, k.version, k.kind, path}
			if u.typ.declared.name != "" {
				all[u.typ.declared] = append(all[u.typ.declared], n)
			}
			if slices.Contains(within, u.typ) {
				return // a recursive type
			}
			within = append(within, u.typ)
			defer func() { within = within[:len(within)-1] }()
			for _, f := range u.typ.fields {
				below := path + "/properties/" + pointer.Escape(f.name)
				all[f.declaration()] = append(all[f.declaration()], Node{k.group, k.version, k.kind, below})
				visit(f.use, below)
			}
			switch {
			case u.typ.elem == nil:
			case u.typ.form == mapForm:
				visit(u.typ.elem, path+"/additionalProperties")
			default:
				visit(u.typ.elem, path+"/items")
			}
		}
		visit(root, "")
	}
	return all
}

// isKind reports whether s is the type of whole objects: with apiVersion, kind and metadata.
func (s *goType) isKind() bool {
	metadata := s.property("metadata")
	return metadata != nil && isNamed(metadata.typ.bare, metaV1, "ObjectMeta") && s.property("kind") != nil &&
		s.property("apiVersion") != nil
}

func (f *field) declaration() declaration {
	return declaration{f.pos, strings.TrimPrefix(f.owner+"."+f.goName, ".")}
}

// declarationOf returns where a named type that is not generic is declared.
func (b *builder) declarationOf(t types.Type) declaration {
	named, ok := t.(*types.Named)
	if !ok || named.TypeArgs().Len() > 0 || named.Obj().Pkg() == nil {
		return declaration{}
	}
	return declaration{b.fset.PositionFor(named.Obj().Pos(), false), named.Obj().Name()}
}
