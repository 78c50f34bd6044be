package compare

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// The first step of a check: which object of OLD is the earlier state of which object of NEW?
//
//	OLD                          NEW
//	dev/app.yaml   Deployment a  dev/app.yaml   Deployment a    the same file: a pair
//	prod/app.yaml  Deployment a  base/app.yaml  Deployment a    one is left on each side: the object moved
//
// With a third file of the Deployment in NEW, two objects could have been in prod/app.yaml. Such objects form a group:
// each is compared with every possible predecessor.

// pair is one object on both sides; one of them is nil for a create or a delete.
type pair struct {
	new, old *manifest.Object
	// group is set for an object of NEW whose predecessor the files do not tell; old is nil then.
	group *group
}

// group is objects of NEW with one identity, and the objects of OLD that each of them may have been.
type group struct {
	relation     relation
	predecessors []*manifest.Object // of each content the first
	count        int                // objects of OLD, those with equal content included
	found        string             // the places of the objects of OLD
	// tooMany is set where comparing every object with every predecessor would take too long.
	tooMany bool
}

// relation is what the objects of a group can be to their predecessors.
type relation int

const (
	// successors: each object of NEW is one of OLD's, or a new one in another cluster.
	successors relation = iota
	// copies: the objects of OLD have other successors. In another cluster, those of NEW are creates; in the same
	// cluster they are updates, which may be refused.
	copies
	// completed: the object of OLD is partial, and the one of NEW in its file is whole. Only where a webhook fills in
	// what OLD leaves out can this be an update.
	completed
)

// pairing pairs the objects of two sides.
type pairing struct {
	pairs     []pair // the objects of NEW in their order
	olds      []*manifest.Object
	free      map[*manifest.Object]bool // not part of a pair
	succeeded map[*manifest.Object]bool // free, and an object of NEW in its group takes its place
	isPartial func(*manifest.Object) bool
	parts     []int                    // changed objects of NEW that are paired with a partial one in their file
	completed map[int]*manifest.Object // the partial object that was in the file of a whole one
}

// pairUp pairs the objects of the two sides: first NEW's in their order, then the deleted ones. In this order:
//
//  1. by kind, namespace, name and file, as in dev/ and prod/,
//  2. by kind, namespace and name,
//  3. an object without a namespace with the object of the same kind and name in any namespace, first with one in the
//     same file: a client puts it into the namespace that is set when it runs.
//
// Where several objects fit, they form a group. An object whose name the server generates is not paired. A partial
// object of OLD, which no server can have stored, pairs only with a partial one. pairUp returns the partial objects of
// OLD that are left, too.
func pairUp(
	news, olds []*manifest.Object, isPartial func(*manifest.Object) bool,
) (pairs []pair, partial []*manifest.Object) {
	p := &pairing{
		pairs: make([]pair, len(news)), olds: olds, isPartial: isPartial,
		free: map[*manifest.Object]bool{}, succeeded: map[*manifest.Object]bool{},
		completed: map[int]*manifest.Object{},
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
	p.match(func(o *manifest.Object) any { return o.ID }, p.pairSame)
	p.reconsiderParts()
	p.match(func(o *manifest.Object) any { return namedIn{short(o), o.Path} }, p.pairNamespaces)
	p.match(func(o *manifest.Object) any { return short(o) }, p.pairNamespaces)
	p.findCopies(func(o *manifest.Object) any { return short(o) })
	for i := range p.pairs {
		if o := p.completed[i]; o != nil && p.open(i) {
			p.form(completed, []int{i}, []*manifest.Object{o})
		}
	}
	for _, o := range olds {
		switch {
		case !p.free[o], p.succeeded[o]:
		case isPartial(o):
			partial = append(partial, o)
		default:
			p.pairs = append(p.pairs, pair{old: o})
		}
	}
	return p.pairs, partial
}

// open reports whether the object of NEW at i has neither a pair nor a group yet.
func (p *pairing) open(i int) bool { return p.pairs[i].old == nil && p.pairs[i].group == nil }

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

// reconsiderParts unpairs the partial objects that can be the update of a whole one that is left, too.
func (p *pairing) reconsiderParts() {
	whole := map[manifest.ID][]*manifest.Object{}
	for _, i := range p.parts {
		whole[p.pairs[i].new.ID] = nil
	}
	for _, o := range p.olds {
		if _, asked := whole[o.ID]; asked && p.free[o] && !p.succeeded[o] && !p.isPartial(o) {
			whole[o.ID] = append(whole[o.ID], o)
		}
	}
	for _, i := range p.parts {
		if more := whole[p.pairs[i].new.ID]; len(more) > 0 {
			old := p.pairs[i].old
			p.pairs[i].old, p.free[old] = nil, true
			p.pairOrGroup([]int{i}, append([]*manifest.Object{old}, more...))
		}
	}
}

// match calls join with the objects that are left, once for each key with the objects that have it.
func (p *pairing) match(key func(*manifest.Object) any, join func(news []int, olds []*manifest.Object)) {
	olds := map[any][]*manifest.Object{}
	for _, o := range p.olds {
		if p.free[o] && !o.Generated() {
			olds[key(o)] = append(olds[key(o)], o)
		}
	}
	news := map[any][]int{}
	var keys []any
	for i := range p.pairs {
		if n := p.pairs[i].new; p.open(i) && !n.Generated() {
			k := key(n)
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
		join(news[k], olds[k])
	}
}

// pairOrGroup pairs objects of NEW with those of OLD that fit all of them, or makes a group of them.
func (p *pairing) pairOrGroup(news []int, olds []*manifest.Object) {
	if len(news) == 0 || len(olds) == 0 {
		return
	}
	// Several equal objects are as good as one.
	if len(news) <= len(olds) && (len(olds) == 1 || len(different(olds)) == 1) {
		for k, i := range news {
			p.take(i, olds[k])
		}
		return
	}
	if p.pairMoved(news, olds) {
		return
	}
	p.form(successors, news, olds)
	for k := range min(len(news), len(olds)) {
		p.succeeded[olds[k]] = true
	}
}

// maxMoves bounds the moves of a directory that are tried.
const maxMoves = 32

// pairMoved pairs objects of NEW with those of OLD if a directory with all of them has moved, and each is as it was:
// staging/a/app.yaml is archive/a/app.yaml now, and staging/b/app.yaml is archive/b/app.yaml.
func (p *pairing) pairMoved(news []int, olds []*manifest.Object) bool {
	if len(news) != len(olds) {
		return false
	}
	at, candidates := map[string][]*manifest.Object{}, []*manifest.Object{}
	for _, o := range olds {
		at[o.Path] = append(at[o.Path], o)
		if (pair{new: p.pairs[news[0]].new, old: o}).unchanged() {
			candidates = append(candidates, o)
		}
	}
	for _, first := range candidates[:min(len(candidates), maxMoves)] {
		from, to := directories(first.Path, p.pairs[news[0]].new.Path)
		left, moved := maps.Clone(at), []*manifest.Object{}
		for _, i := range news {
			n := p.pairs[i].new
			rest, ok := strings.CutPrefix(n.Path, to)
			k := slices.IndexFunc(left[from+rest], func(o *manifest.Object) bool {
				return (pair{new: n, old: o}).unchanged()
			})
			if !ok || k < 0 {
				break
			}
			moved = append(moved, left[from+rest][k])
			left[from+rest] = slices.Delete(slices.Clone(left[from+rest]), k, k+1)
		}
		if len(moved) == len(news) {
			for k, i := range news {
				p.take(i, moved[k])
			}
			return true
		}
	}
	return false
}

// directories returns what two paths begin with before the names at their end that they share.
func directories(oldPath, newPath string) (from, to string) {
	from, to = oldPath, newPath
	for {
		i, k := strings.LastIndexByte(from, '/'), strings.LastIndexByte(to, '/')
		if from[i+1:] != to[k+1:] || i < 0 || k < 0 {
			break
		}
		from, to = from[:i], to[:k]
	}
	if rest, ok := strings.CutSuffix(to, "/"+from); ok {
		return "", rest + "/"
	}
	if rest, ok := strings.CutSuffix(from, "/"+to); ok {
		return rest + "/", ""
	}
	return from, to
}

// pairSame is pairOrGroup for objects of one kind, namespace and name. Partial ones pair with partial ones first. Where
// all of NEW are partial, they can be the update of whole ones, too: they may leave out what OLD has.
func (p *pairing) pairSame(news []int, olds []*manifest.Object) {
	partial, whole := split(olds, p.isPartial)
	if len(partial) == 0 {
		p.pairOrGroup(news, olds)
		return
	}
	parts, others := split(news, func(i int) bool { return p.isPartial(p.pairs[i].new) })
	if len(others) == 0 {
		p.pairOrGroup(parts, olds)
		return
	}
	p.pairOrGroup(others, whole)
	p.pairOrGroup(parts, partial)
}

// pairNamespaces is pairOrGroup for objects of one name, of which one side does not give the namespace.
func (p *pairing) pairNamespaces(news []int, olds []*manifest.Object) {
	olds = slices.DeleteFunc(olds, p.isPartial)
	without, given := split(olds, func(o *manifest.Object) bool { return o.Namespace == "" })
	p.pairOrGroup(news, without)
	anywhere, _ := split(news, func(i int) bool { return p.open(i) && p.pairs[i].new.Namespace == "" })
	p.pairOrGroup(anywhere, given)
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

// maxWithoutNamespace bounds the objects without a namespace that copies in each of many namespaces are compared with.
const maxWithoutNamespace = 8

// findCopies makes groups of the objects of NEW that are left and the objects of OLD, paired with others, that could be
// the same in a cluster: those with the same key and the same namespace, as far as it is known.
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
		n := p.pairs[i].new
		if !p.open(i) || n.Generated() {
			continue
		}
		at := within{key(n), n.Namespace}
		if news[at] == nil {
			order = append(order, at)
		}
		news[at] = append(news[at], i)
	}
	for _, at := range order {
		without := same[within{at.key, ""}]
		olds := slices.Concat(same[at], without[:min(len(without), maxWithoutNamespace)])
		if at.namespace == "" {
			olds = slices.Clone(same[within{at.key, anywhere}])
		}
		if olds = slices.DeleteFunc(olds, p.isPartial); len(olds) > 0 {
			p.form(copies, news[at], olds)
		}
	}
}

// take pairs the object of NEW at i with o.
func (p *pairing) take(i int, o *manifest.Object) {
	p.pairs[i].old = o
	delete(p.free, o)
}

// Comparing all objects of a group with each other may read the group up to maxReadings times, and in any case
// leastReadings values. Judging an object takes as long as reading perObject values, apart from those that it has.
const (
	maxReadings   = 8
	leastReadings = 1 << 20
	perObject     = 64
)

// form makes a group of objects of NEW and their possible predecessors. Whoever writes NEW may add any number of
// copies, so the comparisons of a group are bounded by its size.
func (p *pairing) form(r relation, news []int, olds []*manifest.Object) {
	g := &group{relation: r, predecessors: different(olds), count: len(olds), found: places(olds)}
	var newSize, oldSize int
	for _, i := range news {
		newSize += perObject + size(p.pairs[i].new.Value())
		p.pairs[i].group = g
	}
	for _, o := range g.predecessors {
		oldSize += perObject + size(o.Value())
	}
	g.tooMany = newSize*len(g.predecessors)+oldSize*len(news) > max(leastReadings, maxReadings*(newSize+oldSize))
}

// size measures what reading a value costs.
func size(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			n += len(name)/64 + size(member)
		}
	case []any:
		for _, item := range v {
			n += size(item)
		}
	case string:
		n += len(v) / 64
	}
	return n
}

// different returns one object of each content, in their order. Of metadata only the annotations count, as nothing else
// in it can be locked.
func different(objects []*manifest.Object) []*manifest.Object {
	known := map[string]bool{}
	var list []*manifest.Object
	for _, o := range objects {
		written := maps.Clone(o.Value())
		metadata, _ := written["metadata"].(map[string]any)
		written["metadata"] = metadata["annotations"]
		text, err := jsonvalue.Encode(written)
		if err != nil || !known[string(text)] {
			known[string(text)] = true
			list = append(list, o)
		}
	}
	return list
}

// places names objects by namespace and file, the first few of them.
func places(objects []*manifest.Object) string {
	var names []string
	for _, o := range objects {
		names = append(names, fmt.Sprintf("%s:%d (namespace %s)", o.Document.File, o.Document.Position().Line,
			cmp.Or(o.Namespace, "not given")))
	}
	slices.Sort(names)
	if more := len(names) - 3; more > 0 {
		names = append(names[:3], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// changed reports whether both sides have the object, with different content. A copy with the content of an object of
// OLD that has another successor is no change: it is a create, or equals the stored object.
func (p pair) changed() bool {
	if g := p.group; g != nil {
		return g.relation != copies || !slices.ContainsFunc(g.predecessors, func(o *manifest.Object) bool {
			return (pair{new: p.new, old: o}).unchanged()
		})
	}
	return p.new != nil && p.old != nil && !p.unchanged()
}

// unchanged reports whether the two sides are equal as they are written, as most are: then what the API server makes of
// them is equal too. All of metadata counts: after any change, the server compares again what it does not store as it
// was written, such as an empty map.
func (p pair) unchanged() bool {
	newVal, oldVal := p.new.Value(), p.old.Value()
	if reflect.ValueOf(newVal).Pointer() == reflect.ValueOf(oldVal).Pointer() {
		return true // they were read as one
	}
	return jsonvalue.Equal(newVal, oldVal)
}
