package markers

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Lint returns what is wrong with the markers of one package that is type-checked already, for analyzers: the problems
// that Load finds, markers on a type that is not the type of any field, each field with the rule optional-parent: it
// can be removed and added again, and fields below it are locked; and each with the rule zero-value, of which Go does
// not tell whether it is set. Problems have absolute file names and are sorted by file and line. Of info, Types and
// Defs are read.
//
// Lint knows the types of one package, so it leaves out what may be meant or closed elsewhere: locked fields of items
// whose keys can be removed and added again, fields below a type with a CEL rule that reads oldSelf, NoModify without
// NoUnset, and the normalizations that only CRDs ask for. The command fieldlock lint judges the whole CRD.
func Lint(fset *token.FileSet, files []*ast.File, pkg *types.Package, info *types.Info) []Problem {
	loaded := &packages.Package{Name: pkg.Name(), PkgPath: pkg.Path(), Fset: fset, Syntax: files,
		Types: pkg, TypesInfo: info}
	p, c := &problems{lenient: true}, newComments()
	c.readComments(loaded, K8sImmutableLocked, true, p)
	if len(c.marks) > 0 {
		l := linter{newBuilder(c, []*packages.Package{loaded}, p), map[*goType]bool{}}
		l.types(pkg.Scope())
	}
	p.sort()
	own := filesOf([]*packages.Package{loaded})
	return slices.DeleteFunc(p.list, func(problem Problem) bool {
		_, ok := own[problem.File]
		return !ok
	})
}

type linter struct {
	*builder
	seen map[*goType]bool // the types at and below those that holes were looked for in
}

// types looks at the types of the package.
func (l *linter) types(scope *types.Scope) {
	used := l.usedTypes()
	var inner []*use
	for _, name := range scope.Names() {
		obj, ok := scope.Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		if named, ok := obj.Type().(*types.Named); ok && named.TypeParams().Len() > 0 {
			continue // its instances are read where fields have them
		}
		u := l.useOf(obj.Type(), nil, inField)
		if !used[obj] {
			l.unused(obj, u)
		}
		switch {
		case u.typ.form != structForm || obj.IsAlias() || isList(obj.Type()):
		case used[obj] && !u.typ.isKind():
			inner = append(inner, u)
		default:
			l.holes(u)
		}
	}
	for _, u := range inner {
		if !l.seen[u.typ] { // it is used by itself only
			l.holes(u)
		}
	}
	for _, check := range l.checks {
		check()
	}
}

// usedTypes returns the types that some field, item or value in the package has, that are inlined, or that another type
// is declared as.
func (l *linter) usedTypes() map[*types.TypeName]bool {
	used := map[*types.TypeName]bool{}
	var visit func(t types.Type)
	visit = func(t types.Type) {
		switch t := t.(type) {
		case *types.Alias:
			used[t.Obj()] = true
			visit(t.Rhs())
		case *types.Named:
			used[t.Obj()] = true
			for arg := range t.TypeArgs().Types() {
				visit(arg)
			}
		case *types.Pointer, *types.Slice, *types.Array, *types.Map:
			visit(t.(interface{ Elem() types.Type }).Elem())
		case *types.Struct:
			for f := range t.Fields() {
				visit(f.Type())
			}
		}
	}
	for obj, expr := range l.specs {
		t := l.info[obj.Pkg().Path()].TypesInfo.TypeOf(expr)
		if isList(obj.Type()) || t == nil {
			continue
		}
		visit(t)
	}
	return used
}

// isList reports whether t is the type of a list of objects.
func isList(t types.Type) bool {
	st, ok := t.Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for f := range st.Fields() {
		if isNamed(f.Type(), metaV1, "ListMeta") {
			return true
		}
	}
	return false
}

// unused reports the locks on a type that is not the type of a field.
func (l *linter) unused(obj *types.TypeName, u *use) {
	own := l.comments.marks[obj.Pos()]
	if obj.Exported() && l.shares(obj) {
		return
	}
	why := "no field of the package has the type " + obj.Name() + ", so it locks nothing: put it on a field"
	if u.typ.isKind() {
		why = "the whole object cannot be locked or normalized: put it on a field"
	}
	for _, level := range own {
		for _, m := range level {
			if isOwn(m.key) {
				l.problems.of(m, "%s", why).Fix = []string{}
			}
		}
	}
}

// shares reports whether the package seems to have types for other packages only: it has no kind and no other struct.
func (l *linter) shares(obj *types.TypeName) bool {
	for other := range l.specs {
		if _, ok := other.Type().Underlying().(*types.Struct); ok && other != obj {
			return false
		}
	}
	return true
}

// holes reports the holes below a type that nothing in the package is above.
func (l *linter) holes(root *use) {
	l.reach(root.typ)
	if _, ok := root.firstBelow(marks.lock); !ok {
		return
	}
	for _, f := range immutability.Lint(l.schemaOf(&use{typ: root.typ}, nil)) {
		t, ok := find(root, f.SchemaPath)
		if f.Rule != finding.OptionalParent || !ok || t.field == nil || len(t.steps) > 0 || t.guarded {
			continue
		}
		remedy := "add +k8s:update=NoUnset, or make it required"
		if root.typ.isKind() && f.Path == "status" {
			remedy = "add +k8s:update=NoUnset" // an object is created without its status
		}
		p := l.problems.at(t.field.pos, "",
			"an update can remove %s and the next one can bring it back with other values of %s: %s",
			f.Path, finding.Enumerate(f.Fields), remedy)
		p.Rule, p.Fix = f.Rule, []string{"+k8s:update=NoUnset"}
	}
}

// zeroValue reports a lock on a field whose Go type does not tell absent from zero. Only Lint does: it refuses no CRD.
// A field that protobuf stores belongs to Kubernetes' own types, which its own validation reads.
func (p *problems) zeroValue(f *field) {
	if !p.lenient || f.tag.protobuf {
		return
	}
	if text := f.zeroValue(); text != "" {
		found := p.at(f.pos, "", "%s", text)
		found.Rule, found.Fix = zeroRule, []string{"+normalize=zero"}
	}
}

// keepsKeys reports whether no key of a list or map can be removed and added again.
func (u *use) keepsKeys() bool {
	read, _ := schema.ReadMarks(u.marks.at(0).extensions())
	return slices.ContainsFunc(read.Locks, schema.Lock.OnKeys)
}

// reach notes the types at and below t.
func (l *linter) reach(t *goType) {
	if l.seen[t] {
		return
	}
	l.seen[t] = true
	for _, f := range t.fields {
		l.reach(f.typ)
	}
	if t.elem != nil {
		l.reach(t.elem.typ)
	}
}

// schemaOf returns the schema of a value with the locks on it and below it, as far as holes in them are reported.
func (l *linter) schemaOf(u *use, within []*goType) *spec.Schema {
	s := &spec.Schema{}
	s.Extensions = maps.Clone(spec.Extensions(u.marks.at(0).extensions()))
	if slices.Contains(within[:max(len(within)-1, 0)], u.typ) {
		return s.Typed("object", "") // a recursive type, which is there once more
	}
	within = append(slices.Clip(within), u.typ)
	switch u.typ.form {
	case structForm:
		s.Typed("object", "")
		for _, f := range u.typ.fields {
			if len(within) == 1 && u.typ.isKind() &&
				(f.name == "metadata" || f.name == "kind" || f.name == "apiVersion") {
				continue
			}
			if f.required() {
				s.Required = append(s.Required, f.name)
			}
			if _, locked := f.firstBelow(marks.lock); !locked {
				continue
			}
			below := l.schemaOf(f.use, within)
			below.Nullable = f.nullable
			if f.defaulted {
				below.Default = struct{}{} // which one does not matter
			}
			s.SetProperty(f.name, *below)
		}
	case mapForm:
		if s.Typed("object", ""); !u.keepsKeys() {
			return s
		}
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: l.schemaOf(u.inner(&problems{}), within)}
	case listForm:
		if s.Typed("array", ""); !u.keepsKeys() {
			return s
		}
		s.Items = &spec.SchemaOrArray{Schema: l.schemaOf(u.inner(&problems{}), within)}
	default:
		s.Typed("string", "")
	}
	return s
}

// required reports whether an object always has the field. A struct that protobuf stores and that is not a pointer is
// there whatever a client writes.
func (f *field) required() bool {
	switch {
	case f.protobuf && !f.pointer && f.typ.form == structForm, f.hints.required:
		return true
	case f.optional:
		return false
	}
	return !f.omitEmpty && !f.omitZero
}

// Problem is a marker that cannot do what it says: a mistake in Go source, or in a CRD file that the source disagrees
// with.
type Problem struct {
	File    string // relative to the folder of Load where it is below it
	Line    int    // 0 where a file as a whole is meant
	Marker  string // as written, "" where none is meant
	Message string // what was found and what would be right
	// Rule is the name of a hole that Lint found, such as "optional-parent"; "" for a marker that is wrong.
	Rule string
	// Fix is the comment lines, without the slashes, that make the problem go away: in place of Marker, none to remove
	// it, or without a Marker above the declaration in Line. Nil where only the author knows.
	Fix []string
}

// String returns the problem in one line: FILE:LINE: MARKER: MESSAGE, without the parts that p does not have.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	b.WriteString(": ")
	if p.Marker != "" {
		b.WriteString(p.Marker + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Error holds every problem found, sorted by file and line.
type Error struct {
	Problems []Problem
}

// Error implements error with one line per problem.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// problems collects problems of one run.
type problems struct {
	dir  string // absolute
	list []Problem
	// lenient leaves out what is right for Kubernetes' own types and only CRDs have no key for.
	lenient bool
}

// at adds a problem. The result is for the caller to add to it, before the next problem.
func (p *problems) at(pos token.Position, marker, format string, args ...any) *Problem {
	p.list = append(p.list, Problem{File: p.relative(pos.Filename), Line: pos.Line, Marker: marker,
		Message: fmt.Sprintf(format, args...)})
	return &p.list[len(p.list)-1]
}

func (p *problems) of(m mark, format string, args ...any) *Problem {
	return p.at(m.pos, m.text, format, args...)
}

func (p *problems) relative(file string) string {
	if rel, err := filepath.Rel(p.dir, file); err == nil && !strings.HasPrefix(rel, "..") {
		return filepath.ToSlash(rel)
	}
	return file
}

// err returns the problems as an *Error, sorted, or nil.
func (p *problems) err() error {
	p.sort()
	if len(p.list) == 0 {
		return nil
	}
	return &Error{p.list}
}

// sort sorts the problems, each once.
func (p *problems) sort() {
	slices.SortFunc(p.list, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			strings.Compare(a.Marker, b.Marker), strings.Compare(a.Message, b.Message))
	})
	p.list = slices.CompactFunc(p.list, func(a, b Problem) bool { return a.String() == b.String() })
}

// mark is one schema key that a marker asks for.
type mark struct {
	key     string
	value   any // true, a string or a []string
	text    string
	pos     token.Position
	foreign bool // in a package that was not asked for
}
