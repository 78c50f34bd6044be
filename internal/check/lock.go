package check

import (
	"slices"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Frozen is x-kubernetes-immutable: neither the value nor its presence may change, for the whole subtree.
type Frozen struct {
	*Field
}

var _ Node = (*Frozen)(nil)

// Check implements Node.
func (n *Frozen) Check(m *Memo, newVal, oldVal Value) *Found {
	if newVal.OK == oldVal.OK && (!newVal.OK || m.Same(n.Equality, newVal.Data, oldVal.Data)) {
		return nil
	}
	return refuse(Refusal{Lock: schema.Immutable, LockPath: n.LockPath, Field: n.Field, New: newVal, Old: oldVal, Whole: true})
}

// CheckJSON implements Node.
func (n *Frozen) CheckJSON(m *Memo, p *jsonscan.Pair) *Found { return checkDecoded(n, m, p) }

// KeyLock is a lock on the keys of a map or keyed list, or on the items of a set.
type KeyLock struct {
	Lock                    schema.Lock
	LockPath                *schema.Path
	RefuseAdd, RefuseRemove bool
	Member                  *Field // of the values under the keys, or of the items
}

func refuseRemoval(locks []KeyLock) bool {
	return slices.ContainsFunc(locks, func(l KeyLock) bool { return l.RefuseRemove })
}

// added refuses a key or item that was added with this value; nil if the lock allows it.
func (l *KeyLock) added(value any) *Found {
	if !l.RefuseAdd {
		return nil
	}
	return refuse(Refusal{Lock: l.Lock, LockPath: l.LockPath, Field: l.Member, New: present(value)})
}

// removed refuses a key or item that was removed; nil if the lock allows it.
func (l *KeyLock) removed(key any) *Found {
	if !l.RefuseRemove {
		return nil
	}
	return refuse(Refusal{Lock: l.Lock, LockPath: l.LockPath, Key: present(key)})
}
