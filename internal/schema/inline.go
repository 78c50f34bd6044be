package schema

import (
	"fmt"
	"maps"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// maxInlined is how many locations Inline writes: $refs can be written in which their number doubles at each level.
const maxInlined = 100_000

// Inline returns the schema with every $ref replaced by what it refers to, the marks of both together. A $ref back to a
// schema that it is in ends there; if a lock is in that schema, or the result would have more than 100,000 locations,
// Inline returns an error. Schemas in allOf, anyOf and the like, which lead to no location, are left out.
func (t *Tree) Inline() (*spec.Schema, error) {
	in := &inliner{inside: map[*Body]bool{}, locked: t.Holding(func(l *Location) bool { return l.Marks.Locked() })}
	s := in.schema(t.Root)
	return s, in.err
}

type inliner struct {
	inside  map[*Body]bool
	locked  map[*Location]bool
	written int
	err     error
}

func (in *inliner) schema(l *Location) *spec.Schema {
	if in.written++; in.written > maxInlined && in.err == nil {
		in.err = fmt.Errorf("with every $ref written out, the schema has more than %d fields", maxInlined)
	}
	if in.err != nil {
		return &spec.Schema{}
	}
	if in.inside[l.Body] {
		if in.locked[l] {
			in.err = fmt.Errorf("%s (%s) contains itself and has locks, which cannot be written out at every depth", l.Ref, l.Path)
		}
		return &spec.Schema{}
	}
	in.inside[l.Body] = true
	defer delete(in.inside, l.Body)
	out := *l.Body.Schema
	out.Extensions, out.Default, out.Nullable = extensions(l), l.Default(), l.Nullable()
	out.Ref, out.AllOf, out.AnyOf, out.OneOf, out.Not, out.Definitions = spec.Ref{}, nil, nil, nil, nil, nil
	out.Properties = nil
	if l.Properties != nil {
		out.Properties = make(map[string]spec.Schema, len(l.Properties))
	}
	for _, p := range l.Properties {
		out.Properties[p.Name] = *in.schema(p)
	}
	if l.Values != nil {
		out.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: in.schema(l.Values)}
	}
	if l.Items != nil {
		out.Items = &spec.SchemaOrArray{Schema: in.schema(l.Items)}
	}
	return &out
}

// extensions returns the keys of l and of what its $ref leads to, the nearest one first, and the words of all.
func extensions(l *Location) spec.Extensions {
	var out spec.Extensions
	for s := range l.Schemas() {
		for key, value := range s.Extensions {
			if _, nearer := out[key]; nearer {
				continue
			}
			if out == nil {
				out = maps.Clone(s.Extensions)
			} else {
				out[key] = value
			}
		}
	}
	var words []any
	for _, lock := range l.Marks.Locks {
		if lock.Key() == KeyUpdate {
			words = append(words, string(lock))
		}
	}
	if words != nil {
		out[KeyUpdate] = words
	}
	return out
}
