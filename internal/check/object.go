package check

import (
	"fmt"
	"slices"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/normalizer"
)

// ContainerNode is a location with locks below it or on its keys. It tells objects from lists and refuses what cannot
// be compared.
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
	return refuse(Refusal{Lock: Incomparable, LockPath: n.LockPath, Field: n.Field, New: newVal,
		Old: oldVal, Note: why})
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

// Object checks the members of an object: named properties, the values under other keys, and those keys themselves.
type Object struct {
	Properties []Property      // sorted by name
	Named      map[string]bool // all named properties; set if Values or Locks is
	Values     Node            // of the other keys, for those that both sides have; nil for none
	Locks      []KeyLock       // of the other keys
}

// Property is a named member with locks on it or below it.
type Property struct {
	Name       string
	Node       Node
	Normalized bool
	Presence   normalizer.Property // set if Normalized
}

// Check runs the property's node, where values that count as absent are taken for absent.
func (p *Property) Check(m *Memo, newVal, oldVal Value) *Found {
	if p.Normalized {
		newVal, oldVal = p.normal(m, newVal), p.normal(m, oldVal)
	}
	return p.Node.Check(m, newVal, oldVal)
}

func (p *Property) normal(m *Memo, v Value) Value {
	if v.OK && m.Absent(p.Presence, v.Data) {
		return Value{}
	}
	return v
}

// CheckJSON implements Node.
func (p *Property) CheckJSON(m *Memo, pair *jsonscan.Pair) *Found {
	if p.Normalized {
		return checkDecoded(p, m, pair)
	}
	return p.Node.CheckJSON(m, pair)
}

var _ Node = (*Property)(nil)

// few is up to how many names are compared one by one.
const few = 8

// find returns the index of the property with this name.
func (n *Object) find(name []byte) (i int, ok bool) {
	end := len(n.Properties)
	if end <= few {
		for i = range n.Properties {
			if n.Properties[i].Name == string(name) {
				return i, true
			}
		}
		return end, false
	}
	for i < end {
		middle := (i + end) / 2
		if n.Properties[middle].Name < string(name) {
			i = middle + 1
		} else {
			end = middle
		}
	}
	return i, i < len(n.Properties) && n.Properties[i].Name == string(name)
}

// onlyProperties reports whether no other keys are checked.
func (n *Object) onlyProperties() bool { return n.Values == nil && len(n.Locks) == 0 }

// check compares two objects. Nil is one that is absent or null: it has no keys, and frees what is below.
func (n *Object) check(m *Memo, newObj, oldObj map[string]any) *Found {
	var f *Found
	if newObj != nil && oldObj != nil {
		for i := range n.Properties {
			p := &n.Properties[i]
			f = f.add(p.Check(m, member(newObj, p.Name), member(oldObj, p.Name)), property(p.Name))
		}
	}
	if n.onlyProperties() {
		return f
	}
	for name, value := range newObj {
		if n.Named[name] {
			continue
		}
		was, ok := oldObj[name]
		if !ok {
			for i := range n.Locks {
				f = f.add(n.Locks[i].added(value), key(name))
			}
			continue
		}
		if n.Values != nil {
			f = f.add(n.Values.Check(m, present(value), present(was)), key(name))
		}
	}
	return f.and(n.removed(newObj, oldObj))
}

// removed reports the keys of oldObj that newObj lacks, if a lock refuses that.
func (n *Object) removed(newObj, oldObj map[string]any) *Found {
	if !refuseRemoval(n.Locks) {
		return nil
	}
	var gone []string
	for name := range oldObj {
		if _, ok := newObj[name]; !ok && !n.Named[name] {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	var f *Found
	for _, name := range gone {
		for i := range n.Locks {
			f = f.and(n.Locks[i].removed(name))
		}
	}
	return f
}

// checkJSON is check of two objects that p has next, for objects of which only properties are locked.
func (n *Object) checkJSON(m *Memo, p *jsonscan.Pair) *Found {
	var few [4]memberPair
	pairs := few[:]
	if len(n.Properties) > len(few) {
		pairs = make([]memberPair, len(n.Properties))
	}
	pairs = pairs[:len(n.Properties)]
	for members := p.Members(); members.Next(); {
		i, ok := n.find(members.Name())
		switch {
		case !ok && members.In == jsonscan.Both:
			p.Skip()
		case !ok:
			p.SkipOne(members.In)
		default:
			pairs[i].read(m, p, members.In, &n.Properties[i])
		}
	}
	if p.Failed() {
		return nil
	}
	var f *Found
	for i := range pairs {
		f = f.add(pairs[i].check(m, p, &n.Properties[i]), property(n.Properties[i].Name))
	}
	return f
}

// memberPair is a property in two objects. Of several members with one name the last counts.
type memberPair struct {
	at           jsonscan.Place
	inNew, inOld bool // which objects have it
	checked      bool // found is what the last ones break
	found        *Found
}

// read reads the value of a member.
func (v *memberPair) read(m *Memo, p *jsonscan.Pair, in jsonscan.Side, prop *Property) {
	at := p.Here()
	if in != jsonscan.Old {
		v.at.New, v.inNew = at.New, true
	}
	if in != jsonscan.New {
		v.at.Old, v.inOld = at.Old, true
	}
	if v.checked = in == jsonscan.Both; v.checked {
		v.found = prop.CheckJSON(m, p)
		return
	}
	p.SkipOne(in)
}

// check returns what the property breaks, when both objects are read.
func (v *memberPair) check(m *Memo, p *jsonscan.Pair, prop *Property) *Found {
	if v.checked {
		return v.found
	}
	if v.inNew && v.inOld {
		if here, ok := p.Again(v.at); ok {
			f := prop.CheckJSON(m, p)
			p.Resume(here)
			return f
		}
	}
	var newVal, oldVal Value
	if v.inNew {
		newVal = present(m.hold(p.NewValue(v.at)))
	}
	if v.inOld {
		oldVal = present(m.hold(p.OldValue(v.at)))
	}
	return prop.Check(m, newVal, oldVal)
}

// fewMembers is up to how many properties oldMembers read. With their values, matching two lists takes at most twice
// the memory of an index.
const fewMembers = 2

// oldMembers are the locked properties of the items of an old list, read in the order of the list.
//
//	old: [{"name": "a", "zone": "x"}, {"name": "b"}, {"name": "c", "zone": "y"}]  →  "x", absent, "y"
//
// In long lists in another order, most of the time is spent waiting for memory: for an old item that is looked up, for
// the table of its members and for their names. Objects that were decoded one after the other are read fast one after
// the other; then only the values are met in another order.
type oldMembers struct {
	properties []Property
	values     []any // of the properties, item by item
}

// absent is the value of a property that an item lacks.
type absent struct{}

// readMembers reads the members of a list of objects.
func readMembers(properties []Property, list []any) oldMembers {
	o := oldMembers{properties, make([]any, 0, len(properties)*len(list))}
	for _, item := range list {
		object := item.(map[string]any)
		for i := range properties {
			value, ok := object[properties[i].Name]
			if !ok {
				value = absent{}
			}
			o.values = append(o.values, value)
		}
	}
	return o
}

// check compares a new item with the old one at an index.
func (o oldMembers) check(m *Memo, newObj map[string]any, at int) *Found {
	var f *Found
	for i := range o.properties {
		p := &o.properties[i]
		was := present(o.values[at*len(o.properties)+i])
		if was.Data == (absent{}) {
			was = Value{}
		}
		f = f.add(p.Check(m, member(newObj, p.Name), was), property(p.Name))
	}
	return f
}
