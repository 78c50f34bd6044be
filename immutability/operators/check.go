package operators

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/crdfacts"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/kind"
)

// Check predicts what the operator says when newObj is applied over oldObj. Both are decoded manifests, as written, and
// stay as they are. A refusal that some of the known versions of the operator share is unknown, as the manifests do not
// tell the version. So is every refusal of objects of two API versions.
//
// An update that changes something is Checked only if all transition rules of the kind's CRD are known, or that it has
// none. Otherwise the CRD may refuse more than the operator.
//
// Cost: O(object); the first call compiles the kind's rows, in milliseconds.
func (k *Kind) Check(newObj, oldObj map[string]any) result.Verdict {
	if k.undefined() {
		return result.Verdict{Unknown: []result.Remark{{Message: "the kind is not known, so nothing was checked"}}}
	}
	_, rulesKnown := crdfacts.Find(text(newObj, "apiVersion"), k.Kind)
	if k.Nothing != "" {
		return result.Verdict{Checked: rulesKnown || jsonvalue.Equal(newObj, oldObj)}
	}
	if err := k.compile(); err != nil {
		panic(err) // the data is part of the program, and a test compiles all of it
	}
	found, changed, err := k.find(newObj, oldObj)
	switch {
	case err != nil:
		panic(err) // likewise
	case !changed:
		return result.Verdict{Checked: true}
	}
	verdict := result.Verdict{Checked: rulesKnown}
	k.conclude(&verdict, found)
	for i := range verdict.Violations {
		verdict.Violations[i].Steps = fieldpath.Resolve(verdict.Violations[i].Path, newObj, oldObj)
	}
	if text(newObj, "apiVersion") != text(oldObj, "apiVersion") {
		withdraw(&verdict, "refused unless the operator's conversion between the API versions of the two objects "+
			"makes the values equal")
	}
	return verdict
}

// find returns what the rows say about an update, and whether it changes what the operator compares.
func (k *Kind) find(newObj, oldObj map[string]any) (found []kind.Objection, changed bool, err error) {
	is, newErr := k.definition.Stored(newObj, oldObj)
	was, oldErr := k.definition.Stored(oldObj, nil)
	if err := cmp.Or(newErr, oldErr); err != nil {
		return nil, false, err
	}
	found, _, err = k.definition.Find(kind.Update{New: is, Old: was})
	if err != nil {
		return nil, false, err
	}
	rewritten, err := k.rewritten(newObj, oldObj, is, was)
	known := len(found)
	for _, f := range rewritten {
		isRefused := func(other kind.Objection) bool { return other.Row == f.Row }
		if !slices.ContainsFunc(found[:known], isRefused) {
			found = append(found, f)
		}
	}
	return found, len(rewritten) > 0 || !jsonvalue.Equal(is, was), err
}

// rewritten returns what the rows say only if lists that change are written anew, without what the operator has filled
// in: then the apply decides.
func (k *Kind) rewritten(newObj, oldObj, is, was map[string]any) ([]kind.Objection, error) {
	anew := k.definition.Rewritten(newObj, oldObj)
	if jsonvalue.Equal(anew, is) {
		return nil, nil
	}
	found, _, err := k.definition.Find(kind.Update{New: anew, Old: was})
	for i := range found {
		f := &found[i]
		f.Open = cmp.Or(f.Open, "refused if the apply writes the list anew, as a client-side apply does: it loses "+
			"what the operator has "+
			"filled in when the object was created")
	}
	return found, err
}

// conclude sorts findings into violations, unknowns and notes. A row of some versions only counts where rows of the
// same update refuse it in all of the others.
func (k *Kind) conclude(verdict *result.Verdict, found []kind.Objection) {
	var versions []string // that can have the object
	for _, version := range k.Operator.Versions {
		if reached(version, k.source.Since) {
			versions = append(versions, version)
		}
	}
	for i := range found {
		if f := &found[i]; f.Err != nil {
			f.Open = "refused if a condition holds that could not be evaluated: " + f.Err.Error()
		}
	}
	refusing := map[string]bool{} // the versions that refuse the update
	for _, f := range found {
		for _, version := range versions {
			if f.Open == "" && refuses(f.By) && has(version, f.By) {
				refusing[version] = true
			}
		}
	}
	always, newest := len(refusing) == len(versions), versions[len(versions)-1]
	for _, f := range found {
		remark := result.Remark{Path: f.Path, Message: f.Message, Row: f.Row}
		switch {
		case f.Open != "":
			remark.Message = f.Open
			verdict.Unknown = append(verdict.Unknown, remark)
		case !refuses(f.By):
			verdict.Notes = append(verdict.Notes, remark)
		case !always:
			remark.Message = fmt.Sprintf("refused if the cluster has %s of %s: %s",
				span(f.By), k.Operator.Name, f.Message)
			verdict.Unknown = append(verdict.Unknown, remark)
		case has(newest, f.By): // in its words
			verdict.Violations = append(verdict.Violations, k.violation(f))
		}
	}
	tidy(verdict)
}

// refuses reports whether the operator refuses a change that breaks a row.
func refuses(row *kind.Row) bool { return row.Effect == string(builtin.EffectRefused) }

// violation completes the violation of a row: with who refuses, and how that is known.
func (k *Kind) violation(f kind.Objection) result.Violation {
	known := "verified by running its code"
	if f.By.Read {
		known = "its code was read, not run"
	}
	v := f.Violation
	v.EnforcedBy, v.SchemaPath = k.Operator.Name, ""
	v.Source = f.By.Source + " in " + k.Operator.Module + " " +
		k.Operator.Versions[len(k.Operator.Versions)-1] + "; " + known
	return v
}

// span names the versions of a row.
func span(r *kind.Row) string {
	switch {
	case r.Since != "" && r.Until != "":
		return "a version from " + r.Since + " to " + r.Until
	case r.Since != "":
		return "version " + r.Since + " or later"
	}
	return "version " + r.Until + " or earlier"
}

// tidy sorts the verdict and drops what is said twice.
func tidy(v *result.Verdict) {
	slices.SortStableFunc(v.Violations, func(a, b result.Violation) int { return strings.Compare(a.Path, b.Path) })
	v.Violations = slices.CompactFunc(v.Violations, func(a, b result.Violation) bool {
		return a.Path == b.Path && a.Message == b.Message
	})
	byPath := func(a, b result.Remark) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Message, b.Message))
	}
	equal := func(a, b result.Remark) bool { return byPath(a, b) == 0 }
	slices.SortStableFunc(v.Unknown, byPath)
	slices.SortStableFunc(v.Notes, byPath)
	v.Unknown, v.Notes = slices.CompactFunc(v.Unknown, equal), slices.CompactFunc(v.Notes, equal)
	if len(v.Violations) > 0 {
		v.Notes = nil // nothing of a refused change is accepted
	}
}

// withdraw makes all violations unknown, for a reason.
func withdraw(v *result.Verdict, reason string) {
	for _, found := range v.Violations {
		v.Unknown = append(v.Unknown, result.Remark{Path: found.Path,
			Message: reason + ": " + found.Message, Row: found.Row})
	}
	v.Violations = nil
	tidy(v)
}

// compile makes what Check needs, once.
func (k *Kind) compile() error {
	k.once.Do(func() { k.err = k.doCompile() })
	return k.err
}

func (k *Kind) doCompile() error {
	fields, err := kind.NewField(k.source.Fields, goTypes)
	if err != nil {
		return fmt.Errorf("%s: %w", k.Kind, err)
	}
	for i := range k.source.Rows {
		row := &k.source.Rows[i]
		for _, path := range row.Paths() {
			if row.Annotation == "" {
				fields.Hold(fieldpath.Parse(path))
			}
		}
	}
	fields.Hold(fieldpath.Parse("metadata.annotations.any"))
	if k.definition, err = kind.FromData(fields, k.source.Rows); err != nil {
		return fmt.Errorf("%s: %w", k.Kind, err)
	}
	return nil
}

// goTypes are the types of Kubernetes that operators' own types hold.
var goTypes = kind.GoTypes{
	"JobTemplateSpec":       reflect.TypeFor[batchv1.JobTemplateSpec](),
	"PersistentVolumeClaim": reflect.TypeFor[corev1.PersistentVolumeClaim](),
	"PodSpec":               reflect.TypeFor[corev1.PodSpec](),
	"*PodSpec":              reflect.TypeFor[*corev1.PodSpec](),
	"PodTemplateSpec":       reflect.TypeFor[corev1.PodTemplateSpec](),
	"*ResourceRequirements": reflect.TypeFor[*corev1.ResourceRequirements](),
}
