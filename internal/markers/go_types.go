package markers

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/types/typeutil"
)

// form is the JSON form of a Go type.
type form string

const (
	structForm  form = "struct"
	mapForm     form = "map"
	listForm    form = "list"
	scalarForm  form = "scalar"
	unknownForm form = "value of any form"
)

// goType is a Go type as its JSON form, with what is marked in it. A recursive type has itself below it.
type goType struct {
	bare   types.Type // without pointers and aliases
	form   form
	fields []*field // of a struct, inlined ones included, in the order of the source
	elem   *use     // of a list or map

	declared declaration // of a named type
	hints                // the same
}

// use is a field, the items of a list or the values of a map, with the type of its values.
type use struct {
	typ     *goType
	pointer bool
	marks   levels // of the use itself and of the type together
}

// field is a struct field that has a property of its own.
type field struct {
	*use
	tag
	goName string
	owner  string // the type that declares it
	pos    token.Position
	hints
}

// tag is what the tag of a struct field says.
type tag struct {
	name      string // of the property
	skip      bool
	inline    bool
	omitEmpty bool
	omitZero  bool
	protobuf  bool
}

func parseTag(text string) tag {
	st := reflect.StructTag(text)
	json := st.Get("json")
	name, list, _ := strings.Cut(json, ",")
	opts := strings.Split(list, ",")
	protobuf := st.Get("protobuf")
	return tag{
		name:      name,
		skip:      json == "-",
		inline:    slices.Contains(opts, "inline"),
		omitEmpty: slices.Contains(opts, "omitempty"),
		omitZero:  slices.Contains(opts, "omitzero"),
		protobuf:  protobuf != "" && protobuf != "-",
	}
}

// inner returns the items or values of u, with what u's +k8s:eachVal marks on them; nil if u has none.
func (u *use) inner(p *problems) *use {
	if u.typ.elem == nil {
		return nil
	}
	below := u.marks.below()
	if len(below) == 0 {
		return u.typ.elem
	}
	inner := *u.typ.elem
	inner.marks = inner.marks.merge(below, p)
	return &inner
}

// property returns the field with this JSON name, or nil.
func (s *goType) property(name string) *field {
	i := slices.IndexFunc(s.fields, func(f *field) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return s.fields[i]
}

// firstBelow returns the first mark that pick chooses, on u or anywhere below it.
func (u *use) firstBelow(pick func(marks) (mark, bool)) (mark, bool) {
	seen := map[*goType]bool{}
	var visit func(u *use) (mark, bool)
	visit = func(u *use) (mark, bool) {
		for _, level := range u.marks {
			if m, ok := pick(level); ok {
				return m, true
			}
		}
		if seen[u.typ] {
			return mark{}, false
		}
		seen[u.typ] = true
		for _, f := range u.typ.fields {
			if m, ok := visit(f.use); ok {
				return m, true
			}
		}
		if u.typ.elem != nil {
			return visit(u.typ.elem)
		}
		return mark{}, false
	}
	return visit(u)
}

// isNamed reports whether t is the named type of that package.
func isNamed(t types.Type, path, name string) bool {
	named, ok := t.(*types.Named)
	return ok && named.Obj().Name() == name && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == path
}

const metaV1 = "k8s.io/apimachinery/pkg/apis/meta/v1"

// builder makes the goType of each type once.
type builder struct {
	comments *comments
	info     map[string]*packages.Package // by path
	specs    map[*types.TypeName]ast.Expr // the right side of each type declaration that was read
	fset     *token.FileSet
	made     typeutil.Map
	problems *problems
	checks   []func() // what can be checked when everything is read
}

func (b *builder) later(check func()) { b.checks = append(b.checks, check) }

func newBuilder(c *comments, pkgs []*packages.Package, p *problems) *builder {
	b := &builder{comments: c, info: map[string]*packages.Package{}, specs: map[*types.TypeName]ast.Expr{}, problems: p}
	for _, pkg := range pkgs {
		b.info[pkg.PkgPath] = pkg
		b.fset = pkg.Fset
		for _, file := range pkg.Syntax {
			for _, decl := range file.Decls {
				gen, ok := decl.(*ast.GenDecl)
				if !ok || gen.Tok != token.TYPE {
					continue
				}
				for _, s := range gen.Specs {
					spec := s.(*ast.TypeSpec)
					if obj, ok := pkg.TypesInfo.Defs[spec.Name].(*types.TypeName); ok {
						b.specs[obj] = spec.Type
					}
				}
			}
		}
	}
	return b
}

// strip takes pointers and aliases off t, and returns the marks on the names on the way.
func (b *builder) strip(t types.Type) (bare types.Type, pointer bool, marks levels) {
	for {
		switch typed := t.(type) {
		case *types.Pointer:
			pointer, t = true, typed.Elem()
		case *types.Alias:
			marks = marks.merge(b.marksOf(typed.Obj()), b.problems)
			t = typed.Rhs()
		case *types.Named:
			marks = marks.merge(b.marksOf(typed.Obj()), b.problems)
			if under, ok := typed.Underlying().(*types.Pointer); ok {
				t = under
				continue
			}
			return t, pointer, marks
		default:
			return t, pointer, marks
		}
	}
}

// marksOf returns the marks on a type's declaration, and on the type that it is declared as: `type A B` has B's marks.
func (b *builder) marksOf(obj *types.TypeName) levels {
	marks := b.comments.marks[obj.Pos()]
	spec, ok := b.specs[obj]
	if !ok || obj.IsAlias() {
		return marks
	}
	if named, ok := b.info[obj.Pkg().Path()].TypesInfo.TypeOf(spec).(interface{ Obj() *types.TypeName }); ok &&
		!isTypeParam(named) {
		_, _, inherited := b.strip(named.(types.Type))
		marks = inherited.merge(marks, b.problems)
	}
	return marks
}

func isTypeParam(t any) bool {
	_, is := t.(*types.TypeParam)
	return is
}

// useOf makes a use of the type t with marks of its own.
func (b *builder) useOf(t types.Type, own levels, at site) *use {
	bare, pointer, marks := b.strip(t)
	u := &use{pointer: pointer, typ: b.typeOf(bare), marks: marks.merge(own, b.problems)}
	b.problems.fitTopology(u)
	b.later(func() { b.problems.fit(u, at) })
	return u
}

// typeOf returns the goType of t, pointers and aliases aside.
func (b *builder) typeOf(t types.Type) *goType {
	t, _, _ = b.strip(t)
	if s, ok := b.made.At(t).(*goType); ok {
		return s
	}
	s := &goType{bare: t, form: unknownForm, declared: b.declarationOf(t)}
	if named, ok := t.(*types.Named); ok {
		s.hints = b.comments.hints[named.Origin().Obj().Pos()]
	}
	b.made.Set(t, s)
	if isNamed(t, metaV1, "ObjectMeta") || isNamed(t, metaV1, "ListMeta") {
		return s // the API server's, not the schema's
	}
	switch under := t.Underlying().(type) {
	case *types.Struct:
		s.form = structForm
		s.fields = b.fieldsOf(under, s.declared.name, map[*types.Struct]bool{})
	case *types.Map:
		s.form = mapForm
		s.elem = b.useOf(under.Elem(), nil, inValues)
	case *types.Slice:
		b.list(s, under.Elem())
	case *types.Array:
		b.list(s, under.Elem())
	case *types.Basic:
		s.form = scalarForm
	}
	return s
}

func (b *builder) list(s *goType, elem types.Type) {
	if basic, ok := elem.Underlying().(*types.Basic); ok && basic.Kind() == types.Byte {
		s.form = scalarForm // encoding/json writes it as a string
		return
	}
	s.form = listForm
	s.elem = b.useOf(elem, nil, inItems)
}

// fieldsOf returns the fields of st as encoding/json sees them: an inlined struct gives its fields, unless an outer
// struct has one of that name. Owner is the name of st's type, and inlining holds the structs that st is inlined into.
func (b *builder) fieldsOf(st *types.Struct, owner string, inlining map[*types.Struct]bool) []*field {
	inlining[st] = true
	defer delete(inlining, st)
	var all []*field
	outer := map[string]bool{}
	isInlined := map[*field]bool{}
	for i := range st.NumFields() {
		v, tag := st.Field(i), parseTag(st.Tag(i))
		own := b.comments.marks[v.Origin().Pos()]
		switch {
		case tag.skip:
			b.problems.refuse(own, "the field has the json tag \"-\", so it is not part of the API: lock a field "+
				"that is")
			continue
		case !v.Exported() && !v.Embedded():
			b.problems.refuse(own, "the field is not exported, so it is not part of the API: lock a field that is")
			continue
		}
		if v.Embedded() && tag.name == "" || tag.inline {
			bare, _, marks := b.strip(v.Type())
			if inner, ok := bare.Underlying().(*types.Struct); ok {
				b.problems.refuse(marks.merge(own, b.problems),
					"an inlined struct has no property of its own: put the "+
						"marker on its fields, or give the field a name in its json tag")
				if !inlining[inner] {
					for _, f := range b.fieldsOf(inner, b.declarationOf(bare).name, inlining) {
						isInlined[f] = true
						all = append(all, f)
					}
				}
				continue
			}
		}
		pos := b.fset.PositionFor(v.Origin().Pos(), false)
		if invalid(v.Type()) {
			b.problems.at(pos, "", "the type of field %s cannot be found: make its package compile, or name it among "+
				"the packages too", v.Name())
			continue
		}
		f := &field{use: b.useOf(v.Type(), own, inField), tag: tag, goName: v.Name(), owner: owner, pos: pos,
			hints: b.comments.hints[v.Origin().Pos()]}
		if f.name == "" {
			f.name = v.Name()
		}
		outer[f.name] = true
		all = append(all, f)
		b.later(func() {
			b.problems.roundTrip(f)
			b.problems.zeroValue(f)
		})
	}
	return slices.DeleteFunc(all, func(f *field) bool { return isInlined[f] && outer[f.name] })
}

// invalid reports whether t or what it holds is a type that could not be found.
func invalid(t types.Type) bool {
	switch t := t.(type) {
	case *types.Pointer:
		return invalid(t.Elem())
	case *types.Slice:
		return invalid(t.Elem())
	case *types.Array:
		return invalid(t.Elem())
	case *types.Map:
		return invalid(t.Elem())
	}
	return t == types.Typ[types.Invalid]
}
