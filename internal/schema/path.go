package schema

import (
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/pointer"
)

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
