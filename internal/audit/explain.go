package audit

import (
	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/celrule"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// suspect is a finding before objects have been tried on it.
type suspect struct {
	crd.Finding
	sure bool             // it follows from the rules and the schema
	dead *celrule.RuleRef // the rule that refuses nothing, for a finding of that sort
}

// explainer tries suspects of one CRD on objects.
type explainer struct {
	crd  *crd.CRD
	all  bool // find a witness for each hole, not only for those that objects have to decide
	kind *witness.Kind

	effort  effort
	untried int // suspects for which no steps were left
}

// effort is how many steps are taken for one CRD.
type effort struct {
	rules  int // to look for ways around rules, as package celrule counts
	decide int // to look for objects, where only objects can decide; and with --explain:
	show   int // to look for objects that show the other holes
	shrink int // to make witnesses small
}

// usual is the effort for one CRD unless a test says otherwise.
func usual() effort {
	return effort{rules: celrule.Ceiling, decide: 8_000_000, show: 12_000_000, shrink: 6_000_000}
}

// try returns what is reported of s; false when objects show that it is wrong. Suspects that only objects can decide come
// before all others: what they come to must not depend on whether witnesses were asked for.
//
// A hole that does not follow from the rules and for which no objects are found within a bounded effort is a note.
func (x *explainer) try(s suspect) (t tried, keep bool) {
	t = tried{Finding: newFinding(s.Finding)}
	r, _ := rule.Find(s.Rule)
	if s.dead == nil && (!r.Hole || s.sure && !x.all) {
		return t, true
	}
	defer func() {
		if x.kind.Over() && !t.found {
			x.untried++
		}
	}()
	if s.dead != nil {
		return t, !x.kind.Refuses(s.Version, s.dead.SchemaPath, s.dead.Index)
	}
	t.shown, t.found = x.kind.Show(witness.Hole{Rule: s.Rule, Version: s.Version, SchemaPath: s.SchemaPath, Fields: s.Fields, Sure: s.sure})
	if !t.found && !s.sure {
		t.Severity, t.Message = string(immutability.SeverityNote), "possible: "+t.Message
	}
	return t, true
}

// tried is a finding that was tried on objects.
type tried struct {
	Finding
	shown witness.Shown
	found bool
}

// findings tries all suspects.
func (x *explainer) findings(suspects []suspect) []Finding {
	x.kind = witness.FromCRD(x.crd)
	var all []tried
	for _, sure := range []bool{false, true} {
		x.kind.Allow(x.effort.decide)
		if sure {
			x.kind.Allow(x.effort.show)
		}
		for _, s := range suspects {
			if (s.sure && s.dead == nil) != sure {
				continue
			}
			if t, ok := x.try(s); ok {
				all = append(all, t)
			}
		}
	}
	x.kind.Allow(x.effort.shrink)
	var findings []Finding
	for _, t := range all {
		if t.found && x.all {
			w := t.shown.Witness()
			t.Witness = &Witness{w.Objects, w.Refused}
		}
		findings = append(findings, t.Finding)
	}
	return findings
}
