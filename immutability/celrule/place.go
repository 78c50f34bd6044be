package celrule

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/extension"
	"github.com/fieldlock/fieldlock/internal/pointer"
)

// place is a location of a schema at which rules and locks stand.
type place struct {
	parent *place
	at     position
	name   string // of a property
	schema *spec.Schema
	marks  extension.Marks
	rules  []Rule

	properties    []*place // sorted by name
	values, items *place

	required bool

	// unlockable is why no lock may stand here, or "".
	unlockable string
	// uncorrelated is why old and new values at this place do not meet as they do for a lock, or "".
	uncorrelated string
	// resourceRoot is set on the root of the object and of an embedded resource.
	resourceRoot bool
}

type position int

const (
	atRoot position = iota
	atProperty
	atValues
	atItems
)

// readPlaces returns the places of s, parents before children, properties sorted by name. The first is the root.
func readPlaces(s *spec.Schema) []*place {
	r := &placeReader{}
	r.read(&place{schema: s, unlockable: "no lock may stand at the root of an object", resourceRoot: true})
	return r.all
}

type placeReader struct{ all []*place }

func (r *placeReader) read(p *place) {
	r.all = append(r.all, p)
	p.marks, _ = extension.Read(p.schema.Extensions)
	p.resourceRoot = p.resourceRoot || p.marks.Embedded
	p.rules = rulesOf(p)
	if p.schema.Ref.String() != "" {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(p.schema.Properties)) {
		schema := p.schema.Properties[name]
		child := &place{parent: p, at: atProperty, name: name, schema: &schema}
		child.required = slices.Contains(p.schema.Required, name)
		child.unlockable, child.uncorrelated = inherited(p), p.uncorrelated
		if p.resourceRoot && (name == "metadata" || name == "apiVersion" || name == "kind") {
			child.unlockable = "no lock may stand in " + name
		}
		p.properties = append(p.properties, child)
		r.read(child)
	}
	if ap := p.schema.AdditionalProperties; ap != nil && ap.Schema != nil {
		p.values = &place{parent: p, at: atValues, schema: ap.Schema, unlockable: inherited(p), uncorrelated: p.uncorrelated}
		r.read(p.values)
	}
	if p.schema.Items != nil && p.schema.Items.Schema != nil {
		items := &place{parent: p, at: atItems, schema: p.schema.Items.Schema, unlockable: inherited(p), uncorrelated: p.uncorrelated}
		p.items = items
		if reason := itemsApart(p); reason != "" && items.uncorrelated == "" {
			items.uncorrelated = reason
		}
		if p.marks.ListType == extension.ListSet && items.unlockable == "" {
			items.unlockable = "no lock may stand below the items of a set"
		}
		r.read(items)
	}
}

func inherited(parent *place) string {
	if parent.at == atRoot {
		return ""
	}
	return parent.unlockable
}

// itemsApart returns why the items of list p, old and new, do not meet in CEL as they do for a lock.
func itemsApart(p *place) string {
	switch p.marks.ListType {
	case extension.ListMap:
		return keysApart(p)
	case extension.ListSet:
		return "the API server does not correlate the items of a set"
	}
	return "the API server does not correlate the items of an atomic list"
}

// keysApart returns why the keys of the list-type map p do not compare in CEL as they do for a lock.
func keysApart(p *place) string {
	if len(p.marks.ListMapKeys) == 0 || p.schema.Items == nil || p.schema.Items.Schema == nil {
		return "the list has no keys"
	}
	items := p.schema.Items.Schema
	for _, key := range p.marks.ListMapKeys {
		schema, ok := items.Properties[key]
		if !ok {
			return "the list's key " + key + " is missing from its items"
		}
		if !slices.Contains(items.Required, key) && schema.Default == nil {
			return "the list's key " + key + " is neither required nor defaulted"
		}
		switch {
		case schema.Nullable:
			return "the list's key " + key + " is nullable"
		case isIntOrString(&schema), schema.Type.Contains("string"), schema.Type.Contains("integer"), schema.Type.Contains("boolean"):
		default:
			return "the list's key " + key + " has a type whose values CEL tells apart by their spelling"
		}
	}
	return ""
}

// present reports whether a valid object has a value other than null here wherever it has the container.
func (p *place) present() bool {
	switch {
	case p.schema.Nullable:
		return false
	case p.at == atProperty:
		return p.required || p.schema.Default != nil
	}
	return true
}

func (p *place) property(name string) *place {
	for _, c := range p.properties {
		if c.name == name {
			return c
		}
	}
	return nil
}

// steps lists the places from the root to p.
func (p *place) steps() []*place {
	var steps []*place
	for ; p != nil; p = p.parent {
		steps = append(steps, p)
	}
	slices.Reverse(steps)
	return steps
}

// path is the place for people: "spec.nodes[*].zone", "spec.labels[*]", "" for the root.
func (p *place) path() string {
	var b strings.Builder
	for _, step := range p.steps() {
		switch step.at {
		case atProperty:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step.name)
		case atValues:
			b.WriteString("[*]")
		case atItems:
			b.WriteString("[*]")
		}
	}
	return b.String()
}

// schemaPath is the JSON pointer of the place in its schema.
func (p *place) schemaPath() string {
	var b strings.Builder
	for _, step := range p.steps() {
		switch step.at {
		case atProperty:
			b.WriteString("/properties/" + pointer.Escape(step.name))
		case atValues:
			b.WriteString("/additionalProperties")
		case atItems:
			b.WriteString("/items")
		}
	}
	return b.String()
}

// displayPath is path, with a name for the root.
func (p *place) displayPath() string {
	if path := p.path(); path != "" {
		return path
	}
	return "the root"
}

func isIntOrString(s *spec.Schema) bool { return s.Extensions[extension.IntOrString] == true }

func preservesUnknown(s *spec.Schema) bool { return s.Extensions[extension.PreserveRest] == true }
