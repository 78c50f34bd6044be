package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// Options is how much CRDs does.
type Options struct {
	// Explain gives each hole a witness, which takes up to a second for each.
	Explain bool
	// Begin is told how many CRDs there are, and Step that one more is done; from several goroutines. Both may be nil.
	Begin func(total int)
	Step  func()
}

// CRDs returns the findings of CRDs, as updates of those in olds that define the same kinds. With one CRD on each side
// the two are an update whatever they define: a finding says so when they differ.
//
// The error is about two CRDs of one kind among olds.
func CRDs(news, olds []*crd.CRD, o Options) (*Report, error) {
	updates, err := pair(news, olds)
	if err != nil {
		return nil, err
	}
	if o.Begin != nil {
		o.Begin(len(updates))
	}
	findings := make([][]Finding, len(updates))
	manifest.Each(len(updates), func(i int) {
		findings[i] = updates[i].findings(o.Explain)
		if o.Step != nil {
			o.Step()
		}
	})
	r := &Report{Findings: append([]Finding{}, slices.Concat(findings...)...), CRDs: len(news), Explained: o.Explain}
	for _, u := range updates {
		r.Locked = r.Locked || hasLocks(u.new) || TransitionRules(u.new) > 0
	}
	return r, nil
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

// findings returns all findings of one CRD: errors first, then warnings, then notes, each in the order of the file.
func (u update) findings(explain bool) []Finding {
	suspects := ruleFindings(u.new)
	for _, f := range crd.LintUpdate(u.new, u.old) {
		suspects = append(suspects, suspect{Finding: f, sure: true})
	}
	suspects = withoutCopies(suspects)
	findings := (&explainer{crd: u.new, all: explain}).findings(suspects)
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Line, b.Line), strings.Compare(a.Path, b.Path),
			strings.Compare(a.Rule, b.Rule), strings.Compare(a.Message, b.Message),
		)
	})
	return findings
}

// rank orders severities: errors, warnings, notes.
func (f *Finding) rank() int {
	switch {
	case f.IsError():
		return 0
	case f.IsNote():
		return 2
	}
	return 1
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
		return nil, fmt.Errorf("--old: %s is defined twice, in %s:%d and in %s:%d; give one of them", gk, best.File, best.Position().Line, other.File, other.Position().Line)
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
