package witness

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/celexpr"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// path leads to a value in an object: names of properties and keys (string) and indices of items (int).
type path []any

func (p path) child(step any) path { return append(p[:len(p):len(p)], step) }

// reserved reports whether p leads to what no edit may change: the whole object, its type, its metadata except for the
// name.
func (p path) reserved() bool {
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

// get returns the value at p.
func get(v any, p path) (any, bool) { return jsonvalue.Get(v, p...) }

// set returns a copy of v with value at p, whose container has to exist; an index one past the end appends. It reports
// false where there is no such container.
func set(v any, p path, value any) (any, bool) {
	if len(p) == 0 {
		return value, true
	}
	switch step := p[0].(type) {
	case string:
		object, ok := v.(map[string]any)
		if !ok {
			return v, false
		}
		child, ok := set(object[step], p[1:], value)
		if !ok {
			return v, false
		}
		object = maps.Clone(object)
		object[step] = child
		return object, true
	case int:
		list, ok := v.([]any)
		if !ok || step > len(list) {
			return v, false
		}
		list = slices.Clone(list)
		if step == len(list) {
			list = append(list, nil)
		}
		child, ok := set(list[step], p[1:], value)
		list[step] = child
		return list, ok
	}
	return v, false
}

// remove returns a copy of v without the property, key or item at p, and whether it was there.
func remove(v any, p path) (any, bool) {
	if len(p) == 0 {
		return v, false
	}
	in, last := p[:len(p)-1], p[len(p)-1]
	container, ok := get(v, in)
	if !ok {
		return v, false
	}
	switch step := last.(type) {
	case string:
		object, _ := container.(map[string]any)
		if _, ok := object[step]; !ok {
			return v, false
		}
		object = maps.Clone(object)
		delete(object, step)
		return set(v, in, object)
	case int:
		list, _ := container.([]any)
		if step >= len(list) {
			return v, false
		}
		return set(v, in, slices.Delete(slices.Clone(list), step, step+1))
	}
	return v, false
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

// expand returns the paths below base that a pattern of names and anyStep leads to in v, a value of schema s. Where a list
// or map on the way is empty or missing, it goes on with its first item or key.
func expand(v any, s *node, base path, pattern []string) []path {
	if len(pattern) == 0 {
		return []path{base}
	}
	if pattern[0] != anyStep {
		return expand(v, s, base.child(pattern[0]), pattern[1:])
	}
	var found []path
	at, _ := get(v, base)
	switch at := at.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(at)) {
			found = append(found, expand(v, s, base.child(key), pattern[1:])...)
		}
	case []any:
		for i := range at {
			found = append(found, expand(v, s, base.child(i), pattern[1:])...)
		}
	}
	if len(found) > 0 {
		return found
	}
	var first any = 0
	if at := s.at(base); at == nil || at.Items == nil {
		first = key(0)
	}
	return expand(v, s, base.child(first), pattern[1:])
}

// starts reports whether p begins with other.
func (p path) starts(other path) bool {
	return len(p) >= len(other) && slices.Equal(p[:len(other)], other)
}

// locate reads the path of an error of the API server in v, with s for names that v lacks. Names may contain dots, and
// the server prints keys with brackets or dots.
func locate(v any, s *node, text string) path {
	var p path
	for text = strings.TrimPrefix(text, "<nil>"); ; {
		text = strings.TrimLeft(text, ".[]")
		if text == "" {
			return p
		}
		step := any(nil)
		length := 0
		switch at := v.(type) {
		case []any:
			for length < len(text) && text[length] >= '0' && text[length] <= '9' {
				length++
			}
			if length == 0 {
				return p
			}
			step, _ = strconv.Atoi(text[:length])
		default:
			object, _ := at.(map[string]any)
			names := slices.Collect(maps.Keys(object))
			if s != nil {
				names = slices.AppendSeq(names, maps.Keys(s.Properties))
			}
			for _, name := range names {
				if len(name) > length && strings.HasPrefix(text, name) && (len(text) == len(name) || strings.ContainsRune(".[]", rune(text[len(name)]))) {
					step, length = name, len(name)
				}
			}
			if length == 0 {
				return p
			}
		}
		p, text = p.child(step), text[length:]
		v, _ = get(v, path{step})
		s = s.below(step)
	}
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
		if child, ok := get(v, p[:n]); ok && child != nil {
			continue
		}
		var ok bool
		if v, ok = set(v, p[:n], smallest(s.at(p[:n]))); !ok {
			return v, false
		}
	}
	return set(v, p, value)
}
