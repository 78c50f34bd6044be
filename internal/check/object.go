package check

import (
	"slices"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
	"github.com/fieldlock/fieldlock/normalize"
)

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
	Presence   normalize.Property // set if Normalized
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
