package yamldoc

import (
	"cmp"
	"slices"
)

// same reports whether two decoded values are equal; an integer equals the float of its value.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, value := range a {
			other, ok := b[name]
			if !ok || !same(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case int64:
		if f, ok := b.(float64); ok {
			return cmp.Compare(float64(a), f) == 0
		}
	case float64:
		if i, ok := b.(int64); ok {
			return cmp.Compare(a, float64(i)) == 0
		}
	}
	return a == b
}
