package immutability

import (
	"github.com/fieldlock/fieldlock/internal/jsonscan"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// update is the words NoSet, NoUnset and NoModify of x-fieldlock-update. Null counts as absent, empty does not.
type update struct {
	noSet, noUnset, noModify bool
	inner                    node // the other locks here and below; nil: none
	*place
}

var _ node = (*update)(nil)

func (n *update) check(new, old side) *found {
	b := breach{pointer: n.pointer, place: n.place, new: new, old: old}
	switch is, was := new.there(), old.there(); {
	case is && !was && n.noSet:
		b.lock = NoSet
	case was && !is && n.noUnset:
		b.lock = NoUnset
	case is && was && n.noModify:
		if jsonvalue.Equal(new.value, old.value) {
			return nil // nor can anything below be broken, so that nested words compare no value twice
		}
		if n.shape == nil || !n.shape.Equal(new.value, old.value) {
			b.lock, b.deep = NoModify, true
		}
	}
	var f *found
	if b.lock != "" {
		f = breaks(b)
	}
	if n.inner == nil {
		return f
	}
	return f.and(n.inner.check(new, old))
}

func (n *update) checkJSON(p *jsonscan.Pair) *found {
	is, was := p.Kinds()
	switch {
	case n.noModify || is == 'n' || was == 'n':
		return checkValues(n, p)
	case n.inner == nil:
		p.Skip()
		return nil
	}
	return n.inner.checkJSON(p)
}
