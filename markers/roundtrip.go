package markers

import (
	"go/types"
	"slices"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// roundTrip reports a normalization of f that does not match what Go makes of f when it decodes an object and encodes it
// again, and one that is missing where protobuf needs it. The table in package normalize's documentation is the rule.
func (p *problems) roundTrip(f *field) {
	own := f.marks.at(0)
	m, ok := own.get(schema.KeyNormalize)
	if !ok {
		p.protobuf(f, own)
		return
	}
	typ := types.TypeString(f.typ.bare, nil)
	switch {
	case f.pointer:
		p.of(m, "%s is a pointer, which keeps absent and empty apart: remove the marker, or make the field no pointer", f.goName)
	case isQuantity(f.typ.bare):
		p.of(m, "an absent quantity is written as \"0\", which is not an empty value of its schema: remove it")
	case isIntOrString(f.typ.bare):
		if m.value != schema.NormalizeZero {
			p.of(m, "an absent IntOrString is written as 0: write +normalize=zero")
		}
	case isTime(f.typ.bare):
		// Absent is written as null, which both modes cover.
	case f.typ.form == unknownForm:
		p.of(m, "how %s is written depends on its value: remove it", typ)
	case f.typ.form == scalarForm:
		if m.value != schema.NormalizeZero {
			p.of(m, "Go does not tell an absent %s from its zero value, and it has no null, {} and []: write +normalize=zero", typ)
		}
	case f.typ.form == structForm && !f.omitZero:
		if inner := f.typ.writtenWhenZero(); inner != nil {
			remedy := "omitempty into the json tag of " + inner.goName
			if inner.omitEmpty || inner.typ.form == structForm && !inner.pointer {
				remedy = "omitzero into the json tag of " + inner.goName // omitempty omits no struct and no array
			}
			if !isQuantity(inner.typ.bare) {
				remedy += ", or +normalize=zero on it"
			}
			p.of(m, "an absent %s is written with its field %s, so that it is not empty: put %s", f.goName, inner.name, remedy)
		}
	}
}

// protobuf reports a list or map whose presence is locked, that protobuf stores, and that is not normalized. Other
// packages have to mend it themselves; the lock stays as strict as it is.
func (p *problems) protobuf(f *field, own marks) {
	if !f.tag.protobuf || f.pointer || f.typ.form != listForm && f.typ.form != mapForm {
		return
	}
	m, locked := own.get(schema.KeyImmutable)
	if update, ok := own.get(schema.KeyUpdate); ok {
		words := update.value.([]string)
		m, locked = update, slices.Contains(words, string(schema.NoSet)) || slices.Contains(words, string(schema.NoUnset))
	}
	if locked && !m.foreign {
		p.of(m, "%s has a protobuf tag, and protobuf stores unset, empty and null as one: add +normalize=undefined", f.goName)
	}
}

// writtenWhenZero returns a field that the zero value of the struct s is written with and that no mark takes away.
func (s *goType) writtenWhenZero() *field {
	for _, f := range s.fields {
		m, marked := f.marks.at(0).get(schema.KeyNormalize)
		zero := marked && m.value == schema.NormalizeZero
		gone := false // whether it is left out, or a mark takes what is written for absent
		switch {
		case f.omitted():
			gone = true
		case f.pointer: // null, which a mark on a pointer is not allowed to take away
		case isQuantity(f.typ.bare): // "0", which is not the zero value of a string
		case isTime(f.typ.bare): // null
			gone = marked
		case isIntOrString(f.typ.bare): // 0
			gone = zero
		case f.typ.form == structForm && marked:
			if inner := f.typ.writtenWhenZero(); inner != nil {
				return inner
			}
			gone = true
		case f.typ.form == scalarForm:
			gone = zero
		case f.typ.form != structForm:
			gone = marked
		}
		if !gone {
			return f
		}
	}
	return nil
}

// omitted reports whether encoding/json leaves the zero value of f out. With omitempty it does so for false, 0, nil and
// what has no length, but never for a struct, as Quantity, Time and IntOrString are, or an array with items.
func (f *field) omitted() bool {
	if f.omitZero || !f.omitEmpty || f.pointer {
		return f.omitZero || f.omitEmpty
	}
	switch under := f.typ.bare.Underlying().(type) {
	case *types.Struct:
		return false
	case *types.Array:
		return under.Len() == 0
	}
	return true
}

func isQuantity(t types.Type) bool {
	return isNamed(t, "k8s.io/apimachinery/pkg/api/resource", "Quantity")
}

func isIntOrString(t types.Type) bool {
	return isNamed(t, "k8s.io/apimachinery/pkg/util/intstr", "IntOrString")
}

func isTime(t types.Type) bool { return isNamed(t, metaV1, "Time") || isNamed(t, metaV1, "MicroTime") }
