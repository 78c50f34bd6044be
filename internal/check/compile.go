package check

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
	"github.com/fieldlock/fieldlock/internal/listindex"
	"github.com/fieldlock/fieldlock/internal/normalizer"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Frozen is x-kubernetes-immutable: neither the value nor its presence may change, for the whole subtree.
type Frozen struct {
	*Field
}

var _ Node = (*Frozen)(nil)

// Check implements Node.
func (n *Frozen) Check(m *Memo, newVal, oldVal Value) *Found {
	if newVal.OK == oldVal.OK && (!newVal.OK || m.Same(n.Equality, newVal.Data, oldVal.Data)) {
		return nil
	}
	return refuse(Refusal{Lock: schema.Immutable, LockPath: n.LockPath, Field: n.Field, New: newVal,
		Old: oldVal, Whole: true})
}

// CheckJSON implements Node.
func (n *Frozen) CheckJSON(m *Memo, p *jsonscan.Pair) *Found { return checkDecoded(n, m, p) }

// KeyLock is a lock on the keys of a map or keyed list, or on the items of a set.
type KeyLock struct {
	Lock                    schema.Lock
	LockPath                *schema.Path
	RefuseAdd, RefuseRemove bool
	Member                  *Field // of the values under the keys, or of the items
}

func refuseRemoval(locks []KeyLock) bool {
	return slices.ContainsFunc(locks, func(l KeyLock) bool { return l.RefuseRemove })
}

// added refuses a key or item that was added with this value; nil if the lock allows it.
func (l *KeyLock) added(value any) *Found {
	if !l.RefuseAdd {
		return nil
	}
	return refuse(Refusal{Lock: l.Lock, LockPath: l.LockPath, Field: l.Member, New: present(value)})
}

// removed refuses a key or item that was removed; nil if the lock allows it.
func (l *KeyLock) removed(key any) *Found {
	if !l.RefuseRemove {
		return nil
	}
	return refuse(Refusal{Lock: l.Lock, LockPath: l.LockPath, Key: present(key)})
}

// Options say how a schema is compiled.
type Options struct {
	OrderIgnored bool               // lists of list-type map compare by key in every lock
	Redacted     []*schema.Location // whose values are hidden in reports
}

// Compile turns a schema without mistakes into a checker. presence is of the same schema. It returns nil if the schema
// has no locks. Parts without locks compile to nothing.
func Compile(t *schema.Tree, presence normalizer.Presence, o Options) *Checker {
	locked := t.Holding(func(l *schema.Location) bool { return l.Marks.Locked() })
	if !locked[t.Root] {
		return nil
	}
	c := compiler{
		locked:     locked,
		presence:   presence,
		ordered:    newEqualities(t, presence, false),
		unordered:  newEqualities(t, presence, true),
		ignore:     o.OrderIgnored,
		redactions: newRedactions(t, o.Redacted),
		fields:     map[*schema.Location]*Field{},
		nodes:      map[*schema.Location]Node{},
		keyed:      t.Holding(func(l *schema.Location) bool { return l.Marks.ListType == schema.ListMap }),
	}
	return newChecker(c.node(t.Root))
}

type compiler struct {
	locked             map[*schema.Location]bool // a lock is on it or below it
	presence           normalizer.Presence
	ordered, unordered *equalities
	ignore             bool
	redactions         *redactions
	fields             map[*schema.Location]*Field
	nodes              map[*schema.Location]Node
	keyed              map[*schema.Location]bool // a list by key is on it or below it
}

// field returns the field of l, nil for nil.
func (c *compiler) field(l *schema.Location) *Field {
	if f, ok := c.fields[l]; ok || l == nil {
		return f
	}
	e := c.ordered
	if c.ignore || l.Marks.MapListOrder == schema.OrderIgnored {
		e = c.unordered
	}
	f := &Field{LockPath: l.LockPath(), Equality: e.of(l), Redaction: c.redactions.of(l)}
	c.fields[l] = f
	return f
}

// node returns the node of l, nil if no lock is on it or below it. A location whose node is still being built, because
// its schema contains itself, gets the same node.
func (c *compiler) node(l *schema.Location) Node {
	if l == nil || !c.locked[l] {
		return nil
	}
	if n, ok := c.nodes[l]; ok {
		return n
	}
	if l.Marks.Has(schema.Immutable) {
		n := &Frozen{Field: c.field(l)}
		c.nodes[l] = n
		return n
	}
	var inner *ContainerNode
	if c.contains(l) {
		inner = &ContainerNode{Field: c.field(l)}
		c.nodes[l] = inner
	}
	if m := &l.Marks; m.Has(schema.NoSet) || m.Has(schema.NoUnset) || m.Has(schema.NoModify) {
		c.nodes[l] = &Update{
			NoSet: m.Has(schema.NoSet), NoUnset: m.Has(schema.NoUnset), NoModify: m.Has(schema.NoModify),
			Inner: inner, Field: c.field(l),
		}
	}
	if inner != nil {
		inner.Object, inner.List = c.object(l), c.list(l)
	}
	return c.nodes[l]
}

// contains reports whether a lock is on the keys of l or anywhere below it.
func (c *compiler) contains(l *schema.Location) bool {
	for child := range l.Children {
		if c.locked[child] {
			return true
		}
	}
	return len(c.keyLocks(l, nil)) > 0
}

// keyLocks returns the locks on the keys or set items of l; member is the location of what is under them.
func (c *compiler) keyLocks(l, member *schema.Location) []KeyLock {
	var locks []KeyLock
	for _, lock := range l.Marks.Locks {
		if lock.OnKeys() {
			refuses := lock.Refuses()
			locks = append(locks, KeyLock{
				Lock: lock, LockPath: l.LockPath(), Member: c.field(member),
				RefuseAdd: refuses.Has(schema.AddItem), RefuseRemove: refuses.Has(schema.RemoveItem),
			})
		}
	}
	return locks
}

func (c *compiler) object(l *schema.Location) *Object {
	o := &Object{Values: c.node(l.Values)}
	for _, p := range l.Properties {
		if n := c.node(p); n != nil {
			o.Properties = append(o.Properties, Property{
				Name: p.Name, Node: n, Normalized: p.Marks.Normalize != "", Presence: c.presence[p],
			})
		}
	}
	if l.HasKeys() {
		o.Locks = c.keyLocks(l, l.Values)
	}
	if o.onlyProperties() {
		if len(o.Properties) == 0 {
			return nil
		}
		return o
	}
	o.Named = make(map[string]bool, len(l.Properties))
	for _, p := range l.Properties {
		o.Named[p.Name] = true
	}
	return o
}

func (c *compiler) list(l *schema.Location) List {
	item := c.node(l.Items)
	var items *Equality
	if l.Items != nil {
		items = c.field(l.Items).Equality
	}
	switch l.Marks.ListType {
	case schema.ListSet:
		if locks := c.keyLocks(l, l.Items); len(locks) > 0 {
			return &SetItems{Equality: items, Locks: locks}
		}
		return nil
	case schema.ListMap:
		locks := c.keyLocks(l, l.Items)
		if item == nil && len(locks) == 0 {
			return nil
		}
		_, whole := item.(*Frozen)
		n := &KeyedItems{
			Keys: keysOf(l), Names: textNames(l.Marks.ListMapKeys), Item: item, Equality: items, Locks: locks,
			LockPath:   l.LockPath(),
			WholeItems: whole, Flat: !c.keyed[l.Items],
		}
		if in, ok := item.(*ContainerNode); ok && n.Flat && in.Object != nil && in.Object.onlyProperties() &&
			len(in.Object.Properties) <= fewMembers {
			n.Members = in.Object.Properties
		}
		return n
	}
	if item == nil {
		return nil
	}
	return &Items{item}
}

// keysOf returns the keys of a list-type map with the defaults of its item schema.
func keysOf(l *schema.Location) listindex.Keys {
	keys := make(listindex.Keys, len(l.Marks.ListMapKeys))
	for i, name := range l.Marks.ListMapKeys {
		keys[i].Name = name
		if p := l.KeyField(name); p != nil {
			keys[i].Default = p.Default()
			keys[i].HasDefault = keys[i].Default != nil
		}
	}
	return keys
}

// textNames returns the names of keys for looking them up in texts, nil where one contains U+FFFD: invalid UTF-8 is
// decoded to that too.
func textNames(keys []string) []string {
	for _, name := range keys {
		if strings.ContainsRune(name, utf8.RuneError) {
			return nil
		}
	}
	return keys
}

// equalities builds the equalities of locations, each once, so that recursive schemas end.
type equalities struct {
	ignoreOrder bool
	special     map[*schema.Location]bool // differs from JSON equality, itself or below
	unordered   map[*schema.Location]bool // has lists without order, itself or below
	presence    normalizer.Presence
	built       map[*schema.Location]*Equality
}

func newEqualities(t *schema.Tree, presence normalizer.Presence, ignoreOrder bool) *equalities {
	unordered := func(l *schema.Location) bool {
		return l.Marks.ListType == schema.ListSet || ignoreOrder && l.Marks.ListType == schema.ListMap
	}
	return &equalities{
		ignoreOrder: ignoreOrder,
		special:     t.Holding(func(l *schema.Location) bool { return l.Marks.Normalize != "" || unordered(l) }),
		unordered:   t.Holding(unordered),
		presence:    presence,
		built:       map[*schema.Location]*Equality{},
	}
}

// of returns the equality of l, nil for JSON equality; nil l is a value without a schema.
func (b *equalities) of(l *schema.Location) *Equality {
	if l == nil || !b.special[l] {
		return nil
	}
	if done, ok := b.built[l]; ok {
		return done
	}
	e := &Equality{unordered: b.unordered[l]}
	b.built[l] = e
	e.Object = b.object(l)
	switch items := b.of(l.Items); {
	case l.Marks.ListType == schema.ListSet:
		e.List = &ListEquality{Kind: AsSet, Items: items}
	case l.Marks.ListType == schema.ListMap && b.ignoreOrder:
		e.List = &ListEquality{Kind: ByKey, Items: items, Keys: keysOf(l)}
	case items != nil:
		e.List = &ListEquality{Kind: Ordered, Items: items}
	}
	return e
}

func (b *equalities) object(l *schema.Location) *ObjectEquality {
	o := &ObjectEquality{Properties: map[string]Member{}, Values: b.of(l.Values)}
	for _, p := range l.Properties {
		m := Member{b.of(p), b.presence[p]}
		normalized := p.Marks.Normalize != ""
		o.Normalized = o.Normalized || normalized
		if m.Equality != nil || normalized || o.Values != nil {
			o.Properties[p.Name] = m
		}
	}
	if len(o.Properties) == 0 && o.Values == nil {
		return nil
	}
	return o
}
