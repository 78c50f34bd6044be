package crd

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// index has the locations of a version's schema by schema path, to compare versions.
type index struct {
	*Version
	nodes map[string]*schema.Location
}

// newIndex reads the schema of v. Locks that cannot be read are left out: immutability.Lint reports those.
func newIndex(v *Version) *index {
	x := &index{v, make(map[string]*schema.Location)}
	for _, l := range schema.Read(v.Schema, nil).All {
		x.nodes[l.Path.Pointer()] = l
	}
	return x
}

// locked returns the schema paths of the locks, sorted.
func (x *index) locked() []string {
	var paths []string
	for _, path := range slices.Sorted(maps.Keys(x.nodes)) {
		if x.nodes[path].Marks.Locked() {
			paths = append(paths, path)
		}
	}
	return paths
}

// above yields path, its parent, and so on up to the root.
func above(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(path) && path != "" {
			path = parent(path)
		}
	}
}

// refuses reports whether the schema refuses changes at path, by a lock there or on a parent that is locked as a whole.
func (x *index) refuses(path string, changes schema.Change) bool {
	for p := range above(path) {
		l := x.nodes[p]
		if l != nil && (p == path && l.Marks.Refuses().Has(changes) || l.Marks.Refuses().Has(schema.ChangeValue)) {
			return true
		}
	}
	return false
}

// guards reports whether path or a parent of it has a lock on the value.
func (x *index) guards(path string) bool {
	for p := range above(path) {
		if l := x.nodes[p]; l != nil && l.Marks.Refuses()&schema.ChangeValue != 0 {
			return true
		}
	}
	return false
}

// preserved reports whether the schema keeps the fields at path although it does not describe them.
func (x *index) preserved(path string) bool {
	for p := range above(parent(path)) {
		if l := x.nodes[p]; l != nil && l.PreservesUnknown() {
			return true
		}
	}
	return false
}

// parent returns the JSON pointer one token shorter.
func parent(pointer string) string { return pointer[:max(strings.LastIndexByte(pointer, '/'), 0)] }
