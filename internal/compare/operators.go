package compare

import (
	"cmp"
	"slices"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/crdfacts"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// operatorOf returns what is known of an object's operator, if anything is.
func (k *kinds) operatorOf(o *manifest.Object) (kind *operators.Kind, ok bool) {
	if k.operators == nil {
		return nil, false
	}
	return k.operators.Find(o.APIVersion, o.Kind)
}

// ofOperator judges custom resources by what is known of their operator's webhooks. crds are those of the kind; they know
// defaults and passwords. An operator converts between versions, and its verdict says where that leaves a question open.
func ofOperator(kind *operators.Kind, crds []*customKind) *definition {
	return &definition{
		find: func(v *verdict, r request) error {
			v.addRows(kind.Check(operatorObjects(crds, r)), r, kind.Operator.Name+": ", func(b *violation, found *builtin.Violation) {
				b.addOperator(kind.Operator, found, r)
				if slices.ContainsFunc(crds, func(c *customKind) bool { return c.hides(r.new.APIVersion, b.at) }) {
					b.hide()
				}
			})
			return nil
		},
		replace: func(r request, rows builtin.Verdict) *result.Replacement {
			// Without the CRD, nobody knows whether the kind has namespaces; kubectl ignores one that it does not need.
			in := placed(r.new, cmp.Or(r.new.Place(), r.new.AppliedBy.Namespace))
			return rowsReplacement(kind.Replacement(in, rows), rows, r)
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

// addOperator adds who refuses, and how that is known.
func (v *violation) addOperator(o operators.Operator, found *builtin.Violation, r request) {
	if v.Lock == lockRule {
		v.Change = digestObjects(r.new.Value(), r.old.Value())
	}
	known := "verified by running its code"
	if found.Row.Read {
		known = "its code was read, not run"
	}
	v.EnforcedBy, v.SchemaPath = o.Name, ""
	v.Source = found.Row.Source + " in " + o.Module + " " + o.Versions[len(o.Versions)-1] + "; " + known
	v.showAsWritten(r)
}

// showAsWritten replaces the values of a violation by those of the manifests, which have them where the operator's form says
// the same in another way: "5Gi" for "5368709120".
func (v *violation) showAsWritten(p request) {
	newObj, oldObj := p.new.Value(), p.old.Value()
	written := func(obj map[string]any, at fieldpath.Path, shown value) value {
		if is := yamldoc.At(obj, at...); shown.OK && is != nil {
			return value{Data: is, OK: true}
		}
		return shown
	}
	v.new, v.old = written(newObj, v.at, v.new), written(oldObj, v.at, v.old)
	for i, d := range v.found.Differences {
		at := fieldpath.Resolve(v.Differences[i].Path, newObj, oldObj)
		v.Differences[i].New = raw(written(newObj, at, value{Data: d.New, OK: d.HasNew}))
		v.Differences[i].Old = raw(written(oldObj, at, value{Data: d.Old, OK: d.HasOld}))
	}
}

// complete reports whether the definition of an object's kind is complete, so that a change which it does not refuse is allowed. It is
// if the kind is built in. Otherwise its CRD is at hand, or all transition rules of its CRD are known; and if the catalogue lists its
// operator, it also has the kind.
func (k *kinds) complete(o *manifest.Object) bool {
	gk := groupKind{o.Group, o.Kind}
	if k.builtinOf(o) != nil || o.Kind == "" || k.faulty[gk] != nil { // what has a fault is unknown
		return true
	}
	_, hasFacts := k.factsOf(o)
	isOpen := slices.ContainsFunc(k.open, func(d *openKind) bool { return d.isOf(o) })
	if len(k.byKind[gk]) == 0 && !hasFacts && !isOpen {
		return false
	}
	if _, hasRows := k.operatorOf(o); hasRows || k.operators == nil {
		return true
	}
	return slices.ContainsFunc(k.byKind[gk], (*customKind).ofConfigConnector) || !k.operatorListed(o)
}

// operatorListed reports whether the catalogue has kinds of the operator of an object. What is known of the kind's CRD tells the
// project, also where several share a group; otherwise the operator is that of the group.
func (k *kinds) operatorListed(o *manifest.Object) bool {
	facts, ok := crdfacts.Find(o.APIVersion, o.Kind)
	return slices.ContainsFunc(k.operators.All(), func(kind *operators.Kind) bool {
		if ok {
			return kind.Operator.Module == facts.Project.Module
		}
		return kind.Group == o.Group
	})
}

// countUnchecked counts the changed objects of kinds whose definition is not complete.
func (c *checker) countUnchecked(p pair) {
	if p.changed() && !c.kinds.complete(p.new) {
		c.report.UncheckedKinds = count(c.report.UncheckedKinds, p.new, true)
	}
}
