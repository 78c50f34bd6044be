package markers

import (
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"
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
	pos    token.Position
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
