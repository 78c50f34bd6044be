package unit

import (
	"maps"
	"slices"
)

// What Argo CD applies is not always what the sources of an Application print: of several manifests of one object, the last one counts,
// and a field that the Application ignores keeps the value that it has.

// lastOfEach returns the objects of an Application, those with one kind, namespace and name once: Argo CD applies the last one
// (DeduplicateTargetObjects in controller/state.go). Those without a namespace go into the one of the destination.
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

// keepIgnored returns the objects of NEW with the values of OLD in the fields that the Application ignores: its syncs leave them.
func keepIgnored(u *Unit, news, olds []Object) []Object {
	a, err := application(decode[definedSpec](u.spec))
	if err != nil {
		return news
	}
	before := byName(olds)
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
			document.Object, _ = grafted(document.Object, was[0].Object, steps).(map[string]any)
		}
		kept[i].Document, kept[i].Unknown = &document, slices.Concat(o.Unknown, unknown)
	}
	return kept
}

// grafted returns a copy of an object with the value that another one has at some steps, without a member there if the other has none.
func grafted(object, other any, steps []string) any {
	if len(steps) == 0 {
		return other
	}
	members, isObject := object.(map[string]any)
	theirs, _ := other.(map[string]any)
	part, has := theirs[steps[0]]
	if !isObject && (object != nil || !has) {
		return object // a list, whose items may be others
	}
	changed := maps.Clone(members)
	switch {
	case changed == nil:
		changed = map[string]any{}
	case !has && len(steps) == 1:
		delete(changed, steps[0])
		return changed
	case !has && members[steps[0]] == nil:
		return object
	}
	changed[steps[0]] = grafted(members[steps[0]], part, steps[1:])
	return changed
}
