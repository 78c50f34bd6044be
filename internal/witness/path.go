package witness

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/celexpr"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// path leads to a value in an object.
type path = fieldpath.Path

// reserved reports whether p leads to a value that no edit may change: the whole object, its type, its metadata except
// for the name.
func reserved(p path) bool {
	if len(p) == 0 {
		return true
	}
	switch p[0] {
	case "apiVersion", "kind":
		return true
	case "metadata":
		return len(p) != 2 || p[1] != "name"
	}
	return false
}

// node is a schema, with what was made of it. A nil node says nothing about its values.
type node struct {
	*spec.Schema
	children map[string]*node // that were asked for, by name; anyStep for items
	values   [3][]any         // by how many levels below vary
}

// below returns the schema of the values one step below, nil where n does not say.
func (n *node) below(step any) *node {
	if n == nil {
		return nil
	}
	name, isName := step.(string)
	if !isName {
		name = anyStep
	}
	child, ok := n.children[name]
	if !ok {
		if s := schema.Below(n.Schema, step); s != nil {
			child = &node{Schema: s}
		}
		if n.children == nil {
			n.children = map[string]*node{}
		}
		n.children[name] = child
	}
	return child
}

// at returns the schema of the values at p, nil where n does not say.
func (n *node) at(p path) *node {
	for _, step := range p {
		n = n.below(step)
	}
	return n
}

// anyStep in a pattern stands for every key of a map and every item of a list.
const anyStep = celexpr.AnyStep

// expand returns the paths below base that a pattern of names and anyStep leads to in v, a value of schema s. Where a
// list or map on the way is empty or missing, it goes on with its first item or key.
func expand(v any, s *node, base path, pattern []string) []path {
	if len(pattern) == 0 {
		return []path{base}
	}
	if pattern[0] != anyStep {
		return expand(v, s, base.Child(pattern[0]), pattern[1:])
	}
	var found []path
	at, _ := fieldpath.Get(v, base...)
	switch at := at.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(at)) {
			found = append(found, expand(v, s, base.Child(key), pattern[1:])...)
		}
	case []any:
		for i := range at {
			found = append(found, expand(v, s, base.Child(i), pattern[1:])...)
		}
	}
	if len(found) > 0 {
		return found
	}
	var first any = 0
	if at := s.at(base); at == nil || at.Items == nil {
		first = key(0)
	}
	return expand(v, s, base.Child(first), pattern[1:])
}

// locate reads the path of an error of the API server about v. Of names that v lacks, it takes those that s has.
func locate(v map[string]any, s *node, text string) path {
	p := fieldpath.Resolve(strings.TrimPrefix(text, "<nil>"), v)
	known := len(p.Reach(v))
	at, rest := p[:known:known], p[known:]
	for s = s.at(at); len(rest) > 0; {
		step, n := s.lacking(rest)
		if n == 0 {
			break
		}
		at, rest, s = append(at, step), rest[n:], s.below(step)
	}
	return at
}

// lacking returns the first of steps into a value of n that lacks it, and how many steps it was read as: a property may
// have a name with dots. It returns 0 if n does not say what the steps lead to.
func (n *node) lacking(steps path) (step any, length int) {
	if _, isIndex := steps[0].(int); isIndex {
		return steps[0], 1
	}
	if n == nil {
		return nil, 0
	}
	for i := len(steps); i > 0; i-- {
		name := joined(steps[:i])
		if _, ok := n.Properties[name]; ok {
			return name, i
		}
	}
	return nil, 0
}

// joined returns steps as the name with dots that they were read from.
func joined(steps path) string {
	names := make([]string, len(steps))
	for i, step := range steps {
		names[i] = fieldpath.Name(step)
	}
	return strings.Join(names, ".")
}

// key is the i-th key of a map.
func key(i int) string {
	if i < 26 {
		return string(rune('a' + i))
	}
	return fmt.Sprint("k", i)
}

// change sets the value at a path, or removes it.
type change struct {
	path  path
	value any
	gone  bool
}

// put returns a copy of v, a value of s, with value at p; containers that are missing on the way are the smallest ones.
func put(v any, s *node, p path, value any) (any, bool) {
	for n := 1; n < len(p); n++ {
		if child, ok := fieldpath.Get(v, p[:n]...); ok && child != nil {
			continue
		}
		var ok bool
		if v, ok = p[:n].Set(v, smallest(s.at(p[:n]))); !ok {
			return v, false
		}
	}
	return p.Set(v, value)
}
