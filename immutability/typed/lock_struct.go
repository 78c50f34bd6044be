package typed

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/fieldlock/fieldlock/internal/check"
)

// structFields keeps the locked fields of a struct.
type structFields struct{ fields []lockedField }

// lockedField is a field with locks on it or below it.
type lockedField struct {
	at    place
	texts bool     // a string that may not change, compared here
	equal comparer // of a value that may not change, nil for others: mostly it settles the matter
	lock  lock
}

// place leads to a field of a struct, through embedded pointers.
type place struct {
	offset uintptr
	then   []uintptr // after each embedded pointer, the offset from there
}

// of returns the field of the struct at p, nil where an embedded pointer is nil.
func (a *place) of(p unsafe.Pointer) unsafe.Pointer {
	p = unsafe.Add(p, a.offset)
	for _, offset := range a.then {
		if p = *(*unsafe.Pointer)(p); p == nil {
			return nil
		}
		p = unsafe.Add(p, offset)
	}
	return p
}

// placeOf returns the place of the field with an index as in reflect.
func placeOf(t reflect.Type, index []int) place {
	var at place
	last := &at.offset
	for i, n := range index {
		if i > 0 && t.Kind() == reflect.Pointer {
			t = t.Elem()
			at.then = append(at.then, 0)
			last = &at.then[len(at.then)-1]
		}
		sf := t.Field(n)
		*last += sf.Offset
		t = sf.Type
	}
	return at
}

func (k *locker) structFields(t reflect.Type, n *check.ContainerNode, path string) (lock, error) {
	if n.Object == nil {
		return nil, fmt.Errorf("%s: the schema has a list, and the Go type is %s", path, t)
	}
	if n.Object.Values != nil || len(n.Object.Locks) > 0 {
		return k.whole(t, n, path) // the keys of a struct are its fields
	}
	s := &structFields{}
	k.built[lockKey{t, n}] = s
	fields := map[string]jsonField{}
	for _, f := range jsonFields(t) {
		fields[f.name] = f
	}
	for i := range n.Object.Properties {
		p := &n.Object.Properties[i]
		f, ok := fields[p.Name]
		if !ok {
			return nil, fmt.Errorf("%s: the schema locks %q or something in it, and the Go type %s has no such field", path, p.Name, t)
		}
		inner, err := k.of(f.typ, p.Node, holder{f, p.Normalized, p.Presence}, path+"."+fieldName(t, f))
		if err != nil {
			return nil, err
		}
		locked := lockedField{at: placeOf(t, f.index), lock: inner}
		if nested, ok := inner.(*structFields); ok && f.typ.Kind() == reflect.Struct && len(locked.at.then) == 0 {
			for _, below := range nested.fields { // a struct in this one is always there: its fields are as those of this one
				below.at.offset += locked.at.offset
				s.fields = append(s.fields, below)
			}
			continue
		}
		if frozen, ok := inner.(*frozen); ok && len(locked.at.then) == 0 {
			if _, locked.texts = frozen.field.inner.(text); frozen.field.zero == nil {
				locked.equal = frozen.field.inner
			}
		}
		s.fields = append(s.fields, locked)
	}
	return s, nil
}

func fieldName(t reflect.Type, f jsonField) string { return t.FieldByIndex(f.index).Name }

// onlyTexts returns where the locked fields are if all are strings that may not change, else nil.
func (l *structFields) onlyTexts() []uintptr {
	var offsets []uintptr
	for i := range l.fields {
		if !l.fields[i].texts {
			return nil
		}
		offsets = append(offsets, l.fields[i].at.offset)
	}
	return offsets
}

func (l *structFields) keeps(newVal, oldVal unsafe.Pointer, depth int) bool {
	if newVal == nil || oldVal == nil {
		return true // the container comes or goes, which frees what is in it
	}
	for i := range l.fields {
		f := &l.fields[i]
		if f.texts {
			if *(*string)(unsafe.Add(newVal, f.at.offset)) != *(*string)(unsafe.Add(oldVal, f.at.offset)) {
				return false
			}
			continue
		}
		if f.equal != nil && f.equal.equal(unsafe.Add(newVal, f.at.offset), unsafe.Add(oldVal, f.at.offset), depth) {
			continue
		}
		newField, oldField := unsafe.Add(newVal, f.at.offset), unsafe.Add(oldVal, f.at.offset)
		if f.at.then != nil {
			newField, oldField = f.at.of(newVal), f.at.of(oldVal)
		}
		if !f.lock.keeps(newField, oldField, depth) {
			return false
		}
	}
	return true
}

// keyLocks says what the locks on keys or items refuse.
type keyLocks struct{ add, remove bool }

func keyLocksOf(locks []check.KeyLock) keyLocks {
	var k keyLocks
	for _, l := range locks {
		k.add = k.add || l.RefuseAdd
		k.remove = k.remove || l.RefuseRemove
	}
	return k
}
