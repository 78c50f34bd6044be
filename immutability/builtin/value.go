package builtin

import (
	"maps"
	"math"
	"strconv"
	"strings"
)

// whole makes numbers without a fraction int64, as the API machinery decodes them.
func whole(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			value[name] = whole(member)
		}
	case []any:
		for i, item := range value {
			value[i] = whole(item)
		}
	case float64:
		if value == math.Trunc(value) && math.Abs(value) < 1<<53 {
			return int64(value)
		}
	case int:
		return int64(value)
	}
	return value
}

// object returns the object at the end of names, or nil.
func object(value any, names ...string) map[string]any {
	at, _ := value.(map[string]any)
	for _, name := range names {
		at, _ = at[name].(map[string]any)
	}
	return at
}

// text returns the string at the end of names, or "".
func text(value any, names ...string) string {
	if len(names) == 0 {
		return ""
	}
	last := len(names) - 1
	t, _ := object(value, names[:last]...)[names[last]].(string)
	return t
}

// objects returns the items of a list that are objects.
func objects(list any) []map[string]any {
	items, _ := list.([]any)
	found := make([]map[string]any, 0, len(items))
	for _, item := range items {
		if o, ok := item.(map[string]any); ok {
			found = append(found, o)
		}
	}
	return found
}

// at returns the value at a field path such as "spec.containers[0].image" or "parameters[a.b]", and whether there is one.
func at(value any, path string) (any, bool) {
	for path != "" {
		var name string
		inBrackets := strings.HasPrefix(path, "[")
		if inBrackets {
			name, path, _ = strings.Cut(path[1:], "]")
		} else {
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			name, path = path[:end], path[end:]
		}
		path = strings.TrimPrefix(path, ".")
		switch in := value.(type) {
		case map[string]any:
			member, ok := in[name]
			if !ok {
				return nil, false
			}
			value = member
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || !inBrackets || i < 0 || i >= len(in) {
				return nil, false
			}
			value = in[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// step is one step of a field path: a name, or one of the marks below.
type step string

const (
	eachItem  step = "[*]"
	eachValue step = "{*}"
)

// stepsOf splits a field path such as "spec.containers[*].image".
func stepsOf(path string) []step {
	var steps []step
	for _, name := range strings.Split(path, ".") {
		var marks []step
		for {
			if rest, ok := strings.CutSuffix(name, string(eachItem)); ok {
				name, marks = rest, append(marks, eachItem)
			} else if rest, ok := strings.CutSuffix(name, string(eachValue)); ok {
				name, marks = rest, append(marks, eachValue)
			} else {
				break
			}
		}
		steps = append(append(steps, step(name)), marks...)
	}
	return steps
}

// lookup returns the value at the end of steps and whether it is there.
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

// without returns value without the part at the end of steps. It copies what it changes.
func without(value any, steps []step) any {
	switch value := value.(type) {
	case map[string]any:
		name := string(steps[0])
		member, ok := value[name]
		if !ok {
			return value
		}
		out := maps.Clone(value)
		if len(steps) == 1 {
			delete(out, name)
			return out
		}
		out[name] = without(member, steps[1:])
		if emptied, ok := out[name].(map[string]any); ok && len(emptied) == 0 {
			delete(out, name) // an object that held only the exception counts as absent
		}
		return out
	case []any:
		if steps[0] != eachItem {
			return value
		}
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = without(item, steps[1:])
		}
		return out
	}
	return value
}
