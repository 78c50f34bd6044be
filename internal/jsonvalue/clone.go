package jsonvalue

import (
	"maps"
	"slices"
)

// Clone copies objects and lists, and shares the scalars. A nil map becomes nil, which is null as well.
func Clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return nil
		}
		object := maps.Clone(v)
		for name, member := range object {
			object[name] = Clone(member)
		}
		return object
	case []any:
		list := slices.Clone(v)
		for i, item := range list {
			list[i] = Clone(item)
		}
		return list
	}
	return v
}
