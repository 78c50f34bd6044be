// Package check is what runs when an update is checked: the tree of nodes that a schema with locks compiles to.
//
// [Compile] makes a [Checker] of a schema that has been read. A location with locks on it or below it becomes a [Node];
// a node compares the new and the old value of its location and returns what the update breaks as a [Found] tree, nil
// for nothing. Package immutability turns that tree into a report.
//
// # Cost
//
// An update that breaks nothing is compared once and allocates nothing, as long as sets and keyed lists are in the same
// order. Where locks are nested, or sets contain sets, a naive comparison would look at the innermost values once for
// each level. A [Memo] prevents that: it remembers what was compared and hashed, by the identity of the two containers,
// so that every check is near linear in the two objects and the report.
package check

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Checker checks updates against the locks of one schema. It is safe for concurrent use. The nil Checker has no locks.
type Checker struct {
	root  Node
	memos sync.Pool // of unused *Memo, so that an accepted update allocates nothing
}

func newChecker(root Node) *Checker {
	return &Checker{root: root, memos: sync.Pool{New: func() any { return new(Memo) }}}
}

// Root returns the node of the whole object, nil if nothing is locked.
func (c *Checker) Root() Node {
	if c == nil {
		return nil
	}
	return c.root
}

// Refused is what an update breaks, and what was remembered while finding it.
type Refused struct {
	*Found
	Memo *Memo
}

// Check compares two objects. It returns nil if the update is allowed. A nil object is an empty one.
func (c *Checker) Check(newObj, oldObj map[string]any) *Refused {
	if c == nil {
		return nil
	}
	if newObj == nil {
		newObj = map[string]any{}
	}
	if oldObj == nil {
		oldObj = map[string]any{}
	}
	m := c.memos.Get().(*Memo)
	return c.done(m, c.root.Check(m, present(newObj), present(oldObj)))
}

// done returns the result of a check with m, or gives m back.
func (c *Checker) done(m *Memo, f *Found) *Refused {
	if f != nil {
		return &Refused{f, m}
	}
	if m.used() {
		*m = Memo{spares: m.spares} // the rest would keep the objects in memory
	}
	m.nested, m.work, m.reread = false, 0, 0
	c.memos.Put(m)
	return nil
}

// CheckJSON is Check of encoded objects. It returns an error if one of them is not a JSON object; null is an empty one.
func (c *Checker) CheckJSON(newJSON, oldJSON []byte) (*Refused, error) {
	if r, ok := c.checkPair(newJSON, oldJSON); ok {
		return r, nil
	}
	// One of them is null or not an object: let the decoder say what is wrong.
	var newObj, oldObj map[string]any
	if err := json.Unmarshal(newJSON, &newObj); err != nil {
		return nil, fmt.Errorf("the new object: %w", err)
	}
	if err := json.Unmarshal(oldJSON, &oldObj); err != nil {
		return nil, fmt.Errorf("the old object: %w", err)
	}
	return c.Check(newObj, oldObj), nil
}

// checkPair checks two texts without decoding them as a whole. ok is false if one of them is not an object.
func (c *Checker) checkPair(newJSON, oldJSON []byte) (r *Refused, ok bool) {
	if c == nil {
		p := jsonscan.NewPair(newJSON, oldJSON)
		is, was := p.Kinds()
		p.Skip()
		return nil, is == '{' && was == '{' && p.End()
	}
	m := c.memos.Get().(*Memo)
	p := &m.pair
	p.Reset(newJSON, oldJSON)
	var f *Found
	if is, was := p.Kinds(); is == '{' && was == '{' {
		m.reread = 3 * p.Len()
		f = c.root.CheckJSON(m, p)
		ok = p.End()
	}
	p.Reset(nil, nil) // it would keep the texts in memory
	return c.done(m, f), ok
}

// Node is the compiled check of one location. A location without locks on it or below it has no node.
type Node interface {
	// Check returns what the update breaks at the location and below it, nil for nothing. It allocates only then, or
	// when items are in another order.
	Check(m *Memo, newVal, oldVal Value) *Found
	// CheckJSON is Check of the values that both texts have next. It reads them.
	CheckJSON(m *Memo, p *jsonscan.Pair) *Found
}

// checkDecoded is CheckJSON for a node that needs the values where they differ: equal values break no lock.
func checkDecoded(n Node, m *Memo, p *jsonscan.Pair) *Found {
	at := p.Here()
	if p.Skip() {
		return nil
	}
	return n.Check(m, present(m.hold(p.NewValue(at))), present(m.hold(p.OldValue(at))))
}

// Update is the words NoSet, NoUnset and NoModify of x-fieldlock-update. Null counts as absent, empty values do not.
type Update struct {
	NoSet, NoUnset, NoModify bool
	Inner                    *ContainerNode // the other locks here and below; nil for none
	*Field
}

var _ Node = (*Update)(nil)

// Check implements Node.
func (n *Update) Check(m *Memo, newVal, oldVal Value) *Found {
	r := Refusal{LockPath: n.LockPath, Field: n.Field, New: newVal, Old: oldVal}
	switch is, was := newVal.set(), oldVal.set(); {
	case is && !was && n.NoSet:
		r.Lock = schema.NoSet
	case was && !is && n.NoUnset:
		r.Lock = schema.NoUnset
	case is && was && n.NoModify:
		if !m.nested || n.Inner == nil {
			if m.equalJSON(newVal.Data, oldVal.Data) {
				return nil // nothing below can be broken either
			}
			m.nested = m.nested || n.Inner != nil
		}
		if !m.Same(n.Equality, newVal.Data, oldVal.Data) {
			r.Lock, r.Whole = schema.NoModify, true
		}
	}
	var f *Found
	if r.Lock != "" {
		f = refuse(r)
	}
	if n.Inner == nil {
		return f
	}
	return f.and(n.Inner.Check(m, newVal, oldVal))
}

// CheckJSON implements Node.
func (n *Update) CheckJSON(m *Memo, p *jsonscan.Pair) *Found {
	is, was := p.Kinds()
	switch {
	case n.NoModify || is == 'n' || was == 'n':
		return checkDecoded(n, m, p)
	case n.Inner == nil:
		p.Skip()
		return nil
	}
	return n.Inner.CheckJSON(m, p)
}
