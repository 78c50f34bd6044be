package fieldpath

import (
	"maps"
	"slices"
)

// What a path leads to in a decoded JSON value is read and changed here. A change copies the objects and lists on the
// way, and shares the rest. With {"a": {"b": 1}, "c": 2} as value:
//
//	Path{"a", "b"}.Set(value, 3)    {"a": {"b": 3}, "c": 2}
//	Path{"a", "b"}.Remove(value)    {"a": {}, "c": 2}

// Value is Get for callers that treat an absent value like null: nil for both.
func Value(value any, steps ...any) any {
	found, _ := Get(value, steps...)
	return found
}

// In returns what the path leads to in value, and whether there is anything. In an object, "[7]" is a name.
func (p Path) In(value any) (any, bool) {
	for _, step := range p {
		if _, isObject := value.(map[string]any); isObject {
			step = Name(step)
		}
		var ok bool
		if value, ok = Get(value, step); !ok {
			return nil, false
		}
	}
	return value, true
}

// Places returns the paths of the single values that p leads to in value, with an index in the place of each EachItem:
// containers[*].image is containers[0].image and containers[1].image in a Pod of two containers.
func (p Path) Places(value any) []Path {
	each := slices.IndexFunc(p, func(step any) bool { return step == EachItem })
	if each < 0 {
		if _, there := Get(value, p...); !there {
			return nil
		}
		return []Path{p}
	}
	at, _ := Get(value, p[:each]...)
	items, _ := at.([]any)
	var all []Path
	for i, item := range items {
		for _, below := range p[each+1:].Places(item) {
			all = append(all, slices.Concat(p[:each], Path{i}, below))
		}
	}
	return all
}

// Reach returns the beginning of p that leads to something in value.
func (p Path) Reach(value any) Path {
	for i, step := range p {
		var ok bool
		if value, ok = Get(value, step); !ok {
			return p[:i]
		}
	}
	return p
}

// At returns the value at a path such as "spec.containers[0].image" or "parameters[a.b]", and whether there is one. The
// path is one that a person wrote; Find takes those that the API server prints.
func At(value any, path string) (any, bool) { return Parse(path).In(value) }

// Find returns the value at a path that field.Path has printed about object, and whether there is one.
func Find(object map[string]any, path string) (any, bool) { return Resolve(path, object).In(object) }

// Set returns a copy of value with another value at p. It reports false if the container of that does not exist; an
// index one past the end of a list appends.
func (p Path) Set(value, to any) (changed any, ok bool) {
	if len(p) == 0 {
		return to, true
	}
	switch step := p[0].(type) {
	case string:
		object, _ := value.(map[string]any)
		if object == nil {
			return value, false
		}
		member, ok := p[1:].Set(object[step], to)
		if !ok {
			return value, false
		}
		object = maps.Clone(object)
		object[step] = member
		return object, true
	case int:
		list, isList := value.([]any)
		if !isList || step < 0 || step > len(list) {
			return value, false
		}
		list = slices.Clone(list)
		if step == len(list) {
			list = append(list, nil)
		}
		item, ok := p[1:].Set(list[step], to)
		list[step] = item
		return list, ok
	}
	return value, false
}

// Remove returns a copy of value without the member or item at p, and whether it was there.
func (p Path) Remove(value any) (changed any, ok bool) {
	if _, there := Get(value, p...); !there || len(p) == 0 {
		return value, false
	}
	in := p[:len(p)-1]
	container, _ := Get(value, in...)
	switch container := container.(type) {
	case map[string]any:
		object := maps.Clone(container)
		delete(object, Name(p[len(in)]))
		return in.Set(value, object)
	case []any:
		i, _ := p[len(in)].(int)
		return in.Set(value, slices.Delete(slices.Clone(container), i, i+1))
	}
	return value, false
}

// Object returns the object at the end of names; nil where there is none.
func Object(value any, names ...string) map[string]any {
	at, _ := value.(map[string]any)
	for _, name := range names {
		at, _ = at[name].(map[string]any)
	}
	return at
}

// Text returns the string at the end of names; "" where there is none.
func Text(value any, names ...string) string {
	if len(names) == 0 {
		return ""
	}
	last := len(names) - 1
	t, _ := Object(value, names[:last]...)[names[last]].(string)
	return t
}

// Objects returns the items of a list that are objects.
func Objects(list any) []map[string]any {
	items, _ := list.([]any)
	found := make([]map[string]any, 0, len(items))
	for _, item := range items {
		if o, ok := item.(map[string]any); ok {
			found = append(found, o)
		}
	}
	return found
}

// Lacks reports whether nothing, "" or an empty list is at the end of p in value, for some item of each list on the
// way.
func (p Path) Lacks(value any) bool {
	if len(p) == 0 {
		list, isList := value.([]any)
		return value == nil || value == "" || isList && len(list) == 0
	}
	if p[0] == EachItem {
		items, _ := value.([]any)
		return slices.ContainsFunc(items, p[1:].Lacks)
	}
	object, _ := value.(map[string]any)
	return p[1:].Lacks(object[Name(p[0])])
}
