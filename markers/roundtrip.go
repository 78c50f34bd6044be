package markers

import (
	"go/types"
	"slices"

	"github.com/fieldlock/fieldlock/internal/extension"
)

// roundTrip reports a normalization of f that does not match what Go makes of f when it decodes an object and encodes it
// again, and one that is missing where protobuf needs it. The table in package normalize's documentation is the rule.
func (b *builder) roundTrip(f *field) {
	own := f.marks.at(0)
	m, ok := own.get(extension.Normalize)
	if !ok {
		b.protobuf(f, own)
		return
	}
	typ := types.TypeString(f.shape.typ, nil)
	switch {
	case f.pointer:
		b.problems.of(m, "%s is a pointer, which keeps absent and empty apart: remove the marker, or make the field no pointer", f.goName)
	case isQuantity(f.shape.typ):
		b.problems.of(m, "an absent quantity is written as \"0\", which is no empty value of its schema: remove it")
	case isIntOrString(f.shape.typ):
		if m.value != extension.NormalizeZero {
			b.problems.of(m, "an absent IntOrString is written as 0: write +normalize=zero")
		}
	case isTime(f.shape.typ):
		// Absent is written as null, which both modes cover.
	case f.shape.form == unknownForm:
		b.problems.of(m, "what %s is written as cannot be told: remove it", typ)
	case f.shape.form == scalarForm:
		if m.value != extension.NormalizeZero {
			b.problems.of(m, "an absent %s and its zero value are one in Go, null and {} and [] it cannot have: write +normalize=zero", typ)
		}
	case f.shape.form == structForm && !f.omitZero:
		if inner := f.shape.writtenWhenZero(); inner != nil {
			b.problems.of(m, "an absent %s is written with its field %s, so that it is not empty: put omitempty into the json tag of %s, or +normalize=zero on it", f.goName, inner.name, inner.goName)
		}
	}
}

// protobuf reports a list or map whose presence is locked, that protobuf stores, and that is not normalized. In other
// packages it is theirs to mend, and the lock stays as strict as it is.
func (b *builder) protobuf(f *field, own marks) {
	if !f.tag.protobuf || f.pointer || f.shape.form != listForm && f.shape.form != mapForm {
		return
	}
	m, locked := own.get(extension.Immutable)
	if update, ok := own.get(extension.Update); ok {
		words := update.value.([]string)
		m, locked = update, slices.Contains(words, extension.NoSet) || slices.Contains(words, extension.NoUnset)
	}
	if locked && !m.foreign {
		b.problems.of(m, "%s has a protobuf tag, and protobuf stores unset, empty and null as one: put +normalize=undefined beside the lock", f.goName)
	}
}

// writtenWhenZero returns a field that the zero value of the struct s is written with and that no mark takes away.
func (s *shape) writtenWhenZero() *field {
	for _, f := range s.fields {
		m, marked := f.marks.at(0).get(extension.Normalize)
		isStruct := f.shape.form == structForm && !f.pointer && !isTime(f.shape.typ) && !isIntOrString(f.shape.typ) && !isQuantity(f.shape.typ)
		switch {
		case f.omitZero, f.omitEmpty && !isStruct:
		case isStruct && marked:
			if inner := f.shape.writtenWhenZero(); inner != nil {
				return inner
			}
		case marked && (m.value == extension.NormalizeZero || f.shape.form != scalarForm):
		default:
			return f
		}
	}
	return nil
}

func isQuantity(t types.Type) bool {
	return isNamed(t, "k8s.io/apimachinery/pkg/api/resource", "Quantity")
}

func isIntOrString(t types.Type) bool {
	return isNamed(t, "k8s.io/apimachinery/pkg/util/intstr", "IntOrString")
}

func isTime(t types.Type) bool { return isNamed(t, metaV1, "Time") || isNamed(t, metaV1, "MicroTime") }
