package updates

import (
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/pointer"
)

// At returns the schema at a schema path of s.
func At(s *spec.Schema, schemaPath string) *spec.Schema {
	for steps := pointer.Names(schemaPath); len(steps) > 0; {
		switch steps[0] {
		case "properties":
			property := s.Properties[steps[1]]
			s, steps = &property, steps[2:]
		case "items":
			s, steps = s.Items.Schema, steps[1:]
		default:
			s, steps = s.AdditionalProperties.Schema, steps[1:]
		}
	}
	return s
}

func paths(v any, steps []string) [][]any {
	if len(steps) == 0 {
		return [][]any{nil}
	}
	var found [][]any
	below := func(step, child any, rest []string) {
		for _, path := range paths(child, rest) {
			found = append(found, append([]any{step}, path...))
		}
	}
	switch v := v.(type) {
	case map[string]any:
		if steps[0] == "properties" {
			if child, ok := v[steps[1]]; ok {
				below(steps[1], child, steps[2:])
			}
			return found
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			below(key, v[key], steps[1:])
		}
	case []any:
		for i, item := range v {
			below(i, item, steps[1:])
		}
	}
	return found
}

// Get returns the value at a concrete path.
func Get(obj map[string]any, path []any) any {
	var v any = obj
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.(map[string]any)[step]
		case int:
			v = v.([]any)[step]
		}
	}
	return v
}

// With returns a copy of obj with value at a concrete path, whose container is there.
func With(obj map[string]any, path []any, value any) map[string]any {
	out := clone(obj).(map[string]any)
	switch step, in := path[len(path)-1], Get(out, path[:len(path)-1]); step := step.(type) {
	case string:
		in.(map[string]any)[step] = clone(value)
	case int:
		in.([]any)[step] = clone(value)
	}
	return out
}

// Without returns a copy of obj without the property or key at a concrete path.
func Without(obj map[string]any, path []any) map[string]any {
	out := clone(obj).(map[string]any)
	delete(Get(out, path[:len(path)-1]).(map[string]any), path[len(path)-1].(string))
	return out
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = clone(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = clone(value)
		}
		return out
	}
	return v
}
