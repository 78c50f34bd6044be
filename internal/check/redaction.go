package check

import (
	"maps"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// Redacted replaces a value in reports that must not be shown.
const Redacted = "(redacted)"

// Redaction says which parts of the values of one location are hidden. The nil Redaction hides nothing.
type Redaction struct {
	Whole         bool
	Properties    map[string]*Redaction
	Values, Items *Redaction
}

// Member returns the redaction of a member of an object.
func (r *Redaction) Member(key string) *Redaction {
	if r == nil || r.Whole {
		return r
	}
	if m, ok := r.Properties[key]; ok {
		return m
	}
	return r.Values
}

// Item returns the redaction of the items of a list.
func (r *Redaction) Item() *Redaction {
	if r == nil || r.Whole {
		return r
	}
	return r.Items
}

// Redactor hides values. It copies each container once, however many values contain it.
type Redactor struct {
	copies map[redacted]any
}

type redacted struct {
	redaction *Redaction
	v         Identity
}

// Hide returns v with what r hides replaced, in a copy; v itself if r hides nothing.
func (h *Redactor) Hide(r *Redaction, v any) any {
	if r == nil || v == nil {
		return v
	}
	if r.Whole {
		return Redacted
	}
	id, container := IdentityOf(v)
	if !container {
		return v
	}
	key := redacted{r, id}
	if done, ok := h.copies[key]; ok {
		return done
	}
	if h.copies == nil {
		h.copies = map[redacted]any{}
	}
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		for name, value := range v {
			out[name] = h.Hide(r.Member(name), value)
		}
		h.copies[key] = out
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = h.Hide(r.Items, item)
		}
		h.copies[key] = out
		return out
	}
	return v
}

// redactions builds the redactions of locations, each once, so that recursive schemas end.
type redactions struct {
	whole map[*schema.Location]bool
	hides map[*schema.Location]bool // whole, or something below it is
	built map[*schema.Location]*Redaction
}

// Passwords returns the redaction of the root of t that hides the locations with format: password, and everything below
// them; nil for none.
func Passwords(t *schema.Tree) *Redaction { return newRedactions(t, nil).of(t.Root) }

// newRedactions hides the named locations, those with format: password, and everything below them. What several $refs
// lead to is hidden for all of them if it is for one.
func newRedactions(t *schema.Tree, named []*schema.Location) *redactions {
	r := &redactions{whole: map[*schema.Location]bool{}, built: map[*schema.Location]*Redaction{}}
	todo := named
	for _, l := range t.All {
		if l.Password() {
			todo = append(todo, l)
		}
	}
	for len(todo) > 0 {
		l := todo[len(todo)-1]
		if todo = todo[:len(todo)-1]; r.whole[l] {
			continue
		}
		r.whole[l] = true
		for child := range l.Children {
			todo = append(todo, child)
		}
	}
	r.hides = t.Holding(func(l *schema.Location) bool { return r.whole[l] })
	return r
}

func (r *redactions) of(l *schema.Location) *Redaction {
	if l == nil || !r.hides[l] {
		return nil
	}
	if done, ok := r.built[l]; ok {
		return done
	}
	out := &Redaction{Whole: r.whole[l], Properties: map[string]*Redaction{}}
	r.built[l] = out
	for _, p := range l.Properties {
		out.Properties[p.Name] = r.of(p)
	}
	out.Values, out.Items = r.of(l.Values), r.of(l.Items)
	return out
}
