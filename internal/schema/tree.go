package schema

import (
	"iter"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/pointer"
)

// Tree is a schema that has been read.
type Tree struct {
	Root *Location
	All  []*Location // every location, parents before children

	bodies map[string]*Body // by $ref
}

// Location is the root of a schema, a property, the values of a map or the items of a list.
type Location struct {
	In       *Body // what it is directly below; nil for the root
	Role     Role
	Name     string       // of a property
	Schema   *spec.Schema // as written here, with a $ref not followed
	Marks    Marks        // of the node and, with a $ref, of its target
	Problems []Problem    // mistakes in the keys of the node, and a $ref that cannot be resolved
	Required bool         // a property that its parent requires
	Path     *Path        // schema path
	Hidden   []Unchecked  // marks next to a $ref, which its target hides
	*Body

	wrapped *spec.Schema // the element of allOf that holds the $ref, if it is wrapped
}

// below returns the path of l, whose parent is at p.
func (p *Path) below(l *Location) *Path { return &Path{p, l.Role, l.Name} }

// Body is what is below a location. All locations with a $ref to one schema share its body.
type Body struct {
	First    *Location    // the location it was read for
	Ref      string       // the $ref that leads here, or ""
	Path     *Path        // schema path that the paths of its children begin with: without a $ref, the location's own
	Schema   *spec.Schema // with every $ref followed
	Marks    Marks        // of the target of the $ref
	Problems []Problem    // mistakes in the keys of the target of the $ref

	Properties    []*Location // sorted by name
	Values, Items *Location   // nil for none
	Unchecked     []Unchecked // marks in parts of the schema that only validate

	chain []*spec.Schema // what the $ref leads to, the last one being Schema
	sites []*Location    // the locations that share the body
}

// Parent returns the location above l, nil for the root. For a location below a shared body that is the first one that
// it was read for.
func (l *Location) Parent() *Location {
	if l.In == nil {
		return nil
	}
	return l.In.First
}

// LockPath returns the schema path at which the locks of l are written: its own, or the path of its $ref's target.
func (l *Location) LockPath() *Path {
	if HasLock(l.Schema.Extensions) {
		return l.Path
	}
	return l.Body.Path
}

// MarkPath returns the schema path at which key is written for l: its own, or the path of its $ref's target.
func (l *Location) MarkPath(key string) *Path {
	if _, here := l.Schema.Extensions[key]; here {
		return l.Path
	}
	return l.Body.Path
}

// UnknownKeys returns the unknown keys at l itself.
func (l *Location) UnknownKeys() []UnknownKey {
	unknown := UnknownKeys(l.Schema.Extensions)
	if l.wrapped != nil {
		unknown = append(unknown, UnknownKeys(l.wrapped.Extensions)...)
	}
	return unknown
}

// TargetUnknownKeys returns the unknown keys of what the $ref that leads to b refers to.
func (b *Body) TargetUnknownKeys() []UnknownKey {
	var unknown []UnknownKey
	for _, s := range b.chain {
		unknown = append(unknown, UnknownKeys(s.Extensions)...)
	}
	return unknown
}

// Children yields the locations directly below b: properties by name, then values, then items.
func (b *Body) Children(yield func(*Location) bool) {
	for _, p := range b.Properties {
		if !yield(p) {
			return
		}
	}
	if b.Values != nil && !yield(b.Values) {
		return
	}
	if b.Items != nil {
		yield(b.Items)
	}
}

// Property returns the property of b with this name, or nil.
func (b *Body) Property(name string) *Location {
	i, found := slices.BinarySearchFunc(b.Properties, name, func(p *Location, name string) int {
		return strings.Compare(p.Name, name)
	})
	if !found {
		return nil
	}
	return b.Properties[i]
}

// Schemas yields the schemas that describe l: its own, then those that its $ref leads to, one after the other.
func (l *Location) Schemas() iter.Seq[*spec.Schema] {
	return func(yield func(*spec.Schema) bool) {
		if !yield(l.Schema) || l.wrapped != nil && !yield(l.wrapped) {
			return
		}
		for _, s := range l.chain {
			if !yield(s) {
				return
			}
		}
	}
}

// any reports whether one of the schemas that describe l satisfies is.
func (l *Location) any(is func(*spec.Schema) bool) bool {
	for s := range l.Schemas() {
		if is(s) {
			return true
		}
	}
	return false
}

// Nullable reports whether null is allowed at l.
func (l *Location) Nullable() bool { return l.any(func(s *spec.Schema) bool { return s.Nullable }) }

// Password reports whether l has format: password.
func (l *Location) Password() bool {
	return l.any(IsPassword)
}

// PreservesUnknown reports whether objects at l keep fields that the schema does not describe.
func (l *Location) PreservesUnknown() bool {
	return l.any(func(s *spec.Schema) bool { return isTrue(s.Extensions[KeyPreserveUnknown]) })
}

// IntOrString reports whether l is an integer or a string.
func (l *Location) IntOrString() bool { return l.any(isIntOrString) }

func isIntOrString(s *spec.Schema) bool { return isTrue(s.Extensions[KeyIntOrString]) }

// Default returns the default of l, nil for none.
func (l *Location) Default() any {
	for s := range l.Schemas() {
		if s.Default != nil {
			return s.Default
		}
	}
	return nil
}

// Type returns the type of l, or "" if it has none or several. IntOrString has no type.
func (l *Location) Type() string {
	for s := range l.Schemas() {
		if len(s.Type) == 1 {
			return s.Type[0]
		}
	}
	return ""
}

// Scalar reports whether l allows only strings, numbers and booleans.
func (l *Location) Scalar() bool {
	return l.any(func(s *spec.Schema) bool {
		return isIntOrString(s) ||
			len(s.Type) > 0 && !slices.ContainsFunc(s.Type, func(t string) bool {
				return t == "object" || t == "array"
			})
	})
}

// HasKeys reports whether l is an object with keys that are not named properties.
func (l *Location) HasKeys() bool {
	ap := l.Body.Schema.AdditionalProperties
	return ap != nil && (ap.Allows || ap.Schema != nil)
}

// Container says what keys the values at l have.
func (l *Location) Container() Container {
	if l.Body.Schema.Items != nil || l.any(func(s *spec.Schema) bool { return slices.Contains(s.Type, "array") }) {
		switch l.Marks.ListType {
		case ListMap:
			return MapList
		case ListSet:
			return SetList
		}
		return AtomicList
	}
	switch {
	case l.Marks.MapType == MapAtomic:
		return AtomicMap
	case l.HasKeys():
		return Map
	}
	return NoKeys
}

// KeyField returns the property of the items of l with this name, or nil.
func (l *Location) KeyField(name string) *Location {
	if l.Items == nil {
		return nil
	}
	return l.Items.Property(name)
}

// IsMapKey reports whether l is a key field of a list of list-type map. Its lock can never be broken, because items are
// correlated by it.
func (l *Location) IsMapKey() bool {
	if l.Role != Property || l.Parent().Role != Items {
		return false
	}
	marks := &l.Parent().Parent().Marks
	return marks.ListType == ListMap && slices.Contains(marks.ListMapKeys, l.Name)
}

// Find returns the location with this schema path, as Path.Pointer writes it, or nil. Cost: O(length of the path +
// $refs).
func (t *Tree) Find(schemaPath string) *Location {
	found, body, rest := t.Root, t.Root.Body, schemaPath
	longest := -1
	for ref, b := range t.bodies {
		if below, ok := strings.CutPrefix(schemaPath, ref+"/"); ok && len(ref) > longest {
			longest, found, body, rest = len(ref), nil, b, "/"+below
		}
	}
	for names := pointer.Names(rest); len(names) > 0; {
		if found != nil && found.Ref != "" {
			return nil // the paths below begin with that $ref
		}
		used := 1
		switch {
		case names[0] == "properties" && len(names) > 1:
			found, used = body.Property(names[1]), 2
		case names[0] == "additionalProperties":
			found = body.Values
		case names[0] == "items":
			found = body.Items
		default:
			return nil
		}
		if found == nil {
			return nil
		}
		body, names = found.Body, names[used:]
	}
	return found
}

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
	b := &Body{First: l, Ref: ref, Schema: chain[len(chain)-1], Path: &Path{role: reference, name: ref},
		sites: []*Location{l}}
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
	search := search{resolver: r.resolver}
	for p := range parts(s) {
		switch p.role {
		case Property:
			l := r.location(b, Property, p.name, p.schema)
			l.Required = required[p.name]
			b.Properties = append(b.Properties, l)
		case Values:
			b.Values = r.location(b, Values, "", p.schema)
		case Items:
			b.Items = r.location(b, Items, "", p.schema)
		default:
			search.part(p, b.Path)
		}
	}
	b.Unchecked, b.Problems = search.found, append(b.Problems, search.problems...)
}

// Visit is one look at a location on the way down from the root.
type Visit struct {
	*Location
	At         *Path // the way from the root; differs from Path below a $ref
	InMetadata bool  // in the metadata of the object or of an embedded resource
	InSet      bool  // on or below the items of a set
}

// Walk calls visit for every location, parents first and children in order. What several locations share through a $ref
// is visited once in each context that it is in (metadata or not, set or not), on the first way there, so that the cost
// is linear in the schema.
func (t *Tree) Walk(visit func(Visit)) {
	type context struct {
		body              *Body
		inMetadata, inSet bool
	}
	seen := map[context]bool{}
	var walk func(v Visit)
	walk = func(v Visit) {
		visit(v)
		c := context{v.Body, v.InMetadata, v.InSet}
		if seen[c] {
			return
		}
		seen[c] = true
		for l := range v.Children {
			resource := v.Role == Root || v.Marks.Embedded
			walk(Visit{
				Location:   l,
				At:         v.At.below(l),
				InMetadata: v.InMetadata || resource && isObjectMeta(l),
				InSet:      v.InSet || l.Role == Items && v.Marks.ListType == ListSet,
			})
		}
	}
	walk(Visit{Location: t.Root})
}

// objectMeta are the fields of the metadata of every Kubernetes object.
var objectMeta = map[string]bool{
	"name": true, "generateName": true, "namespace": true, "selfLink": true, "uid": true, "resourceVersion": true,
	"generation":        true,
	"creationTimestamp": true, "deletionTimestamp": true, "deletionGracePeriodSeconds": true, "labels": true,
	"annotations":     true,
	"ownerReferences": true, "finalizers": true, "managedFields": true,
}

// isObjectMeta reports whether a location of an object is the metadata that Kubernetes knows. Other documents use the
// name, too: a property metadata with properties of its own, none of which Kubernetes knows, is like any other.
func isObjectMeta(l *Location) bool {
	if l.Role != Property || l.Name != "metadata" {
		return false
	}
	properties := l.Body.Properties
	return len(properties) == 0 || slices.ContainsFunc(properties, func(p *Location) bool { return objectMeta[p.Name] })
}

// Descend calls look for l, which is at path at, and where look returns true for everything below it. What several
// locations share is descended into once.
func (l *Location) Descend(at *Path, look func(l *Location, at *Path) (below bool)) {
	l.descend(at, 0, look)
}

// DescendAll is Descend that goes into what several locations share for each of them, but never into itself. Schemas
// can be written in which the number of ways doubles at each level: after limit repeated visits it does what Descend
// does.
func (l *Location) DescendAll(limit int, look func(l *Location, at *Path) (below bool)) {
	l.descend(nil, limit, look)
}

func (l *Location) descend(at *Path, limit int, look func(l *Location, at *Path) (below bool)) {
	seen, inside := map[*Body]bool{}, map[*Body]bool{}
	var visit func(l *Location, at *Path, again bool)
	visit = func(l *Location, at *Path, again bool) {
		if again {
			limit--
		}
		if !look(l, at) || inside[l.Body] || seen[l.Body] && limit <= 0 {
			return
		}
		again = again || seen[l.Body]
		seen[l.Body], inside[l.Body] = true, true
		for child := range l.Children {
			visit(child, at.below(child), again)
		}
		delete(inside, l.Body)
	}
	visit(l, at, false)
}

// Holding returns the locations that satisfy is, and all those above them. Cost: linear in the schema.
func (t *Tree) Holding(is func(*Location) bool) map[*Location]bool {
	in := map[*Location]bool{}
	var todo []*Location
	add := func(l *Location) {
		if !in[l] {
			in[l] = true
			todo = append(todo, l)
		}
	}
	for _, l := range t.All {
		if is(l) {
			add(l)
		}
	}
	for len(todo) > 0 {
		l := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if l.In != nil {
			for _, site := range l.In.sites {
				add(site)
			}
		}
	}
	return in
}
