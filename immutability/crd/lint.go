package crd

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/rule"
)

// Lint returns the errors and warnings about the locks of a CRD: those of immutability.Lint for each version, and those
// of the versions together:
//
//   - version-unlocked: served versions lock different fields, so that an update through one gets around the other.
//   - version-default: a locked field has a default in one served version and none, or another, in the next.
//   - v1beta1-lock (error): a CRD of v1beta1 with locks, as if it was new; LintUpdate knows what it had before.
//   - not-structural: a schema that no API server could prune and default by.
//
// Errors come first, then they are in the order of the file. Nil when there is nothing to say.
func Lint(c *CRD, opts ...immutability.Option) []Finding { return LintUpdate(c, nil, opts...) }

// LintUpdate returns the findings of Lint for newCRD, as an update of oldCRD: a CRD of v1beta1 may keep the locks that
// it had. And it adds what such an update may not do:
//
//   - other-crd (error): the two define different groups or kinds.
//   - lock-dropped (error): a version no longer locks what it did, or is no longer served, and no served version has its
//     locks.
//
// With a nil oldCRD the CRD is new.
func LintUpdate(newCRD, oldCRD *CRD, opts ...immutability.Option) []Finding {
	l := linter{crd: newCRD}
	for _, v := range newCRD.Versions {
		for _, f := range immutability.Lint(v.Schema, opts...) {
			l.add(v, f)
		}
		if path, why := notStructural(v.raw); why != "" && !newCRD.PreserveUnknownFields {
			l.report(v, immutability.SeverityWarning, rule.NotStructural, []string{path},
				"the schema is not structural, and an API server refuses the CRD: %s", why)
		}
	}
	several := served(newCRD) > 1
	if several || oldCRD != nil || newCRD.APIVersion == v1beta1 {
		for _, v := range newCRD.Versions {
			l.versions = append(l.versions, newIndex(v))
		}
	}
	if several {
		l.unlocked()
		l.defaults()
	}
	l.update(oldCRD)
	slices.SortStableFunc(l.findings, func(a, b Finding) int {
		return cmp.Or(
			strings.Compare(string(a.Severity), string(b.Severity)),
			cmp.Compare(a.Line, b.Line),
			strings.Compare(a.Path, b.Path),
			strings.Compare(a.Rule, b.Rule),
			strings.Compare(a.Message, b.Message),
		)
	})
	return l.findings
}

// served counts the served versions.
func served(c *CRD) int {
	n := 0
	for _, v := range c.Versions {
		if v.Served {
			n++
		}
	}
	return n
}
