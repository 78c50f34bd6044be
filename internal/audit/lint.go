package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fieldlock/fieldlock/immutability/crd"
)

// CRDs returns the findings of CRDs, as updates of those in olds that define the same kinds. With one CRD on each side
// the two are an update whatever they define: a finding says so when they differ.
//
// The error is about two CRDs of one kind among olds.
func CRDs(news, olds []*crd.CRD) (*Report, error) {
	updates, err := pair(news, olds)
	if err != nil {
		return nil, err
	}
	r := &Report{Findings: []Finding{}, CRDs: len(news)}
	for _, u := range updates {
		for _, f := range u.findings() {
			r.Findings = append(r.Findings, newFinding(f))
		}
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

// findings returns all findings of one CRD: errors first, then in the order of the file.
func (u update) findings() []crd.Finding {
	findings := append(crd.LintUpdate(u.new, u.old), ruleFindings(u.new)...)
	slices.SortStableFunc(findings, func(a, b crd.Finding) int {
		return cmp.Or(
			strings.Compare(string(a.Severity), string(b.Severity)), cmp.Compare(a.Line, b.Line), strings.Compare(a.Path, b.Path),
			strings.Compare(a.Rule, b.Rule), strings.Compare(a.Message, b.Message),
		)
	})
	return findings
}

// pair pairs CRDs by group and kind, in the order of news.
func pair(news, olds []*crd.CRD) ([]update, error) {
	before := map[schema.GroupKind]*crd.CRD{}
	for _, o := range olds {
		gk := schema.GroupKind{Group: o.Group, Kind: o.Kind}
		if other := before[gk]; other != nil {
			return nil, fmt.Errorf("--old: %s is defined twice, in %s:%d and in %s:%d; give one of them", gk, other.File, other.Position().Line, o.File, o.Position().Line)
		}
		before[gk] = o
	}
	if len(olds) == 1 && len(news) == 1 {
		return []update{{news[0], olds[0]}}, nil
	}
	updates := make([]update, len(news))
	for i, n := range news {
		updates[i] = update{n, before[schema.GroupKind{Group: n.Group, Kind: n.Kind}]}
	}
	return updates, nil
}
