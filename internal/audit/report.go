package audit

import (
	"slices"
	"strings"
	"time"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/accept"
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

// hole returns the way around a lock or rule that f is about, for package witness. With around, it is a way around that
// rule.
func (f *Finding) hole(around *witness.RuleAt) witness.Hole {
	return witness.Hole{
		Version: f.Version, Rule: f.Rule, SchemaPath: f.SchemaPath, Fields: f.Fields, Around: around,
	}
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
