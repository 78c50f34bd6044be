package compare

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Updates of custom resources that a server-side apply cannot make, and any other request can.

// serverSide adds what a server-side apply of a pair refuses, for a CRD with both versions and no conversion webhook. With a
// cluster, the server has answered already.
func (d *crdDefinition) serverSide(v *verdict, p pair, newVersion, oldVersion *crd.Version) {
	if p.by != builtin.ApplierServerSide && p.by != builtin.ApplierFlux || d.noDefaults {
		return
	}
	newObj, err := d.preparers[newVersion].Prepare(p.new.Value())
	if err != nil {
		return // check reports it, where it matters
	}
	if newVersion != oldVersion {
		if !oldVersion.Served {
			return // the server forgets what was applied in it
		}
		d.unconverted(v, oldVersion, p.new.Value(), newObj, "failed to convert merged object to last applied version")
		if newVersion.Storage { // the server has stored the old object in it, with its defaults
			if stored, err := d.prepare(newVersion, p.old); err == nil {
				d.unconverted(v, oldVersion, stored, stored, "field not declared in schema")
			}
		}
		return
	}
	oldObj, err := d.preparers[oldVersion].Prepare(p.old.Value())
	if err != nil {
		return
	}
	is, was := side{p.new.Value(), newObj}, side{p.old.Value(), oldObj}
	for _, steps := range emptied(newVersion.Schema, is, was, nil) {
		path := yamldoc.PathString(steps...)
		v.addServerSide(path, fmt.Sprintf("server-side apply is refused: when it empties %s, it makes null of it, which is not of type object; "+
			"remove the field instead of emptying it", path))
	}
	for _, steps := range nulls(newVersion.Schema, is, was, nil) {
		path := yamldoc.PathString(steps...)
		v.addServerSide(path, fmt.Sprintf("server-side apply is refused: it sends null for %s, which may not be null; remove the field instead", path))
	}
}

// unconverted adds that the server cannot read an object in the version of the last apply, where that one lacks a field that is
// also in the object as written: the server converts it without pruning.
func (d *crdDefinition) unconverted(v *verdict, last *crd.Version, written, obj map[string]any, answer string) {
	before, err := d.preparers[last].Prepare(obj)
	if err != nil {
		return
	}
	if at, ok := lost(written, obj, before, nil); ok {
		path := yamldoc.PathString(at...)
		v.addServerSide(path, fmt.Sprintf("server-side apply fails: the last apply used %s, whose schema does not have %s, "+
			"and without a conversion the API server answers %q", last.Name, path, answer))
	}
}

// addServerSide adds a refusal that no lock or rule explains, unless v refuses a change there.
func (v *verdict) addServerSide(path, message string) {
	if !slices.ContainsFunc(v.violations, func(b Violation) bool { return b.Path != "" && related(b.Path, path) }) {
		v.violations = append(v.violations, Violation{Path: path, Lock: lockServer, Message: message, Change: digest(value{}, value{message, true})})
	}
}

// nulls returns the steps to the nulls of a manifest where the schema allows none and nothing takes their place: a default, or,
// in an object, what only the server has set. Nulls that the old manifest has, too, were not applied server-side.
func nulls(s *spec.Schema, newVal, oldVal side, steps []any) [][]any {
	is, isObject := newVal.written.(map[string]any)
	if newVal.written == nil {
		was, wasObject := oldVal.prepared.(map[string]any)
		if s.Nullable || s.Default != nil || len(s.Type) == 0 || wasObject && !onlyWritten(was, oldVal.written) {
			return nil
		}
		return [][]any{steps}
	}
	marks, _ := schema.ReadMarks(s.Extensions)
	if !isObject || marks.MapType == schema.MapAtomic {
		return nil
	}
	var list [][]any
	for _, name := range slices.Sorted(maps.Keys(is)) {
		old := child(oldVal.written, name)
		member := schema.Below(s, name)
		if member == nil || len(steps) == 0 && name == "metadata" || is[name] == nil && old.ok && old.v == nil {
			continue
		}
		list = append(list, nulls(member, newVal.at(name), oldVal.at(name), append(slices.Clone(steps), name))...)
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
func emptied(s *spec.Schema, newVal, oldVal side, steps []any) [][]any {
	marks, _ := schema.ReadMarks(s.Extensions)
	switch is := newVal.written.(type) {
	case map[string]any:
		was, wasObject := oldVal.prepared.(map[string]any)
		if !wasObject || marks.MapType == schema.MapAtomic {
			return nil
		}
		if len(is) == 0 {
			if s.Type.Contains("object") && !s.Nullable && s.Default == nil && len(steps) > 0 && len(was) > 0 && onlyWritten(was, oldVal.written) {
				return [][]any{steps}
			}
			return nil
		}
		var list [][]any
		for _, name := range slices.Sorted(maps.Keys(is)) {
			if member := schema.Below(s, name); member != nil && (len(steps) > 0 || name != "metadata") {
				list = append(list, emptied(member, newVal.at(name), oldVal.at(name), append(slices.Clone(steps), name))...)
			}
		}
		return list
	case []any:
		prepared, isList := newVal.prepared.([]any)
		if marks.ListType != schema.ListMap || s.Items == nil || s.Items.Schema == nil || !isList || len(prepared) != len(is) {
			return nil
		}
		var list [][]any
		for i := range is {
			old, ok := oldItem(s, prepared, oldVal.prepared, i)
			was, wasWritten := oldItem(s, prepared, oldVal.written, i)
			if ok && wasWritten && old.ok && was.ok {
				list = append(list, emptied(s.Items.Schema, newVal.at(i), side{was.v, old.v}, append(slices.Clone(steps), i))...)
			}
		}
		return list
	}
	return nil
}

// onlyWritten reports whether a manifest has written all of the members of an object: what has a default stays when the
// manifest no longer has it.
func onlyWritten(object map[string]any, written any) bool {
	members, _ := written.(map[string]any)
	for name, member := range object {
		value, ok := members[name]
		below, isObject := member.(map[string]any)
		if !ok || isObject && !onlyWritten(below, value) {
			return false
		}
	}
	return true
}

// lost returns the steps to the first value of a manifest that is in one version of its object and not in another.
func lost(written, is, was any, steps []any) ([]any, bool) {
	switch written := written.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(written)) {
			at := append(slices.Clone(steps), name)
			member, inNew := child(is, name).v, child(is, name).ok
			before := child(was, name)
			switch {
			case !inNew || len(steps) == 0 && name == "metadata":
			case !before.ok && member != nil:
				return at, true
			default:
				if found, ok := lost(written[name], member, before.v, at); ok {
					return found, true
				}
			}
		}
	case []any:
		for i := range written {
			if found, ok := lost(written[i], child(is, i).v, child(was, i).v, append(slices.Clone(steps), i)); ok {
				return found, true
			}
		}
	}
	return nil, false
}
