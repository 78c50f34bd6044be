package schema

import (
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Read reads s and everything below it. A nil s is an empty schema; a nil resolve finds the definitions of s. Mistakes
// are kept in the tree. Cost: one visit for each node of the schema, and for each $ref one call of resolve.
func Read(s *spec.Schema, resolve Resolver) *Tree {
	if s == nil {
		s = &spec.Schema{}
	}
	if resolve == nil {
		resolve = Definitions(s)
	}
	r := &reader{&Tree{bodies: map[string]*Body{}}, &resolver{resolve: resolve, searched: map[string]bool{}}}
	r.tree.Root = r.location(nil, Root, "", s)
	return r.tree
}

type reader struct {
	tree *Tree
	*resolver
}

func (r *reader) location(in *Body, role Role, name string, s *spec.Schema) *Location {
	l := &Location{In: in, Role: role, Name: name, Schema: s}
	if in != nil {
		l.Path = in.Path.below(l)
	}
	r.tree.All = append(r.tree.All, l)
	l.Marks, l.Problems = ReadMarks(s.Extensions)
	ref, wrapped := RefOf(s)
	if ref == "" {
		l.Body = &Body{First: l, Schema: s, Path: l.Path, sites: []*Location{l}}
		r.fill(l.Body)
		return l
	}
	if l.wrapped = wrapped; wrapped != nil {
		marks, problems := readWrapped(wrapped)
		l.Marks, l.Problems = merge(l.Marks, marks), append(l.Problems, problems...)
	}
	b, err := r.body(l, ref)
	if err != nil {
		l.Problems = append(l.Problems, unresolvable(ref, err))
		b = &Body{First: l, Schema: &spec.Schema{}, Path: l.Path, sites: []*Location{l}}
	}
	l.Body = b
	l.Marks = merge(l.Marks, b.Marks)
	l.Hidden, l.Problems = r.hidden(l.Path, s, wrapped, l.Problems)
	return l
}

// body returns the body that all locations with this $ref share.
func (r *reader) body(l *Location, ref string) (*Body, error) {
	if b, ok := r.tree.bodies[ref]; ok {
		b.sites = append(b.sites, l)
		return b, nil
	}
	chain, err := follow(ref, r.resolve)
	if err != nil {
		return nil, err
	}
	b := &Body{First: l, Ref: ref, Schema: chain[len(chain)-1], Path: &Path{role: reference, name: ref}, sites: []*Location{l}}
	r.tree.bodies[ref] = b
	for _, s := range chain {
		marks, problems := ReadMarks(s.Extensions)
		b.chain = append(b.chain, s)
		b.Marks, b.Problems = merge(b.Marks, marks), append(b.Problems, problems...)
		if _, wrapped := RefOf(s); wrapped != nil {
			marks, problems := readWrapped(wrapped)
			b.chain = append(b.chain, wrapped)
			b.Marks, b.Problems = merge(b.Marks, marks), append(b.Problems, problems...)
		}
	}
	r.fill(b)
	for _, s := range chain[:len(chain)-1] {
		var hidden []Unchecked
		_, wrapped := RefOf(s)
		hidden, b.Problems = r.hidden(b.Path, s, wrapped, b.Problems)
		b.Unchecked = append(b.Unchecked, hidden...)
	}
	return b, nil
}

// fill reads what is below b.
func (r *reader) fill(b *Body) {
	s := b.Schema
	required := make(map[string]bool, len(s.Required))
	for _, name := range s.Required {
		required[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		l := r.location(b, Property, name, &p)
		l.Required = required[name]
		b.Properties = append(b.Properties, l)
	}
	if ap := s.AdditionalProperties; ap != nil && ap.Schema != nil {
		b.Values = r.location(b, Values, "", ap.Schema)
	}
	if s.Items != nil && s.Items.Schema != nil {
		b.Items = r.location(b, Items, "", s.Items.Schema)
	}
	search := search{resolver: r.resolver}
	search.keywords(s, b.Path)
	b.Unchecked, b.Problems = search.found, append(b.Problems, search.problems...)
}
