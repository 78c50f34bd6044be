package normalize

import (
	"maps"
	"slices"
)

// Normalizer applies the marks of a schema, or of a part of one, to values. It is immutable and safe for concurrent
// use. A nil Normalizer has no marks; all its methods can be called.
type Normalizer struct {
	properties map[string]Property
	values     *Normalizer // below additionalProperties
	items      *Normalizer // below items
}

// Property is what the marks say about one property: about its presence, and about the value below it. The zero Property
// says nothing.
type Property struct {
	marked bool
	blank  blank // zero if not marked
	below  *Normalizer
}

// Empty reports whether the schema has no marks, so that callers can skip the work.
func (n *Normalizer) Empty() bool { return n == nil }

// Property returns what the marks say about the property name.
func (n *Normalizer) Property(name string) Property {
	if n == nil {
		return Property{}
	}
	if p, ok := n.properties[name]; ok {
		return p
	}
	return Property{below: n.values}
}

// Items returns the normalizer for each item of a list, nil where nothing is marked below.
func (n *Normalizer) Items() *Normalizer {
	if n == nil {
		return nil
	}
	return n.items
}

// Values returns the normalizer for each value of a map, nil where nothing is marked below.
func (n *Normalizer) Values() *Normalizer {
	if n == nil {
		return nil
	}
	return n.values
}

// Below returns the normalizer for the value of the property, nil where nothing is marked below.
func (p Property) Below() *Normalizer { return p.below }

// Absent reports whether a property that has this value counts as absent, what is below it being normalized first.
// It builds nothing. Cost: the members of the object that value is, until one of them is not absent.
func (p Property) Absent(value any) bool {
	if !p.marked {
		return false
	}
	switch value := value.(type) {
	case map[string]any:
		if !p.blank.object {
			return false
		}
		for name, member := range value {
			if !p.below.Property(name).Absent(member) {
				return false
			}
		}
		return true
	case []any:
		return p.blank.array && len(value) == 0
	default:
		return p.blank.scalar(value)
	}
}

// Normalize returns obj without the properties that count as absent. What does not change is shared with obj, which
// is not changed itself; where nothing changes, obj itself is returned and nothing is allocated. Normalizing the
// result again returns the very same map. A nil map stays nil. The values are decoded JSON. Cost: one visit for
// each value, at any depth.
func (n *Normalizer) Normalize(obj map[string]any) map[string]any {
	out, _ := n.object(obj)
	return out
}

// value returns value normalized, whether that differs from value, and whether a property with it counts as absent.
func (p Property) value(value any) (out any, changed, absent bool) {
	switch typed := value.(type) {
	case map[string]any:
		normal, changed := p.below.object(typed)
		return normal, changed, p.blank.object && len(normal) == 0
	case []any:
		if normal, changed := p.below.list(typed); changed {
			return normal, true, false
		}
		return value, false, p.blank.array && len(typed) == 0
	}
	return value, false, p.marked && p.blank.scalar(value)
}

func (n *Normalizer) object(obj map[string]any) (out map[string]any, changed bool) {
	out = obj
	if n == nil {
		return out, false
	}
	own := func() {
		if !changed {
			out, changed = maps.Clone(obj), true
		}
	}
	for name, member := range obj {
		normal, differs, absent := n.Property(name).value(member)
		switch {
		case absent:
			own()
			delete(out, name)
		case differs:
			own()
			out[name] = normal
		}
	}
	return out, changed
}

// list returns nil where nothing changes.
func (n *Normalizer) list(list []any) (out []any, changed bool) {
	if n == nil || n.items == nil {
		return nil, false
	}
	for i, item := range list {
		if normal, differs, _ := (Property{below: n.items}).value(item); differs {
			if !changed {
				out, changed = slices.Clone(list), true
			}
			out[i] = normal
		}
	}
	return out, changed
}
