package compare

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// pair is one object on both sides; one of them is nil for a create or a delete.
type pair struct {
	new, old *manifest.Object
	// ambiguous is set where nobody can tell which object of OLD belongs to new; old is nil then. New is compared with each
	// of candidates, which are some of the ambiguity's.
	ambiguous  *ambiguity
	candidates []*manifest.Object
	// updates reports that new counts as an update although old is nil.
	updates bool
	live    *Live // what the cluster says, nil without one

	applier tool.Applier    // what is known about who applies new
	by      builtin.Applier // the request that is judged; "" where a cluster has answered it
}

// pairing pairs the objects of two sides.
type pairing struct {
	pairs     []pair // the objects of NEW in their order
	olds      []*manifest.Object
	free      map[*manifest.Object]bool
	claimed   map[*manifest.Object]bool // free, and one of NEW's is its update
	isPartial func(*manifest.Object) bool
	parts     []int                    // changed objects of NEW that are paired with a partial one in their file
	completed map[int]*manifest.Object // the partial object that was in the file of a whole one
}

// pairUp pairs the objects of the two sides: first NEW's in their order, then the deleted ones. In this order:
//
//  1. by kind, namespace, name and file, as in dev/ and prod/,
//  2. by kind, namespace and name,
//  3. an object without a namespace with the object of the same kind and name in any namespace, first with one in the same
//     file: a client puts it into the namespace that is set when it runs.
//
// Where several objects fit, they are not paired: an ambiguity says what they are compared with. An object whose name the
// server generates is not paired. A partial object of OLD, which no server can have stored, pairs only with a
// partial one. pairUp returns the partial objects of OLD that are left, too.
func pairUp(news, olds []*manifest.Object, isPartial func(*manifest.Object) bool) (pairs []pair, partial []*manifest.Object) {
	p := &pairing{
		pairs: make([]pair, len(news)), olds: olds, isPartial: isPartial,
		free: map[*manifest.Object]bool{}, claimed: map[*manifest.Object]bool{}, completed: map[int]*manifest.Object{},
	}
	for _, o := range olds {
		p.free[o] = true
	}
	for i, n := range news {
		p.pairs[i].new = n
	}
	type named struct{ group, kind, name string }
	type namedIn struct {
		named
		path string
	}
	short := func(o *manifest.Object) named { return named{o.Group, o.Kind, o.Name} }
	p.matchFiles()
	p.match(func(o *manifest.Object) any { return o.ID }, p.settleSame)
	p.doubtParts()
	p.match(func(o *manifest.Object) any { return namedIn{short(o), o.Path} }, p.settleNamespaces)
	p.match(func(o *manifest.Object) any { return short(o) }, p.settleNamespaces)
	p.findCopies(func(o *manifest.Object) any { return short(o) })
	for i := range p.pairs {
		if o := p.completed[i]; o != nil && p.pairs[i].old == nil && p.pairs[i].ambiguous == nil {
			p.leave(&ambiguity{kind: completed, news: []int{i}, olds: []*manifest.Object{o}, count: 1, reason: places([]*manifest.Object{o})})
		}
	}
	for _, o := range olds {
		switch {
		case !p.free[o], p.claimed[o]:
		case isPartial(o):
			partial = append(partial, o)
		default:
			p.pairs = append(p.pairs, pair{old: o})
		}
	}
	return p.pairs, partial
}

// place is where an object is on its side.
type place struct {
	manifest.ID
	path string
}

// matchFiles pairs the objects of one file: each with the first one of OLD that is left.
func (p *pairing) matchFiles() {
	left := map[place][]*manifest.Object{}
	for _, o := range p.olds {
		if !o.Generated() {
			at := place{o.ID, o.Path}
			left[at] = append(left[at], o)
		}
	}
	for i := range p.pairs {
		n := p.pairs[i].new
		at := place{n.ID, n.Path}
		olds := left[at]
		if len(olds) == 0 {
			continue
		}
		o := olds[0]
		if !(pair{new: n, old: o}).unchanged() && p.isPartial(o) {
			if !p.isPartial(n) {
				p.completed[i] = o
				continue
			}
			p.parts = append(p.parts, i)
		}
		p.take(i, o)
		left[at] = olds[1:]
	}
}

// doubtParts unpairs the partial objects that can be the update of a whole one that is left, too.
func (p *pairing) doubtParts() {
	whole := map[manifest.ID][]*manifest.Object{}
	for _, i := range p.parts {
		whole[p.pairs[i].new.ID] = nil
	}
	for _, o := range p.olds {
		if _, asked := whole[o.ID]; asked && p.free[o] && !p.claimed[o] && !p.isPartial(o) {
			whole[o.ID] = append(whole[o.ID], o)
		}
	}
	for _, i := range p.parts {
		if more := whole[p.pairs[i].new.ID]; len(more) > 0 {
			old := p.pairs[i].old
			p.pairs[i].old, p.free[old] = nil, true
			p.settle([]int{i}, append([]*manifest.Object{old}, more...))
		}
	}
}

// match calls settle with the objects that are left, once for each key with the objects that have it.
func (p *pairing) match(key func(*manifest.Object) any, settle func(news []int, olds []*manifest.Object)) {
	olds := map[any][]*manifest.Object{}
	for _, o := range p.olds {
		if p.free[o] && !o.Generated() {
			olds[key(o)] = append(olds[key(o)], o)
		}
	}
	news := map[any][]int{}
	var keys []any
	for i := range p.pairs {
		if q := &p.pairs[i]; q.old == nil && q.ambiguous == nil && !q.new.Generated() {
			k := key(q.new)
			if olds[k] == nil {
				continue
			}
			if news[k] == nil {
				keys = append(keys, k)
			}
			news[k] = append(news[k], i)
		}
	}
	for _, k := range keys {
		settle(news[k], olds[k])
	}
}

// settle pairs objects of NEW with those of OLD that fit all of them, or leaves them ambiguous.
func (p *pairing) settle(news []int, olds []*manifest.Object) {
	if len(news) == 0 || len(olds) == 0 {
		return
	}
	if len(news) == 1 && len(olds) == 1 {
		p.take(news[0], olds[0])
		return
	}
	various := different(olds)
	if len(various) == 1 && len(news) <= len(olds) {
		for k, i := range news { // several equal ones are as good as one
			p.take(i, olds[k])
		}
		return
	}
	reason := fmt.Sprintf("OLD has the object several times: %s; the files do not tell which of them it was", places(olds))
	if len(olds) == 1 {
		reason = fmt.Sprintf("NEW has the object several times, and OLD once: %s; the files do not tell which of them it was", places(olds))
	}
	p.leave(&ambiguity{kind: successors, news: news, olds: various, count: len(olds), reason: reason})
	for k := range min(len(news), len(olds)) {
		p.pairs[news[k]].updates, p.claimed[olds[k]] = true, true
	}
}

// settleSame is settle for objects of one kind, namespace and name. Partial ones pair with partial ones first. Where all
// of NEW are partial, they can be the update of whole ones, too: they may leave out what OLD has.
func (p *pairing) settleSame(news []int, olds []*manifest.Object) {
	partial, whole := split(olds, p.isPartial)
	if len(partial) == 0 {
		p.settle(news, olds)
		return
	}
	parts, others := split(news, func(i int) bool { return p.isPartial(p.pairs[i].new) })
	if len(others) == 0 {
		p.settle(parts, olds)
		return
	}
	p.settle(others, whole)
	p.settle(parts, partial)
}

// left returns those of news that have no pair yet.
func (p *pairing) left(news []int) []int {
	return slices.DeleteFunc(news, func(i int) bool { return p.pairs[i].old != nil || p.pairs[i].ambiguous != nil })
}

// split returns the items for which is holds, and the others.
func split[T any](list []T, is func(T) bool) (with, without []T) {
	for _, item := range list {
		if is(item) {
			with = append(with, item)
		} else {
			without = append(without, item)
		}
	}
	return with, without
}

// settleNamespaces is settle for objects of one name, of which one side does not give the namespace.
func (p *pairing) settleNamespaces(news []int, olds []*manifest.Object) {
	olds = slices.DeleteFunc(olds, p.isPartial)
	open, given := split(olds, func(o *manifest.Object) bool { return o.Namespace == "" })
	p.settle(news, open)
	anywhere, _ := split(p.left(news), func(i int) bool { return p.pairs[i].new.Namespace == "" })
	p.settle(anywhere, given)
}

// findCopies tells the objects of NEW that are left which objects of OLD, paired with others, could be the same in a
// cluster: those with the same key and the same namespace, as far as it is known.
func (p *pairing) findCopies(key func(*manifest.Object) any) {
	type within struct{ key, namespace any }
	const anywhere = 0 // as a namespace: any
	same := map[within][]*manifest.Object{}
	for _, o := range p.olds {
		if !o.Generated() {
			k := key(o)
			same[within{k, o.Namespace}] = append(same[within{k, o.Namespace}], o)
			same[within{k, anywhere}] = append(same[within{k, anywhere}], o)
		}
	}
	news := map[within][]int{}
	var order []within
	for i := range p.pairs {
		q := &p.pairs[i]
		if q.old != nil || q.ambiguous != nil || q.new.Generated() {
			continue
		}
		at := within{key(q.new), q.new.Namespace}
		if news[at] == nil {
			order = append(order, at)
		}
		news[at] = append(news[at], i)
	}
	for _, at := range order {
		// Each namespace has those without one as well, so only the first few of them count.
		open := same[within{at.key, ""}]
		olds := slices.Concat(same[at], open[:min(len(open), effort)])
		if at.namespace == "" {
			olds = slices.Clone(same[within{at.key, anywhere}])
		}
		if olds = slices.DeleteFunc(olds, p.isPartial); len(olds) > 0 {
			p.leave(&ambiguity{kind: copies, news: news[at], olds: different(olds), count: len(olds), reason: places(olds)})
		}
	}
}

// take pairs the object of NEW at i with o.
func (p *pairing) take(i int, o *manifest.Object) {
	p.pairs[i].old = o
	delete(p.free, o)
}

// leave leaves objects of NEW without a pair.
func (p *pairing) leave(a *ambiguity) {
	rivals := make([]*manifest.Object, len(a.news))
	for k, i := range a.news {
		rivals[k] = p.pairs[i].new
		p.pairs[i].ambiguous = a
	}
	for k, candidates := range a.plan(rivals) {
		p.pairs[a.news[k]].candidates = candidates
	}
}

// repeated returns an error for each of objects that one file holds twice: a client would apply both, one over the other.
// Those that the other side has alike in the same file are left out.
func repeated(objects, otherSide []*manifest.Object) []error {
	byPath := func(objects []*manifest.Object) map[place][]*manifest.Object {
		all := map[place][]*manifest.Object{}
		for _, o := range objects {
			if !o.Generated() {
				at := place{o.ID, o.Path}
				all[at] = append(all[at], o)
			}
		}
		return all
	}
	mine, theirs := byPath(objects), byPath(otherSide)
	unchanged := func(a, b *manifest.Object) bool { return pair{new: a, old: b}.unchanged() }
	first := map[place]*manifest.Object{}
	var errs []error
	for _, o := range objects {
		key, at := place{o.ID, o.Path + "\x00" + o.Document.File}, place{o.ID, o.Path}
		switch other := first[key]; {
		case o.Generated():
		case other == nil:
			first[key] = o
		case slices.EqualFunc(mine[at], theirs[at], unchanged):
		default:
			errs = append(errs, o.Mistake(nil, "the object appears twice, first at %s:%d; a file may contain each object once",
				other.Document.File, other.Document.Position().Line))
		}
	}
	return errs
}

// unchanged reports whether the two sides are equal as they are written, as most are: then what the API server makes of
// them is equal too. All of metadata counts: after any change, the server compares again what it does not store as it was
// written, such as an empty map.
func (p pair) unchanged() bool {
	newVal, oldVal := p.new.Value(), p.old.Value()
	if reflect.ValueOf(newVal).Pointer() == reflect.ValueOf(oldVal).Pointer() {
		return true // they were read as one
	}
	return jsonvalue.Equal(newVal, oldVal)
}

// ServerRefusal is a reason for which the API server refused a dry run of an object. Path is "" where it names none.
type ServerRefusal struct{ Path, Message string }

// isPartial returns a function that reports whether an object lacks what an API server requires, as a patch does. No server
// can have stored it. The schemas of OLD decide for both sides, so that a change cannot make objects of OLD partial.
func (k *kinds) isPartial() func(*manifest.Object) bool {
	known := map[*manifest.Object]bool{}
	return func(o *manifest.Object) bool {
		partial, ok := known[o]
		if !ok {
			partial = k.partial(o)
			known[o] = partial
		}
		return partial
	}
}

func (k *kinds) partial(o *manifest.Object) bool {
	if kind := k.builtinOf(o); kind != nil {
		return kind.Missing(o.Value()) != ""
	}
	covers := func(d *crdDefinition) bool { return d.inOld && d.covers(o.APIVersion) }
	lacks := func(d *crdDefinition) bool { return !covers(d) || d.lacks(o) }
	definitions := k.byKind[groupKind{o.Group, o.Kind}]
	return slices.ContainsFunc(definitions, covers) && !slices.ContainsFunc(definitions, func(d *crdDefinition) bool { return !lacks(d) })
}

// lacks reports whether an object lacks a field that its version requires and has no default for. One that cannot be read
// counts as whole.
func (d *crdDefinition) lacks(o *manifest.Object) bool {
	v := d.version(o.APIVersion)
	if v.Schema == nil {
		return false
	}
	obj, err := d.preparers[v].Prepare(o.Value())
	if _, ok := obj["status"]; ok && v.HasStatus {
		obj = maps.Clone(obj)
		obj["status"] = nil // which is not stored
	}
	return err == nil && lacksRequired(v.Schema, obj)
}

// lacksRequired reports whether some object of a value lacks a member that the schema requires.
func lacksRequired(s *spec.Schema, v any) bool {
	switch v := v.(type) {
	case map[string]any:
		if slices.ContainsFunc(s.Required, func(name string) bool { _, ok := v[name]; return !ok }) {
			return true
		}
		for name, member := range v {
			if of := schema.Below(s, name); of != nil && lacksRequired(of, member) {
				return true
			}
		}
	case []any:
		for i, item := range v {
			if of := schema.Below(s, i); of != nil && lacksRequired(of, item) {
				return true
			}
		}
	}
	return false
}
