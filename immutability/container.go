package immutability

import (
	"fmt"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// container is a location with locks below it or on its keys: it tells objects from lists, and refuses what cannot be
// compared.
type container struct {
	object *object // nil: nothing in the members
	list   list    // nil: nothing in the items
	*place
}

var _ node = (*container)(nil)

// list is the check of a list; a list that is absent or null is empty. The lists are the same JSON as their sides.
type list interface {
	checkList(new, old []any) *found
}

func (n *container) check(new, old side) *found {
	var is, was jsonvalue.Kind // Null where absent
	if new.ok {
		is = jsonvalue.KindOf(new.value)
	}
	if old.ok {
		was = jsonvalue.KindOf(old.value)
	}
	if is != was && is != jsonvalue.Null && was != jsonvalue.Null {
		return breaks(breach{lock: Incomparable, pointer: n.pointer, place: n.place, new: new, old: old,
			note: fmt.Sprintf("%s cannot be compared with %s", is, was)})
	}
	var f *found
	switch max(is, was) {
	case jsonvalue.Foreign: // its keys and members cannot be seen
		if new.ok != old.ok || !jsonvalue.Equal(new.value, old.value) {
			return breaks(breach{lock: Incomparable, pointer: n.pointer, place: n.place, new: new, old: old,
				note: fmt.Sprintf("%s is there", jsonvalue.Foreign)})
		}
	case jsonvalue.Object:
		if n.object != nil {
			newObject, _ := new.value.(map[string]any)
			oldObject, _ := old.value.(map[string]any)
			f = n.object.checkObject(newObject, oldObject)
		}
	case jsonvalue.List:
		if n.list != nil {
			newList, _ := new.value.([]any)
			oldList, _ := old.value.([]any)
			f = n.list.checkList(newList, oldList)
		}
	}
	if f != nil {
		for _, b := range f.here { // the parts of the container know only what is in them
			b.place, b.new, b.old = n.place, new, old
		}
	}
	return f
}

func (n *container) checkJSON(p *jsonscan.Pair) *found {
	is, was := p.Kinds()
	if is == '{' && was == '{' && n.object != nil && n.object.onlyProperties() {
		return n.object.checkJSON(p)
	}
	if items, ok := n.list.(*items); ok && is == '[' && was == '[' {
		return items.checkJSON(p)
	}
	return checkValues(n, p)
}

// keyLock is a lock on the keys of a map or keyed list, or on the items of a set.
type keyLock struct {
	lock                    Lock
	pointer                 *trail
	refuseAdd, refuseRemove bool
	member                  *place // of the values under the keys, or of the items
}

// added reports the lock's breach by a key or item that was added with this value; nil when the lock allows it.
func (l *keyLock) added(value any) *found {
	if !l.refuseAdd {
		return nil
	}
	return breaks(breach{lock: l.lock, pointer: l.pointer, place: l.member, new: side{value, true}})
}

// removed reports the lock's breach by a key or item that was removed; nil when the lock allows it.
func (l *keyLock) removed(key any) *found {
	if !l.refuseRemove {
		return nil
	}
	return breaks(breach{lock: l.lock, pointer: l.pointer, key: side{key, true}})
}
