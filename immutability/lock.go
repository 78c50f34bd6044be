package immutability

import (
	"github.com/fieldlock/fieldlock/internal/check"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Lock names what a violation breaks.
type Lock string

// The locks, by the names that reports give them. Incomparable is not a lock of a schema: it is reported where a lock
// applies and the two values cannot be compared.
const (
	Immutable     = Lock(schema.Immutable)
	ImmutableKeys = Lock(schema.ImmutableKeys)
	AdditionOnly  = Lock(schema.AdditionOnly)
	DeletionOnly  = Lock(schema.DeletionOnly)
	NoSet         = Lock(schema.NoSet)
	NoUnset       = Lock(schema.NoUnset)
	NoModify      = Lock(schema.NoModify)
	NoAddItem     = Lock(schema.NoAddItem)
	NoRemoveItem  = Lock(schema.NoRemoveItem)
	Incomparable  = Lock(check.Incomparable)
)

// The extension keys that Compile reads; the package comment says what each means. The first four are locks.
const (
	KeyImmutable     = schema.KeyImmutable     // x-kubernetes-immutable: true
	KeyImmutableKeys = schema.KeyImmutableKeys // x-kubernetes-immutable-keys: true
	KeyAdditionOnly  = schema.KeyAdditionOnly  // x-kubernetes-addition-only: true
	KeyDeletionOnly  = schema.KeyDeletionOnly  // x-kubernetes-deletion-only: true
	KeyUpdate        = schema.KeyUpdate        // x-fieldlock-update: a list of NoSet, NoUnset, NoModify, NoAddItem, NoRemoveItem
	KeyNormalize     = schema.KeyNormalize     // x-kubernetes-normalize: undefined or zero
	KeyMapListOrder  = schema.KeyMapListOrder  // x-fieldlock-map-list-order: ignored

	KeyListType    = schema.KeyListType    // x-kubernetes-list-type: atomic, set or map
	KeyListMapKeys = schema.KeyListMapKeys // x-kubernetes-list-map-keys: a list of names
	KeyMapType     = schema.KeyMapType     // x-kubernetes-map-type: atomic or granular
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
