package builtin

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
		if steps[0] == eachValue {
			out := make(map[string]any, len(value))
			for key, member := range value {
				out[key] = without(member, steps[1:])
			}
			return out
		}
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
