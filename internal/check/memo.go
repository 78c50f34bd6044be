package check

import (
	"hash/maphash"
	"reflect"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/normalize"
)

// Memo remembers what one check has found out, so that no subtree is looked at once for each level above it. The zero
// Memo is ready. It is for one goroutine, and for objects that do not change meanwhile.
//
// A check of an update that changes nothing leaves it empty: its maps are made only when something is put into them.
type Memo struct {
	// nested is set while comparing values below which other locks compare again.
	nested   bool
	pairs    map[pair]bool       // whether two containers are equal
	hashes   map[hashed]uint64   // of containers, under seed
	differ   map[compared]*Found // how two containers differ
	absences normalize.Absences
	seed     maphash.Seed
	seeded   bool
	held     []any // decoded values

	// reread is how many bytes of encoded lists may still be read once more. Without a limit, lists in lists would be read
	// once for each level above them.
	reread int

	// work counts the values that were compared or hashed, if counting is set: for tests of growth.
	work     int
	counting bool
}

// hold keeps a value in memory until the check ends, and returns it. Values are remembered by their addresses, so one that
// is decoded during the check must not make room for another.
func (m *Memo) hold(v any) any {
	if _, container := identityOf(v); container {
		m.held = append(m.held, v)
	}
	return v
}

// used reports whether there is anything to forget.
func (m *Memo) used() bool {
	return m.held != nil || m.pairs != nil || m.hashes != nil || m.differ != nil || m.seeded || m.absences.Visited() > 0
}

// identity tells containers apart: the address of an object, or the address and length of a list.
type identity struct {
	address uintptr
	length  int
}

// identityOf returns the identity of a container. ok is false for scalars, and for empty lists, which share an address.
func identityOf(v any) (id identity, ok bool) {
	switch v := v.(type) {
	case map[string]any:
		return identity{address: reflect.ValueOf(v).Pointer()}, v != nil
	case []any:
		return identity{reflect.ValueOf(v).Pointer(), len(v)}, len(v) > 0
	}
	return identity{}, false
}

type pair struct {
	equality *Equality
	a, b     identity
}

type hashed struct {
	equality *Equality
	v        identity
}

// pairOf returns the key of two containers; ok is false if one of them is none.
func pairOf(e *Equality, a, b any) (p pair, ok bool) {
	p.equality = e
	if p.a, ok = identityOf(a); !ok {
		return p, false
	}
	p.b, ok = identityOf(b)
	return p, ok
}

// known returns whether a and b are equal under e, if that is remembered.
func (m *Memo) known(e *Equality, a, b any) (equal, ok bool) {
	if len(m.pairs) == 0 {
		return false, false
	}
	if p, container := pairOf(e, a, b); container {
		equal, ok = m.pairs[p]
	}
	return equal, ok
}

// remember keeps whether a and b are equal under e, and returns it.
func (m *Memo) remember(e *Equality, a, b any, equal bool) bool {
	if p, ok := pairOf(e, a, b); ok && m.nested {
		if m.pairs == nil {
			m.pairs = map[pair]bool{}
		}
		m.pairs[p] = equal
	}
	return equal
}

// Same reports whether a and b are equal under e. Values that are equal as JSON are equal under every equality, and
// mostly they are, so e is asked only when they are not.
func (m *Memo) Same(e *Equality, a, b any) bool {
	if equal, ok := m.known(e, a, b); ok {
		return equal
	}
	if _, unequal := m.known(nil, a, b); !unequal {
		if m.equalJSON(a, b) {
			return true
		}
		if m.nested {
			m.markUnequal(a, b)
		}
	}
	return e != nil && m.Equal(e, a, b)
}

// markUnequal reports whether a and b differ as JSON. It remembers all pairs of containers on the way to their first
// difference, so that a lock on one of them need not look for it again.
func (m *Memo) markUnequal(a, b any) bool {
	differ := m.unequal(a, b)
	if differ {
		m.remember(nil, a, b, false)
	}
	return differ
}

func (m *Memo) unequal(a, b any) bool {
	m.work++
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok && len(x) == len(y) && x != nil && y != nil {
			for key, value := range x {
				if other, ok := y[key]; !ok || m.markUnequal(value, other) {
					return true
				}
			}
			return false
		}
	case []any:
		if y, ok := b.([]any); ok && len(x) == len(y) && x != nil && y != nil {
			for i := range x {
				if m.markUnequal(x[i], y[i]) {
					return true
				}
			}
			return false
		}
	}
	return !jsonvalue.Equal(a, b)
}

// equalJSON is jsonvalue.Equal, counted.
func (m *Memo) equalJSON(a, b any) bool {
	if m.counting {
		m.work += visited(a, b)
	}
	return jsonvalue.Equal(a, b)
}

// hashJSON is jsonvalue.Hash, counted.
func (m *Memo) hashJSON(v any) uint64 {
	if m.counting {
		m.work += visited(v, v)
	}
	return jsonvalue.Hash(m.seedOnce(), v)
}

// visited is about how many values of a and b jsonvalue.Equal looks at.
func visited(a, b any) int {
	n, _ := visit(a, b)
	return n
}

func visit(a, b any) (n int, equal bool) {
	n = 1
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok && len(x) == len(y) {
			for key, value := range x {
				below, equal := visit(value, y[key])
				if n += below; !equal {
					return n, false
				}
			}
			return n, true
		}
	case []any:
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				below, equal := visit(x[i], y[i])
				if n += below; !equal {
					return n, false
				}
			}
			return n, true
		}
	}
	return n, jsonvalue.Equal(a, b)
}

// Absent reports whether a property with this value counts as absent.
func (m *Memo) Absent(p normalize.Property, value any) bool { return m.absences.Absent(p, value) }

// seedOnce returns the seed of the hashes that m remembers.
func (m *Memo) seedOnce() maphash.Seed {
	if !m.seeded {
		m.seed, m.seeded = maphash.MakeSeed(), true
	}
	return m.seed
}
