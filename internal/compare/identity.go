package compare

import (
	"fmt"
	"slices"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// identify gives an object the identity that it has on an API server: some built-in kinds have moved to another group,
// and the server drops the namespace of an object whose kind has none. An object that names none goes where its tool
// puts it.
func (k *kinds) identify(o *manifest.Object) {
	if kind := k.builtinOf(o); kind != nil {
		o.Group = kind.Group
	}
	hasNamespace := !k.clusterScoped(o)
	o.Unplaced = o.AppliedBy.Unplaced && hasNamespace &&
		(o.Namespace == "default" || o.Namespace == "" && k.knowsScope(o))
	switch {
	case !hasNamespace:
		o.Namespace = ""
	case o.Namespace == "" && k.knowsScope(o):
		o.Namespace = o.AppliedBy.Namespace
	}
}

// clusterScoped reports whether objects of o's kind have no namespace. Where both sides have a CRD of the kind, OLD's
// counts: no update changes the scope, so a change cannot move its objects to other names.
func (k *kinds) clusterScoped(o *manifest.Object) bool {
	if kind := k.builtinOf(o); kind != nil {
		return !kind.Namespaced
	}
	if facts, ok := k.factsOf(o); ok {
		return facts.Cluster
	}
	definitions := k.byKind[groupKind{o.Group, o.Kind}]
	inOld := func(d *customKind) bool { return d.inOld }
	known := slices.ContainsFunc(definitions, inOld)
	return slices.ContainsFunc(definitions,
		func(d *customKind) bool { return d.crd.Scope == "Cluster" && (inOld(d) || !known) })
}

// knowsScope reports whether it is known if objects of o's kind have namespaces.
func (k *kinds) knowsScope(o *manifest.Object) bool {
	_, ok := k.factsOf(o)
	return ok || k.builtinOf(o) != nil || len(k.byKind[groupKind{o.Group, o.Kind}]) > 0
}

// repeat is an object that a file has more than once, and where it has it first.
type repeat struct {
	*manifest.Object
	first *manifest.Object
}

// repeatsIn returns the objects that one file holds twice: a client would apply both, one over the other. Objects that
// are equal on the other side, in the same file, are left out.
func repeatsIn(objects, otherSide []*manifest.Object) []repeat {
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
	var repeats []repeat
	for _, o := range objects {
		key, at := place{o.ID, o.Path + "\x00" + o.Document.File}, place{o.ID, o.Path}
		switch other := first[key]; {
		case o.Generated():
		case other == nil:
			first[key] = o
		case slices.EqualFunc(mine[at], theirs[at], unchanged):
		default:
			repeats = append(repeats, repeat{o, other})
		}
	}
	return repeats
}

// asMistake is the error of a repeat in NEW, which should not get there.
func (r repeat) asMistake() error {
	return r.Mistake(nil, "the object appears twice, first at %s:%d; a file may contain each object once",
		r.first.Document.File, r.first.Document.Position().Line)
}

// notCovered is a repeat in OLD: there is nothing to compare with.
func (r repeat) notCovered() result.NotCovered {
	return result.NotCovered{
		Unit: r.Path, Kind: "file", File: r.Document.File, Line: r.Document.Position().Line, Changed: true,
		Reason: fmt.Sprintf("OLD has the %s %s twice there, first at line %d, and nothing tells which of the two the "+
			"cluster has", r.Kind, r.ID, r.first.Document.Position().Line),
	}
}
