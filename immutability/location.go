package immutability

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/extension"
	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/rule"
)

// location is a place of a schema: the root, a property, the values of a map or the items of a list, with the marks
// that stand on it. What is below it stands in its body.
type location struct {
	in       *body // nil for the root
	at       position
	name     string // of a property
	schema   *spec.Schema
	marks    extension.Marks
	problems []extension.Problem
	required bool        // a property that its parent requires
	path     *trail      // schema path
	beside   []elsewhere // locks that the target of its $ref hides
	*body
}

// body is what is below a location: all locations that $ref the same schema share one, so that recursion ends.
type body struct {
	owner  *location // the location it was first found at
	ref    string    // the $ref that leads here, or ""
	path   *trail    // schema path that those of what is below begin with
	schema *spec.Schema
	marks  extension.Marks // of the $ref's target

	properties []*location // sorted by name
	values     *location   // additionalProperties with a schema
	items      *location
	elsewhere  []elsewhere // locks where no update is compared
}

// elsewhere is a lock in a part of the schema that validates but names no location.
type elsewhere struct{ path, keyword string }

type position int

const (
	atRoot position = iota
	atProperty
	atValues
	atItems
)

// lockPath is the schema path at which the locks of l are written: its own, or that of the $ref's target.
func (l *location) lockPath() *trail {
	if l.ref != "" && !extension.HasLock(l.schema.Extensions) {
		return l.body.path
	}
	return l.path
}

// label is the last step of l in a path for people: "name", "[*]" or "".
func (l *location) label() string {
	switch l.at {
	case atProperty:
		return l.name
	case atValues, atItems:
		return "[*]"
	}
	return ""
}

// nullable reports whether null may stand at l.
func (l *location) nullable() bool { return l.schema.Nullable || l.body.schema.Nullable }

// defaultValue returns the default of l.
func (l *location) defaultValue() any {
	if l.schema.Default != nil {
		return l.schema.Default
	}
	return l.body.schema.Default
}

// hasKeys reports whether l is an object with keys that are no named properties.
func (l *location) hasKeys() bool {
	ap := l.body.schema.AdditionalProperties
	return ap != nil && (ap.Allows || ap.Schema != nil)
}

// children calls yield for every location directly below l.
func (b *body) children(yield func(*location)) {
	for _, p := range b.properties {
		yield(p)
	}
	if b.values != nil {
		yield(b.values)
	}
	if b.items != nil {
		yield(b.items)
	}
}

// reader turns a schema into locations.
type reader struct {
	resolve func(ref string) (*spec.Schema, error)
	bodies  map[string]*body // by $ref
	all     []*location      // parents before children
}

// read returns the root location of s.
func (r *reader) read(s *spec.Schema) *location { return r.location(nil, atRoot, "", s) }

func (r *reader) location(in *body, at position, name string, s *spec.Schema) *location {
	l := &location{in: in, at: at, name: name, schema: s}
	switch at {
	case atProperty:
		l.path = in.path.to("properties").to(pointer.Escape(name))
	case atValues:
		l.path = in.path.to("additionalProperties")
	case atItems:
		l.path = in.path.to("items")
	}
	r.all = append(r.all, l)
	l.marks, l.problems = extension.Read(s.Extensions)
	ref := refOf(s)
	if ref == "" {
		l.body = &body{owner: l, schema: s, path: l.path}
		r.fill(l.body, s)
		return l
	}
	b, err := r.body(l, ref)
	if err != nil {
		l.problems = append(l.problems, extension.Problem{
			Key: "$ref", Rule: rule.UnresolvableRef, Message: fmt.Sprintf("$ref %q cannot be resolved: %v", ref, err),
		})
		b = &body{owner: l, schema: &spec.Schema{}, path: l.path}
	}
	l.body = b
	l.marks = merge(l.marks, b.marks)
	l.beside = r.beside(s)
	return l
}

// refOf returns the $ref of s, also where it stands alone in allOf, as OpenAPI v3 writes one that has siblings.
func refOf(s *spec.Schema) string {
	if ref := s.Ref.String(); ref != "" {
		return ref
	}
	if len(s.AllOf) == 1 && len(s.Properties) == 0 && s.Items == nil && s.AdditionalProperties == nil {
		return s.AllOf[0].Ref.String()
	}
	return ""
}

// body returns the one body that all locations with this $ref share.
func (r *reader) body(owner *location, ref string) (*body, error) {
	if b, ok := r.bodies[ref]; ok {
		return b, nil
	}
	chain, err := r.chain(ref)
	if err != nil {
		return nil, err
	}
	b := &body{owner: owner, ref: ref, schema: chain[len(chain)-1], path: (*trail)(nil).to(ref)}
	r.bodies[ref] = b
	for _, s := range chain {
		marks, problems := extension.Read(s.Extensions)
		b.marks = merge(b.marks, marks)
		owner.problems = append(owner.problems, problems...)
	}
	r.fill(b, b.schema)
	for _, s := range chain[:len(chain)-1] {
		b.elsewhere = append(b.elsewhere, r.beside(s)...)
	}
	return b, nil
}

// chain follows ref to a schema that is no $ref itself, the last of those that it returns.
func (r *reader) chain(ref string) ([]*spec.Schema, error) {
	var chain []*spec.Schema
	for seen := map[string]bool{}; !seen[ref]; {
		seen[ref] = true
		s, err := r.resolve(ref)
		if err != nil {
			return nil, err
		}
		if s == nil {
			return nil, errors.New("there is no such schema")
		}
		chain = append(chain, s)
		next := refOf(s)
		if next == "" {
			return chain, nil
		}
		if extension.HasLock(s.Extensions) {
			return nil, fmt.Errorf("%q is itself a $ref with a lock beside it; put the lock where it is used", ref)
		}
		ref = next
	}
	return nil, fmt.Errorf("%q leads back to itself", ref)
}

// merge adds the marks of a $ref's target to those beside the $ref.
func merge(site, target extension.Marks) extension.Marks {
	site.Immutable = site.Immutable || target.Immutable
	site.ImmutableKeys = site.ImmutableKeys || target.ImmutableKeys
	site.AdditionOnly = site.AdditionOnly || target.AdditionOnly
	site.DeletionOnly = site.DeletionOnly || target.DeletionOnly
	site.Embedded = site.Embedded || target.Embedded
	if len(target.Update) > 0 {
		words := slices.DeleteFunc(extension.Words(), func(w string) bool { return !site.Has(w) && !target.Has(w) })
		site.Update = words
	}
	for _, p := range [...][2]*string{
		{&site.Normalize, &target.Normalize}, {&site.MapListOrder, &target.MapListOrder},
		{&site.ListType, &target.ListType}, {&site.MapType, &target.MapType},
	} {
		if *p[0] == "" {
			*p[0] = *p[1]
		}
	}
	if site.ListMapKeys == nil {
		site.ListMapKeys = target.ListMapKeys
	}
	return site
}

// fill reads what is below s.
func (r *reader) fill(b *body, s *spec.Schema) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		l := r.location(b, atProperty, name, &p)
		l.required = slices.Contains(s.Required, name)
		b.properties = append(b.properties, l)
	}
	if ap := s.AdditionalProperties; ap != nil && ap.Schema != nil {
		b.values = r.location(b, atValues, "", ap.Schema)
	}
	if s.Items != nil && s.Items.Schema != nil {
		b.items = r.location(b, atItems, "", s.Items.Schema)
	}
	search := r.search()
	search.keywords(s, "")
	b.elsewhere = search.found
}

// closure returns the locations that satisfy is, or have one below them that does.
func closure(all []*location, is func(*location) bool) map[*location]bool {
	in := map[*location]bool{}
	for changed := true; changed; {
		changed = false
		for _, l := range slices.Backward(all) {
			if in[l] {
				continue
			}
			below := is(l)
			l.children(func(child *location) { below = below || in[child] })
			if below {
				in[l], changed = true, true
			}
		}
	}
	return in
}
