package crd

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/extension"
	"github.com/fieldlock/fieldlock/internal/pointer"
)

// guard is a set of the changes that a lock forbids at its node.
type guard uint8

const (
	guardSet guard = 1 << iota
	guardUnset
	guardModify
	guardAddItem
	guardRemoveItem

	guardItems = guardAddItem | guardRemoveItem
	guardAll   = guardSet | guardUnset | guardModify | guardItems
)

// has reports whether every change that other forbids is forbidden by g.
func (g guard) has(other guard) bool { return g&other == other }

// guardOf returns what the locks of one node forbid. A value that may not be modified keeps its items.
func guardOf(m *extension.Marks) guard {
	var g guard
	if m.Immutable {
		g |= guardAll
	}
	if m.ImmutableKeys {
		g |= guardItems
	}
	if m.AdditionOnly || m.Has(extension.NoRemoveItem) {
		g |= guardRemoveItem
	}
	if m.DeletionOnly || m.Has(extension.NoAddItem) {
		g |= guardAddItem
	}
	if m.Has(extension.NoSet) {
		g |= guardSet
	}
	if m.Has(extension.NoUnset) {
		g |= guardUnset
	}
	if m.Has(extension.NoModify) {
		g |= guardModify | guardItems
	}
	return g
}

// index is what comparing the versions of a CRD needs of one schema: its nodes and its locks by schema path.
type index struct {
	nodes map[string]*spec.Schema
	locks map[string]guard
}

// indexOf indexes the schema of v, unreadable locks left out: immutability.Lint reports those. The nodes are nil when
// all is false: most schemas are not compared with another.
func indexOf(v *Version, all bool) index {
	x := index{locks: make(map[string]guard)}
	if all {
		x.nodes = make(map[string]*spec.Schema)
	}
	walk(v.Schema, "", func(path string, s *spec.Schema) bool {
		if all {
			x.nodes[path] = s
		}
		if marks, _ := extension.Read(s.Extensions); marks.Locked() {
			x.locks[path] = guardOf(&marks)
		}
		return false
	})
	return x
}

// sorted returns the schema paths of the locks.
func (x *index) sorted() []string { return slices.Sorted(maps.Keys(x.locks)) }

// covers reports whether the schema forbids at path what lock forbids, itself or through a parent that is locked as a
// whole.
func (x *index) covers(path string, lock guard) bool {
	return x.locks[path].has(lock) || x.frozen(path)
}

// frozen reports whether path or a parent of it is locked as a whole.
func (x *index) frozen(path string) bool {
	for {
		if x.locks[path].has(guardSet | guardUnset | guardModify) {
			return true
		}
		if path == "" {
			return false
		}
		path = parent(path)
	}
}

// preserved reports whether the schema keeps the fields at path although it does not describe them.
func (x *index) preserved(path string) bool {
	for path != "" {
		path = parent(path)
		if s, ok := x.nodes[path]; ok {
			return s.Extensions[extension.PreserveRest] == true
		}
	}
	return false
}

// parent returns the JSON pointer one token shorter.
func parent(pointer string) string { return pointer[:max(strings.LastIndexByte(pointer, '/'), 0)] }

// readable turns a schema path into the path of the field for people: "spec.nodes[*].zone".
func readable(schemaPath string) string {
	var b strings.Builder
	for tokens := pointer.Names(schemaPath); len(tokens) > 0; {
		switch {
		case tokens[0] == "properties" && len(tokens) > 1:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(tokens[1])
			tokens = tokens[2:]
			continue
		case tokens[0] == "items" || tokens[0] == "additionalProperties":
			b.WriteString("[*]")
		}
		tokens = tokens[1:]
	}
	return b.String()
}

// common returns the deepest schema path that all of paths stand at or below; "" for none.
func common(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	prefix := paths[0]
	for _, path := range paths[1:] {
		for path != prefix && !strings.HasPrefix(path, prefix+"/") {
			prefix = parent(prefix)
		}
	}
	// A path that ends in "properties" is the map of properties; the schema is above it.
	if strings.HasSuffix(prefix, "/properties") && !strings.HasSuffix(prefix, "/properties/properties") {
		prefix = parent(prefix)
	}
	return prefix
}
