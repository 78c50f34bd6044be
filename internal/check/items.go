package check

import "github.com/fieldlock/fieldlock/internal/jsonscan"

// List is the check of the items of a list. A list that is absent or null is empty.
type List interface {
	check(m *Memo, newList, oldList []any) *Found
}

// Items checks an atomic or untyped list: by index, for the indices that both sides have.
type Items struct{ Node Node }

var _ List = (*Items)(nil)

func (n *Items) check(m *Memo, newList, oldList []any) *Found {
	var f *Found
	for i := range min(len(newList), len(oldList)) {
		f = f.add(n.Node.Check(m, present(newList[i]), present(oldList[i])), index(i))
	}
	return f
}

// checkJSON is check of two lists that p has next.
func (n *Items) checkJSON(m *Memo, p *jsonscan.Pair) *Found {
	var f *Found
	for it := p.Items(); it.Next(); {
		if it.In != jsonscan.Both {
			p.SkipOne(it.In)
			continue
		}
		f = f.add(n.Node.CheckJSON(m, p), index(it.Index))
	}
	return f
}

// SetItems checks the items of a list-type set, which are its keys, counted with multiplicity.
type SetItems struct {
	Equality *Equality // of an item
	Locks    []KeyLock
}

var _ List = (*SetItems)(nil)

func (n *SetItems) check(m *Memo, newList, oldList []any) *Found {
	var f *Found
	added, removed := m.changed(n.Equality, newList, oldList)
	for i := range n.Locks {
		l := &n.Locks[i]
		if l.RefuseAdd {
			for _, at := range added {
				f = f.add(l.added(newList[at]), index(at))
			}
		}
		if l.RefuseRemove {
			for _, at := range removed {
				f = f.and(l.removed(oldList[at]))
			}
		}
	}
	return f
}
