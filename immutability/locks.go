package immutability

import (
	"cmp"
	"slices"
	"strings"
)

// LockedField is a location with locks, as Locks lists them.
type LockedField struct {
	// Path is the place for people, such as "spec.nodes[*].zone"; SchemaPath is its JSON pointer in the schema.
	Path, SchemaPath string
	// Locks are its locks, never none, in the order of the constants.
	Locks []Lock
}

// lockedField is a LockedField before its paths are text.
type lockedField struct {
	path, pointer *trail
	locks         []Lock
}

// Locks lists the locked fields of the schema, sorted by path, without those below an immutable field. A field of a
// recursive schema is listed once, where it is first met.
func (v *Validator) Locks() []LockedField {
	fields := make([]LockedField, len(v.locks))
	for i, f := range v.locks {
		fields[i] = LockedField{Path: f.path.readable(), SchemaPath: f.pointer.pointer(), Locks: slices.Clone(f.locks)}
	}
	slices.SortFunc(fields, func(x, y LockedField) int {
		return cmp.Or(strings.Compare(x.Path, y.Path), strings.Compare(x.SchemaPath, y.SchemaPath))
	})
	return fields
}

func (a *analysis) locks() []lockedField {
	var fields []lockedField
	seen := map[*body]bool{}
	var visit func(l *location, path *trail)
	visit = func(l *location, path *trail) {
		if !a.locked[l] {
			return
		}
		if l.marks.Locked() {
			fields = append(fields, lockedField{path, l.lockPath(), locksOf(&l.marks)})
		}
		if l.marks.Immutable || seen[l.body] {
			return
		}
		seen[l.body] = true
		l.children(func(child *location) { visit(child, path.below(child)) })
	}
	visit(a.root, nil)
	return fields
}
