package builtin

import (
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
