package immutability

import (
	"github.com/fieldlock/fieldlock/internal/extension"
	"github.com/fieldlock/fieldlock/listtype"
	"github.com/fieldlock/fieldlock/normalize"
)

// compiler turns the locations of a schema that has no errors into nodes.
type compiler struct {
	locked   map[*location]bool // a lock stands on it or below it
	presence map[*location]normalize.Property
	shapers  [2]*shaper // by MapListOrder
	order    MapListOrder
	veiler   *veiler
	places   map[*location]*place
	nodes    map[*location]node
}

func newCompiler(a *analysis) *compiler {
	presence := presenceOf(a.root, a.normalizer)
	return &compiler{
		locked:   a.locked,
		presence: presence,
		shapers:  [2]*shaper{newShaper(a.reader.all, Significant, presence), newShaper(a.reader.all, Ignored, presence)},
		order:    a.config.order,
		veiler:   newVeiler(a.reader.all, a.config.redacted),
		places:   map[*location]*place{},
		nodes:    map[*location]node{},
	}
}

// presenceOf finds what the normalizer of the same schema says of each property.
func presenceOf(root *location, n *normalize.Normalizer) map[*location]normalize.Property {
	presence := map[*location]normalize.Property{}
	seen := map[*body]bool{}
	var visit func(l *location, n *normalize.Normalizer)
	visit = func(l *location, n *normalize.Normalizer) {
		if l == nil || n.Empty() || seen[l.body] {
			return
		}
		seen[l.body] = true
		for _, p := range l.properties {
			presence[p] = n.Property(p.name)
			visit(p, presence[p].Below())
		}
		visit(l.values, n.Values())
		visit(l.items, n.Items())
	}
	visit(root, n)
	return presence
}

// keysOf returns the keys of a list-type map with the defaults of its item schema.
func keysOf(l *location) listtype.Keys {
	keys := make(listtype.Keys, len(l.marks.ListMapKeys))
	for i, name := range l.marks.ListMapKeys {
		keys[i].Name = name
		if p := l.keyField(name); p != nil {
			keys[i].Default = p.defaultValue()
			keys[i].HasDefault = keys[i].Default != nil
		}
	}
	return keys
}

// keyField returns the property of the items of l that is the key name, or nil.
func (l *location) keyField(name string) *location {
	if l.items == nil {
		return nil
	}
	for _, p := range l.items.properties {
		if p.name == name {
			return p
		}
	}
	return nil
}

// place returns the place of l, for locks that stand on it.
func (c *compiler) place(l *location) *place {
	if p, ok := c.places[l]; ok || l == nil {
		return p
	}
	order := c.order
	if l.marks.MapListOrder == extension.OrderIgnored {
		order = Ignored
	}
	p := &place{pointer: l.lockPath(), shape: c.shapers[order].shape(l), veil: c.veiler.veil(l)}
	c.places[l] = p
	return p
}

// node returns the node of l, nil where no lock stands on it or below it. A location whose node is still being built,
// because its schema holds itself, gets the same node.
func (c *compiler) node(l *location) node {
	if l == nil || !c.locked[l] {
		return nil
	}
	if n, ok := c.nodes[l]; ok {
		return n
	}
	if l.marks.Immutable {
		n := &frozen{place: c.place(l)}
		c.nodes[l] = n
		return n
	}
	var inner *container
	if c.contains(l) {
		inner = &container{place: c.place(l)}
		c.nodes[l] = inner
	}
	if m := l.marks; m.Has(extension.NoSet) || m.Has(extension.NoUnset) || m.Has(extension.NoModify) {
		n := &update{
			noSet: m.Has(extension.NoSet), noUnset: m.Has(extension.NoUnset), noModify: m.Has(extension.NoModify), place: c.place(l),
		}
		if inner != nil {
			n.inner = inner
		}
		c.nodes[l] = n
	}
	if inner != nil {
		inner.object, inner.list = c.object(l), c.list(l)
	}
	return c.nodes[l]
}

// contains reports whether a key lock stands on l, or any lock below it.
func (c *compiler) contains(l *location) bool {
	below := len(c.keyLocks(l, nil)) > 0
	l.children(func(child *location) { below = below || c.locked[child] })
	return below
}

// keyLocks returns the locks on the keys or set items of l; member is the place of what stands under them.
func (c *compiler) keyLocks(l *location, member *location) []keyLock {
	var locks []keyLock
	for _, lock := range locksOf(&l.marks) {
		k := keyLock{lock: lock, pointer: l.lockPath(), member: c.place(member)}
		switch lock {
		case ImmutableKeys:
			k.refuseAdd, k.refuseRemove = true, true
		case AdditionOnly, NoRemoveItem:
			k.refuseRemove = true
		case DeletionOnly, NoAddItem:
			k.refuseAdd = true
		default:
			continue
		}
		locks = append(locks, k)
	}
	return locks
}

func (c *compiler) object(l *location) *object {
	o := &object{values: c.node(l.values)}
	for _, p := range l.properties {
		if n := c.node(p); n != nil {
			o.properties = append(o.properties, property{
				name: p.name, node: n, marked: p.marks.Normalize != "", presence: c.presence[p],
			})
		}
	}
	if l.hasKeys() {
		o.locks = c.keyLocks(l, l.values)
	}
	if o.values == nil && len(o.locks) == 0 {
		if len(o.properties) == 0 {
			return nil
		}
		return o
	}
	o.named = names(l.body.properties)
	return o
}

func (c *compiler) list(l *location) list {
	item := c.node(l.items)
	switch l.marks.ListType {
	case extension.ListSet:
		if locks := c.keyLocks(l, l.items); len(locks) > 0 {
			return &set{shape: c.itemShape(l), locks: locks}
		}
		return nil
	case extension.ListMap:
		locks := c.keyLocks(l, l.items)
		if item == nil && len(locks) == 0 {
			return nil
		}
		_, whole := item.(*frozen)
		return &keyed{
			keys: keysOf(l), item: item, shape: c.itemShape(l), locks: locks, pointer: l.lockPath(), wholeItems: whole,
		}
	}
	if item == nil {
		return nil
	}
	return &items{item}
}

// itemShape is the shape of the items of l, compared for a lock on l.
func (c *compiler) itemShape(l *location) shape {
	if l.items == nil {
		return nil
	}
	return c.place(l.items).shape
}
