package immutability

import (
	"github.com/fieldlock/fieldlock/internal/jsonscan"
	"github.com/fieldlock/fieldlock/listtype"
)

// items checks an atomic or untyped list: by index, for the indices that both sides have.
type items struct{ node node }

var _ list = (*items)(nil)

func (n *items) checkList(new, old []any) *found {
	var f *found
	for i := range min(len(new), len(old)) {
		f = f.add(n.node.check(side{new[i], true}, side{old[i], true}), step{at: atItems, index: i})
	}
	return f
}

// checkJSON is checkList of two lists that p has next.
func (n *items) checkJSON(p *jsonscan.Pair) *found {
	var f *found
	for it := p.Items(); it.Next(); {
		if it.In != jsonscan.Both {
			p.SkipOne(it.In)
			continue
		}
		f = f.add(n.node.checkJSON(p), step{at: atItems, index: it.Index})
	}
	return f
}

// set checks the items of a list-type set, which are its keys, counted with multiplicity.
type set struct {
	shape shape // of an item
	locks []keyLock
}

var _ list = (*set)(nil)

func (n *set) checkList(new, old []any) *found {
	eq := shapeOrJSON(n.shape)
	var f *found
	for i := range n.locks {
		l := &n.locks[i]
		if l.refuseAdd {
			for _, at := range listtype.Added(new, old, eq) {
				f = f.add(l.added(new[at]), step{at: atItems, index: at})
			}
		}
		if l.refuseRemove {
			for _, at := range listtype.Added(old, new, eq) {
				f = f.and(l.removed(old[at]))
			}
		}
	}
	return f
}
