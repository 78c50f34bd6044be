// Package schema reads OpenAPI schemas for everything in fieldlock that asks what a schema locks.
//
// [Read] turns a schema into a [Tree] of locations: the root, its properties, the values of maps and the items of
// lists. It follows $refs by one rule ([RefOf]), reads the marks of each location ([ReadMarks]), and finds locks in
// parts of the schema that no update is compared along. A location that is reached through several $refs appears once
// for each, and what is below the definition once for all of them, so that recursive schemas end.
//
// One table ([Locks]) says for each lock which key sets it, which changes it refuses and where it is allowed.
//
// Paths come in two forms: [Path.String] is for people, "spec.nodes[*].zone", and [Path.Pointer] is the JSON pointer of
// the schema node, "/properties/spec/properties/nodes/items/properties/zone".
package schema

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/pointer"
)

// SaysLocked finds the words that authors of descriptions and of messages use for a field that may not change.
var SaysLocked = regexp.MustCompile(`(?i)\b(immutable|not mutable)\b|\b(can ?not|can't|may not|must not) be (changed|updated|modified)\b|` +
	`\bcan only be set (at|on|during|upon) creation\b`)

// Below returns the schema of the value one step below a value of s: step is the name of a member (string) or the index
// of an item (int). It returns nil where s is nil or says nothing about that value.
func Below(s *spec.Schema, step any) *spec.Schema {
	name, isName := step.(string)
	switch {
	case s == nil:
		return nil
	case !isName && s.Items != nil:
		return s.Items.Schema
	case !isName:
		return nil
	}
	if property, ok := s.Properties[name]; ok {
		return &property
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Schema
	}
	return nil
}

// Nodes yields s and the schemas below it, each with its schema path: those of properties, additionalProperties, items
// and allOf. Parents come before children, properties in the order of their names. $refs are not followed. Nil s yields
// nothing.
func Nodes(s *spec.Schema) iter.Seq2[string, *spec.Schema] {
	return func(yield func(string, *spec.Schema) bool) {
		if s != nil {
			nodes(s, "", yield)
		}
	}
}

func nodes(s *spec.Schema, path string, yield func(string, *spec.Schema) bool) bool {
	if !yield(path, s) {
		return false
	}
	for p := range parts(s) {
		if p.isNode() && !nodes(p.schema, p.pointer(path), yield) {
			return false
		}
	}
	return true
}

// part is a schema directly below another one.
type part struct {
	role    Role
	keyword string
	single  bool   // the keyword has one schema
	name    string // of a property or dependency, or the index in a list
	schema  *spec.Schema
	replace func(by *spec.Schema) // in a copy made by copyOf
}

// isNode reports whether p is one of those that Nodes yields.
func (p *part) isNode() bool { return p.role != keyword || p.keyword == "allOf" }

// pointer returns the schema path of p below a schema at path.
func (p *part) pointer(path string) string {
	if p.single {
		return path + "/" + p.keyword
	}
	return path + "/" + p.keyword + "/" + pointer.Escape(p.name)
}

// parts yields the schemas directly below s: first those that describe values, then those in keywords that only
// validate, and definitions. Properties are in the order of their names. $refs are not followed.
func parts(s *spec.Schema) iter.Seq[part] {
	return func(yield func(part) bool) {
		named := func(role Role, keyword string, schemas map[string]spec.Schema) bool {
			for _, name := range slices.Sorted(maps.Keys(schemas)) {
				p := schemas[name]
				if !yield(part{role, keyword, false, name, &p, func(by *spec.Schema) { schemas[name] = *by }}) {
					return false
				}
			}
			return true
		}
		list := func(in string, schemas []spec.Schema) bool {
			for i := range schemas {
				if !yield(part{keyword, in, false, strconv.Itoa(i), &schemas[i], func(by *spec.Schema) { schemas[i] = *by }}) {
					return false
				}
			}
			return true
		}
		one := func(role Role, keyword string, s **spec.Schema) bool {
			return *s == nil || yield(part{role, keyword, true, "", *s, func(by *spec.Schema) { *s = by }})
		}
		orBool := func(role Role, keyword string, s *spec.SchemaOrBool) bool {
			return s == nil || one(role, keyword, &s.Schema)
		}
		items := s.Items
		if items == nil {
			items = &spec.SchemaOrArray{}
		}
		dependencies := func() bool {
			for _, name := range slices.Sorted(maps.Keys(s.Dependencies)) {
				replace := func(by *spec.Schema) { s.Dependencies[name] = spec.SchemaOrStringArray{Schema: by} }
				if d := s.Dependencies[name].Schema; d != nil && !yield(part{keyword, "dependencies", false, name, d, replace}) {
					return false
				}
			}
			return true
		}
		_ = named(Property, "properties", s.Properties) && orBool(Values, "additionalProperties", s.AdditionalProperties) &&
			one(Items, "items", &items.Schema) && list("allOf", s.AllOf) && list("anyOf", s.AnyOf) && list("oneOf", s.OneOf) &&
			one(keyword, "not", &s.Not) && named(keyword, "patternProperties", s.PatternProperties) && dependencies() &&
			orBool(keyword, "additionalItems", s.AdditionalItems) && list("items", items.Schemas) && named(keyword, "definitions", s.Definitions)
	}
}

// copyOf copies s and all that holds its parts, so that they can be replaced.
func copyOf(s *spec.Schema) *spec.Schema {
	out := *s
	out.Properties, out.PatternProperties = maps.Clone(s.Properties), maps.Clone(s.PatternProperties)
	out.Dependencies, out.Definitions = maps.Clone(s.Dependencies), maps.Clone(s.Definitions)
	out.AllOf, out.AnyOf, out.OneOf = slices.Clone(s.AllOf), slices.Clone(s.AnyOf), slices.Clone(s.OneOf)
	out.AdditionalProperties, out.AdditionalItems = cloned(s.AdditionalProperties), cloned(s.AdditionalItems)
	if out.Items = cloned(s.Items); out.Items != nil {
		out.Items.Schemas = slices.Clone(s.Items.Schemas)
	}
	return &out
}

func cloned[T any](v *T) *T {
	if v == nil {
		return nil
	}
	out := *v
	return &out
}

// HasMapList reports whether s is or contains a list of list-type map.
func HasMapList(s *spec.Schema) bool {
	for _, node := range Nodes(s) {
		if node.Extensions[KeyListType] == ListMap {
			return true
		}
	}
	return false
}

// Edit returns s with changes made: by schema path, what changes the extensions of the node there. It copies only the
// nodes on the way to a change, and leaves s as it is. It returns the error of the first change that fails, in the
// order of Nodes, and an error for a path at which s has no node.
func Edit(s *spec.Schema, changes map[string]func(spec.Extensions) error) (*spec.Schema, error) {
	e := &editor{changes: changes, touched: map[string]bool{}, made: map[string]bool{}}
	for path := range changes {
		for ; !e.touched[path]; path = path[:max(strings.LastIndexByte(path, '/'), 0)] {
			e.touched[path] = true
		}
	}
	out := e.edited(s, "")
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		if !e.made[path] && e.err == nil {
			e.err = fmt.Errorf("schema path %q: the schema has no such node", path)
		}
	}
	return out, e.err
}

type editor struct {
	changes map[string]func(spec.Extensions) error
	touched map[string]bool // schema paths with a change at or below them
	made    map[string]bool
	err     error
}

func (e *editor) edited(s *spec.Schema, path string) *spec.Schema {
	if !e.touched[path] {
		return s
	}
	out := copyOf(s)
	if change, ok := e.changes[path]; ok && e.err == nil {
		e.made[path] = true
		if out.Extensions = maps.Clone(s.Extensions); out.Extensions == nil {
			out.Extensions = spec.Extensions{}
		}
		if err := change(out.Extensions); err != nil {
			e.err = fmt.Errorf("schema path %q: %w", path, err)
		}
	}
	for p := range parts(out) {
		if p.isNode() {
			p.replace(e.edited(p.schema, p.pointer(path)))
		}
	}
	return out
}

// Role says what a location is to the one above it.
type Role uint8

// The roles.
const (
	Root     Role = iota
	Property      // a named property of an object
	Values        // the values under the other keys of an object
	Items         // the items of a list

	// Steps of paths that lead to no location.
	keyword   // a schema in a keyword that only validates
	reference // the $ref that the rest of the path starts from
)

// Path leads from the root of a schema to one of its nodes, or from the target of a $ref. The nil Path is the root.
// Paths share their beginnings and become text only when they are printed, so that a deep schema costs its depth and
// not the square of it.
type Path struct {
	up   *Path
	role Role
	name string // of a property; the text of a keyword or $ref
}

// Property returns the path of a property of the object at p.
func (p *Path) Property(name string) *Path { return &Path{p, Property, name} }

// Values returns the path of the map values at p.
func (p *Path) Values() *Path { return &Path{p, Values, ""} }

// Items returns the path of the list items at p.
func (p *Path) Items() *Path { return &Path{p, Items, ""} }

// keyword returns the path of a schema in a keyword such as "anyOf/0".
func (p *Path) keyword(text string) *Path { return &Path{p, keyword, text} }

func (p *Path) steps() []*Path {
	var steps []*Path
	for ; p != nil; p = p.up {
		steps = append(steps, p)
	}
	slices.Reverse(steps)
	return steps
}

// Depth returns the number of steps of p. Cost: O(depth).
func (p *Path) Depth() int {
	n := 0
	for ; p != nil; p = p.up {
		n++
	}
	return n
}

// String returns the path for people, such as "spec.nodes[*].zone"; "" is the root.
func (p *Path) String() string {
	var b strings.Builder
	for _, s := range p.steps() {
		switch s.role {
		case Property:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.name)
		case Values, Items:
			b.WriteString("[*]")
		}
	}
	return b.String()
}

// Steps returns the path as a path of an object.
func (p *Path) Steps() fieldpath.Path {
	var path fieldpath.Path
	for _, s := range p.steps() {
		switch s.role {
		case Property:
			path = append(path, s.name)
		case Values:
			path = append(path, fieldpath.EachValue)
		case Items:
			path = append(path, fieldpath.EachItem)
		}
	}
	return path
}

// Pointer returns the path as a JSON pointer in the schema, such as "/properties/spec/properties/class". A path that
// starts from the target of a $ref begins with the text of the $ref.
func (p *Path) Pointer() string {
	var b strings.Builder
	for _, s := range p.steps() {
		switch s.role {
		case Property:
			b.WriteString("/properties/")
			b.WriteString(pointer.Escape(s.name))
		case Values:
			b.WriteString("/additionalProperties")
		case Items:
			b.WriteString("/items")
		case keyword:
			b.WriteString("/")
			b.WriteString(s.name)
		case reference:
			b.WriteString(s.name)
		}
	}
	return b.String()
}

// Readable turns a schema path, a JSON pointer, into the path for people: "spec.nodes[*].zone".
func Readable(schemaPath string) string { return PathOf(schemaPath).String() }

// PathOf returns the path of the location that a schema path, a JSON pointer, leads to. Keywords such as allOf are left
// out.
func PathOf(schemaPath string) *Path {
	var p *Path
	names := pointer.Names(schemaPath)
	for i := 0; i < len(names); i++ {
		switch {
		case names[i] == "properties" && i+1 < len(names):
			i++
			p = p.Property(names[i])
		case names[i] == "additionalProperties":
			p = p.Values()
		case names[i] == "items":
			p = p.Items()
		}
	}
	return p
}

// Resolver returns the schema that a $ref refers to.
type Resolver func(ref string) (*spec.Schema, error)

// Definitions returns the resolver of "#/definitions/NAME" among the definitions of s.
func Definitions(s *spec.Schema) Resolver {
	return func(ref string) (*spec.Schema, error) {
		if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
			if definition, ok := s.Definitions[name]; ok {
				return &definition, nil
			}
		}
		return nil, errors.New("the schema has no such definition; give a resolver that knows it")
	}
}

// RefOf returns the $ref of s, or "". A $ref may be wrapped as the only element of allOf, which is how OpenAPI v3
// writes a $ref with a description or default next to it; then RefOf returns that element too.
//
// An allOf next to properties, items or additionalProperties, or whose element has some of its own, is not a wrapper
// but a combination of two schemas: s is read as it is, and what is in its allOf only validates.
func RefOf(s *spec.Schema) (ref string, wrapped *spec.Schema) {
	if ref := s.Ref.String(); ref != "" {
		return ref, nil
	}
	if len(s.AllOf) != 1 || s.AllOf[0].Ref.String() == "" || hasChildren(s) || hasChildren(&s.AllOf[0]) {
		return "", nil
	}
	return s.AllOf[0].Ref.String(), &s.AllOf[0]
}

func hasChildren(s *spec.Schema) bool {
	return len(s.Properties) > 0 || s.Items != nil || s.AdditionalProperties != nil
}

// unresolvable is the problem of a node whose $ref cannot be followed.
func unresolvable(ref string, err error) Problem {
	return Problem{Key: "$ref", Rule: finding.UnresolvableRef, Message: fmt.Sprintf("$ref %q cannot be resolved: %v", ref, err)}
}

// readWrapped reads the marks next to a wrapped $ref. A lock there is an error that the search for unchecked marks
// finds.
func readWrapped(s *spec.Schema) (Marks, []Problem) {
	marks, problems := ReadMarks(s.Extensions)
	marks.Locks = nil
	return marks, problems
}

// follow returns the schemas that ref leads to, one after the other. The last one has no $ref.
func follow(ref string, resolve Resolver) ([]*spec.Schema, error) {
	var chain []*spec.Schema
	for seen := map[string]bool{}; !seen[ref]; {
		seen[ref] = true
		s, err := resolve(ref)
		if err != nil {
			return nil, err
		}
		if s == nil {
			return nil, errors.New("there is no such schema")
		}
		chain = append(chain, s)
		next, _ := RefOf(s)
		if next == "" {
			return chain, nil
		}
		if HasLock(s.Extensions) {
			return nil, fmt.Errorf("%q is itself a $ref with a lock next to it; put the lock where it is used", ref)
		}
		ref = next
	}
	return nil, fmt.Errorf("%q leads back to itself", ref)
}

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
