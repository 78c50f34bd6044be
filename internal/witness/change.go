package witness

import (
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// change sets the value at a path, or removes it.
type change struct {
	path  path
	value any
	gone  bool
	join  bool // value is a list of items that come after those that are there
}

// put returns a copy of v, a value of s, with value at p; containers that are missing on the way are the smallest ones.
func put(v any, s *spec.Schema, p path, value any) (any, bool) {
	for n := 1; n < len(p); n++ {
		if child, ok := get(v, p[:n]); ok && child != nil {
			continue
		}
		var ok bool
		if v, ok = set(v, p[:n], smallest(schemaAt(s, p[:n]))); !ok {
			return v, false
		}
	}
	return set(v, p, value)
}
