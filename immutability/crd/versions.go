package crd

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// What the versions of a CRD allow together, and what an update of the CRD takes away: served versions that lock
// different fields or have other defaults, and locks that the new CRD no longer has.

// update compares with the CRD before the update, or with none.
func (l *linter) update(oldCRD *CRD) {
	var before []*index
	if oldCRD != nil {
		if oldCRD.Group != l.crd.Group || oldCRD.Kind != l.crd.Kind {
			l.add(nil, about(immutability.SeverityError, finding.OtherCRD, fmt.Sprintf(
				"it defines %s of %s, and the old CRD %s of %s: an update changes neither; compare a CRD with its "+
					"own old version",
				l.crd.Kind, l.crd.Group, oldCRD.Kind, oldCRD.Group)))
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
		if !slices.ContainsFunc(before,
			func(old *index) bool { return old.refuses(path, v.nodes[path].Marks.Refuses()) }) {
			paths = append(paths, path)
		}
	}
	if len(paths) > 0 {
		l.report(v.Version, immutability.SeverityError, finding.V1beta1Lock, paths,
			"a %s of %s cannot gain locks: %s; move it to %s, where every schema is structural",
			kindCRD, v1beta1, finding.Enumerate(fieldsOf(paths)), v1)
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
			l.report(v.Version, immutability.SeverityError, finding.LockDropped, paths,
				"the update drops or weakens locks of version %s: %s; clients rely on the values to stay",
				v.Name, finding.Enumerate(fieldsOf(paths)))
		}
	}
}

// gone reports the locks of a version that is no longer served, because it has gone, has a new name, or is switched
// off: those that no served version has. An update goes through a version that leaves the field free then, or that
// loses its value. With a webhook, a field that no served version has may have moved.
func (l *linter) gone(old *index, before []*index) {
	var served []*index
	for _, v := range l.versions {
		if v.Served {
			served = append(served, v)
		}
	}
	if !old.Served || len(served) == 0 ||
		slices.ContainsFunc(served, func(v *index) bool { return v.Name == old.Name }) {
		return
	}
	paths := map[*index][]string{}
	for _, path := range old.locked() {
		changes := old.nodes[path].Marks.Refuses()
		if slices.ContainsFunc(served, func(v *index) bool { return v.refuses(path, changes) }) ||
			l.alreadyDropped(path, changes, before) {
			continue
		}
		has := func(v *index) bool { return v.nodes[path] != nil || v.preserved(path) }
		if i := slices.IndexFunc(served, has); i >= 0 {
			paths[served[i]] = append(paths[served[i]], path)
		} else if old.Storage && l.crd.Conversion == ConversionNone {
			paths[served[0]] = append(paths[served[0]], path)
		}
	}
	for _, v := range served {
		if len(paths[v]) > 0 {
			l.report(v.Version, immutability.SeverityError, finding.LockDropped, paths[v],
				"the update stops serving version %s, and no served version has its locks: %s; clients rely on the "+
					"values to stay",
				old.Name, finding.Enumerate(fieldsOf(paths[v])))
		}
	}
}

// alreadyDropped reports whether a version of the update loses a lock that it had itself, which is a finding of its
// own.
func (l *linter) alreadyDropped(path string, changes schema.Change, before []*index) bool {
	return slices.ContainsFunc(before, func(old *index) bool {
		return old.refuses(path, changes) && slices.ContainsFunc(l.versions, func(v *index) bool {
			return v.Name == old.Name && !v.refuses(path, changes)
		})
	})
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
			for _, path := range locked.locked() {
				_, exists := free.nodes[path]
				if !free.refuses(path, locked.nodes[path].Marks.Refuses()) &&
					(exists || free.preserved(path) || l.crd.Conversion == ConversionNone) {
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
		l.report(free.Version, immutability.SeverityWarning, finding.VersionUnlocked, paths,
			"version %s leaves free what is locked in %s, so an update through %s gets around the locks: %s; put the "+
				"same locks in every served version",
			free.Name, strings.Join(lockers, " and "), free.Name, finding.Enumerate(fieldsOf(paths)))
	}
}

// defaults warns of locked fields that the served versions default differently: an object that leaves them out then
// means one value through one version and another through the next, and comparing both sees no change, or a false one.
func (l *linter) defaults() {
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
			values := l.defaultsAt(l.versions[i:], path)
			if len(values) < 2 {
				continue
			}
			if paths = append(paths, path); example == "" {
				example = schema.Readable(path) + " is " + strings.Join(values, ", ")
			}
		}
		if len(paths) > 0 {
			l.report(first.Version, immutability.SeverityWarning, finding.VersionDefault, paths,
				"the served versions have different defaults for locked fields: %s (the default of %s); "+
					"an object without the value then changes with the version that it is written through: give "+
					"every served version the same default",
				finding.Enumerate(fieldsOf(paths)), example)
		}
	}
}

// defaultsAt returns the different defaults of a locked field, each with the served versions that have it.
func (l *linter) defaultsAt(versions []*index, path string) []string {
	var values []string
	names := map[string][]string{}
	for _, v := range versions {
		node, ok := v.nodes[path]
		if !ok || !v.Served || !v.guards(path) {
			continue
		}
		value := "none"
		if node.Default() != nil {
			value = encode(node.Default())
		}
		if names[value] == nil {
			values = append(values, value)
		}
		names[value] = append(names[value], v.Name)
	}
	for i, value := range values {
		values[i] = value + " in " + strings.Join(names[value], ", ")
	}
	return values
}

// encode writes a value as JSON for a message.
func encode(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}

// seenBefore reports whether a served version before the i-th has a guarded node at path.
func (l *linter) seenBefore(i int, path string) bool {
	return slices.ContainsFunc(l.versions[:i], func(v *index) bool {
		_, ok := v.nodes[path]
		return ok && v.Served && v.guards(path)
	})
}
