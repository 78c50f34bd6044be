package crd

import (
	"fmt"
	"slices"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/lint"
	"github.com/fieldlock/fieldlock/internal/rule"
)

// update compares with the CRD before the update, or with none.
func (l *linter) update(oldCRD *CRD) {
	var before []*index
	if oldCRD != nil {
		if oldCRD.Group != l.crd.Group || oldCRD.Kind != l.crd.Kind {
			l.add(nil, immutability.Finding{Severity: immutability.SeverityError, Rule: rule.OtherCRD, Message: fmt.Sprintf(
				"it defines %s of %s, and the old CRD %s of %s: an update changes neither; compare a CRD with its own old version",
				l.crd.Kind, l.crd.Group, oldCRD.Kind, oldCRD.Group)})
			return
		}
		for _, v := range oldCRD.Versions {
			before = append(before, newIndex(v))
		}
	}
	for _, v := range l.versions {
		l.gained(v, before)
		l.dropped(v, before)
	}
}

// gained reports the locks that a CRD of v1beta1 gains: the proposal allows it only those that it had before.
func (l *linter) gained(v *index, before []*index) {
	if l.crd.APIVersion != v1beta1 {
		return
	}
	var paths []string
	for _, path := range v.locked() {
		if !slices.ContainsFunc(before, func(old *index) bool { return old.refuses(path, v.nodes[path].Marks.Refuses()) }) {
			paths = append(paths, path)
		}
	}
	if len(paths) > 0 {
		l.report(v.Version, immutability.SeverityError, rule.V1beta1Lock, paths,
			"a %s of %s cannot gain locks: %s; move it to %s, where every schema is structural", kindCRD, v1beta1, lint.Enumerate(fieldsOf(paths)), v1)
	}
}

// dropped reports the locks that a version loses: existing objects were written under them.
func (l *linter) dropped(v *index, before []*index) {
	for _, old := range before {
		if old.Name != v.Name {
			continue
		}
		var paths []string
		for _, path := range old.locked() {
			if !v.refuses(path, old.nodes[path].Marks.Refuses()) {
				paths = append(paths, path)
			}
		}
		if len(paths) > 0 {
			l.report(v.Version, immutability.SeverityError, rule.LockDropped, paths,
				"the update drops or weakens locks of version %s: %s; clients rely on the values to stay", v.Name, lint.Enumerate(fieldsOf(paths)))
		}
	}
}
