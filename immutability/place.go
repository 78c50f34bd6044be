package immutability

import "maps"

// place is what reports need to know of a location.
type place struct {
	pointer *trail // schema path of its locks
	shape   shape
	veil    *veil
}

// Redacted stands in reports for a value that WithRedacted or format: password hides.
const Redacted = "(redacted)"

// veil hides parts of the values of one location. A nil veil hides nothing.
type veil struct {
	whole         bool
	properties    map[string]*veil
	values, items *veil
}

// member returns the veil of a member of an object.
func (v *veil) member(key string) *veil {
	if v == nil || v.whole {
		return v
	}
	if m, ok := v.properties[key]; ok {
		return m
	}
	return v.values
}

// item returns the veil of the items of a list.
func (v *veil) item() *veil {
	if v == nil || v.whole {
		return v
	}
	return v.items
}

// cover returns value with what v hides replaced, in a copy; value itself where v hides nothing.
func (v *veil) cover(value any) any {
	if v == nil || value == nil {
		return value
	}
	if v.whole {
		return Redacted
	}
	switch value := value.(type) {
	case map[string]any:
		out := maps.Clone(value)
		for key, member := range out {
			out[key] = v.member(key).cover(member)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = v.items.cover(item)
		}
		return out
	}
	return value
}

// veiler builds the veils of locations, each once, so that recursive schemas end.
type veiler struct {
	hides map[*location]bool // named, or something below it is
	named func(*location) bool
	veils map[*location]*veil
}

func newVeiler(all []*location, redacted map[string]bool) *veiler {
	v := &veiler{veils: map[*location]*veil{}}
	v.named = func(l *location) bool {
		return l.schema.Format == "password" || l.body.schema.Format == "password" || len(redacted) > 0 && v.below(l, redacted)
	}
	v.hides = closure(all, v.named)
	return v
}

// below reports whether l or a location above it is redacted by its path.
func (v *veiler) below(l *location, redacted map[string]bool) bool {
	for ; ; l = l.in.owner {
		if redacted[l.path.pointer()] {
			return true
		}
		if l.in == nil {
			return false
		}
	}
}

func (v *veiler) veil(l *location) *veil {
	if l == nil || !v.hides[l] {
		return nil
	}
	if done, ok := v.veils[l]; ok {
		return done
	}
	out := &veil{whole: v.named(l), properties: map[string]*veil{}}
	v.veils[l] = out
	for _, p := range l.properties {
		out.properties[p.name] = v.veil(p)
	}
	out.values, out.items = v.veil(l.values), v.veil(l.items)
	return out
}
