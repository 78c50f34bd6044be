package compare

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/crdfacts"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/kind"
	"github.com/fieldlock/fieldlock/internal/shell"
)

// Kinds that are known from data: Kubernetes' own kinds, kinds of operators with webhooks, and kinds whose CRD has
// transition rules and is not at hand. The package of each judges two objects by its rows; here its verdict becomes one
// of a check. For example, the row
//
//	{field: spec.selector, lock: immutable, says: "field is immutable"}
//
// of Deployments becomes a violation at spec.selector, with the line of the field and what a replacement takes.

// ofBuiltin judges objects of a kind that Kubernetes itself has. A version that the chosen minor does not serve is
// judged as another one.
func ofBuiltin(kind *builtin.Kind) *definition {
	return &definition{
		isBuiltin: true,
		find: func(v *verdict, r request) error {
			v.addRows(checkBuiltin(kind, r), r, "", func(*result.Violation) {})
			return nil
		},
		replace: func(r request, v result.Verdict) *result.Replacement {
			return rowsReplacement(kind.Replacement(placed(r.new, r.new.Place()), r.old.Value(), v), v, r)
		},
	}
}

// checkBuiltin returns the verdict on a request. A cluster has applied the manifest already.
func checkBuiltin(kind *builtin.Kind, r request) result.Verdict {
	switch {
	case r.live != nil:
		return kind.CheckBy(liveApply, r.new.Value(), r.old.Value())
	case r.by == threeWay:
		return kind.CheckBy(builtin.ApplierClientSide, r.new.Value(), r.old.Value())
	}
	return kind.CheckBy(r.by, r.new.Value(), r.old.Value())
}

// identify adds the refusals that objects of all kinds share, such as another uid. It reads the uid of the manifest,
// also when the cluster has said what it would store.
func (v *verdict) identify(p request) {
	var oldObj map[string]any // of a create
	if p.old != nil {
		oldObj = p.old.Value()
	}
	var violations []result.Violation
	var open []result.Remark
	for _, o := range kind.Identity(p.new.Document.Object, oldObj) {
		if o.Open != "" {
			open = append(open, result.Remark{Path: o.Path, Message: o.Open})
			continue
		}
		o.Change = changeOf(&o.Violation, p.new, p.old)
		violations = append(violations, o.Violation)
		if v.replacement == nil {
			v.replacement = &result.Replacement{Message: "an edit is enough", How: []string{o.WaysOut.Edit}}
		}
	}
	v.merge(violations)
	v.addRemarks(p.open(open, ""), nil)
}

// ofOperator judges custom resources by the rows about their operator's webhooks. crds are the CRDs of the kind, for
// defaults and passwords. An operator converts between versions, and its verdict says where that leaves a question
// open.
func ofOperator(kind *operators.Kind, crds []*customKind) *definition {
	return &definition{
		find: func(v *verdict, r request) error {
			v.addRows(kind.Check(operatorObjects(crds, r)), r, kind.Operator.Name+": ", func(b *result.Violation) {
				showAsWritten(b, r)
				if slices.ContainsFunc(crds, func(c *customKind) bool { return c.hides(r.new.APIVersion, b.Steps) }) {
					hide(b)
				}
			})
			return nil
		},
		replace: func(r request, v result.Verdict) *result.Replacement {
			// Without the CRD, the scope is unknown; kubectl ignores a namespace that it does not need.
			in := placed(r.new, cmp.Or(r.new.Place(), shell.Resolved(r.new.AppliedBy.Namespace, "NAMESPACE")))
			return rowsReplacement(kind.Replacement(in, v), v, r)
		},
	}
}

// operatorObjects returns the objects as the operator gets them: with the defaults of the CRD, where there is one.
func operatorObjects(crds []*customKind, r request) (newObj, oldObj map[string]any) {
	newObj, oldObj = r.new.Value(), r.old.Value()
	for _, c := range crds {
		newVersion, oldVersion := c.version(r.new.APIVersion), c.version(r.old.APIVersion)
		if newVersion == nil || oldVersion == nil {
			continue
		}
		is, newErr := c.prepare(newVersion, r.new)
		was, oldErr := c.prepare(oldVersion, r.old)
		if newErr == nil && oldErr == nil { // the CRD reports its errors
			return is, was
		}
	}
	return newObj, oldObj
}

// showAsWritten replaces the values of a violation, which are in the operator's form, by the values of the manifests:
// "5368709120" by "5Gi". A rule is about the whole object.
func showAsWritten(v *result.Violation, p request) {
	newObj, oldObj := p.new.Value(), p.old.Value()
	if v.Lock == lockRule {
		v.Change = kind.DigestObjects(newObj, oldObj)
	}
	written := func(obj map[string]any, at fieldpath.Path, shown value) value {
		if is := fieldpath.Value(obj, at...); shown.OK && is != nil {
			return value{Data: is, OK: true}
		}
		return shown
	}
	v.New, v.Old = written(newObj, v.Steps, v.New), written(oldObj, v.Steps, v.Old)
	for i := range v.Differences {
		d := &v.Differences[i]
		at := fieldpath.Resolve(d.Path, newObj, oldObj)
		d.New, d.Old = written(newObj, at, d.New), written(oldObj, at, d.Old)
	}
}

// ofFacts judges custom resources whose CRD is not at hand by the catalogued transition rules of the CRD.
func ofFacts(facts *crdfacts.Kind, withSchema string) *definition {
	return &definition{
		covers: func(apiVersion string) bool { _, ok := crdfacts.Find(apiVersion, facts.Kind); return ok },
		find: func(v *verdict, r request) error {
			judged, err := checkFacts(facts, r, withSchema)
			v.addRows(judged, r, "", func(b *result.Violation) {
				if facts.Password(b.Steps) {
					hide(b)
				}
			})
			v.Unknown = remarks(judged.Unknown, "") // which say where the answer is
			return err
		},
		replace: func(r request, _ result.Verdict) *result.Replacement {
			return customReplacement(result.CostUnknown, facts.Plural+"."+facts.Group, r)
		},
	}
}

func checkFacts(facts *crdfacts.Kind, r request, withSchema string) (result.Verdict, error) {
	if r.new.APIVersion != r.old.APIVersion {
		return betweenVersions(facts, r, withSchema), nil
	}
	return facts.Check(r.new.Value(), r.old.Value(), withSchema)
}

// betweenVersions is the verdict on an object that changes its version: only the CRD tells how it is converted.
func betweenVersions(facts *crdfacts.Kind, r request, withSchema string) result.Verdict {
	before, _ := crdfacts.Find(r.old.APIVersion, r.old.Kind)
	v := result.Verdict{Checked: true}
	if len(facts.Rows)+len(before.Rows) > 0 {
		v.Unknown = append(v.Unknown, result.Remark{Path: "apiVersion", Message: fmt.Sprintf(
			"the object is of version %s and the old one of %s, and both have transition rules in %s; give the CRD "+
				"%s, which says how they are converted",
			r.new.APIVersion, r.old.APIVersion, facts.Source(), withSchema)})
	}
	return v
}
