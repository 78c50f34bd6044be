package typed

import (
	"fmt"
	"hash/maphash"
	"reflect"
	"unsafe"

	"github.com/fieldlock/fieldlock/internal/check"
	"github.com/fieldlock/fieldlock/internal/listindex"
)

// view is how a list is laid out in memory.
type view struct {
	size   uintptr // of an item
	length int     // of an array; -1 for a slice
}

func viewOf(t reflect.Type) view {
	if t.Kind() == reflect.Array {
		return view{t.Elem().Size(), t.Len()}
	}
	return view{t.Elem().Size(), -1}
}

// of returns the list at p; nil is an empty one.
func (v view) of(p unsafe.Pointer) header {
	switch {
	case p == nil:
		return header{}
	case v.length >= 0:
		return header{data: p, len: v.length}
	}
	return *(*header)(p)
}

func (v view) item(l *header, i int) unsafe.Pointer { return unsafe.Add(l.data, uintptr(i)*v.size) }

// list returns the lock for a slice or array.
func (k *locker) list(t reflect.Type, n *check.ContainerNode, path string) (lock, error) {
	if writtenAsText(t) {
		return nil, fmt.Errorf("%s: the schema has locks inside an object or list, and a %s is written as text",
			path, t)
	}
	switch list := n.List.(type) {
	case *check.Items:
		l := &items{view: viewOf(t)}
		k.built[lockKey{t, n}] = l
		var err error
		l.item, err = k.of(t.Elem(), list.Node, holder{}, path+"[]")
		return l, err
	case *check.SetItems:
		return k.setItems(t, n, list, path)
	case *check.KeyedItems:
		return k.keyedItems(t, n, list, path)
	}
	return nil, fmt.Errorf("%s: the schema has an object, and the Go type is %s", path, t)
}

// items keeps a list whose items belong together by index.
type items struct {
	view
	item lock
}

func (l *items) keeps(newVal, oldVal unsafe.Pointer, depth int) bool {
	newList, oldList := l.of(newVal), l.of(oldVal)
	if depth >= maxDepth {
		return false
	}
	for i := range min(newList.len, oldList.len) {
		if !l.item.keeps(l.view.item(&newList, i), l.view.item(&oldList, i), depth+1) {
			return false
		}
	}
	return true
}

// setItems keeps the items of a set, which are its keys.
type setItems struct {
	view
	keyLocks
	inOrder comparer
	scalars *scalars // nil for items that are not scalars
}

func (k *locker) setItems(t reflect.Type, n *check.ContainerNode, set *check.SetItems, path string) (lock, error) {
	if t.Kind() == reflect.Array {
		return k.whole(t, n, path)
	}
	inOrder, err := k.comparers.of(t, nil, false, path)
	if err != nil {
		return nil, err
	}
	l := &setItems{view: viewOf(t), keyLocks: keyLocksOf(set.Locks), inOrder: inOrder}
	if hash := hashOf(t.Elem()); hash != nil && set.Equality == nil {
		elem, err := k.comparers.of(t.Elem(), nil, false, path+"[]")
		if err != nil {
			return nil, err
		}
		l.scalars = &scalars{hash: hash, elem: elem, size: t.Elem().Size()}
	}
	k.built[lockKey{t, n}] = l
	return l, nil
}

func (l *setItems) keeps(newVal, oldVal unsafe.Pointer, depth int) bool {
	newList, oldList := l.of(newVal), l.of(oldVal)
	switch {
	case newList.len == 0 && oldList.len == 0:
		return true
	case newVal != nil && oldVal != nil && newList.len == oldList.len && l.inOrder.equal(newVal, oldVal, depth):
		return true
	case l.scalars == nil:
		return false
	}
	return (!l.add || l.scalars.subset(&newList, &oldList)) && (!l.remove || l.scalars.subset(&oldList, &newList))
}

// keyedItems keeps a list whose items are correlated by key.
type keyedItems struct {
	view
	keyLocks
	pointers bool // the items are pointers to structs
	keys     []keyField
	item     lock    // nil: nothing is locked in the items
	inOrder  *frozen // for lists whose items are locked as a whole

	plain bool      // the items are structs with one key, a string that is always written
	texts []uintptr // in a plain list: where the locked fields are, if all are strings that may not change
}

func (k *locker) keyedItems(t reflect.Type, n *check.ContainerNode, list *check.KeyedItems, path string) (lock, error) {
	l := &keyedItems{view: viewOf(t), keyLocks: keyLocksOf(list.Locks)}
	k.built[lockKey{t, n}] = l
	object := t.Elem()
	if object.Kind() == reflect.Pointer {
		l.pointers, object = true, object.Elem()
	}
	if object.Kind() != reflect.Struct || writesItself(object) {
		return nil, fmt.Errorf("%s: the items of a list-type map are %s; only structs have keys", path, t.Elem())
	}
	fields := map[string]jsonField{}
	for _, f := range jsonFields(object) {
		fields[f.name] = f
	}
	for i := range list.Keys {
		key, err := keyFieldOf(object, fields, &list.Keys[i], path+"[]")
		if err != nil {
			return nil, err
		}
		l.keys = append(l.keys, key)
	}
	var err error
	if list.WholeItems {
		if l.inOrder, err = k.frozen(t, n.Equality, holder{}, path); err != nil {
			return nil, err
		}
	}
	if list.Item != nil {
		l.item, err = k.of(t.Elem(), list.Item, holder{}, path+"[]")
	}
	l.plain = !l.pointers && len(l.keys) == 1 && l.keys[0].plain()
	if fields, ok := l.item.(*structFields); ok && l.plain {
		l.texts = fields.onlyTexts()
	}
	return l, err
}

func (l *keyedItems) keeps(newVal, oldVal unsafe.Pointer, depth int) bool {
	newList, oldList := l.of(newVal), l.of(oldVal)
	if depth >= maxDepth {
		return false
	}
	if l.plain && l.inOrder == nil && newList.len == oldList.len {
		kept, aligned, front := l.plainInPlace(&newList, &oldList, depth+1)
		if aligned {
			return kept
		}
		return l.byKey(&newList, &oldList, front, depth+1)
	}
	if l.inOrder != nil && newVal != nil && oldVal != nil && newList.len == oldList.len &&
		l.inOrder.keeps(newVal, oldVal, depth) {
		return true
	}
	if newList.len == 0 && oldList.len == 0 {
		return true
	}
	front := 0
	if newList.len == oldList.len {
		var kept, aligned bool
		if kept, aligned, front = l.inPlace(&newList, &oldList, depth+1); aligned {
			return kept
		}
	}
	return l.byKey(&newList, &oldList, front, depth+1)
}

// inPlace checks lists with the same keys at the same indices, each key once. aligned is false for other lists. Of
// those it is known that the first items, front of them, have the same keys and are kept: nothing looks at them again,
// as lists in lists would cost twice as much with each level.
func (l *keyedItems) inPlace(newList, oldList *header, depth int) (kept, aligned bool, front int) {
	for i := range newList.len {
		newItem, oldItem := l.view.item(newList, i), l.view.item(oldList, i)
		newObj, oldObj := l.object(newItem), l.object(oldItem)
		if newObj == nil || oldObj == nil || !l.sameKey(newObj, oldObj) {
			return false, false, i
		}
		if l.item != nil && !l.item.keeps(newItem, oldItem, depth) {
			return false, true, 0 // whatever follows: the two have the same key
		}
	}
	return true, l.unique(newList), newList.len
}

// plainInPlace is inPlace for items that are structs with one key, a string that is always written.
//
// If a number that depends on the key alone is larger than the one of the item before, all through the list, each key
// occurs once. With the length first and the last letters next, that is so for the names that programs count up, such
// as node-9 and node-10. Other lists are looked at once more.
func (l *keyedItems) plainInPlace(newList, oldList *header, depth int) (kept, aligned bool, front int) {
	rising, letters := true, uint64(0)
	lastLength, lastEnding := -1, uint64(0)
	keyAt, size, texts := l.keys[0].at.offset, l.view.size, l.texts
	for place := uintptr(0); place < uintptr(newList.len)*size; place += size {
		newItem, oldItem := unsafe.Add(newList.data, place), unsafe.Add(oldList.data, place)
		name := *(*string)(unsafe.Add(newItem, keyAt))
		if name != *(*string)(unsafe.Add(oldItem, keyAt)) {
			return false, false, int(place / size)
		}
		for _, at := range texts {
			if *(*string)(unsafe.Add(newItem, at)) != *(*string)(unsafe.Add(oldItem, at)) {
				return false, true, 0
			}
		}
		if texts == nil && l.item != nil && !l.item.keeps(newItem, oldItem, depth) {
			return false, true, 0
		}
		var ending, all uint64
		if n := len(name); n >= 4 && n < 8 {
			ending = fewLetters(name)
			all = ending
		} else {
			ending, all = endingOf(name)
		}
		letters |= all
		rising = rising && (len(name) > lastLength || len(name) == lastLength && ending > lastEnding)
		lastLength, lastEnding = len(name), ending
	}
	return true, rising && letters&highs == 0 || l.sorted(newList) || l.unique(newList), newList.len
}

// sorted reports whether the keys of a plain list are sorted by their bytes, and have only letters of ASCII.
func (l *keyedItems) sorted(list *header) bool {
	last := ""
	for i := range list.len {
		name := *(*string)(unsafe.Add(l.view.item(list, i), l.keys[0].at.offset))
		if i > 0 && last >= name {
			return false
		}
		if _, letters := endingOf(name); letters&highs != 0 {
			return false
		}
		last = name
	}
	return true
}

// unique reports whether each key occurs once in a list of objects.
func (l *keyedItems) unique(list *header) bool {
	t := listindex.NewTable(list.len)
	defer t.Free()
	return l.index(t, list)
}

// index puts the keys of a list into a table. It reports false where one occurs twice, or an item has none.
func (l *keyedItems) index(t *listindex.Table, list *header) bool {
	for i := range list.len {
		obj := l.object(l.view.item(list, i))
		if obj == nil {
			return false
		}
		hash, ok := l.hash(t.Seed, obj)
		if !ok || t.Put(hash, i, func(j int) bool { return l.sameKey(obj, l.object(l.view.item(list, j))) }) >= 0 {
			return false
		}
	}
	return true
}

// byKey checks lists in any order, but for the first items, front of them, which inPlace has checked. It proves nothing
// where a key occurs twice.
func (l *keyedItems) byKey(newList, oldList *header, front, depth int) bool {
	if l.plain && newList.len <= few && oldList.len <= few {
		if kept, known := l.plainByKey(newList, oldList, front, depth); known {
			return kept
		}
	}
	t := listindex.NewTable(oldList.len)
	defer t.Free()
	if !l.index(t, oldList) {
		return false
	}
	both := 0
	for i := range newList.len {
		item := l.view.item(newList, i)
		obj := l.object(item)
		if obj == nil {
			return false
		}
		hash, ok := l.hash(t.Seed, obj)
		if !ok {
			return false
		}
		at, once := t.Take(hash, func(j int) bool { return l.sameKey(obj, l.object(l.view.item(oldList, j))) })
		if !once {
			return false
		}
		if at < 0 {
			if l.add {
				return false
			}
			continue
		}
		both++
		if l.item != nil && i >= front && !l.item.keeps(item, l.view.item(oldList, at), depth) {
			return false
		}
	}
	return both == oldList.len || !l.remove
}

// plainByKey is byKey for a few items of a plain list. known is false where the keys do not say which items belong
// together.
func (l *keyedItems) plainByKey(newList, oldList *header, front, depth int) (kept, known bool) {
	at := l.keys[0].at.offset
	matches, ok := match(column{newList, l.view.size, at}, column{oldList, l.view.size, at}, true)
	if !ok {
		return false, false
	}
	both := 0
	for i := range newList.len {
		if matches[i] < 0 {
			if l.add {
				return false, true
			}
			continue
		}
		both++
		if l.item != nil && i >= front &&
			!l.item.keeps(l.view.item(newList, i), l.view.item(oldList, int(matches[i])), depth) {
			return false, true
		}
	}
	return both == oldList.len || !l.remove, true
}

// object returns the struct of an item, nil for a nil pointer.
func (l *keyedItems) object(item unsafe.Pointer) unsafe.Pointer {
	if l.pointers {
		return *(*unsafe.Pointer)(item)
	}
	return item
}

func (l *keyedItems) sameKey(a, b unsafe.Pointer) bool {
	if l.plain {
		at := l.keys[0].at.offset
		return *(*string)(unsafe.Add(a, at)) == *(*string)(unsafe.Add(b, at))
	}
	for i := range l.keys {
		if !l.keys[i].same(a, b) {
			return false
		}
	}
	return true
}

func (l *keyedItems) hash(seed maphash.Seed, obj unsafe.Pointer) (hash uint64, ok bool) {
	for i := range l.keys {
		h, ok := l.keys[i].hash(seed, obj)
		if !ok {
			return 0, false
		}
		hash = (hash ^ h) * 0x9e3779b97f4a7c15
	}
	return hash ^ hash>>29, true
}
