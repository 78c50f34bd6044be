package immutability

import (
	"slices"

	"github.com/fieldlock/fieldlock/normalize"
)

// object checks the members of an object: named properties, the values under other keys, and those keys themselves.
type object struct {
	properties []property
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

func (p *property) side(object map[string]any) side {
	s := sideOf(object, p.name)
	if p.marked && s.ok && p.presence.Absent(s.value) {
		return side{}
	}
	return s
}

// checkObject compares two objects. Nil stands for one that is absent or null: it has no keys, and frees what is below.
func (n *object) checkObject(new, old map[string]any) *found {
	var f *found
	if new != nil && old != nil {
		for i := range n.properties {
			p := &n.properties[i]
			f = f.add(p.node.check(p.side(new), p.side(old)), step{at: atProperty, name: p.name})
		}
	}
	if n.values == nil && len(n.locks) == 0 {
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
