package typed

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/fieldlock/fieldlock/internal/check"
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
	if t.Elem().Kind() == reflect.Uint8 && t.Kind() == reflect.Slice {
		return nil, fmt.Errorf("%s: the schema has locks inside an object or list, and a %s is written as text", path, t)
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
