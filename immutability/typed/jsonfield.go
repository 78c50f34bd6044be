package typed

import (
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// jsonField is a field of a struct that encoding/json writes as a member.
type jsonField struct {
	name  string // of the member
	index []int  // as for reflect.Type.FieldByIndex
	typ   reflect.Type

	omitEmpty bool
	omitZero  bool
	quoted    bool // a scalar that is written as a string
	tagged    bool // the name comes from the tag
}

// asksItself reports whether omitzero asks the value whether it is left out: the parts of it that are written do not decide
// that.
func (f *jsonField) asksItself() bool {
	if !f.omitZero {
		return false
	}
	t := f.typ
	if t.Kind() != reflect.Pointer {
		t = reflect.PointerTo(t)
	}
	_, ok := t.MethodByName("IsZero")
	return ok
}

// jsonFields lists what encoding/json writes of a struct, by its rules: the fields of embedded structs count as fields of
// the outer one, unless a field with the same name is nearer; of several at the same depth the one with a tag counts, and
// if that does not decide, none does.
func jsonFields(t reflect.Type) []jsonField {
	type level struct {
		typ   reflect.Type
		index []int
	}
	var all []jsonField
	current, next := []level{}, []level{{typ: t}}
	seen := map[reflect.Type]bool{}
	var count, nextCount map[reflect.Type]int
	for len(next) > 0 {
		current, next = next, current[:0]
		count, nextCount = nextCount, map[reflect.Type]int{}
		for _, l := range current {
			if seen[l.typ] {
				continue
			}
			seen[l.typ] = true
			for i := range l.typ.NumField() {
				f, embedded, ok := readField(l.typ.Field(i))
				if !ok {
					continue
				}
				f.index = append(slices.Clone(l.index), i)
				if embedded == nil {
					all = append(all, f)
					if count[l.typ] > 1 { // embedded twice at one depth: the two hide each other
						all = append(all, f)
					}
					continue
				}
				if nextCount[embedded]++; nextCount[embedded] == 1 {
					next = append(next, level{embedded, f.index})
				}
			}
		}
	}
	return dominant(all)
}

// readField reads the tag of a field. ok is false where the field is not written; embedded is set for a struct whose
// fields count as fields of the outer one.
func readField(sf reflect.StructField) (f jsonField, embedded reflect.Type, ok bool) {
	inner := sf.Type
	if inner.Name() == "" && inner.Kind() == reflect.Pointer {
		inner = inner.Elem()
	}
	if !sf.IsExported() && !(sf.Anonymous && inner.Kind() == reflect.Struct) {
		return f, nil, false
	}
	tag := sf.Tag.Get("json")
	if tag == "-" {
		return f, nil, false
	}
	name, options, _ := strings.Cut(tag, ",")
	if !validName(name) {
		name = ""
	}
	f = jsonField{name: name, typ: sf.Type, tagged: name != ""}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitempty":
			f.omitEmpty = true
		case "omitzero":
			f.omitZero = true
		case "string":
			f.quoted = isScalar(inner.Kind())
		}
	}
	if name == "" && sf.Anonymous && inner.Kind() == reflect.Struct {
		return f, inner, true
	}
	if name == "" {
		f.name = sf.Name
	}
	return f, nil, true
}

func isScalar(k reflect.Kind) bool {
	return k >= reflect.Bool && k <= reflect.Float64 || k == reflect.String
}

// validName reports whether encoding/json takes the name in a tag.
func validName(name string) bool {
	for _, c := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return name != ""
}

// dominant returns the fields that are not hidden, sorted by name.
func dominant(all []jsonField) []jsonField {
	slices.SortStableFunc(all, func(a, b jsonField) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		if c := len(a.index) - len(b.index); c != 0 {
			return c
		}
		if a.tagged != b.tagged {
			if a.tagged {
				return -1
			}
			return 1
		}
		return slices.Compare(a.index, b.index)
	})
	out := all[:0]
	for i := 0; i < len(all); {
		end := i + 1
		for end < len(all) && all[end].name == all[i].name {
			end++
		}
		if end == i+1 || len(all[i].index) != len(all[i+1].index) || all[i].tagged != all[i+1].tagged {
			out = append(out, all[i])
		}
		i = end
	}
	return out
}
