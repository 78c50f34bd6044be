package compare

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/kind"
)

// Updates of custom resources that a server-side apply cannot make, and any other request can.

// refuseServerSide adds what a server-side apply of a pair refuses, for a CRD with both versions and no conversion
// webhook. With a cluster, the server has answered already.
func (d *customKind) refuseServerSide(v *verdict, p request, newVersion, oldVersion *crd.Version) {
	if !isServerSide(p.by) || d.noDefaults || d.replaced {
		return
	}
	if newVersion == oldVersion && d.inOld {
		return // which saves converting the schema
	}
	newObj, err := d.versions[newVersion].Stored(p.new.Value(), nil)
	if err != nil {
		return // check reports it, where it matters
	}
	oldObj, err := d.stored(newVersion, p.old)
	if err != nil {
		return
	}
	if newVersion != oldVersion || !d.inOld { // otherwise the server could not have stored it
		if at, ok := kind.Mistyped(newVersion.Schema, oldObj); ok {
			v.addServerSide(at, fmt.Sprintf("server-side apply fails: %s of the object in the cluster is not of the "+
				"type that it has in %s of the CRD, "+
				"and without a conversion the API server answers \"failed to create typed live object\"", at.String(),
				newVersion.Name), "")
			return
		}
	}
	if newVersion != oldVersion {
		if owned, err := d.merging.Owned(withoutStatus(oldVersion, p.old.Value())); !oldVersion.Served ||
			err == nil && len(owned) == 0 {
			return // the server forgets what was applied in it
		}
		d.unconverted(v, oldVersion, p.new.Value(), newObj, "failed to convert merged object to last applied version",
			p.new.APIVersion)
		if newVersion.Storage { // the server has stored the old object in it, with its defaults
			d.unconverted(v, oldVersion, oldObj, oldObj, "field not declared in schema", "")
		}
	}
}

// unconverted adds that the server cannot read an object in the version of the last apply, where that one lacks a field
// that is also in the object as written: the server converts it without pruning. The way out is to change to the
// version first, with a difference, without which Flux sends nothing; an apply in it fails, too, if version is "".
func (d *customKind) unconverted(v *verdict, last *crd.Version, written, obj map[string]any, answer, version string) {
	before, err := d.versions[last].Stored(obj, nil)
	if err != nil {
		return
	}
	if at, ok := lost(written, obj, before, nil); ok {
		path, edit := at.String(), ""
		if version != "" {
			edit = "change the apiVersion to " + version + " and add a label in a change of its own, and set " + path +
				" with the next one"
		}
		v.addServerSide(at, fmt.Sprintf("server-side apply fails: the last apply used %s, whose schema does not have "+
			"%s, "+
			"and without a conversion the API server answers %q", last.Name, path, answer), edit)
	}
}

// lost returns the steps to the first value of a manifest that is in one version of its object and not in another.
func lost(written, is, was any, at fieldpath.Path) (fieldpath.Path, bool) {
	switch written := written.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(written)) {
			below := append(slices.Clip(at), name)
			member, inNew := kind.Child(is, name).Data, kind.Child(is, name).OK
			before := kind.Child(was, name)
			switch {
			case !inNew || len(at) == 0 && name == "metadata":
			case !before.OK && member != nil:
				return below, true
			default:
				if found, ok := lost(written[name], member, before.Data, below); ok {
					return found, true
				}
			}
		}
	case []any:
		for i := range written {
			if found, ok := lost(written[i], kind.Child(is, i).Data, kind.Child(was, i).Data,
				append(slices.Clip(at), i)); ok {
				return found, true
			}
		}
	}
	return nil, false
}
