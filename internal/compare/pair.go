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

// pair is one object on both sides; one of them is nil for a create or a delete.
type pair struct {
	new, old *manifest.Object
	// unclear says why nobody can tell which object of OLD belongs to new; "" otherwise. One of rivals is the update of one
	// of candidates then.
	unclear            string
	rivals, candidates []*manifest.Object
	live               *Live // what the cluster says, nil without one
	// copies are the objects of OLD that new is a copy of, for a create.
	copies []*manifest.Object
}

// pairing pairs the objects of two sides.
type pairing struct {
	pairs []pair // the objects of NEW in their order
	free  map[*manifest.Object]bool
}

// pairUp pairs the objects of the two sides: first NEW's in their order, then the deleted ones. In this order:
//
//  1. by kind, namespace and name; where a side has an object several times, as in dev/ and prod/, also by file,
//  2. those that are left of these, when each side has one left,
//  3. an object without a namespace with the one of its kind and name in any namespace: a client puts it into the
//     namespace that it has at that time.
//
// An object whose name the server generates pairs with none.
func pairUp(news, olds []*manifest.Object) []pair {
	p := &pairing{make([]pair, len(news)), map[*manifest.Object]bool{}}
	for _, o := range olds {
		p.free[o] = true
	}
	for i, n := range news {
		p.pairs[i].new = n
	}
	full := func(o *manifest.Object) any { return o.ID }
	type named struct{ group, kind, name string }
	short := func(o *manifest.Object) any { return named{o.Group, o.Kind, o.Name} }
	oneNamespace := func(n, o *manifest.Object) bool { return n.Namespace == "" || o.Namespace == "" }
	p.match(olds, full, func(n, o *manifest.Object) bool { return n.Path == o.Path }, false)
	p.match(olds, full, func(*manifest.Object, *manifest.Object) bool { return true }, true)
	p.match(olds, short, oneNamespace, true)
	p.findCopies(olds, short, oneNamespace)
	pairs := p.pairs
	for _, o := range olds {
		if p.free[o] {
			pairs = append(pairs, pair{old: o})
		}
	}
	return pairs
}

// match pairs the objects that are left and have the same key, where fits allows it. An object that fits several, or
// that shares the one that it fits with others, stays unclear when sure is set, and takes the first otherwise.
func (p *pairing) match(olds []*manifest.Object, key func(*manifest.Object) any, fits func(n, o *manifest.Object) bool, sure bool) {
	left := map[any][]*manifest.Object{}
	for _, o := range olds {
		if p.free[o] && !o.Generated() {
			left[key(o)] = append(left[key(o)], o)
		}
	}
	claims := map[*manifest.Object][]int{}
	for i, n := range p.pairs {
		if n.old != nil || n.unclear != "" || n.new.Generated() {
			continue
		}
		candidates := slices.DeleteFunc(slices.Clone(left[key(n.new)]), func(o *manifest.Object) bool { return !fits(n.new, o) || !p.free[o] })
		switch {
		case len(candidates) == 0:
		case !sure, len(candidates) > 1 && !slices.ContainsFunc(candidates, func(o *manifest.Object) bool { return !alike(o, candidates[0]) }):
			p.take(i, candidates[0]) // several equal ones are as good as one
		case len(candidates) > 1:
			p.leave([]int{i}, candidates, fmt.Sprintf("OLD has the object several times: %s; which of them it was cannot be told", places(candidates)))
		default:
			claims[candidates[0]] = append(claims[candidates[0]], i)
		}
	}
	for o, indices := range claims {
		if len(indices) == 1 {
			p.take(indices[0], o)
			continue
		}
		p.leave(indices, []*manifest.Object{o}, fmt.Sprintf("NEW has the object several times, and OLD once: %s; which of them it was cannot be told", places([]*manifest.Object{o})))
	}
}

// findCopies tells the objects of NEW that are left which objects of OLD, paired with others, could be the same in a
// cluster: those with the same key and the same namespace, as far as it is known.
func (p *pairing) findCopies(olds []*manifest.Object, key func(*manifest.Object) any, oneNamespace func(n, o *manifest.Object) bool) {
	same := map[any][]*manifest.Object{}
	for _, o := range olds {
		if !o.Generated() {
			same[key(o)] = append(same[key(o)], o)
		}
	}
	for i, n := range p.pairs {
		if n.old != nil || n.new.Generated() {
			continue
		}
		for _, o := range same[key(n.new)] {
			if n.new.Namespace == o.Namespace || oneNamespace(n.new, o) {
				p.pairs[i].copies = append(p.pairs[i].copies, o)
			}
		}
	}
}

// take pairs the object of NEW at i with o.
func (p *pairing) take(i int, o *manifest.Object) {
	p.pairs[i].old = o
	delete(p.free, o)
}

// leave leaves the objects of NEW at indices without a pair.
func (p *pairing) leave(indices []int, candidates []*manifest.Object, reason string) {
	var rivals []*manifest.Object
	for _, i := range indices {
		rivals = append(rivals, p.pairs[i].new)
	}
	for _, i := range indices {
		p.pairs[i].unclear, p.pairs[i].rivals, p.pairs[i].candidates = reason, rivals, candidates
	}
}

// places names objects by namespace and file.
func places(objects []*manifest.Object) string {
	var names []string
	for _, o := range objects {
		names = append(names, fmt.Sprintf("%s:%d (namespace %s)", o.Document.File, o.Document.Position().Line, cmp.Or(o.Namespace, "not given")))
	}
	slices.Sort(names)
	if more := len(names) - 3; more > 0 {
		names = append(names[:3], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// repeated returns an error for each object that one file holds twice: a client would apply both, one over the other.
func repeated(objects []*manifest.Object) []error {
	type place struct {
		manifest.ID
		file string
	}
	first := map[place]*manifest.Object{}
	var errs []error
	for _, o := range objects {
		key := place{o.ID, o.Document.File}
		switch other := first[key]; {
		case o.Generated():
		case other == nil:
			first[key] = o
		default:
			errs = append(errs, o.Mistake("", "the object appears twice, first at %s:%d; a file may contain each object once", other.Document.File, other.Document.Position().Line))
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

// alike reports whether two objects are equal as they are written, but for labels and the like: of metadata only the
// annotations count.
func alike(a, b *manifest.Object) bool {
	written := func(o *manifest.Object) map[string]any {
		object := maps.Clone(o.Value())
		metadata, _ := object["metadata"].(map[string]any)
		object["metadata"] = metadata["annotations"]
		return object
	}
	return jsonvalue.Equal(written(a), written(b))
}

// ServerRefusal is a reason for which the API server refused a dry run of an object. Path is "" where it names none.
type ServerRefusal struct{ Path, Message string }
