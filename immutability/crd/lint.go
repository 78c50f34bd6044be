package crd

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/rule"
)

// Finding is one thing that lint found in a CRD, with its place in the file.
type Finding struct {
	immutability.Finding

	File    string // as in CRD.File
	CRD     string // name of the CustomResourceDefinition
	Version string // of the schema that SchemaPath leads through; "" where the CRD as a whole is meant
	Position
}

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
//   - lock-dropped: a version no longer locks what it did.
//
// A nil oldCRD is a CRD that is new.
func LintUpdate(newCRD, oldCRD *CRD, opts ...immutability.Option) []Finding {
	l := linter{crd: newCRD}
	for _, v := range newCRD.Versions {
		for _, f := range immutability.Lint(v.Schema, opts...) {
			l.add(v, f)
		}
		if path, why := notStructural(v.Schema); why != "" && !newCRD.PreserveUnknownFields {
			l.report(v, immutability.SeverityWarning, rule.NotStructural, []string{path},
				"the schema is not structural, and an API server refuses the CRD: %s", why)
		}
	}
	several := served(newCRD) > 1
	for _, v := range newCRD.Versions {
		l.versions = append(l.versions, versionIndex{v, indexOf(v, several)})
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

// linter collects the findings of one CRD.
type linter struct {
	crd      *CRD
	versions []versionIndex
	findings []Finding
}

type versionIndex struct {
	*Version
	index
}

// add keeps a finding of v, or with nil of the whole CRD.
func (l *linter) add(v *Version, f immutability.Finding) {
	finding := Finding{Finding: f, File: l.crd.File, CRD: l.crd.Name}
	if v == nil {
		finding.Position = l.crd.Position()
	} else {
		finding.Version = v.Name
		finding.Position = v.Position(f.SchemaPath)
	}
	l.findings = append(l.findings, finding)
}

// report adds a finding about the nodes of v at schemaPaths, at the node that they have in common.
func (l *linter) report(v *Version, severity immutability.Severity, rule string, schemaPaths []string, format string, args ...any) {
	at := common(schemaPaths)
	l.add(v, immutability.Finding{
		Path: readable(at), SchemaPath: at, Severity: severity, Rule: rule, Message: fmt.Sprintf(format, args...), Fields: fieldsOf(schemaPaths),
	})
}

// fieldsOf returns the paths for people, sorted.
func fieldsOf(schemaPaths []string) []string {
	fields := make([]string, len(schemaPaths))
	for i, path := range schemaPaths {
		fields[i] = readable(path)
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// shownFields is how many fields a message names; Finding.Fields has them all.
const shownFields = 5

// enumerate lists fields for a message.
func enumerate(fields []string) string {
	if more := len(fields) - shownFields; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(fields[:shownFields], ", "), more)
	}
	return strings.Join(fields, ", ")
}

// unlocked warns of each served version that leaves free what another served version locks. A field that a version
// does not have counts as free where an update through the version loses or keeps it unseen: without conversion, and
// where unknown fields are preserved.
func (l *linter) unlocked() {
	for i, free := range l.versions {
		var paths, lockers []string
		for j, locked := range l.versions {
			if i == j || !free.Served || !locked.Served {
				continue
			}
			before := len(paths)
			for _, path := range locked.sorted() {
				_, exists := free.nodes[path]
				if !free.covers(path, locked.locks[path]) && (exists || free.preserved(path) || l.crd.Conversion == "None") {
					paths = append(paths, path)
				}
			}
			if len(paths) > before {
				lockers = append(lockers, locked.Name)
			}
		}
		if len(paths) == 0 {
			continue
		}
		l.report(free.Version, immutability.SeverityWarning, rule.VersionUnlocked, paths,
			"version %s leaves free what is locked in %s, so an update through %s gets around the locks: %s; put the same locks in every served version",
			free.Name, strings.Join(lockers, " and "), free.Name, enumerate(fieldsOf(paths)))
	}
}

// defaults warns of locked fields that the served versions default differently: an object that leaves them out then
// means one value through one version and another through the next, and comparing both sees no change, or a false one.
func (l *linter) defaults() {
	type variant struct {
		value    string // JSON, or "" for none
		versions []string
	}
	for i, first := range l.versions {
		if !first.Served {
			continue
		}
		var paths []string
		var example string
		for _, path := range slices.Sorted(maps.Keys(first.nodes)) {
			if l.seenBefore(i, path) {
				continue // compared when the version that has it first was
			}
			var variants []variant
			for _, v := range l.versions[i:] {
				s, ok := v.nodes[path]
				if !ok || !v.Served || !v.guards(path) {
					continue
				}
				value := ""
				if s.Default != nil {
					value = encode(s.Default)
				}
				at := slices.IndexFunc(variants, func(o variant) bool { return o.value == value })
				if at < 0 {
					at = len(variants)
					variants = append(variants, variant{value: value})
				}
				variants[at].versions = append(variants[at].versions, v.Name)
			}
			if len(variants) < 2 {
				continue
			}
			if paths = append(paths, path); example == "" {
				var texts []string
				for _, o := range variants {
					texts = append(texts, cmp.Or(o.value, "none")+" in "+strings.Join(o.versions, ", "))
				}
				example = readable(path) + " is " + strings.Join(texts, ", ")
			}
		}
		if len(paths) > 0 {
			l.report(first.Version, immutability.SeverityWarning, rule.VersionDefault, paths,
				"the served versions have different defaults for locked fields: %s (the default of %s); an object without the value then changes with the version that it is written through: give every served version the same default",
				enumerate(fieldsOf(paths)), example)
		}
	}
}

// seenBefore reports whether a served version before the i-th has a guarded node at path.
func (l *linter) seenBefore(i int, path string) bool {
	return slices.ContainsFunc(l.versions[:i], func(v versionIndex) bool {
		_, ok := v.nodes[path]
		return ok && v.Served && v.guards(path)
	})
}

// guards reports whether a lock on the value stands at path or above it.
func (x *index) guards(path string) bool {
	for {
		if x.locks[path]&(guardSet|guardUnset|guardModify) != 0 {
			return true
		}
		if path == "" {
			return false
		}
		path = parent(path)
	}
}

// update compares with the CRD before the update, or with none.
func (l *linter) update(oldCRD *CRD) {
	var before []versionIndex
	if oldCRD != nil {
		if oldCRD.Group != l.crd.Group || oldCRD.Kind != l.crd.Kind {
			l.add(nil, immutability.Finding{Severity: immutability.SeverityError, Rule: rule.OtherCRD, Message: fmt.Sprintf(
				"it defines %s of %s, and the old CRD %s of %s: an update changes neither; compare a CRD with its own old version",
				l.crd.Kind, l.crd.Group, oldCRD.Kind, oldCRD.Group)})
			return
		}
		for _, v := range oldCRD.Versions {
			before = append(before, versionIndex{v, indexOf(v, false)})
		}
	}
	for _, v := range l.versions {
		l.gained(v, before)
		l.dropped(v, before)
	}
}

// gained: the proposal allows locks in CRDs of v1 only, but for those that a CRD of v1beta1 has already.
func (l *linter) gained(v versionIndex, before []versionIndex) {
	if l.crd.APIVersion != v1beta1 {
		return
	}
	var paths []string
	for _, path := range v.sorted() {
		if !slices.ContainsFunc(before, func(old versionIndex) bool { return old.covers(path, v.locks[path]) }) {
			paths = append(paths, path)
		}
	}
	if len(paths) > 0 {
		l.report(v.Version, immutability.SeverityError, rule.V1beta1Lock, paths,
			"a %s of %s cannot gain locks: %s; move it to %s, where every schema is structural", kindCRD, v1beta1, enumerate(fieldsOf(paths)), v1)
	}
}

// dropped: objects that exist were written under the old locks.
func (l *linter) dropped(v versionIndex, before []versionIndex) {
	for _, old := range before {
		if old.Name != v.Name {
			continue
		}
		var paths []string
		for _, path := range old.sorted() {
			if !v.covers(path, old.locks[path]) {
				paths = append(paths, path)
			}
		}
		if len(paths) > 0 {
			l.report(v.Version, immutability.SeverityWarning, rule.LockDropped, paths,
				"the update drops or weakens locks of version %s: %s; clients may rely on the values to stay", v.Name, enumerate(fieldsOf(paths)))
		}
	}
}
