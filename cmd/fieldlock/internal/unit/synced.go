package unit

import (
	"slices"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
)

// What Argo CD applies is not always what the sources of an Application print: of several manifests of one object, the
// last one counts, and a field that the Application ignores keeps the value that it has.

// lastOfEach returns the objects of an Application, those with one kind, namespace and name once: Argo CD applies the
// last one (DeduplicateTargetObjects in controller/state.go). Those without a namespace go into the one of the
// destination.
func lastOfEach(objects []Object, namespace string) []Object {
	last := map[named]int{}
	at := func(o Object) named {
		as := namedAs(o.Document)
		if as.namespace == "" {
			as.namespace = namespace
		}
		return as
	}
	for i, o := range objects {
		last[at(o)] = i
	}
	var kept []Object
	for i, o := range objects {
		if as := at(o); as.id.name == "" || last[as] == i {
			kept = append(kept, o)
		}
	}
	return kept
}

// keepIgnored returns the objects of NEW with the values of OLD in the fields that the Application ignores: its syncs
// leave them.
func keepIgnored(u *Unit, news, olds []Object) []Object {
	a, err := application(decode[definedSpec](u.spec))
	if err != nil {
		return news
	}
	before := byIdentity(olds)
	kept := slices.Clone(news)
	for i, o := range kept {
		as := namedAs(o.Document)
		was := before[as]
		if len(was) != 1 {
			continue
		}
		namespace := as.namespace
		if namespace == "" {
			namespace = u.Namespace
		}
		fields, unknown := a.Ignored(as.of[0], as.id.kind, namespace, as.id.name)
		if len(fields)+len(unknown) == 0 {
			continue
		}
		document := *o.Document
		for _, steps := range fields {
			document.Object = grafted(document.Object, was[0].Object, fieldpath.Of(steps))
		}
		kept[i].Document, kept[i].Unknown = &document, slices.Concat(o.Unknown, unknown)
	}
	return kept
}

// grafted returns a copy of an object with the value that another one has at a path of names, without a member there if
// the other has none. Nothing changes in a list, whose items may be others.
func grafted(object, other map[string]any, p fieldpath.Path) map[string]any {
	value, has := fieldpath.Get(other, p...)
	if !has {
		changed, _ := p.Remove(object)
		return changed.(map[string]any)
	}
	there := 0 // how many steps lead to something in the object
	for there < len(p)-1 && fieldpath.Value(object, p[:there+1]...) != nil {
		there++
	}
	for ; len(p) > there+1; p = p[:len(p)-1] {
		value = map[string]any{fieldpath.Name(p[len(p)-1]): value}
	}
	changed, _ := p.Set(object, value)
	return changed.(map[string]any)
}
