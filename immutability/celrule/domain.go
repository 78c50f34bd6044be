package celrule

import (
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// fresh is a value that differs from all literals. Objects have the same value if the numbers are the same.
type fresh int

// emptyValue is a list, map or object of size 0.
type emptyValue struct{}

// maxEnum bounds how many values of an enum are tried that no rule names.
const maxEnum = 3

// domain lists values of s that are enough to tell apart what rules with these literals can: the literals, and for each
// object one more value that no rule names. Object n needs at most n+1 of those, because only their equality matters.
func domain(s *spec.Schema, literals []any, object int) []any {
	var values []any
	add := func(v any) {
		if !slices.Contains(values, v) && (admits(s, v) || v == any(emptyValue{})) {
			values = append(values, v)
		}
	}
	switch {
	case len(s.Enum) > 0:
		others := 0
		for _, e := range s.Enum {
			if v := valueIn(e); v != nil && (slices.Contains(literals, v) || others < maxEnum) {
				if !slices.Contains(literals, v) {
					others++
				}
				add(v)
			}
		}
		return values
	case s.Type.Contains("boolean"):
		return []any{false, true}
	case (s.Type.Contains("integer") || s.Type.Contains("number")) && !isIntOrString(s):
		return integers(s, literals, add, &values)
	}
	for i := range object + 1 {
		values = append(values, fresh(i))
	}
	for _, v := range literals {
		add(v)
	}
	if (s.Type.Contains("array") || s.Type.Contains("object")) && emptyAllowed(s) {
		add(emptyValue{})
	}
	return values
}

// integers lists numbers around the bounds and the literals, because rules order numbers.
func integers(s *spec.Schema, literals []any, add func(any), values *[]any) []any {
	base := int64(1)
	if s.Minimum != nil {
		base = int64(*s.Minimum)
	}
	if s.Maximum != nil && float64(base) > *s.Maximum {
		base = int64(*s.Maximum)
	}
	for _, n := range []int64{base, base + 1, base + 2, base - 1, base - 2} {
		add(n)
	}
	for _, v := range literals {
		if n, ok := v.(int64); ok {
			add(n)
			add(n + 1)
			add(n - 1)
		}
	}
	return *values
}
