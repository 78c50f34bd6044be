package compare

import (
	"fmt"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/crdfacts"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

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

// ofFacts judges custom resources whose CRD is not at hand by what is known of the CRD's transition rules.
func ofFacts(facts *crdfacts.Kind) *definition {
	return &definition{
		covers: func(apiVersion string) bool { _, ok := crdfacts.Find(apiVersion, facts.Kind); return ok },
		find: func(v *verdict, r request) error {
			judged, err := checkFacts(facts, r)
			v.addRows(judged, r, "", func(b *violation, found *builtin.Violation) {
				b.SchemaPath, b.Source, b.Says = "", found.Row.Source, found.Row.Message
				if facts.Password(b.at) {
					b.hide()
				}
			})
			return err
		},
		replace: func(r request, _ builtin.Verdict) *result.Replacement {
			return customReplacement(result.CostUnknown, facts.Plural+"."+facts.Group, r)
		},
	}
}

func checkFacts(facts *crdfacts.Kind, r request) (builtin.Verdict, error) {
	if r.new.APIVersion != r.old.APIVersion {
		return betweenVersions(facts, r), nil
	}
	return facts.Check(r.new.Value(), r.old.Value())
}

// betweenVersions is the verdict on an object that changes its version: only the CRD tells how it is converted.
func betweenVersions(facts *crdfacts.Kind, r request) builtin.Verdict {
	before, _ := crdfacts.Find(r.old.APIVersion, r.old.Kind)
	v := builtin.Verdict{Checked: true}
	if len(facts.Rows)+len(before.Rows) > 0 {
		v.Unknown = append(v.Unknown, builtin.Remark{Path: "apiVersion", Message: fmt.Sprintf(
			"the object is of version %s and the old one of %s, and both have transition rules in %s; give the CRD with --schema, which says how they are converted",
			r.new.APIVersion, r.old.APIVersion, facts.Source())})
	}
	return v
}
