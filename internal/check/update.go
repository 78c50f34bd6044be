package check

import (
	"github.com/fieldlock/fieldlock/internal/jsonscan"
	"github.com/fieldlock/fieldlock/internal/schema"
)

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
