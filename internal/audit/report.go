package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/accept"
	"github.com/fieldlock/fieldlock/internal/celrule"
	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// Report is the result of lint, with the JSON form that lint -o json prints.
type Report struct {
	Findings []Finding `json:"findings"` // by CRD; errors first, then in the order of the file
	Errors   []string  `json:"errors,omitempty"`

	// CRDs is how many CRDs were read; Locked is set when one of them has a lock or a transition rule.
	CRDs   int  `json:"-"`
	Locked bool `json:"-"`
	// Explained is set when witnesses were asked for.
	Explained bool `json:"-"`
	// Strict is set when warnings count as errors.
	Strict bool `json:"-"`

	steps int // that were taken, for tests
}

// Finding is one finding about a CRD.
type Finding struct {
	crd.Finding
	Witness     *witness.Witness // shows a hole, if Options asked for it
	Accepted    bool
	AcceptedNew bool // the change adds the acceptance
	// Around is the transition rules that objects get around; nil for other findings.
	Around []*witness.RuleAt
	// Go is the field in Go that the CRD is made from, and MarkersAt the one that the fix concerns; nil if they are
	// unknown.
	Go, MarkersAt *GoPlace
}

// GoPlace is where Go source declares a field or type.
type GoPlace struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Name string `json:"name"` // "DatabaseSpec.Backup"
}

// placed returns a finding about a schema with its version and its place in the CRD.
func placed(c *crd.CRD, v *crd.Version, f crd.Finding) Finding {
	f.CRD, f.Version, f.Position = c.Name, v.Name, v.Position(f.SchemaPath)
	return Finding{Finding: f}
}

// MarshalJSON implements json.Marshaler.
func (f Finding) MarshalJSON() ([]byte, error) {
	fix := f.Fix
	if fix == nil {
		fix = &crd.Fix{}
	}
	return jsonvalue.Encode(struct {
		File        string                `json:"file"`
		Line        int                   `json:"line,omitempty"`
		CRD         string                `json:"crd"`
		Version     string                `json:"version,omitempty"`
		Path        string                `json:"path"`
		SchemaPath  string                `json:"schemaPath"`
		Severity    immutability.Severity `json:"severity"`
		Rule        string                `json:"rule"`
		Message     string                `json:"message"`
		Fix         string                `json:"fix,omitempty"`
		Markers     []string              `json:"markers,omitempty"`
		MarkersOn   string                `json:"markersOn,omitempty"`
		MarkersAt   *GoPlace              `json:"markersAt,omitempty"`
		Refuses     string                `json:"refuses,omitempty"`
		Witness     *witness.Witness      `json:"witness,omitempty"`
		Accepted    bool                  `json:"accepted,omitempty"`
		AcceptedNew bool                  `json:"acceptedNew,omitempty"`
		Go          *GoPlace              `json:"go,omitempty"`
	}{
		f.Position.Filename, f.Position.Line, f.CRD, f.Version, f.Path, f.SchemaPath, f.Severity, f.Rule, f.Message,
		fix.Text, fix.Markers, f.MarkersOn(), f.MarkersAt, fix.Refuses, f.Witness, f.Accepted, f.AcceptedNew, f.Go,
	})
}

// MarkersOn says where the markers of the fix belong in Go: "the field spec.backup or its type". It is "" without
// markers.
func (f *Finding) MarkersOn() string {
	if f.Fix == nil || len(f.Fix.Markers) == 0 {
		return ""
	}
	path := schema.Readable(f.Fix.SchemaPath)
	switch {
	case path == "":
		return "the type of the kind"
	case f.Fix.AddRules == nil:
		return "the field " + path
	case strings.HasSuffix(path, "[*]"):
		return "the type of the items of " + strings.TrimSuffix(path, "[*]")
	}
	return "the field " + path + " or its type"
}

// Same reports whether two findings are the same for two versions of one CRD.
func (f *Finding) Same(g *Finding) bool {
	return f.Position.Filename == g.Position.Filename && f.CRD == g.CRD && f.Path == g.Path && f.Rule == g.Rule &&
		f.Message == g.Message &&
		f.Severity == g.Severity
}

// SameAsOneOf reports whether f is the same as one of findings.
func (f *Finding) SameAsOneOf(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(g Finding) bool { return f.Same(&g) })
}

// Refused reports whether the findings fail the run.
func (r *Report) Refused() bool {
	for i := range r.Findings {
		if r.Fails(&r.Findings[i]) {
			return true
		}
	}
	return false
}

// Fails reports whether one finding fails the run.
func (r *Report) Fails(f *Finding) bool {
	fails := f.Severity == immutability.SeverityError || r.Strict && f.Severity == immutability.SeverityWarning
	return fails && !f.Accepted
}

// entry returns the entry that accepts f, without a reason.
func (f *Finding) entry() accept.Entry { return accept.Entry{CRD: f.CRD, Path: f.Path, Rule: f.Rule} }

// Accept marks the findings that somebody has accepted, and returns warnings about the entries. They stay in the
// report. With knownOld an acceptance that oldList does not have is marked as new.
func (r *Report) Accept(newList, oldList *accept.List, knownOld bool, now time.Time) []string {
	for i := range r.Findings {
		f := &r.Findings[i]
		if entry := newList.Match(f.entry(), "", now); entry != nil {
			f.Accepted = true
			f.AcceptedNew = knownOld && !oldList.Has(entry)
		}
	}
	return newList.Warnings(now, true)
}

// Acceptances returns the entries that accept every finding that is not accepted yet, each once.
func (r *Report) Acceptances(reason string) []accept.Entry {
	var entries []accept.Entry
	seen := map[accept.Entry]bool{}
	for i := range r.Findings {
		f := &r.Findings[i]
		e := f.entry()
		e.Reason = reason
		if !f.Accepted && !seen[e] {
			entries = append(entries, e)
		}
		seen[e] = true
	}
	return entries
}

// refusedRules returns an error for each CEL rule that an API server refuses in a CRD. It reports false for a CRD that
// is too large for that. Cost: the compilation of the rules, which is at most maxValidated.
func refusedRules(c *crd.CRD, m *memory) (findings []Finding, done bool) {
	if c.APIVersion != apiextensionsv1.SchemeGroupVersion.String() {
		return nil, true // v1beta1 has no rules
	}
	cost := 0
	for _, v := range c.Versions {
		_, rules := costOf(v.Schema, &cost)
		if cost > maxValidated {
			return nil, false
		}
		if rules == 0 {
			continue
		}
		refusals := m.refusals(v.Schema)
		costly := slices.ContainsFunc(refusals, func(r celrule.Refusal) bool { return r.Costly })
		for _, r := range refusals {
			if r.Together && costly {
				continue // without the rules that cost too much, all others may be cheap enough
			}
			findings = append(findings, refusedRule(c, v, r))
		}
	}
	return findings, true
}

// maxValidated bounds what costOf says of a CRD that is validated.
const maxValidated = 2_000_000

// costOf returns how many schemas s has in it and how many rules, and adds to cost what it takes to compile the rules:
// an API server declares the whole type below a rule for it.
func costOf(s *spec.Schema, cost *int) (size, rules int) {
	size = 1
	add := func(child *spec.Schema) {
		if child != nil {
			n, r := costOf(child, cost)
			size, rules = size+n, rules+r
		}
	}
	for name := range s.Properties {
		child := s.Properties[name]
		add(&child)
	}
	if s.Items != nil {
		add(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		add(s.AdditionalProperties.Schema)
	}
	const perRule = 100
	list, _ := s.Extensions[schema.KeyValidations].([]any)
	for _, entry := range list {
		text, _ := entry.(map[string]any)
		r, _ := text["rule"].(string)
		*cost += perRule + len(r)
	}
	if rules += len(list); len(list) > 0 {
		*cost += size
	}
	return size, rules
}

// refusedRule returns the finding for a rule that an API server refuses.
func refusedRule(c *crd.CRD, v *crd.Version, r celrule.Refusal) Finding {
	message := "an API server refuses the CRD because of a rule: " + r.Reason
	switch {
	case r.Together:
		message = "an API server refuses the CRD because of all its rules together: " + r.Reason
	case r.Rule != "":
		message = fmt.Sprintf("an API server refuses the CRD because of the rule %q: %s", r.Rule, r.Reason)
	}
	return placed(c, v, crd.Finding{
		Path: schema.Readable(r.SchemaPath), SchemaPath: r.SchemaPath, Severity: immutability.SeverityError,
		Rule: finding.RefusedRule, Message: message,
	})
}
