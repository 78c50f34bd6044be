// Package fieldpath reads the field paths of the data of built-in kinds and operators, such as "spec.racks[*].storage", and
// follows them in objects.
package fieldpath

import (
	"maps"
	"strconv"
	"strings"
)

// Step is one step of a path: a name, an index such as "[2]", or one of the marks below.
type Step string

const (
	EachItem  Step = "[*]" // every item of a list
	EachValue Step = "{*}" // every value of a map
)

// index returns the number of an index, and whether the step is one. In an object the number is a name.
func (s Step) index() (number string, ok bool) {
	number = strings.TrimSuffix(strings.TrimPrefix(string(s), "["), "]")
	if len(number) != len(s)-2 || number == "" || strings.Trim(number, "0123456789") != "" {
		return string(s), false
	}
	return number, true
}

// Split splits a path. A name with dots is in brackets: "a[b.c/d]".
func Split(path string) []Step {
	var steps []Step
	for path != "" {
		switch {
		case strings.HasPrefix(path, string(EachItem)), strings.HasPrefix(path, string(EachValue)):
			steps = append(steps, Step(path[:len(EachItem)]))
			path = path[len(EachItem):]
		case path[0] == '[':
			name, rest, _ := strings.Cut(path[1:], "]")
			s := Step(name)
			if _, ok := ("[" + s + "]").index(); ok {
				s = "[" + s + "]"
			}
			steps, path = append(steps, s), rest
		default:
			end := strings.IndexAny(path, ".[{")
			if end < 0 {
				end = len(path)
			}
			steps, path = append(steps, Step(path[:end])), path[end:]
		}
		path = strings.TrimPrefix(path, ".")
	}
	return steps
}

// Lookup returns the value at the end of steps, and whether there is one.
func Lookup(value any, steps []Step) (any, bool) {
	for _, s := range steps {
		name, isIndex := s.index()
		switch in := value.(type) {
		case map[string]any:
			member, ok := in[name]
			if !ok {
				return nil, false
			}
			value = member
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || !isIndex || i >= len(in) {
				return nil, false
			}
			value = in[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// At returns the value at a path such as "spec.containers[0].image" or "parameters[a.b]", and whether there is one.
func At(value any, path string) (any, bool) { return Lookup(value, Split(path)) }

// Without returns value without what is at the end of steps. It copies what it changes. An object that held nothing else
// counts as absent. Items of lists stay.
func Without(value any, steps []Step) any {
	switch value := value.(type) {
	case map[string]any:
		out := maps.Clone(value)
		for name, member := range value {
			switch {
			case steps[0] != EachValue && string(steps[0]) != name:
				continue
			case len(steps) == 1:
				delete(out, name)
				continue
			}
			out[name] = Without(member, steps[1:])
			if emptied, ok := out[name].(map[string]any); ok && len(emptied) == 0 {
				delete(out, name)
			}
		}
		return out
	case []any:
		if steps[0] != EachItem || len(steps) == 1 {
			return value
		}
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = Without(item, steps[1:])
		}
		return out
	}
	return value
}
