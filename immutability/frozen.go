package immutability

import "github.com/fieldlock/fieldlock/internal/jsonscan"

// frozen is x-kubernetes-immutable: value and presence may not change, in the whole subtree.
type frozen struct {
	*place
}

var _ node = (*frozen)(nil)

func (n *frozen) check(new, old side) *found {
	if new.ok == old.ok && (!new.ok || same(n.shape, new.value, old.value)) {
		return nil
	}
	return breaks(breach{lock: Immutable, pointer: n.pointer, place: n.place, new: new, old: old, deep: true})
}

func (n *frozen) checkJSON(p *jsonscan.Pair) *found { return checkValues(n, p) }
