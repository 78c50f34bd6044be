package crd

import (
	"fmt"
	"slices"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/lint"
	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/schema"
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
	for _, old := range before {
		l.gone(old, before)
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

// gone reports the locks of a version that is no longer served, because it has gone, has a new name, or is switched off:
// those that no served version has. An update goes through a version that leaves the field free then, or that loses its
// value. With a webhook, a field that no served version has may have moved.
func (l *linter) gone(old *index, before []*index) {
	var served []*index
	for _, v := range l.versions {
		if v.Served {
			served = append(served, v)
		}
	}
	if !old.Served || len(served) == 0 || slices.ContainsFunc(served, func(v *index) bool { return v.Name == old.Name }) {
		return
	}
	paths := map[*index][]string{}
	for _, path := range old.locked() {
		changes := old.nodes[path].Marks.Refuses()
		if slices.ContainsFunc(served, func(v *index) bool { return v.refuses(path, changes) }) || l.alreadyDropped(path, changes, before) {
			continue
		}
		has := func(v *index) bool { return v.nodes[path] != nil || v.preserved(path) }
		if i := slices.IndexFunc(served, has); i >= 0 {
			paths[served[i]] = append(paths[served[i]], path)
		} else if old.Storage && l.crd.Conversion == "None" {
			paths[served[0]] = append(paths[served[0]], path)
		}
	}
	for _, v := range served {
		if len(paths[v]) > 0 {
			l.report(v.Version, immutability.SeverityError, rule.LockDropped, paths[v],
				"the update stops serving version %s, and no served version has its locks: %s; clients rely on the values to stay", old.Name, lint.Enumerate(fieldsOf(paths[v])))
		}
	}
}

// alreadyDropped reports whether a version of the update loses a lock that it had itself, which is a finding of its own.
func (l *linter) alreadyDropped(path string, changes schema.Change, before []*index) bool {
	return slices.ContainsFunc(before, func(old *index) bool {
		return old.refuses(path, changes) && slices.ContainsFunc(l.versions, func(v *index) bool { return v.Name == old.Name && !v.refuses(path, changes) })
	})
}
