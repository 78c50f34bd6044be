package celrule

import (
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// combines reports whether s has allOf, anyOf, oneOf or not.
func combines(s *spec.Schema) bool {
	return len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) > 0 || s.Not != nil
}

// demands tells whether an object satisfies the combinations of schemas at l, as far as they are about which fields are
// present and which of an enum's values they have. The rest is opaque.
func demands(m *scenario, object int, l *schema.Location, s *spec.Schema) outcome {
	result := yes
	for i := range s.AllOf {
		result = and(result, satisfies(m, object, l, &s.AllOf[i]))
	}
	if len(s.AnyOf) > 0 {
		some := no
		for i := range s.AnyOf {
			some = or(some, satisfies(m, object, l, &s.AnyOf[i]))
		}
		result = and(result, some)
	}
	if len(s.OneOf) > 0 {
		none, one := yes, no
		for i := range s.OneOf {
			this := satisfies(m, object, l, &s.OneOf[i])
			none, one = and(none, not(this)), or(and(one, not(this)), and(none, this))
		}
		result = and(result, one)
	}
	if s.Not != nil {
		result = and(result, not(satisfies(m, object, l, s.Not)))
	}
	return result
}

// satisfies tells whether an object satisfies s, a part of a combination at l.
func satisfies(m *scenario, object int, l *schema.Location, s *spec.Schema) outcome {
	result := demands(m, object, l, s)
	for _, name := range s.Required {
		result = and(result, hasField(m, object, l.Property(name)))
	}
	for name := range s.Properties {
		property := s.Properties[name]
		there := hasField(m, object, l.Property(name))
		result = and(result, or(not(there), isOneOf(m, object, l.Property(name), there, &property)))
	}
	if s.Type != nil && !s.Type.Contains("object") || s.Items != nil || s.AdditionalProperties != nil || s.MinProperties != nil || s.MaxProperties != nil || len(s.Enum) > 0 ||
		s.Pattern != "" || s.MinItems != nil || s.MaxItems != nil || s.MinLength != nil || s.MaxLength != nil || s.Minimum != nil || s.Maximum != nil {
		result = and(result, opaque)
	}
	return result
}

func hasField(m *scenario, object int, l *schema.Location) outcome {
	if l == nil || !m.tracked[l] {
		return opaque
	}
	return m.present(object, l)
}

// isOneOf tells whether a field has one of the values of the enum of s.
func isOneOf(m *scenario, object int, l *schema.Location, there outcome, s *spec.Schema) outcome {
	if there != yes || len(s.Enum) == 0 || m.composite(l) {
		return opaque
	}
	v, ok := m.value(object, l)
	if !ok {
		return open
	}
	return of(inEnum(s, v))
}
