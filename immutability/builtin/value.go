package builtin

import (
	"math"
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
