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

// Witness shows a hole: objects in the order of writing. Each is valid, every lock and rule accepts each step, and going
// from the first to the last directly is refused.
type Witness struct {
	Objects []map[string]any `json:"objects"`

	// Refused says what refuses the direct way.
	Refused []witness.Refusal `json:"-"`
}

// explainer tries suspects of one CRD on objects.
type explainer struct {
	crd  *crd.CRD
	all  bool // find a witness for each hole, not only for those that objects have to decide
	kind *witness.Kind
}

// finding returns what is reported of s; false when objects show that it is wrong.
//
// A hole that does not follow from the rules and for which no objects are found within a bounded effort is a note. This
// does not depend on whether witnesses were asked for.
func (x *explainer) finding(s suspect) (Finding, bool) {
	f := newFinding(s.Finding)
	r, _ := rule.Find(s.Rule)
	if s.dead == nil && (!r.Hole || s.sure && !x.all) {
		return f, true
	}
	if x.kind == nil {
		x.kind = witness.FromCRD(x.crd)
	}
	if s.dead != nil {
		return f, !x.kind.Refuses(s.Version, s.dead.SchemaPath, s.dead.Index)
	}
	hole := witness.Hole{Rule: s.Rule, Version: s.Version, SchemaPath: s.SchemaPath, Fields: s.Fields, Sure: s.sure}
	shown := false
	if x.all {
		var w witness.Witness
		if w, shown = x.kind.Find(hole); shown {
			f.Witness = &Witness{w.Objects, w.Refused}
		}
	} else {
		shown = x.kind.Shows(hole)
	}
	if !shown && !s.sure {
		f.Severity, f.Message = string(immutability.SeverityNote), "possible: "+f.Message
	}
	return f, true
}
