package crd

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/lint"
	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/schema"
)

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
				if !free.refuses(path, locked.nodes[path].Marks.Refuses()) && (exists || free.preserved(path) || l.crd.Conversion == "None") {
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
			free.Name, strings.Join(lockers, " and "), free.Name, lint.Enumerate(fieldsOf(paths)))
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
			l.report(first.Version, immutability.SeverityWarning, rule.VersionDefault, paths,
				"the served versions have different defaults for locked fields: %s (the default of %s); an object without the value then changes with the version that it is written through: give every served version the same default",
				lint.Enumerate(fieldsOf(paths)), example)
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
