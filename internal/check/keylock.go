package check

import (
	"slices"

	"github.com/fieldlock/fieldlock/internal/schema"
)

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
