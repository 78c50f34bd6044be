package compare

import (
	"slices"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

var _ definition = operatorDefinition{}

// operatorDefinition judges custom resources by what is known of their operator's webhooks.
type operatorDefinition struct {
	kind *operators.Kind
	crds []*crdDefinition // of the kind; they know defaults and passwords
}

// operatorOf returns what is known of an object's operator, if anything is.
func (k *kinds) operatorOf(o *manifest.Object) (operatorDefinition, bool) {
	if k.operators == nil {
		return operatorDefinition{}, false
	}
	kind, ok := k.operators.Find(o.APIVersion, o.Kind)
	return operatorDefinition{kind, k.byKind[groupKind{o.Group, o.Kind}]}, ok
}

// covers reports true: an operator converts between versions, and Check says where that leaves a question open.
func (operatorDefinition) covers(string) bool { return true }

func (d operatorDefinition) judge(p pair) (verdict, error) {
	newObj, oldObj := d.prepare(p)
	judged := d.kind.Check(newObj, oldObj)
	var v verdict
	for i := range judged.Violations {
		v.violations = append(v.violations, d.violation(&judged.Violations[i], p))
	}
	for _, r := range judged.Unknown {
		v.unknown = append(v.unknown, Remark{Path: r.Path, Message: d.kind.Operator.Name + ": " + r.Message})
	}
	for _, r := range judged.Notes {
		v.notes = append(v.notes, Remark{Path: r.Path, Message: d.kind.Operator.Name + ": " + r.Message})
	}
	if len(v.violations) > 0 {
		v.replacement = d.replacementFor(p, judged)
	}
	return v, nil
}

func (d operatorDefinition) replacement(p pair) *Replacement {
	return d.replacementFor(p, builtin.Verdict{})
}

func (d operatorDefinition) replacementFor(p pair, judged builtin.Verdict) *Replacement {
	return replacementOf(d.kind.Replacement(p.new.Value(), judged), p, judged)
}

// prepare returns the objects as the operator gets them: with the defaults of the CRD, where there is one.
func (d operatorDefinition) prepare(p pair) (newObj, oldObj map[string]any) {
	newObj, oldObj = p.new.Value(), p.old.Value()
	for _, c := range d.crds {
		newVersion, oldVersion := c.version(p.new.APIVersion), c.version(p.old.APIVersion)
		if newVersion == nil || oldVersion == nil {
			continue
		}
		is, newErr := c.prepare(newVersion, p.new)
		was, oldErr := c.prepare(oldVersion, p.old)
		if newErr == nil && oldErr == nil { // the CRD reports its errors
			return is, was
		}
	}
	return newObj, oldObj
}

// violation returns what an operator refuses, with its text and source.
func (d operatorDefinition) violation(found *builtin.Violation, p pair) Violation {
	v := newViolation(&found.Broken)
	v.Path, v.Rule, v.Message = found.Path, found.Row.Rule, found.Message
	if v.Change = digest(v.old, v.new); v.Lock == lockRule {
		v.Change = digestObjects(p.new.Value(), p.old.Value())
	}
	o := d.kind.Operator
	known := "its code was asked"
	if found.Row.Read {
		known = "its code was read, not run"
	}
	v.EnforcedBy, v.SchemaPath = o.Name, ""
	v.Source = found.Row.Source + " in " + o.Module + " " + o.Versions[len(o.Versions)-1] + "; " + known
	v.showAsWritten(p)
	v.found = nil // the message is the operator's
	for _, c := range d.crds {
		steps, _ := yamldoc.Steps(p.new.Value(), v.Path)
		if version := c.version(p.new.APIVersion); version != nil && c.laws[version].redactionAt(steps) != nil {
			v.old, v.new, v.key, v.Differences, v.Redacted = value{}, value{}, value{}, nil, true
		}
	}
	return v
}

// showAsWritten replaces the values of a violation by those of the manifests, which have them where the operator's form says
// the same in another way: "5Gi" for "5368709120".
func (v *Violation) showAsWritten(p pair) {
	written := func(obj map[string]any, path string, shown value) value {
		steps, ok := yamldoc.Steps(obj, path)
		if at := yamldoc.At(obj, steps...); ok && shown.ok && at != nil {
			return value{at, true}
		}
		return shown
	}
	v.new, v.old = written(p.new.Value(), v.Path, v.new), written(p.old.Value(), v.Path, v.old)
	for i, d := range v.found.Differences {
		v.Differences[i].New = raw(written(p.new.Value(), v.Differences[i].Path, value{d.New, d.HasNew}))
		v.Differences[i].Old = raw(written(p.old.Value(), v.Differences[i].Path, value{d.Old, d.HasOld}))
	}
}

// UncheckedKind is a kind of which nothing is known: no lock, rule or row of the catalogue. Its operator may refuse changes.
type UncheckedKind struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Objects    int    `json:"objects"` // that NEW changes
}

// knows reports whether anything is known about updates of an object's kind.
func (k *kinds) knows(o *manifest.Object) bool {
	if k.builtinOf(o) != nil || o.Kind == "" {
		return true
	}
	if _, ok := k.operatorOf(o); ok {
		return true
	}
	for _, d := range k.byKind[groupKind{o.Group, o.Kind}] {
		if k.operators != nil && d.ofConfigConnector() {
			return true
		}
		for _, laws := range d.laws {
			if !laws.empty() {
				return true
			}
		}
	}
	return slices.ContainsFunc(k.open, func(d *openDefinition) bool { return d.isOf(o) && (d.load() != nil || !d.laws.empty()) })
}

// countUnchecked counts the changed objects of kinds of which nothing is known.
func (c *checker) countUnchecked(p pair) {
	if p.new == nil || p.old == nil || p.unchanged() || c.kinds.knows(p.new) {
		return
	}
	i := slices.IndexFunc(c.report.UncheckedKinds, func(k UncheckedKind) bool { return k.APIVersion == p.new.APIVersion && k.Kind == p.new.Kind })
	if i < 0 {
		i = len(c.report.UncheckedKinds)
		c.report.UncheckedKinds = append(c.report.UncheckedKinds, UncheckedKind{APIVersion: p.new.APIVersion, Kind: p.new.Kind})
	}
	c.report.UncheckedKinds[i].Objects++
}
