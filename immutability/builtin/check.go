package builtin

import (
	"maps"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/apply"
	"github.com/fieldlock/fieldlock/internal/canonical"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/kind"
)

// Check predicts what the API server says when newObj is applied over oldObj. Both are decoded manifests, as written:
// Check prepares them as the server does. They stay as they are. A nil object is an empty one.
//
// Cost: O(object); the first call compiles the kind's rows, in milliseconds.
//
// Where server-side and client-side apply differ, Check is cautious: a default that only the server has set stays, and
// null in the manifest removes it. CheckBy says what one of them does.
func (k *Kind) Check(newObj, oldObj map[string]any) result.Verdict {
	return k.check("", newObj, oldObj, false)
}

// CheckBy is Check for one way of applying: one of the constants, or "flux" or "live", which Applier explains. An
// applier of any other name behaves as in Check.
func (k *Kind) CheckBy(by Applier, newObj, oldObj map[string]any) result.Verdict {
	switch by {
	case ApplierServerSide, ApplierClientSide, ApplierReplace, fluxApply:
		return k.check(by, newObj, oldObj, false)
	case liveApply:
		return k.check("", newObj, oldObj, true)
	}
	return k.check("", newObj, oldObj, false)
}

// Applier is a way to apply a manifest to an object that was made with it before. Besides the constants there are two
// ways that a check of whole repositories needs, without a constant as programs seldom do: "flux" is a server-side
// apply of manifests as Flux normalizes them, without null and empty values and with stringData as data; "live" is an
// apply over an object that a cluster returned, so that its status, and the fields that it has only with a feature on,
// count.
type Applier string

// The appliers. Helm's three-way merge treats built-in kinds as kubectl's does.
const (
	ApplierServerSide Applier = "server-side"
	ApplierClientSide Applier = "client-side"
	// ApplierReplace is a PUT of the manifest.
	ApplierReplace Applier = "replace"
)

// The ways without a constant.
const (
	fluxApply = Applier(apply.Flux)
	liveApply = Applier(apply.Live)
)

func (k *Kind) check(by Applier, newObj, oldObj map[string]any, live bool) result.Verdict {
	if k.undefined() {
		return result.Verdict{Unknown: []result.Remark{{Message: "the kind is not known, so nothing was checked"}}}
	}
	if newObj == nil {
		newObj = map[string]any{}
	}
	if oldObj == nil {
		oldObj = map[string]any{}
	}
	v := k.checkKnown(by, newObj, oldObj, live)
	if len(v.Violations) > 0 {
		k.leaveToFeatures(&v, by, newObj, oldObj, live)
	}
	k.addUnknown(&v, by, newObj, oldObj)
	return v
}

// leaveToFeatures makes unknown what is refused only for fields of features that are off by default. A cluster that has
// stored such a field has the feature on.
func (k *Kind) leaveToFeatures(v *result.Verdict, by Applier, newObj, oldObj map[string]any, live bool) {
	off := map[string]bool{}
	bare := func(obj map[string]any) map[string]any {
		t, _ := k.goType(obj)
		return k.types.withoutGated(obj, t, off).(map[string]any)
	}
	bareOld := bare(oldObj)
	if live && len(off) > 0 {
		return
	}
	bareNew := bare(newObj)
	if len(off) == 0 {
		return
	}
	without := k.checkKnown(by, bareNew, bareOld, live)
	v.Violations = slices.DeleteFunc(v.Violations, func(found result.Violation) bool {
		refused := slices.ContainsFunc(without.Violations,
			func(other result.Violation) bool { return other.Path == found.Path && other.Message == found.Message })
		if !refused {
			v.Unknown = append(v.Unknown, result.Remark{Path: found.Path, Row: found.Row,
				Message: "refused if a feature is on that is off by default (" +
					strings.Join(slices.Sorted(maps.Keys(off)), ", ") + "), as the server then does not drop its " +
					"fields: " +
					found.Message})
		}
		return !refused
	})
}

// addUnknown adds the changed fields of a manifest that the kind does not have. The server stores none of them; whether
// it refuses them depends on what the client asks it to validate.
func (k *Kind) addUnknown(v *result.Verdict, by Applier, newObj, oldObj map[string]any) {
	t, exact := k.goType(newObj)
	if !exact || k.Kind == "CustomResourceDefinition" { // whose unknown keys are lint's
		return
	}
	news := k.types.unknown(newObj, t)
	if len(news) == 0 {
		return
	}
	known := map[string]bool{}
	for _, field := range k.types.unknown(oldObj, t) {
		known[field.key()] = true
	}
	sent := newObj
	if by == fluxApply {
		sent = k.normalize(newObj)
	}
	for _, field := range news {
		if field.path[0] == "status" || known[field.key()] {
			continue
		}
		remark := result.Remark{Path: field.path.String(),
			Message: "Kubernetes " + minorName(k.minor) + " has no such field: "}
		if _, ok := field.path.In(sent); ok {
			remark.Message += "refused in a server-side apply and from kubectl, which asks for validation; otherwise " +
				"the server drops it"
			v.Unknown = append(v.Unknown, remark)
		} else if len(v.Violations) == 0 {
			remark.Message += "Flux leaves it out"
			v.Notes = append(v.Notes, remark)
		}
	}
}

// checkKnown is check for the fields that the kind has.
func (k *Kind) checkKnown(by Applier, newObj, oldObj map[string]any, live bool) result.Verdict {
	if len(k.source.Rows) == 0 && len(k.source.Kept) == 0 && k.source.Template == "" {
		return identity(newObj, oldObj)
	}
	if k.Kind == "CustomResourceDefinition" {
		if v := k.checkRows(by, withoutSchemas(newObj), withoutSchemas(oldObj), live); isClean(&v) {
			return v // no row reads schemas, which are nearly all of a CRD
		}
	}
	return k.checkRows(by, newObj, oldObj, live)
}

// isClean reports whether there is nothing to say.
func isClean(v *result.Verdict) bool { return len(v.Violations)+len(v.Unknown)+len(v.Notes) == 0 }

// withoutSchemas returns a CRD without the schemas of its versions.
func withoutSchemas(crd map[string]any) map[string]any {
	spec := maps.Clone(fieldpath.Object(crd, "spec"))
	delete(spec, "validation")
	if versions, ok := spec["versions"].([]any); ok {
		versions = slices.Clone(versions)
		for i, v := range versions {
			if version, ok := v.(map[string]any); ok {
				version = maps.Clone(version)
				delete(version, "schema")
				versions[i] = version
			}
		}
		spec["versions"] = versions
	}
	crd = maps.Clone(crd)
	if spec != nil {
		crd["spec"] = spec
	}
	return crd
}

// checkRows is check for a kind with rows, or with defaults that must not stay.
func (k *Kind) checkRows(by Applier, newObj, oldObj map[string]any, live bool) result.Verdict {
	verdict := identity(newObj, oldObj)
	if err := k.compile(); err != nil {
		// The data is part of the program, and a test compiles all of it.
		panic(err)
	}
	u := k.update(by, newObj, oldObj)
	u.live = live
	named := func(name string) (value string, holds bool) { return conditions()[name](u) }
	found, _, err := k.rules.Find(kind.Update{New: u.applied, Old: u.stored, Named: named})
	if err != nil {
		panic(err) // likewise
	}
	addAll(&verdict, found)
	addAll(&verdict, keptDefaults(k.kept, u))
	if by == ApplierReplace && len(verdict.Violations) == 0 {
		k.addPut(&verdict, u.applied)
	}
	if u.unmerged && len(verdict.Violations) == 0 {
		addUnmerged(&verdict, u)
	}
	k.finish(&verdict, newObj, oldObj)
	return verdict
}

// addPut adds the fields that a PUT may drop: the cluster filled them in, at or after the creation, and refuses their
// removal.
func (k *Kind) addPut(v *result.Verdict, applied map[string]any) {
	switch {
	case k.Group != "":
	case k.Kind == "Pod" && len(fieldpath.Object(applied, "spec")) > 0:
		v.Unknown = append(v.Unknown, result.Remark{Path: "spec",
			Message: "refused unless the manifest has the service " +
				"account, the volume for its token and the tolerations that the server has given the Pod: a PUT " +
				"removes " +
				"what it lacks"})
	case k.Kind == "PersistentVolumeClaim" && fieldpath.Text(applied, "spec", "volumeName") == "":
		v.Unknown = append(v.Unknown, result.Remark{Path: "spec.volumeName",
			Message: "refused if the claim is bound: a PUT removes the volumeName that the manifest lacks"})
	}
}

// identity is the part of a verdict that objects of all kinds share.
func identity(newObj, oldObj map[string]any) result.Verdict {
	v := result.Verdict{Checked: true}
	addAll(&v, kind.Identity(newObj, oldObj))
	return v
}

// finish sorts the verdict, shows values as the manifests have them, and drops what is said twice.
func (k *Kind) finish(v *result.Verdict, newObj, oldObj map[string]any) {
	if k.moved(newObj, oldObj) {
		withdraw(v, oldObj)
	}
	slices.SortStableFunc(v.Violations, func(a, b result.Violation) int { return strings.Compare(a.Path, b.Path) })
	v.Violations = slices.CompactFunc(v.Violations,
		func(a, b result.Violation) bool { return a.Path == b.Path && a.Message == b.Message })
	v.Unknown = slices.DeleteFunc(v.Unknown, func(r result.Remark) bool {
		return slices.ContainsFunc(v.Violations,
			func(found result.Violation) bool { return fieldpath.Within(r.Path, found.Path) })
	})
	if len(v.Violations) > 0 {
		v.Notes = nil // nothing of a refused change is accepted
	}
	for i := range v.Violations {
		found := &v.Violations[i]
		found.Steps = fieldpath.Resolve(found.Path, newObj, oldObj)
		if jsonvalue.Equal(found.New.Data, found.Old.Data) && !names(newObj, found.Path) && !names(oldObj, found.Path) {
			// The value is the server's: a rule refuses it together with another field.
			found.New, found.Old = result.Value{}, result.Value{}
		}
		found.New.Data = written(newObj, found.Path, found.New.Data)
		found.Old.Data = written(oldObj, found.Path, found.Old.Data)
		for j := range found.Differences {
			d := &found.Differences[j]
			d.New.Data = written(newObj, d.Path, d.New.Data)
			d.Old.Data = written(oldObj, d.Path, d.Old.Data)
		}
	}
}

// names reports whether a manifest has a field.
func names(manifest map[string]any, path string) bool {
	_, ok := fieldpath.Find(manifest, path)
	return ok
}

// written returns the value that a manifest has at a path, where it says the same as the stored value: "5Gi" for
// "5368709120".
func written(manifest map[string]any, path string, stored any) any {
	raw, ok := fieldpath.Find(manifest, path)
	if !ok || raw == nil || stored == nil {
		return stored
	}
	switch stored.(type) {
	case map[string]any, []any:
		return raw
	}
	if jsonvalue.Equal(raw, stored) || jsonvalue.Equal(canonical.Quantity(raw), stored) {
		return raw
	}
	return stored
}

// moved reports whether the two objects have different apiVersions, one of which no known minor serves.
func (k *Kind) moved(newObj, oldObj map[string]any) bool {
	is, was := fieldpath.Text(newObj, "apiVersion"), fieldpath.Text(oldObj, "apiVersion")
	return is != was && (slices.Contains(k.source.Formerly, is) || slices.Contains(k.source.Formerly, was))
}

// known returns an error if a row names a function that does not exist.
func known(rows []kind.Row) error {
	for _, row := range rows {
		for _, name := range []string{row.Check, row.Unless} {
			if name != "" && conditions()[name] == nil {
				return errorf("there is no condition %q", name)
			}
		}
	}
	return nil
}

// addAll adds objections to a verdict.
func addAll(v *result.Verdict, objections []kind.Objection) {
	for i := range objections {
		switch o := &objections[i]; {
		case o.Open != "":
			v.Unknown = append(v.Unknown, result.Remark{Path: o.Path, Message: o.Open, Row: o.Row})
		case o.By != nil && o.By.Note != "":
			v.Notes = append(v.Notes, result.Remark{Path: o.Path, Message: o.By.Note, Row: o.Row})
		default:
			v.Violations = append(v.Violations, o.Violation)
		}
	}
}

// withdraw makes the violations of fields that the old manifest lacks unknown: an old version had other defaults.
func withdraw(v *result.Verdict, oldObj map[string]any) {
	v.Violations = slices.DeleteFunc(v.Violations, func(found result.Violation) bool {
		if _, named := fieldpath.Find(oldObj, found.Path); named {
			return false
		}
		v.Unknown = append(v.Unknown, result.Remark{Path: found.Path,
			Message: "refused unless it is what the server filled in for the old " +
				"manifest, whose version is gone and which leaves the field out"})
		return true
	})
}
