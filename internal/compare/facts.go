package compare

import (
	"fmt"

	"github.com/fieldlock/fieldlock/internal/crdfacts"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

var _ definition = factsDefinition{}

// factsDefinition judges custom resources whose CRD is not at hand by what is known of the CRD's transition rules.
type factsDefinition struct{ kind *crdfacts.Kind }

// factsOf returns what is known of the CRD of an object's kind. A CRD or schema at hand wins, whatever its versions are.
func (k *kinds) factsOf(o *manifest.Object) (facts *crdfacts.Kind, ok bool) {
	gk := groupKind{o.Group, o.Kind}
	if k.operators == nil || len(k.byKind[gk]) > 0 || k.faulty[gk] != nil {
		return nil, false
	}
	for _, d := range k.open {
		if d.isOf(o) {
			return nil, false
		}
	}
	return crdfacts.Find(o.APIVersion, o.Kind)
}

func (d factsDefinition) covers(apiVersion string) bool {
	_, ok := crdfacts.Find(apiVersion, d.kind.Kind)
	return ok
}

// crd names the CRD that the facts are from.
func (d factsDefinition) crd() string {
	p := d.kind.Project
	return fmt.Sprintf("the CRD of %s %s (%s)", p.Name, p.Version, p.Module)
}

func (d factsDefinition) judge(p request) (verdict, error) {
	var v verdict
	if p.new.APIVersion != p.old.APIVersion {
		before, _ := crdfacts.Find(p.old.APIVersion, p.old.Kind)
		if len(d.kind.Rows)+len(before.Rows) > 0 {
			v.unknown = append(v.unknown, Remark{Path: "apiVersion", Message: fmt.Sprintf(
				"the object is of version %s and the old one of %s, and both have transition rules in %s; give the CRD with --schema, which says how they are converted",
				p.new.APIVersion, p.old.APIVersion, d.crd())})
		}
		return v, nil
	}
	newObj, oldObj := p.new.Value(), p.old.Value()
	judged, err := d.kind.Check(newObj, oldObj)
	if err != nil {
		return v, err
	}
	for i := range judged.Refused {
		v.violations = append(v.violations, d.violation(&judged.Refused[i], p))
	}
	for _, found := range judged.Unknown {
		message := "a transition rule of " + d.crd() + " reads the field, and only the CRD can tell whether it refuses the change; give the CRD with --schema"
		if found.Row.Says != "" {
			message += ". The rule says: " + found.Row.Says
		}
		v.unknown = append(v.unknown, Remark{Path: found.Path.String(), Message: message})
	}
	if len(v.violations) > 0 {
		v.replacement = d.replacement(p)
	}
	return v, nil
}

// violation returns what a rule of the CRD refuses.
func (d factsDefinition) violation(found *crdfacts.Finding, p request) Violation {
	path := found.Path.String()
	v := newViolation(&found.Violation, path, fieldpath.Resolve(path, p.new.Value(), p.old.Value()))
	v.SchemaPath, v.Source = "", d.crd()
	if v.Says = found.Row.Says; v.Says != "" {
		v.Message += "; the rule says: " + v.Says
	}
	v.Change = v.change(p.new, p.old)
	if d.kind.Password(v.at) {
		v.old, v.new, v.key, v.Differences, v.Redacted = value{}, value{}, value{}, nil, true
	}
	return v
}

func (d factsDefinition) replacement(p request) *Replacement {
	return &Replacement{Cost: CostUnknown, Message: costMessages[CostUnknown], Must: true,
		Requested: p.applier.Requested(p.new.Document.Object, p.old.Value()),
		How:       []string{keepOldValues, recreate(d.kind.Plural+"."+d.kind.Group, p.new)}}
}
