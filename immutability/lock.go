package immutability

import "github.com/fieldlock/fieldlock/internal/extension"

// Lock names what a violation breaks.
type Lock string

// The locks, by the names that reports give them. Incomparable is no lock of a schema: it stands where a lock applies
// and the two sides cannot be compared.
const (
	Immutable     Lock = "immutable"
	ImmutableKeys Lock = "immutable-keys"
	AdditionOnly  Lock = "addition-only"
	DeletionOnly  Lock = "deletion-only"
	NoSet         Lock = extension.NoSet
	NoUnset       Lock = extension.NoUnset
	NoModify      Lock = extension.NoModify
	NoAddItem     Lock = extension.NoAddItem
	NoRemoveItem  Lock = extension.NoRemoveItem
	Incomparable  Lock = "incomparable"
)

// locksOf lists the locks of a node, in the order in which they are reported.
func locksOf(m *extension.Marks) []Lock {
	var locks []Lock
	for _, l := range [...]struct {
		on   bool
		lock Lock
	}{
		{m.Immutable, Immutable}, {m.ImmutableKeys, ImmutableKeys}, {m.AdditionOnly, AdditionOnly}, {m.DeletionOnly, DeletionOnly},
	} {
		if l.on {
			locks = append(locks, l.lock)
		}
	}
	for _, word := range m.Update {
		locks = append(locks, Lock(word))
	}
	return locks
}
