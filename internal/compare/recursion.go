package compare

import (
	"fmt"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// writeOut returns a schema with every reference replaced by what it leads to, which CEL rules need. A schema that
// contains itself ends where it begins again, or cannot be written out at all: nil. rest says which of the transition rules
// are not run because of that, "" for none. Locks need no such schema.
func writeOut(t *schema.Tree) (s *spec.Schema, rest string) {
	ruled := t.Holding(func(l *schema.Location) bool { return hasTransition(l.Schema) || hasTransition(l.Body.Schema) })
	s, err := t.Inline()
	switch {
	case err != nil && len(ruled) > 0:
		return nil, fmt.Sprintf("its CEL transition rules are not run, as they need the schema with every $ref written out: %v", err)
	case err != nil:
		return nil, ""
	}
	if l := recurring(t, ruled); l != nil {
		return s, fmt.Sprintf("its CEL transition rules are not run below the first %s, as the schema contains itself there", l.Path)
	}
	return s, ""
}

// hasTransition reports whether a node of a schema has a transition rule.
func hasTransition(s *spec.Schema) bool {
	validations, ok := s.Extensions[schema.KeyValidations]
	if !ok {
		return false
	}
	node := &spec.Schema{VendorExtensible: spec.VendorExtensible{Extensions: spec.Extensions{schema.KeyValidations: validations}}}
	for _, r := range celrun.Rules(node) {
		if celrun.Transition(r) {
			return true
		}
	}
	return false
}

// recurring returns a location that is inside of itself, among those in ruled, which have a rule at or below them; nil for
// none. Each part of the schema is looked at once: every circle of references is closed by some location that leads back to
// a part that is still being looked at.
func recurring(t *schema.Tree, ruled map[*schema.Location]bool) *schema.Location {
	const inside, done = 1, 2
	state := map[*schema.Body]int{}
	var visit func(l *schema.Location) *schema.Location
	visit = func(l *schema.Location) *schema.Location {
		switch {
		case !ruled[l] || state[l.Body] == done:
			return nil
		case state[l.Body] == inside:
			return l
		}
		state[l.Body] = inside
		for child := range l.Children {
			if found := visit(child); found != nil {
				return found
			}
		}
		state[l.Body] = done
		return nil
	}
	return visit(t.Root)
}
