package typed

import (
	"fmt"
	"reflect"
	"unicode/utf8"
	"unsafe"

	"github.com/fieldlock/fieldlock/internal/check"
)

// mapKeys keeps the keys of a map, and what is locked in values under keys that both objects have.
type mapKeys struct {
	mapping
	keyLocks
	values lock           // nil for none
	none   unsafe.Pointer // a nil map, for one that does not exist
}

// keys returns the lock for a map.
func (k *locker) keys(t reflect.Type, n *check.ContainerNode, path string) (lock, error) {
	if n.Object == nil {
		return nil, fmt.Errorf("%s: the schema has a list, and the Go type is %s", path, t)
	}
	if len(n.Object.Properties) > 0 || len(n.Object.Named) > 0 || t.Key().Kind() != reflect.String {
		return k.whole(t, n, path)
	}
	m := &mapKeys{mapping: mappingOf(t), keyLocks: keyLocksOf(n.Object.Locks)}
	k.built[lockKey{t, n}] = m
	if n.Object.Values == nil {
		return m, nil
	}
	var err error
	m.values, err = k.of(t.Elem(), n.Object.Values, holder{}, path+"[]")
	return m, err
}

func (l *mapKeys) keeps(newVal, oldVal unsafe.Pointer, depth int) bool {
	if newVal == nil {
		newVal = unsafe.Pointer(&l.none)
	}
	if oldVal == nil {
		oldVal = unsafe.Pointer(&l.none)
	}
	if depth >= maxDepth {
		return false
	}
	both, kept := l.mapping.keeps(l, newVal, oldVal, depth+1)
	if !kept || both == l.length(oldVal) {
		return kept
	}
	return !l.remove && l.clear(oldVal, newVal)
}

// mayAdd reports whether a key may be added. Of keys that encoding/json changes, two may be written alike.
func (l *mapKeys) mayAdd(key string) bool { return !l.add && utf8.ValidString(key) }
