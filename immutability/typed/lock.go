package typed

import (
	"fmt"
	"reflect"
	"unicode/utf8"
	"unsafe"

	"github.com/fieldlock/fieldlock/internal/check"
	"github.com/fieldlock/fieldlock/internal/normalizer"
)

// lock proves that an update breaks nothing at one location and below it. The values of one Go type are at newVal and
// oldVal; nil is a location that does not exist in the object. False means unknown: the update may be allowed.
type lock interface {
	keeps(newVal, oldVal unsafe.Pointer, depth int) bool
}

// holder says how a value comes to be absent: the tag of the field that holds it, and its normalization. The zero
// holder belongs to items and map values, which are always there.
type holder struct {
	jsonField
	normalized bool
	presence   normalizer.Property
}

// absent reports whether a value counts as absent because it is normalized.
func (h *holder) absent(value any) bool { return h.normalized && h.presence.Absent(value) }

// mayHide reports whether omitzero decides what inner takes for granted. A container that is left out has no keys, and
// no lock in it counts; an array, or a struct that is compared as a whole, looks the same in memory then as one that is
// written.
func (h *holder) mayHide(t reflect.Type, inner lock) bool {
	_, whole := inner.(*frozen)
	return h.asksItself() || h.omitZero && (whole || t.Kind() == reflect.Array)
}

// locker builds locks, each once, so that recursive types and schemas end.
type locker struct {
	comparers comparers
	built     map[lockKey]lock
}

type lockKey struct {
	typ  reflect.Type
	node check.Node
}

// of returns the lock for values of t at a node.
func (k *locker) of(t reflect.Type, node check.Node, h holder, path string) (lock, error) {
	switch node := node.(type) {
	case *check.Frozen:
		return k.frozen(t, node.Equality, h, path)
	case *check.Update:
		return k.update(t, node, h, path)
	case *check.ContainerNode:
		inner, err := k.container(t, node, path)
		if err == nil && h.mayHide(t, inner) {
			return k.frozen(t, node.Equality, h, path)
		}
		return inner, err
	}
	return nil, fmt.Errorf("%s: a lock of type %T is not known", path, node)
}

// frozen keeps a value that may not change at all.
type frozen struct{ field fieldComparer }

func (k *locker) frozen(t reflect.Type, e *check.Equality, h holder, path string) (*frozen, error) {
	field, err := k.comparers.field(t, h.jsonField, check.Member{Equality: e, Presence: h.presence}, false, path)
	return &frozen{field}, err
}

func (l *frozen) keeps(newVal, oldVal unsafe.Pointer, depth int) bool {
	if newVal == nil || oldVal == nil {
		return newVal == oldVal
	}
	return l.field.equal(newVal, oldVal, depth)
}

// update keeps the words NoSet, NoUnset and NoModify.
type update struct {
	noSet, noUnset, noModify bool
	equal                    *frozen // always set
	inner                    lock    // nil for none
	set                      func(p unsafe.Pointer) setness
}

// setness says whether a value is set: neither absent nor null.
type setness uint8

const (
	unknown setness = iota
	unset
	isSet
)

func (k *locker) update(t reflect.Type, n *check.Update, h holder, path string) (lock, error) {
	l := &update{noSet: n.NoSet, noUnset: n.NoUnset, noModify: n.NoModify, set: setnessOf(t, h)}
	equal, err := k.frozen(t, n.Equality, h, path)
	if err != nil {
		return nil, err
	}
	l.equal = equal
	if n.Inner != nil {
		if l.inner, err = k.container(t, n.Inner, path); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *update) keeps(newVal, oldVal unsafe.Pointer, depth int) bool {
	newSet, oldSet := l.isSet(newVal), l.isSet(oldVal)
	switch {
	case newSet == unknown || oldSet == unknown:
		return l.equal.keeps(newVal, oldVal, depth)
	case newSet == isSet && oldSet == unset && l.noSet, oldSet == isSet && newSet == unset && l.noUnset:
		return false
	case newSet == isSet && oldSet == isSet && l.noModify:
		return l.equal.keeps(newVal, oldVal, depth) // and then nothing below is broken either
	}
	return l.inner == nil || l.inner.keeps(newVal, oldVal, depth)
}

func (l *update) isSet(p unsafe.Pointer) setness {
	if p == nil {
		return unset
	}
	return l.set(p)
}

// setnessOf returns how to tell whether a value of t is set.
func setnessOf(t reflect.Type, h holder) func(p unsafe.Pointer) setness {
	switch kind := t.Kind(); {
	case h.asksItself():
	case kind == reflect.Pointer:
		return func(p unsafe.Pointer) setness {
			switch {
			case *(*unsafe.Pointer)(p) == nil:
				return unset
			case h.normalized || writesItself(t.Elem()) && t.Elem() != quantityType ||
				t.Elem().Kind() == reflect.Pointer ||
				t.Elem().Kind() == reflect.Slice || t.Elem().Kind() == reflect.Map ||
				t.Elem().Kind() == reflect.Interface:
				return unknown
			}
			return isSet
		}
	case t == quantityType && !h.normalized:
		return func(unsafe.Pointer) setness { return isSet }
	case writesItself(t):
		return func(unsafe.Pointer) setness { return unknown }
	case kind == reflect.Slice, kind == reflect.Map:
		return setnessOfList(t, h)
	case h.quoted && h.normalized: // what is written is another type's value
	case kind == reflect.String:
		emptyIsAbsent := h.omitEmpty || h.omitZero || h.absent("")
		return func(p unsafe.Pointer) setness { return when(!emptyIsAbsent || *(*string)(p) != "") }
	case kind >= reflect.Bool && kind <= reflect.Uintptr:
		var zero any = int64(0)
		if kind == reflect.Bool {
			zero = false
		}
		zeroIsAbsent := h.omitEmpty || h.omitZero || h.absent(zero)
		size := t.Size()
		var none [8]byte
		return func(p unsafe.Pointer) setness {
			return when(!zeroIsAbsent || !sameBytes(p, unsafe.Pointer(&none), size))
		}
	case kind == reflect.Struct && !h.normalized && !h.omitZero:
		return func(unsafe.Pointer) setness { return isSet }
	}
	return func(unsafe.Pointer) setness { return unknown }
}

// setnessOfList is setnessOf for slices and maps.
func setnessOfList(t reflect.Type, h holder) func(p unsafe.Pointer) setness {
	emptyIsAbsent := h.omitEmpty || h.absent(emptyOf(t))
	doubtful := h.normalized && t.Kind() == reflect.Map // what is in it may count as absent
	return func(p unsafe.Pointer) setness {
		switch {
		case *(*unsafe.Pointer)(p) == nil:
			return unset
		case lengthAt(p, t.Size()) == 0:
			return when(!emptyIsAbsent)
		case doubtful:
			return unknown
		}
		return isSet
	}
}

func when(is bool) setness {
	if is {
		return isSet
	}
	return unset
}

// container returns the lock for the members or items of a value of t.
func (k *locker) container(t reflect.Type, n *check.ContainerNode, path string) (lock, error) {
	key := lockKey{t, n}
	if done, ok := k.built[key]; ok {
		return done, nil
	}
	if writesItself(t) {
		return nil, fmt.Errorf("%s: a %s writes its own JSON, so locks inside it cannot be found in Go: lock it as "+
			"a whole", path, t)
	}
	switch t.Kind() {
	case reflect.Pointer:
		p := &pointed{}
		k.built[key] = p
		var err error
		p.inner, err = k.container(t.Elem(), n, path)
		return p, err
	case reflect.Struct:
		return k.structFields(t, n, path)
	case reflect.Slice, reflect.Array:
		return k.list(t, n, path)
	case reflect.Map:
		return k.keys(t, n, path)
	}
	return nil, fmt.Errorf("%s: the schema has locks inside an object or list, and the Go type is %s", path, t)
}

// pointed keeps what a pointer points to; nil is null: as for absent values, locks below it do not apply.
type pointed struct{ inner lock }

func (l *pointed) keeps(newVal, oldVal unsafe.Pointer, depth int) bool {
	if newVal != nil {
		newVal = *(*unsafe.Pointer)(newVal)
	}
	if oldVal != nil {
		oldVal = *(*unsafe.Pointer)(oldVal)
	}
	return depth < maxDepth && l.inner.keeps(newVal, oldVal, depth+1)
}

// whole keeps a value where nothing changes. It is for what a schema and a Go type say in such different ways that
// comparing parts would not pay.
func (k *locker) whole(t reflect.Type, n *check.ContainerNode, path string) (lock, error) {
	l, err := k.frozen(t, n.Equality, holder{}, path)
	if err == nil {
		k.built[lockKey{t, n}] = l
	}
	return l, err
}

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
			return nil, fmt.Errorf("%s: the schema locks %q or something in it, and the Go type %s has no such field",
				path, p.Name, t)
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
		return true // the container is added or removed: locks below do not apply
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
	both, kept := l.each(newVal, oldVal, l, depth+1)
	if !kept || both == l.length(oldVal) {
		return kept
	}
	if l.remove {
		return false
	}
	_, clear := l.each(oldVal, newVal, clearKeys{}, depth+1)
	return clear
}

// visit keeps one key of the new map. Of keys that encoding/json changes, two may be written alike.
func (l *mapKeys) visit(key string, newVal, oldVal unsafe.Pointer, depth int) bool {
	if oldVal == nil {
		return !l.add && utf8.ValidString(key)
	}
	return l.values == nil || l.values.keeps(newVal, oldVal, depth)
}

// clearKeys reports whether every key that the other map lacks is written as it is, so that it is another name than
// those of the other map.
type clearKeys struct{}

func (clearKeys) visit(key string, _, other unsafe.Pointer, _ int) bool {
	return other != nil || utf8.ValidString(key)
}
