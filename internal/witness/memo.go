package witness

import (
	"reflect"
)

type prepared struct {
	obj map[string]any
	err error
}

// manyRemembered bounds what a memo holds.
const manyRemembered = 2000

// of returns the identity of obj.
func (m *memo) of(obj map[string]any) uintptr {
	if obj == nil {
		return 0
	}
	return reflect.ValueOf(obj).Pointer()
}

// keep keeps objects alive, so that no other objects get their identities.
func (m *memo) keep(objects ...map[string]any) {
	if m.prepared == nil || len(m.alive) > manyRemembered {
		*m = memo{prepared: map[uintptr]prepared{}, steps: map[[2]uintptr][]problem{}, refusals: map[[2]uintptr][]Refusal{}}
	}
	m.alive = append(m.alive, objects...)
}

// memo remembers what a version says of objects and updates, by the identity of the objects: an edit of a sequence leaves
// most of its objects as they are. The objects must not change.
type memo struct {
	prepared map[uintptr]prepared
	steps    map[[2]uintptr][]problem
	refusals map[[2]uintptr][]Refusal
	alive    []map[string]any // what the identities belong to
}
