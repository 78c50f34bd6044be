package immutability

import (
	"github.com/fieldlock/fieldlock/internal/check"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Lock names what a violation breaks.
type Lock string

// The locks, by the names that reports give them; the package comment says what each means. LockIncomparable is not a lock
// of a schema: it is reported where a lock applies and the two values cannot be compared.
const (
	LockImmutable     = Lock(schema.Immutable)
	LockImmutableKeys = Lock(schema.ImmutableKeys)
	LockAdditionOnly  = Lock(schema.AdditionOnly)
	LockDeletionOnly  = Lock(schema.DeletionOnly)
	LockNoSet         = Lock(schema.NoSet)
	LockNoUnset       = Lock(schema.NoUnset)
	LockNoModify      = Lock(schema.NoModify)
	LockNoAddItem     = Lock(schema.NoAddItem)
	LockNoRemoveItem  = Lock(schema.NoRemoveItem)
	LockIncomparable  = Lock(check.Incomparable)
)

// LockedField is a location with locks, as Locks lists them.
type LockedField struct {
	// Path is the field for people, such as "spec.nodes[*].zone"; SchemaPath is its JSON pointer in the schema.
	Path, SchemaPath string
	// Locks are its locks, at least one, in the order of the constants.
	Locks []Lock
}

// lockedField is a LockedField before its paths are text.
type lockedField struct {
	path, lockPath *schema.Path
	locks          []schema.Lock
}

// maxRepeated is how many locations Locks lists again for definitions that several fields refer to.
const maxRepeated = 10_000

// locksOf returns the locked fields of a schema.
func locksOf(t *schema.Tree) []lockedField {
	locked := t.Holding(func(l *schema.Location) bool { return l.Marks.Locked() })
	var fields []lockedField
	t.Root.DescendAll(maxRepeated, func(l *schema.Location, at *schema.Path) (below bool) {
		if l.Marks.Locked() {
			fields = append(fields, lockedField{at, l.LockPath(), l.Marks.Locks})
		}
		return locked[l] && !l.Marks.Has(schema.Immutable)
	})
	return fields
}
