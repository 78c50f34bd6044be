package immutability

import "github.com/fieldlock/fieldlock/internal/jsonscan"

// update is the words NoSet, NoUnset and NoModify of x-fieldlock-update. Null counts as absent, empty does not.
type update struct {
	noSet, noUnset, noModify bool
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
	case is && was && n.noModify && !same(n.shape, new.value, old.value):
		b.lock, b.deep = NoModify, true
	default:
		return nil
	}
	return breaks(b)
}

func (n *update) checkJSON(p *jsonscan.Pair) *found {
	if n.passes(p.Kinds()) {
		p.Skip()
		return nil
	}
	return checkValues(n, p)
}

// passes reports whether nothing can be broken by values that begin with these bytes, whatever they are.
func (n *update) passes(is, was byte) bool { return !n.noModify && is != 'n' && was != 'n' }
