package operators

import (
	"maps"
	"strings"
)

// step is one step of a field path: a name, or one of the marks below.
type step string

const (
	eachItem  step = "[*]"
	eachValue step = "{*}"
)

// stepsOf splits a field path such as "spec.racks[*].storage". A name that has dots stands in brackets: "a[b.c/d]".
func stepsOf(path string) []step {
	var steps []step
	for path != "" {
		switch {
		case strings.HasPrefix(path, string(eachItem)), strings.HasPrefix(path, string(eachValue)):
			steps = append(steps, step(path[:len(eachItem)]))
			path = path[len(eachItem):]
		case path[0] == '[':
			name, rest, _ := strings.Cut(path[1:], "]")
			steps, path = append(steps, step(name)), rest
		default:
			end := strings.IndexAny(path, ".[{")
			if end < 0 {
				end = len(path)
			}
			steps, path = append(steps, step(path[:end])), path[end:]
		}
		path = strings.TrimPrefix(path, ".")
	}
	return steps
}

// lookup returns the value at the end of steps and whether it is there. Steps into lists find nothing.
func lookup(value any, steps []step) (any, bool) {
	for _, s := range steps {
		o, _ := value.(map[string]any)
		member, ok := o[string(s)]
		if !ok {
			return nil, false
		}
		value = member
	}
	return value, true
}

// text returns the string at a path, or "".
func text(value any, path string) string {
	found, _ := lookup(value, stepsOf(path))
	t, _ := found.(string)
	return t
}

// without returns value without the part at the end of steps. It copies what it changes. An object that held nothing else
// counts as absent.
func without(value any, steps []step) any {
	switch value := value.(type) {
	case map[string]any:
		out := maps.Clone(value)
		for name, member := range value {
			switch {
			case steps[0] != eachValue && string(steps[0]) != name:
				continue
			case len(steps) == 1:
				delete(out, name)
				continue
			}
			out[name] = without(member, steps[1:])
			if emptied, ok := out[name].(map[string]any); ok && len(emptied) == 0 {
				delete(out, name)
			}
		}
		return out
	case []any:
		if steps[0] != eachItem {
			return value
		}
		out := make([]any, len(value))
		for i, item := range value {
			if len(steps) > 1 {
				item = without(item, steps[1:])
			}
			out[i] = item
		}
		return out
	}
	return value
}

// changes returns the paths that a JSON merge patch from oldVal to newVal would name: those of values that were set, changed
// or removed. A list is one value.
func changes(newVal, oldVal any, path []string) [][]string {
	newObj, isObj := newVal.(map[string]any)
	if !isObj {
		return [][]string{append([]string(nil), path...)}
	}
	oldObj, _ := oldVal.(map[string]any)
	var all [][]string
	for name, member := range newObj {
		if was, had := oldObj[name]; !had || !same(member, was) {
			all = append(all, changes(member, was, append(path, name))...)
		}
	}
	for name := range oldObj {
		if _, kept := newObj[name]; !kept {
			all = append(all, append(append([]string(nil), path...), name))
		}
	}
	return all
}

// allows reports whether a path is one of a list in which "a.*" is what is below a.
func allows(list []string, path []string) bool {
	for _, allowed := range list {
		below := strings.HasSuffix(allowed, ".*")
		steps := stepsOf(strings.TrimSuffix(allowed, ".*"))
		if len(path) < len(steps) || below != (len(path) > len(steps)) {
			continue
		}
		match := true
		for i, s := range steps {
			match = match && path[i] == string(s)
		}
		if match {
			return true
		}
	}
	return false
}
