package immutability

import (
	"slices"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
	"github.com/fieldlock/fieldlock/normalize"
)

// object checks the members of an object: named properties, the values under other keys, and those keys themselves.
type object struct {
	properties []property      // sorted by name
	named      map[string]bool // all named properties; read when values or locks are there
	values     node            // of the other keys, for those that both sides have
	locks      []keyLock       // of the other keys
}

// property is a named member with locks on it or below it.
type property struct {
	name     string
	node     node
	marked   bool
	presence normalize.Property // read when marked
}

// check is that of the property's node, with values that count as absent taken for absent.
func (p *property) check(new, old side) *found {
	if p.marked {
		new, old = p.normal(new), p.normal(old)
	}
	return p.node.check(new, old)
}

func (p *property) normal(s side) side {
	if s.ok && p.presence.Absent(s.value) {
		return side{}
	}
	return s
}

func (p *property) checkJSON(pair *jsonscan.Pair) *found {
	if p.marked {
		return checkValues(p, pair)
	}
	return p.node.checkJSON(pair)
}

var _ node = (*property)(nil)

// property returns the index of the property with this name.
func (n *object) property(name []byte) (i int, ok bool) {
	end := len(n.properties)
	for i < end {
		middle := (i + end) / 2
		if n.properties[middle].name < string(name) {
			i = middle + 1
		} else {
			end = middle
		}
	}
	return i, i < len(n.properties) && n.properties[i].name == string(name)
}

// checkObject compares two objects. Nil stands for one that is absent or null: it has no keys, and frees what is below.
func (n *object) checkObject(new, old map[string]any) *found {
	var f *found
	if new != nil && old != nil {
		for i := range n.properties {
			p := &n.properties[i]
			f = f.add(p.check(sideOf(new, p.name), sideOf(old, p.name)), step{at: atProperty, name: p.name})
		}
	}
	if n.onlyProperties() {
		return f
	}
	for key, value := range new {
		if n.named[key] {
			continue
		}
		was, ok := old[key]
		if !ok {
			for i := range n.locks {
				f = f.add(n.locks[i].added(value), step{at: atValues, name: key})
			}
			continue
		}
		if n.values != nil {
			f = f.add(n.values.check(side{value, true}, side{was, true}), step{at: atValues, name: key})
		}
	}
	return f.and(n.removed(new, old))
}

// onlyProperties reports whether no other keys are checked.
func (n *object) onlyProperties() bool { return n.values == nil && len(n.locks) == 0 }

// removed reports the keys of old that new does not have, if a lock refuses that.
func (n *object) removed(new, old map[string]any) *found {
	if !slices.ContainsFunc(n.locks, func(l keyLock) bool { return l.refuseRemove }) {
		return nil
	}
	var gone []string
	for key := range old {
		if _, ok := new[key]; !ok && !n.named[key] {
			gone = append(gone, key)
		}
	}
	slices.Sort(gone)
	var f *found
	for _, key := range gone {
		for i := range n.locks {
			f = f.and(n.locks[i].removed(key))
		}
	}
	return f
}

// names returns the set of the names of properties.
func names(properties []*location) map[string]bool {
	set := make(map[string]bool, len(properties))
	for _, p := range properties {
		set[p.name] = true
	}
	return set
}
