package audit

import (
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/celrule"
	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/finding/catalogue"
	"github.com/fieldlock/fieldlock/internal/storageversion"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// Package celrule knows where updates may get around the transition rules of a CRD, and package witness tries objects
// there with the API server's validator. A finding says what objects have shown: for the rule self == oldSelf on the
// optional field spec.f there is one place, objects with f: a, without f, and with f: b get around the rule, and so
// there is a finding. Objects decide with and without --explain, which only prints them.

// effort is how many steps are taken for one CRD.
type effort struct {
	glance   int // to look for ways around rules among objects as the schema suggests them,
	search   int // among objects that are repaired where rules refuse them,
	thorough int // and among longer sequences of them
	decide   int // to look for objects that decide about one rule: whether it refuses anything, or each first status
	states   int // to look for two updates around rules of any form
	show     int // to look for objects that show the holes of locks;
	shrink   int // and with --explain, to make witnesses small
}

// usual is the effort for one CRD unless a test says otherwise.
func usual() effort {
	return effort{
		glance: 8_000_000, search: 6_000_000, thorough: 4_000_000, decide: 2_000_000, states: 12_000_000,
		show: 12_000_000, shrink: 6_000_000,
	}
}

// explainer tries on objects what may be wrong with one CRD.
type explainer struct {
	all  bool // give each hole that objects show its witness
	kind *witness.Kind

	effort  effort
	steps   int      // that the trials of one sort may still take together,
	share   int      // and how many of them one trial may take
	left    []string // fields whose rules were not tried in every way, as no steps were left
	untried []string // the places of holes of locks for which no steps were left
}

// suspect is a finding, and what trying objects on it takes and finds.
type suspect struct {
	Finding
	decided  bool             // objects have decided about it
	shown    *witness.Shown   // by objects; nil if none were found
	loosened *witness.Witness // of an update of the CRD: two objects that only the new CRD accepts; nil if none were found
	untried  bool             // no steps were left to look for objects
}

// tried is a way around rules in a version, and the first objects that show it.
type tried struct {
	*celrule.Way
	in    *crd.Version
	shown *witness.Shown
}

// rules returns what objects show about the transition rules of a CRD: the ways around them within each version that is
// served and through another version, those that refuse nothing, and those that refuse each first status.
func (x *explainer) rules(c *crd.CRD, a *celrule.Audit) []suspect {
	var ways []*tried
	for _, v := range storageversion.Served(c) {
		for _, w := range a.Ways(v.Schema) {
			ways = append(ways, &tried{Way: w, in: v})
		}
	}
	for _, w := range a.WaysBetween(c) {
		v, _ := c.Version(w.Version)
		ways = append(ways, &tried{Way: w, in: v})
	}
	x.try(ways)
	suspects := x.single(c, a)
	closed := map[place]bool{}                // by the rules of another version
	for _, w := range slices.Backward(ways) { // those between versions first
		between := w.Rule == finding.CELVersionWithoutRule
		w.OnlyStatus = w.in.HasStatus && (w.SchemaPath == statusPath || strings.HasPrefix(w.SchemaPath, statusPath+"/"))
		f, ok := w.Finding()
		if !ok || !between && closed[place{w.in.Name, f.SchemaPath}] {
			continue
		}
		if f.Fix != nil && f.Fix.Safe {
			for _, schemaPath := range w.Closes {
				closed[place{w.Version, schemaPath}] = true
			}
		}
		found := placed(c, w.in, f)
		for _, g := range w.Around {
			if g.Shown {
				found.Around = append(found.Around, w.ruleAt(g))
			}
		}
		suspects = append(suspects, suspect{decided: true, shown: w.shown, Finding: found})
	}
	return suspects
}

// place is a node in the schema of a version.
type place struct{ version, schemaPath string }

const statusPath = "/properties/status"

// try looks for objects that show ways: at a glance for all of them first, and then harder for those rules for which
// there are none yet.
func (x *explainer) try(ways []*tried) {
	for effort, steps := range []int{witness.Glance: x.effort.glance, witness.Search: x.effort.search,
		witness.Thorough: x.effort.thorough} {
		x.allow(steps)
		x.kind.Allow(steps)
		for _, w := range ways {
			for _, g := range w.Around {
				if !g.Shown {
					x.tryRule(w, g, witness.Effort(effort))
				}
			}
		}
	}
}

// tryRule looks for objects that get around a rule on a way. It needs an object to begin with.
func (x *explainer) tryRule(w *tried, g *celrule.Guarded, effort witness.Effort) {
	if x.over() || !x.kind.HasObjects(w.ruleAt(g).Version) {
		x.left = append(x.left, g.Paths()...)
		return
	}
	shown, ok := x.show(w.hole(g), effort)
	if !ok {
		return
	}
	if w.shown == nil {
		w.shown = &shown
	}
	for _, other := range w.Around {
		if other == g || !other.Shown && shown.Refuses(*w.ruleAt(other)) {
			other.Shown = true
			if w.Rule == finding.CELVersionWithoutRule {
				other.Removing = shown.Without()
			}
		}
	}
}

// allow lets the next trials together take a number of steps.
func (x *explainer) allow(steps int) { x.steps, x.share = steps, steps/manyShares }

// over reports whether the trials have taken all their steps.
func (x *explainer) over() bool { return x.steps <= 0 }

// manyShares is how many trials it takes at least to use up the steps for all of them: one large object does not take
// the steps of all others.
const manyShares = 5

// show looks for objects that show h.
func (x *explainer) show(h witness.Hole, effort witness.Effort) (witness.Shown, bool) {
	before := x.kind.Steps()
	x.kind.Allow(min(x.share, x.steps))
	shown, ok := x.kind.Show(h, effort)
	x.steps -= x.kind.Steps() - before
	return shown, ok
}

// ruleAt names a rule of w for package witness.
func (w *tried) ruleAt(g *celrule.Guarded) *witness.RuleAt {
	version := g.Version
	if version == "" {
		version = w.in.Name
	}
	return &witness.RuleAt{Version: version, SchemaPath: g.SchemaPath, Index: g.Index, Fields: g.Fields}
}

// hole is the suspicion that w gets around a rule.
func (w *tried) hole(g *celrule.Guarded) witness.Hole {
	return witness.Hole{Version: w.in.Name, Rule: w.Rule, SchemaPath: w.SchemaPath, Around: w.ruleAt(g)}
}

// single returns what objects show about transition rules one by one.
func (x *explainer) single(c *crd.CRD, a *celrule.Audit) []suspect {
	var suspects []suspect
	add := func(v *crd.Version, f celrule.Suspicion, shown *witness.Shown) {
		suspects = append(suspects, suspect{decided: true, shown: shown, Finding: placed(c, v, f.Finding)})
	}
	x.allow(x.effort.decide)
	x.kind.Allow(x.steps)
	for _, v := range storageversion.Served(c) {
		for _, f := range a.DeadRules(v.Schema) {
			if !x.kind.Refuses(v.Name, f.Of.SchemaPath, f.Of.Index) {
				add(v, f, nil)
			}
		}
		if !v.HasStatus {
			continue
		}
		for _, f := range a.StatusLocks(v.Schema) {
			if x.kind.LocksStatus(v.Name, f.Of.SchemaPath, f.Of.Index) {
				add(v, f, nil)
			}
		}
	}
	x.allow(x.effort.states)
	for _, v := range storageversion.Served(c) {
		for _, f := range a.TwoSteps(v.Schema) {
			if x.over() {
				x.left = append(x.left, f.Fields...)
				continue
			}
			at := &witness.RuleAt{Version: v.Name, SchemaPath: f.Of.SchemaPath, Index: f.Of.Index}
			way := placed(c, v, f.Finding)
			if shown, ok := x.show(way.hole(at), witness.Search); ok {
				f.Message += ": " + shown.Change()
				add(v, f, &shown)
			}
		}
	}
	return suspects
}

// leftOut returns the fields whose rules were not tried in every way, sorted.
func (x *explainer) leftOut() []string { return slices.Compact(slices.Sorted(slices.Values(x.left))) }

// maxUntried is up to how many holes that nobody looked at are listed one by one. More of them, in a CRD that locks
// hundreds of fields one by one, are a count in the note of what was not looked at.
const maxUntried = 20

// findings returns the findings of suspects. It tries the holes of locks on objects; one that none show is a note.
func (x *explainer) findings(suspects []suspect) []Finding {
	x.allow(x.effort.show)
	for i := range suspects {
		s := &suspects[i]
		if r, _ := catalogue.Find(s.Rule); s.decided || !r.Hole {
			continue
		}
		for _, effort := range []witness.Effort{witness.Search, witness.Thorough} {
			if shown, ok := x.show(s.hole(nil), effort); ok {
				s.shown = &shown
				break
			}
		}
		if s.shown != nil {
			continue
		}
		if x.over() {
			s.untried = true
			x.untried = append(x.untried, s.Path)
		}
		if s.Severity == immutability.SeverityWarning {
			s.Severity, s.Message = immutability.SeverityNote, "possible: "+s.Message
		}
	}
	x.kind.Allow(x.effort.shrink)
	findings := []Finding{}
	for i := range suspects {
		s := &suspects[i]
		if s.untried && s.Severity == immutability.SeverityNote && len(x.untried) > maxUntried {
			continue
		}
		if s.shown != nil && x.all {
			w := s.shown.Witness()
			s.Finding.Witness = &w
		}
		findings = append(findings, s.Finding)
	}
	return findings
}
