// Package audit joins what the packages below it find in CRDs: mistakes and escape hatches of locks (package crd) and
// of CEL transition rules (package celrule). It also lists what is locked, with the holes.
package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/celrule"
	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/storageversion"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// Options is how much CRDs does.
type Options struct {
	// Explain gives each hole its witness.
	Explain bool
	// GoField returns what Go source says about a field, and false where it is not known. Nil if there is no source.
	GoField func(c *crd.CRD, version, schemaPath string) (celrule.GoField, bool)
	// Begin is told how many CRDs there are, and Step that one more is done; from several goroutines. Both may be nil.
	Begin func(total int)
	Step  func()
	// Known has what was found before in the same CRDs, and keeps what is found now; nil for nothing.
	Known *Known

	effort effort // for each CRD; in tests less than usual
	memory *memory
}

// CRDs returns the findings of news, each as an update of the CRD in olds that defines the same kind. One CRD on each
// side is an update whatever the two define; if they define different kinds, a finding says so.
//
// With Options.Known, CRDs sets each element of news to nil when it is done with it, so that the memory of a CRD can be
// used for the next ones. An element that is nil already is known.
//
// It returns an error if olds has two CRDs of one kind.
func CRDs(news, olds []*crd.CRD, o Options) (*Report, error) {
	updates, err := pair(news, olds)
	if err != nil {
		return nil, err
	}
	if o.Begin != nil {
		o.Begin(len(updates))
	}
	o.memory = new(memory)
	if o.Known != nil {
		o.memory = &o.Known.memory
	}
	all := make([]audited, len(updates))
	manifest.Each(len(updates), func(i int) {
		if updates[i].new == nil {
			all[i] = o.Known.audited[i]
		} else {
			all[i] = updates[i].audit(o, cmp.Or(o.effort, usual()))
		}
		if o.Known != nil {
			updates[i], news[i] = update{}, nil
		}
		if o.Step != nil {
			o.Step()
		}
	})
	if o.Known != nil {
		o.Known.audited = all
	}
	r := &Report{Findings: []Finding{}, CRDs: len(news), Explained: o.Explain}
	for _, a := range all {
		r.Findings = append(r.Findings, a.findings...)
		r.Locked = r.Locked || a.locked
		r.steps += a.steps
	}
	return r, nil
}

// audited is what is found in one CRD.
type audited struct {
	findings []Finding
	locked   bool // it has a lock or a transition rule
	steps    int
}

// Known remembers what was found in CRDs, so that those that are linted again unchanged cost nothing: in the next call
// of the function CRDs, nil takes the place of such a CRD. The zero value is ready to use, for one value of
// Options.Explain.
type Known struct {
	audited []audited
	memory
}

// hasLocks reports whether some version of a CRD has a lock, or an error where one may be.
func hasLocks(c *crd.CRD) bool {
	return slices.ContainsFunc(c.Versions, func(v *crd.Version) bool {
		validator, err := v.Compile()
		return err != nil || !validator.Empty()
	})
}

// update is a CRD and what it was before, nil for a new one.
type update struct{ new, old *crd.CRD }

// audit returns all findings of one CRD: errors first, then warnings, then notes, each in the order of the file.
func (u update) audit(o Options, e effort) audited {
	rules := new(celrule.Audit)
	if o.GoField != nil {
		rules.GoField = func(s *spec.Schema, schemaPath string) (celrule.GoField, bool) {
			i := slices.IndexFunc(u.new.Versions, func(v *crd.Version) bool { return v.Schema == s })
			if i < 0 {
				return celrule.GoField{}, false
			}
			return o.GoField(u.new, u.new.Versions[i].Name, schemaPath)
		}
	}
	x := &explainer{all: o.Explain, kind: witness.FromCRD(u.new, &o.memory.compiled), effort: e}
	suspects := slices.Concat(x.rules(u.new, rules), u.droppedRules(rules))
	for _, f := range lockFindings(u.new, u.old) {
		suspects = append(suspects, suspect{Finding: Finding{Finding: f}})
	}
	findings := x.findings(withoutCopies(suspects))
	refused, validated := refusedRules(u.new, o.memory)
	findings = append(findings, refused...)
	if f, ok := notLookedAt(u.new, x.leftOut(), x.untried, validated); ok {
		findings = append(findings, f)
	}
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Position.Line, b.Position.Line),
			strings.Compare(a.Path, b.Path),
			strings.Compare(a.Rule, b.Rule), strings.Compare(a.Message, b.Message),
		)
	})
	locked := slices.ContainsFunc(u.new.Versions, func(v *crd.Version) bool { return rules.Transitions(v.Schema) }) ||
		hasLocks(u.new)
	return audited{findings, locked, rules.Steps() + x.kind.Steps()}
}

// lockFindings returns what crd.Lint finds about locks, without its note that it leaves the CEL rules to this package.
func lockFindings(newCRD, oldCRD *crd.CRD) []crd.Finding {
	return slices.DeleteFunc(crd.Lint(newCRD, oldCRD), func(f crd.Finding) bool {
		return f.Rule == finding.NotLookedAt && f.Severity == immutability.SeverityNote
	})
}

// notLookedAt returns the finding that says what was not looked at in a CRD because its audit has taken all its steps,
// or because objects cannot tell: the fields for which ways around rules were not looked for, the places of the findings
// that were not tried on objects, and whether an API server takes the rules.
func notLookedAt(c *crd.CRD, fields, untried []string, validated bool) (Finding, bool) {
	var parts []string
	if len(fields) > 0 {
		parts = append(parts, "did not look for all ways around the CEL rules on "+finding.Enumerate(fields))
	}
	if len(untried) > 0 {
		places := slices.Compact(slices.Sorted(slices.Values(untried)))
		parts = append(parts, fmt.Sprintf("did not look for objects that show %s, at %s",
			count(len(untried), "finding"), finding.Enumerate(places)))
	}
	if !validated {
		parts = append(parts, "did not ask whether an API server takes the rules")
	}
	if len(parts) == 0 {
		return Finding{}, false
	}
	return Finding{Finding: crd.Finding{CRD: c.Name, Position: c.Position(), Finding: immutability.Finding{
		Severity: immutability.SeverityNote, Rule: finding.NotLookedAt,
		Message: "lint " + strings.Join(parts, " and ") +
			": the CRD takes more steps than lint makes for one CRD, or an API server accepts no object that lint " +
			"tried, or not the schema",
	}}}, true
}

// count is a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// rank orders severities: errors, warnings, notes.
func (f *Finding) rank() int {
	return slices.Index([]immutability.Severity{immutability.SeverityError, immutability.SeverityWarning,
		immutability.SeverityNote}, f.Severity)
}

// pair pairs CRDs by group and kind, in the order of news; where olds has a kind several times, by file.
func pair(news, olds []*crd.CRD) ([]update, error) {
	if len(olds) == 1 && len(news) == 1 {
		return []update{{news[0], olds[0]}}, nil
	}
	before := map[schema.GroupKind][]*crd.CRD{}
	for _, o := range olds {
		gk := schema.GroupKind{Group: o.Group, Kind: o.Kind}
		before[gk] = append(before[gk], o)
	}
	updates := make([]update, len(news))
	for i, n := range news {
		if n == nil {
			continue
		}
		old, err := closest(n, before[schema.GroupKind{Group: n.Group, Kind: n.Kind}])
		if err != nil {
			return nil, err
		}
		updates[i] = update{n, old}
	}
	return updates, nil
}

// closest returns the one of olds, which define the same kind as n, whose file has the most in common with n's: the
// same path in another directory or revision, or else the same name. It returns an error where two have as much.
func closest(n *crd.CRD, olds []*crd.CRD) (*crd.CRD, error) {
	var best, other *crd.CRD
	most := -1
	for _, o := range olds {
		switch common := commonSteps(n.File, o.File); {
		case common > most:
			best, other, most = o, nil, common
		case common == most:
			other = o
		}
	}
	if other != nil {
		gk := schema.GroupKind{Group: n.Group, Kind: n.Kind}
		return nil, fmt.Errorf("--old: %s is defined twice, in %s:%d and in %s:%d; give one of them",
			gk, best.File, best.Position().Line, other.File, other.Position().Line)
	}
	return best, nil
}

// commonSteps counts the steps at the end of two paths that are the same.
func commonSteps(a, b string) int {
	step := func(r rune) bool { return r == '/' || r == ':' }
	is, was := strings.FieldsFunc(a, step), strings.FieldsFunc(b, step)
	slices.Reverse(is)
	slices.Reverse(was)
	n := 0
	for n < min(len(is), len(was)) && is[n] == was[n] {
		n++
	}
	return n
}

// droppedRules returns the transition rules that the update drops or weakens: in versions that both CRDs serve, and in
// versions that only the old CRD serves, unless another served version has the rule.
func (u update) droppedRules(a *celrule.Audit) []suspect {
	if u.old == nil || u.old.Group != u.new.Group || u.old.Kind != u.new.Kind {
		return nil
	}
	type ruleAt struct{ schemaPath, text string }
	var suspects []suspect
	after, before := witness.FromCRD(u.new, nil), witness.FromCRD(u.old, nil)
	known := map[ruleAt]bool{}
	add := func(old *crd.Version, versions []*crd.Version, gone bool) {
		var schemas []*spec.Schema
		for _, v := range versions {
			schemas = append(schemas, v.Schema)
		}
		for _, l := range a.Dropped(old.Schema, schemas...) {
			at := ruleAt{l.SchemaPath, l.Of.Text}
			if gone && known[at] {
				continue
			}
			known[at] = true
			if gone {
				l.Message = fmt.Sprintf("the update stops serving version %s, and no served version has its rule %q "+
					"on %s; clients rely on the values to stay",
					old.Name, l.Of.Text, finding.Enumerate(l.Fields))
			}
			v := versions[l.In]
			s := suspect{Finding: placed(u.new, v, l.Finding)}
			around := &witness.RuleAt{Version: old.Name, SchemaPath: l.SchemaPath, Index: l.Of.Index, Fields: l.Guards}
			if w, ok := witness.ShowDropped(after, before,
				s.hole(around)); ok {
				s.loosened = &w
			} else if l.Reworded {
				continue
			} else if !l.Sure {
				s.Severity, s.Message = immutability.SeverityNote, "possible: "+s.Message
			}
			suspects = append(suspects, s)
		}
	}
	served := storageversion.Served(u.new)
	for _, v := range served {
		if old, ok := u.old.Version(v.Name); ok && old.Served {
			add(old, []*crd.Version{v}, false)
		}
	}
	for _, old := range storageversion.Served(u.old) {
		if v, ok := u.new.Version(old.Name); !ok || !v.Served {
			add(old, served, true)
		}
	}
	return suspects
}

// sameHole gives for each hole in CEL rules the hole in locks that is the same way around.
var sameHole = map[string]string{
	finding.CELUnsetThenSet: finding.UnsetThenSet, finding.CELOptionalParent: finding.OptionalParent,
	finding.CELRenamableKey: finding.RenamableKey, finding.CELVersionWithoutRule: finding.VersionUnlocked,
}

// withoutCopies leaves out holes in CEL rules that are holes in locks too: a CRD that export cel wrote has both, and
// the lock is what its author changes.
func withoutCopies(suspects []suspect) []suspect {
	type place struct{ rule, version, schemaPath string }
	locks := map[place][]suspect{}
	for _, s := range suspects {
		at := place{s.Rule, s.Version, s.SchemaPath}
		locks[at] = append(locks[at], s)
	}
	return slices.DeleteFunc(suspects, func(s suspect) bool {
		same, ok := sameHole[s.Rule]
		return ok && slices.ContainsFunc(locks[place{same, s.Version, s.SchemaPath}], func(lock suspect) bool {
			return isSubset(s.Fields, lock.Fields)
		})
	})
}

// isSubset reports whether all has every one of fields. Both are sorted.
func isSubset(fields, all []string) bool {
	return !slices.ContainsFunc(fields, func(field string) bool {
		_, found := slices.BinarySearch(all, field)
		return !found
	})
}
