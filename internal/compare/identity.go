package compare

import (
	"slices"

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
