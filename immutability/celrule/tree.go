package celrule

import (
	"errors"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// tree is a schema with its rules. $refs are not followed: the schemas of CRDs have none.
type tree struct {
	*schema.Tree
	rules map[*schema.Location][]*Rule
	// unlockable is why a location can have no lock.
	unlockable map[*schema.Location]string
	// uncorrelated is why CEL does not pair the old and new values of a location the way a lock does.
	uncorrelated map[*schema.Location]string
}

func readTree(s *spec.Schema) *tree {
	read := schema.Read(s, func(string) (*spec.Schema, error) { return nil, errors.New("a CRD has no $ref") })
	t := &tree{read, map[*schema.Location][]*Rule{}, map[*schema.Location]string{}, map[*schema.Location]string{}}
	read.Walk(func(v schema.Visit) {
		l := v.Location
		if rules := rulesOf(l); rules != nil {
			t.rules[l] = rules
		}
		switch {
		case l.In == nil:
			t.unlockable[l] = "a lock is not allowed at the root of an object"
			return
		case v.InMetadata || ofResource(l):
			t.unlockable[l] = "a lock is not allowed in " + l.Name
		case v.InSet:
			t.unlockable[l] = "a lock is not allowed below the items of a set"
		}
		reason := t.uncorrelated[l.Parent()]
		if l.Role == schema.Items && reason == "" {
			reason = itemsApart(l.Parent())
		}
		if reason != "" {
			t.uncorrelated[l] = reason
		}
	})
	return t
}

// ofResource reports whether l is metadata, apiVersion or kind of the object or of an embedded resource.
func ofResource(l *schema.Location) bool {
	if l.Role != schema.Property || l.Name != "metadata" && l.Name != "apiVersion" && l.Name != "kind" {
		return false
	}
	return l.Parent().Role == schema.Root || l.Parent().Marks.Embedded
}

// itemsApart returns why CEL does not pair the old and new items of list l the way a lock does, or "".
func itemsApart(l *schema.Location) string {
	switch l.Marks.ListType {
	case schema.ListMap:
		return keysApart(l.Schema)
	case schema.ListSet:
		return "the API server does not correlate the items of a set"
	}
	return "the API server does not correlate the items of an atomic list"
}

// present reports whether a valid object has a value other than null at l wherever it has the parent of l.
func present(l *schema.Location) bool {
	switch {
	case l.Schema.Nullable:
		return false
	case l.Role == schema.Property:
		return l.Required || l.Schema.Default != nil || fillsParent(l.Parent())
	}
	return true
}

// fillsParent reports whether minProperties asks for every property that an object at l can have.
func fillsParent(l *schema.Location) bool {
	s := l.Schema
	return s.MinProperties != nil && *s.MinProperties >= int64(len(s.Properties)) && len(s.Properties) > 0 &&
		s.AdditionalProperties == nil && !preservesUnknown(s) && !l.Marks.Embedded
}

// inside returns the location of the values or items of l, nil if it has neither.
func inside(l *schema.Location) *schema.Location {
	if l.Values != nil {
		return l.Values
	}
	return l.Items
}

// within reports whether l is at or below top.
func within(l, top *schema.Location) bool {
	for ; l != nil; l = l.Parent() {
		if l == top {
			return true
		}
	}
	return false
}

// displayPath returns the path of l, with a name for the root.
func displayPath(l *schema.Location) string {
	if path := l.Path.String(); path != "" {
		return path
	}
	return "the root"
}
