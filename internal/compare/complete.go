package compare

import (
	"slices"

	"github.com/fieldlock/fieldlock/internal/manifest"
)

// A tick means that everything that changed was checked. So each change is accounted for: by an object that a definition judged, or
// as a gap. Gaps are files and units that nothing could read, verdicts that only the cluster can give, and objects of kinds whose
// rules are not known. What is the same on both sides is no gap.

// Unit is what one tool applies together, such as a kustomization or a chart.
type Unit struct {
	Unit    string `json:"unit"`
	Kind    string `json:"kind"`
	Objects int    `json:"objects"` // that were rendered; 0 for a unit that is the same on both sides
	Changed bool   `json:"changed"`
}

// NotCovered is a unit or file that could not be read as it is deployed.
type NotCovered struct {
	Unit    string `json:"unit"` // name of the unit, or path of the file
	Kind    string `json:"kind"` // "file" for a file that belongs to no unit
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Reason  string `json:"reason"`
	Changed bool   `json:"changed"`
	// Change is a digest of everything of both sides that the unit may read, for acceptances; "" if it cannot be accepted.
	Change      string `json:"change,omitempty"`
	Accepted    bool   `json:"accepted,omitempty"`
	AcceptedNew bool   `json:"acceptedNew,omitempty"` // the change adds the acceptance

	// AcceptedReason is the reason of the entry that accepts it.
	AcceptedReason string `json:"-"`
}

// KindCount is a kind and how many objects of it there are.
type KindCount struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Objects    int    `json:"objects"`
	// Changed is how many of the objects both sides have, with different content.
	Changed int `json:"changed"`
}

// count adds an object to those of its kind.
func count(kinds []KindCount, o *manifest.Object, changed bool) []KindCount {
	i := slices.IndexFunc(kinds, func(k KindCount) bool { return k.APIVersion == o.APIVersion && k.Kind == o.Kind })
	if i < 0 {
		i, kinds = len(kinds), append(kinds, KindCount{APIVersion: o.APIVersion, Kind: o.Kind})
	}
	kinds[i].Objects++
	if changed {
		kinds[i].Changed++
	}
	return kinds
}

// Uncovered returns what changed, could not be read, and is not accepted.
func (r *Report) Uncovered() []NotCovered {
	return slices.DeleteFunc(slices.Clone(r.NotCovered), func(n NotCovered) bool { return !n.Changed || n.Accepted })
}

// UncheckedChanges returns the kinds with changed objects that no definition covers, and those whose definition is not complete.
// Objects counts the changed objects only.
func (r *Report) UncheckedChanges() (skipped, unchecked []KindCount) {
	changed := func(kinds []KindCount) []KindCount {
		var list []KindCount
		for _, k := range kinds {
			if k.Objects = k.Changed; k.Changed > 0 {
				list = append(list, k)
			}
		}
		return list
	}
	return changed(r.SkippedKinds), changed(r.UncheckedKinds)
}

// Lost returns the deletions that lose data or other objects.
func (r *Report) Lost() []Deletion {
	return slices.DeleteFunc(slices.Clone(r.Deletions), func(d Deletion) bool { return !d.Loses() })
}

// Failed reports whether the run fails: a change is refused, or with Strict something that changed was not checked.
func (r *Report) Failed() bool { return !r.Allowed || r.Strict && !r.Complete }

// finish decides what the report means.
func (r *Report) finish(strict bool) {
	refused := r.MoreViolations > 0
	for i := range r.Violations {
		refused = refused || r.Violations[i].Refused()
	}
	skipped, unchecked := r.UncheckedChanges()
	r.Allowed, r.Strict = !refused, strict
	r.Complete = len(r.Errors)+len(r.Unknown)+len(r.Uncovered())+len(skipped)+len(unchecked) == 0
}

// skip counts the objects of both sides that no definition covers. An object of NEW that OLD has, too, counts once. In a comparison
// with a cluster, each may be a changed one.
func (c *checker) skip(news, olds []*manifest.Object, live bool) {
	pairs, partial := pairUp(news, olds, func(*manifest.Object) bool { return false })
	for _, p := range pairs {
		o, changed := p.new, p.changed()
		switch {
		case p.new == nil:
			o = p.old
		case live:
			changed = true
		}
		c.report.Skipped++
		c.report.SkippedKinds = count(c.report.SkippedKinds, o, changed)
	}
	c.report.Skipped += len(partial)
}
