package check

import (
	"fmt"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// ContainerNode is a location with locks below it or on its keys. It tells objects from lists and refuses what cannot be
// compared.
type ContainerNode struct {
	Object *Object // nil: nothing in the members is locked
	List   List    // nil: nothing in the items is locked
	*Field
}

var _ Node = (*ContainerNode)(nil)

// Check implements Node.
func (n *ContainerNode) Check(m *Memo, newVal, oldVal Value) *Found {
	m.work++
	is, was := newVal.kind(), oldVal.kind()
	if is != was && is != jsonvalue.Null && was != jsonvalue.Null {
		return n.incomparable(newVal, oldVal, fmt.Sprintf("%s cannot be compared with %s", is, was))
	}
	var f *Found
	switch max(is, was) {
	case jsonvalue.Foreign: // its keys and members cannot be seen
		if newVal.OK != oldVal.OK || !jsonvalue.Equal(newVal.Data, oldVal.Data) {
			return n.incomparable(newVal, oldVal, jsonvalue.Foreign.String()+" cannot be compared")
		}
	case jsonvalue.Object:
		if n.Object != nil {
			newObj, _ := newVal.Data.(map[string]any)
			oldObj, _ := oldVal.Data.(map[string]any)
			f = n.Object.check(m, newObj, oldObj)
		}
	case jsonvalue.List:
		if n.List != nil {
			newList, _ := newVal.Data.([]any)
			oldList, _ := oldVal.Data.([]any)
			f = n.List.check(m, newList, oldList)
		}
	}
	if f != nil {
		n.complete(f, newVal, oldVal)
	}
	return f
}

func (n *ContainerNode) incomparable(newVal, oldVal Value, why string) *Found {
	return refuse(Refusal{Lock: Incomparable, LockPath: n.LockPath, Field: n.Field, New: newVal, Old: oldVal, Note: why})
}

// CheckJSON implements Node.
func (n *ContainerNode) CheckJSON(m *Memo, p *jsonscan.Pair) *Found {
	is, was := p.Kinds()
	if is == '{' && was == '{' && n.Object != nil && n.Object.onlyProperties() {
		return n.Object.checkJSON(m, p)
	}
	if items, ok := n.List.(*Items); ok && is == '[' && was == '[' {
		return items.checkJSON(m, p)
	}
	if keyed, ok := n.List.(*KeyedItems); ok && keyed.Names != nil && is == '[' && was == '[' {
		return n.checkKeyedJSON(keyed, m, p)
	}
	return checkDecoded(n, m, p)
}

func (n *ContainerNode) checkKeyedJSON(keyed *KeyedItems, m *Memo, p *jsonscan.Pair) *Found {
	at := p.Here()
	f, ok := keyed.checkJSON(m, p)
	switch {
	case p.Failed():
		return nil
	case !ok:
		return n.Check(m, present(m.hold(p.NewValue(at))), present(m.hold(p.OldValue(at))))
	case f != nil && len(f.Here) > 0:
		n.complete(f, present(m.hold(p.NewValue(at))), present(m.hold(p.OldValue(at))))
	}
	return f
}

// complete sets the values of refusals at n: the parts of a container know only what is in them.
func (n *ContainerNode) complete(f *Found, newVal, oldVal Value) {
	for _, r := range f.Here {
		r.Field, r.New, r.Old = n.Field, newVal, oldVal
	}
}
