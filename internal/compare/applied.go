package compare

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/apply"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/kind"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// What a server stores by an apply of a custom resource is not always what the manifest says: internal/apply computes
// it. With {audit: {rules: [{name: a}]}} before, where rules is a list of list-type map, a server-side apply of
//
//	{class: x, audit: {rules: []}}
//
// removes audit as a whole, and a client-side apply stores it as it is. Rules judge what is stored, and so may required
// fields and plain rules.

// afterApply returns p with the new object as its request stores it. If that object is not valid although the manifest
// is, afterApply adds the reason to v.
func (d *customKind) afterApply(v *verdict, p request) request {
	version := d.version(p.new.APIVersion)
	if d.noDefaults || p.by == "" || p.by == builtin.ApplierReplace || !d.mayDiffer(p) {
		return p
	}
	oldObj, err := d.stored(version, p.old)
	if err != nil {
		return p // check reports it
	}
	first := d
	if d.before != nil && d.before.covers(p.old.APIVersion) {
		first = d.before
	}
	asked := apply.Request{
		By: apply.ClientSide, Stored: oldObj, Manifest: withoutStatus(version, p.new.Value()),
		Last: withoutStatus(first.version(p.old.APIVersion), p.old.Value()), LastKind: first.merging,
	}
	switch {
	case isServerSide(p.by):
		asked.By = apply.ServerSide
	case p.by == threeWay:
		asked.By = apply.ThreeWay
	}
	stored, err := d.merging.Apply(asked)
	if err != nil {
		return p // refuseServerSide reports it, or the server does not take one of the objects either
	}
	sent := *p.new
	sent.Stored = stored
	if metadata, ok := p.new.Value()["metadata"]; ok {
		stored["metadata"] = metadata
	}
	if isServerSide(p.by) && d.emptied(v, &sent, version, p) {
		return p
	}
	if at, ok := firstNotStored(p.new.Value(), stored, nil); ok {
		d.invalid(v, p, &sent, version, oldObj, at, isServerSide(p.by))
	}
	if !isServerSide(p.by) {
		restoreWritten(p.new.Value(), stored, oldObj)
	}
	p.new = &sent
	return p
}

// emptied adds the nulls that a server-side apply would store and that may not be null. The API server makes null of an
// object in which nothing is left.
func (d *customKind) emptied(v *verdict, sent *manifest.Object, version *crd.Version, p request) bool {
	nulls := nulls(version.Schema, sent.Stored, side{p.new.Value(), p.old.Value()}, nil)
	for _, at := range nulls {
		path := at.String()
		if fieldpath.Value(p.new.Value(), at...) == nil {
			v.addServerSide(at, fmt.Sprintf("server-side apply is refused: it sends null for %s, which may not be null",
				path),
				"remove "+path+" from the manifest instead of setting it to null")
			continue
		}
		v.addServerSide(at, fmt.Sprintf("server-side apply is refused: emptying %s makes it null, which is not of "+
			"type object", path),
			"remove "+path+" from the manifest instead of emptying it")
	}
	return len(nulls) > 0
}

// restoreWritten puts into a stored object what locks tell apart and no client-side apply sends: null in the place of
// no value, and integers that a patch rounds.
func restoreWritten(written, stored, old any) {
	switch written := written.(type) {
	case map[string]any:
		object, ok := stored.(map[string]any)
		if !ok {
			return
		}
		for name, member := range written {
			is, was := kind.Child(stored, name), kind.Child(old, name)
			switch member := member.(type) {
			case nil:
				if !is.OK && !was.OK {
					object[name] = nil
				}
			case int64:
				if is.OK {
					object[name] = member
				}
			default:
				restoreWritten(member, is.Data, was.Data)
			}
		}
	case []any:
		for i := range written {
			restoreWritten(written[i], kind.Child(stored, i).Data, nil)
		}
	}
}

// invalid adds to v the first mistake that the server finds in what a request stores, and not in the manifest, whose
// field at the path is not stored.
func (d *customKind) invalid(v *verdict, p request, sent *manifest.Object, version *crd.Version, oldObj map[string]any,
	at fieldpath.Path, serverSide bool) {
	written, err := d.prepare(version, p.new)
	if err != nil {
		return
	}
	stored, err := d.prepare(version, sent)
	validator := d.versions[version].validity()
	if err != nil || validator == nil {
		return
	}
	mistakes, known := validator(stored, oldObj), validator(written, nil)
	i := slices.IndexFunc(mistakes, func(m string) bool { return !slices.Contains(known, m) })
	if i < 0 {
		return
	}
	message, edit := "client-side apply is refused: null removes %s", "set %s to a value, not to null"
	switch isNull := fieldpath.Value(p.new.Value(), at...) == nil; {
	case serverSide && isNull:
		message, edit = "server-side apply is refused: it sends null for %s, of which a default stays",
			"remove %s from the manifest instead of setting it to null"
	case serverSide:
		message, edit = "server-side apply is refused: it removes %s, in which nothing but empty lists is left",
			"keep a value in %s"
	}
	v.addServerSide(at, fmt.Sprintf(message, at)+", and then "+mistakes[i], fmt.Sprintf(edit, at))
}

// nulls returns the steps to the nulls of a stored object where the schema allows none and has no default, but for
// those that both manifests have: they were not applied server-side. Manifests has the new one and the old one.
func nulls(s *spec.Schema, stored any, manifests side, at fieldpath.Path) (list []fieldpath.Path) {
	switch stored := stored.(type) {
	case nil:
		if s != nil && !s.Nullable && s.Default == nil && len(s.Type) > 0 {
			return []fieldpath.Path{at}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(stored)) {
			is, was := kind.Child(manifests.written, name), kind.Child(manifests.prepared, name)
			if len(at) == 0 && name == "metadata" || is.OK && is.Data == nil && was.OK && was.Data == nil {
				continue
			}
			list = append(list, nulls(schema.Below(s, name), stored[name], manifests.stepInto(name),
				append(slices.Clip(at), name))...)
		}
	case []any:
		if jsonvalue.Equal(manifests.written, manifests.prepared) {
			return nil
		}
		for i := range stored {
			var was value
			if s != nil {
				was, _ = kind.OldItem(s, stored, manifests.prepared, i)
			}
			list = append(list, nulls(schema.Below(s, i), stored[i],
				side{kind.Child(manifests.written, i).Data, was.Data}, append(slices.Clip(at), i))...)
		}
	}
	return list
}

// firstNotStored returns the path of the first field of a manifest that the stored object lacks, or that is null in the
// manifest and has a value in the stored object.
func firstNotStored(written, stored any, at fieldpath.Path) (fieldpath.Path, bool) {
	switch written := written.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(written)) {
			below, is := append(slices.Clip(at), name), kind.Child(stored, name)
			if !is.OK || written[name] == nil && is.Data != nil {
				return below, true
			}
			if found, ok := firstNotStored(written[name], is.Data, below); ok {
				return found, true
			}
		}
	case []any:
		for i := range written {
			if found, ok := firstNotStored(written[i], kind.Child(stored, i).Data, append(slices.Clip(at), i)); ok {
				return found, true
			}
		}
	}
	return nil, false
}

// mayDiffer reports whether requests may store different objects for the manifests of a pair, or another object than
// the new manifest: a manifest has null or an empty value outside of metadata, or rules may see fields that only the
// cluster has.
func (d *customKind) mayDiffer(p request) bool {
	newVersion, oldVersion := d.version(p.new.APIVersion), d.version(p.old.APIVersion)
	if leavesEmpty(p.new) || leavesEmpty(p.old) || newVersion == nil || oldVersion == nil {
		return true
	}
	more := d.before != nil || len(d.crd.Versions) > 1 || d.versions[newVersion].layered()
	return more && !(d.versions[newVersion].Empty() && d.versions[oldVersion].Empty())
}

func leavesEmpty(o *manifest.Object) bool {
	for name, member := range o.Value() {
		if name != "metadata" && apply.HasEmpty(member) {
			return true
		}
	}
	return false
}

// side is a value as its manifest has it, and as the server has it.
type side struct{ written, prepared any }

// stepInto returns the value one step below.
func (s side) stepInto(step any) side {
	return side{kind.Child(s.written, step).Data, kind.Child(s.prepared, step).Data}
}
