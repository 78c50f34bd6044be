package compare

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/storageversion"
)

// Updates of custom resources that a server-side apply cannot make, and any other request can.

// serverSide adds what a server-side apply of a pair refuses, for a CRD with both versions and no conversion webhook. With a
// cluster, the server has answered already.
func (d *crdDefinition) serverSide(v *verdict, p pair, newVersion, oldVersion *crd.Version) {
	if p.by != builtin.ApplierServerSide && p.by != builtin.ApplierFlux || d.noDefaults {
		return
	}
	if newVersion == oldVersion && d.inOld && !leavesEmpty(p.new) {
		return // which saves converting the schema
	}
	newObj, err := d.preparers[newVersion].Prepare(p.new.Value())
	if err != nil {
		return // check reports it, where it matters
	}
	oldObj, err := d.prepare(newVersion, p.old, storageversion.Through(d.crd.CRD, newVersion)...)
	if err != nil {
		return
	}
	if newVersion != oldVersion || !d.inOld { // otherwise the server could not have stored it
		if at, ok := mistyped(newVersion.Schema, oldObj, nil); ok {
			v.addServerSide(at, fmt.Sprintf("server-side apply fails: %s of the object in the cluster is not of the type that it has in %s of the CRD, "+
				"and without a conversion the API server answers \"failed to create typed live object\"", at.String(), newVersion.Name), "")
			return
		}
	}
	if newVersion != oldVersion {
		if !oldVersion.Served || setsNothing(oldVersion.Schema, p.old.Value()) {
			return // the server forgets what was applied in it
		}
		d.unconverted(v, oldVersion, p.new.Value(), newObj, "failed to convert merged object to last applied version", p.new.APIVersion)
		if newVersion.Storage { // the server has stored the old object in it, with its defaults
			d.unconverted(v, oldVersion, oldObj, oldObj, "field not declared in schema", "")
		}
	}
	is, was := side{p.new.Value(), newObj}, side{p.old.Value(), oldObj}
	for _, at := range emptied(newVersion.Schema, is, was, nil) {
		path := at.String()
		v.addServerSide(at, fmt.Sprintf("server-side apply is refused: emptying %s makes it null, which is not of type object", path),
			"remove "+path+" from the manifest instead of emptying it")
	}
	for _, at := range nulls(newVersion.Schema, is, was, nil) {
		path := at.String()
		v.addServerSide(at, fmt.Sprintf("server-side apply is refused: it sends null for %s, which may not be null", path),
			"remove "+path+" from the manifest instead of setting it to null")
	}
}

// setsNothing reports whether a server-side apply of a manifest sets no field: the server keeps no note of such an apply.
func setsNothing(s *spec.Schema, manifest map[string]any) bool {
	for name, member := range manifest {
		switch property, ok := s.Properties[name]; {
		case name == "apiVersion" || name == "kind":
		case name == "metadata":
			for _, field := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
				if child(member, field).ok {
					return false
				}
			}
		case !ok || !hollow(&property, member):
			return false
		}
	}
	return true
}

// unconverted adds that the server cannot read an object in the version of the last apply, where that one lacks a field that is
// also in the object as written: the server converts it without pruning. The way out is to change to the version first, with a
// difference, without which Flux sends nothing; an apply in it fails, too, if version is "".
func (d *crdDefinition) unconverted(v *verdict, last *crd.Version, written, obj map[string]any, answer, version string) {
	before, err := d.preparers[last].Prepare(obj)
	if err != nil {
		return
	}
	if at, ok := lost(written, obj, before, nil); ok {
		path, edit := at.String(), ""
		if version != "" {
			edit = "change the apiVersion to " + version + " and add a label in a change of its own, and set " + path + " with the next one"
		}
		v.addServerSide(at, fmt.Sprintf("server-side apply fails: the last apply used %s, whose schema does not have %s, "+
			"and without a conversion the API server answers %q", last.Name, path, answer), edit)
	}
}

// addServerSide adds a refusal that no lock or rule explains, unless v has a violation at the path or around it. edit avoids the refusal; it is ""
// where no edit does. Tools do not replace the object after such a refusal: the server's answer is an internal error, or it refuses a new
// object too.
func (v *verdict) addServerSide(at fieldpath.Path, message, edit string) {
	path := at.String()
	if slices.ContainsFunc(v.violations, func(b Violation) bool { return b.Path != "" && related(b.Path, path) }) {
		return
	}
	v.violations = append(v.violations, Violation{
		Path: path, at: at, Lock: lockServer, Message: message, Unforced: true,
	})
	if edit != "" {
		v.edits = append(v.edits, edit)
	}
}

// nulls returns the steps to the nulls of a manifest where the schema allows none and nothing takes their place: a default, or,
// in an object, what only the server has set, if that is all that is required. Nulls that the old manifest has, too, were not applied server-side, but for keys of
// items: the server has filled in their default since, finds no item that has null, and adds a second one.
func nulls(s *spec.Schema, newVal, oldVal side, at fieldpath.Path) []fieldpath.Path {
	is, isObject := newVal.written.(map[string]any)
	if newVal.written == nil {
		was, wasObject := oldVal.prepared.(map[string]any)
		removed := func(name string) bool { return child(oldVal.written, name).ok && s.Properties[name].Default == nil }
		if s.Nullable || s.Default != nil || len(s.Type) == 0 ||
			wasObject && !onlyWritten(s, was, oldVal.written) && !slices.ContainsFunc(s.Required, removed) {
			return nil
		}
		return []fieldpath.Path{at}
	}
	var list []fieldpath.Path
	marks, _ := schema.ReadMarks(s.Extensions)
	items, _ := newVal.written.([]any)
	for i := range items {
		if old, _ := oldItem(s, items, oldVal.written, i); marks.ListType == schema.ListMap && old.ok {
			for _, key := range marks.ListMapKeys {
				if sent, was := child(items[i], key), child(old.v, key); sent.ok && sent.v == nil && was.ok {
					list = append(list, append(slices.Clip(at), i, key))
				}
			}
		}
	}
	if !isObject || marks.MapType == schema.MapAtomic {
		return list
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		old := child(oldVal.written, name)
		member := schema.Below(s, name)
		if member == nil || len(at) == 0 && name == "metadata" || is[name] == nil && old.ok && old.v == nil {
			continue
		}
		list = append(list, nulls(member, newVal.at(name), oldVal.at(name), append(slices.Clip(at), name))...)
	}
	return list
}

// side is a value as its manifest has it, and as the server has it.
type side struct{ written, prepared any }

// at returns the value one step below.
func (s side) at(step any) side { return side{child(s.written, step).v, child(s.prepared, step).v} }

// emptied returns the steps to the objects that the new manifest has empty, of which the server stores nothing else: what an
// apply takes away is all that they had. A value with a default gets that, a nullable one may be null, and an atomic one is
// replaced as a whole. The metadata of the object itself is not a part of the schema.
func emptied(s *spec.Schema, newVal, oldVal side, at fieldpath.Path) []fieldpath.Path {
	marks, _ := schema.ReadMarks(s.Extensions)
	switch is := newVal.written.(type) {
	case map[string]any:
		was, wasObject := oldVal.prepared.(map[string]any)
		if !wasObject || marks.MapType == schema.MapAtomic {
			return nil
		}
		if len(is) == 0 {
			if s.Type.Contains("object") && !s.Nullable && s.Default == nil && len(at) > 0 && len(was) > 0 && onlyWritten(s, was, oldVal.written) {
				return []fieldpath.Path{at}
			}
			return nil
		}
		var list []fieldpath.Path
		for _, name := range slices.Sorted(maps.Keys(is)) {
			if member := schema.Below(s, name); member != nil && (len(at) > 0 || name != "metadata") {
				list = append(list, emptied(member, newVal.at(name), oldVal.at(name), append(slices.Clip(at), name))...)
			}
		}
		return list
	case []any:
		prepared, isList := newVal.prepared.([]any)
		if marks.ListType != schema.ListMap || s.Items == nil || s.Items.Schema == nil || !isList || len(prepared) != len(is) {
			return nil
		}
		var list []fieldpath.Path
		for i := range is {
			old, ok := oldItem(s, prepared, oldVal.prepared, i)
			was, wasWritten := oldItem(s, prepared, oldVal.written, i)
			if ok && wasWritten && old.ok && was.ok {
				list = append(list, emptied(s.Items.Schema, newVal.at(i), side{was.v, old.v}, append(slices.Clip(at), i))...)
			}
		}
		return list
	}
	return nil
}

// onlyWritten reports whether a manifest has set all members of an object: a default stays, unless it is within a field that the
// manifest has set and no longer has.
func onlyWritten(s *spec.Schema, object map[string]any, written any) bool {
	for name := range object {
		member := child(written, name)
		if property, ok := s.Properties[name]; !member.ok || ok && hollow(&property, member.v) {
			return false
		}
	}
	return true
}

// mistyped returns the steps to the first value that is of another type than its schema says. To a server-side apply, a text with a
// format can be any scalar, unless the format is byte.
func mistyped(s *spec.Schema, v any, at fieldpath.Path) (fieldpath.Path, bool) {
	if s == nil || len(s.Type) == 0 || v == nil {
		return nil, false
	}
	is, loose := "", s.Type.Contains("string") && s.Format != "" && s.Format != "byte"
	switch v := v.(type) {
	case map[string]any:
		if is = "object"; s.Type.Contains(is) {
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if found, ok := mistyped(schema.Below(s, name), v[name], append(slices.Clip(at), name)); ok && (len(at) > 0 || name != "metadata") {
					return found, true
				}
			}
		}
	case []any:
		if is = "array"; s.Type.Contains(is) {
			for i := range v {
				if found, ok := mistyped(schema.Below(s, i), v[i], append(slices.Clip(at), i)); ok {
					return found, true
				}
			}
		}
	case string:
		is = "string"
	case bool:
		return at, !loose && !s.Type.Contains("boolean")
	default:
		return at, !loose && !s.Type.Contains("integer") && !s.Type.Contains("number")
	}
	return at, !s.Type.Contains(is)
}

// lost returns the steps to the first value of a manifest that is in one version of its object and not in another.
func lost(written, is, was any, at fieldpath.Path) (fieldpath.Path, bool) {
	switch written := written.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(written)) {
			below := append(slices.Clip(at), name)
			member, inNew := child(is, name).v, child(is, name).ok
			before := child(was, name)
			switch {
			case !inNew || len(at) == 0 && name == "metadata":
			case !before.ok && member != nil:
				return below, true
			default:
				if found, ok := lost(written[name], member, before.v, below); ok {
					return found, true
				}
			}
		}
	case []any:
		for i := range written {
			if found, ok := lost(written[i], child(is, i).v, child(was, i).v, append(slices.Clip(at), i)); ok {
				return found, true
			}
		}
	}
	return nil, false
}
