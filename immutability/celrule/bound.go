package celrule

import (
	"math"
	"slices"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// bound is a limit that a schema lacks.
type bound struct {
	at      *schema.Location
	keyword string // maxItems, maxProperties or maxLength
}

// missingBounds lists the lists, maps and strings without a limit above l, at l and below it.
func missingBounds(l *schema.Location) []bound {
	var bounds []bound
	for up := l.Parent(); up != nil; up = up.Parent() {
		bounds = append(bounds, unbounded(up)...)
	}
	slices.Reverse(bounds)
	l.Descend(nil, func(l *schema.Location, _ *schema.Path) bool {
		bounds = append(bounds, unbounded(l)...)
		if l.Schema.Type.Contains("string") && l.Schema.MaxLength == nil && len(l.Schema.Enum) == 0 {
			bounds = append(bounds, bound{l, "maxLength"})
		}
		return true
	})
	return bounds
}

func unbounded(l *schema.Location) []bound {
	switch {
	case l.Items != nil && l.Schema.MaxItems == nil:
		return []bound{{l, "maxItems"}}
	case l.Values != nil && l.Schema.MaxProperties == nil:
		return []bound{{l, "maxProperties"}}
	}
	return nil
}

// set puts the limit into root.
func (b bound) set(root *structural.Structural, limit int64) {
	setAt(root, way(b.at), func(node *structural.Structural) {
		v := structural.ValueValidation{}
		if node.ValueValidation != nil {
			v = *node.ValueValidation
		}
		switch b.keyword {
		case "maxItems":
			v.MaxItems = &limit
		case "maxProperties":
			v.MaxProperties = &limit
		case "maxLength":
			v.MaxLength = &limit
		}
		node.ValueValidation = &v
	})
}

// way lists the locations from below the root to l.
func way(l *schema.Location) []*schema.Location {
	var steps []*schema.Location
	for ; l.In != nil; l = l.Parent() {
		steps = append(steps, l)
	}
	slices.Reverse(steps)
	return steps
}

// setAt calls set for the node of root that steps lead to, and writes it back, because properties are values.
func setAt(root *structural.Structural, steps []*schema.Location, set func(*structural.Structural)) {
	if len(steps) == 0 {
		set(root)
		return
	}
	switch next := steps[0]; next.Role {
	case schema.Property:
		if property, ok := root.Properties[next.Name]; ok {
			setAt(&property, steps[1:], set)
			root.Properties[next.Name] = property
		}
	case schema.Values:
		if root.AdditionalProperties != nil && root.AdditionalProperties.Structural != nil {
			setAt(root.AdditionalProperties.Structural, steps[1:], set)
		}
	case schema.Items:
		if root.Items != nil {
			setAt(root.Items, steps[1:], set)
		}
	}
}

// find returns the node of root for l, or nil. The cardinality is the product of the limits on the way, 0
// if one is missing.
func find(root *structural.Structural, l *schema.Location) (node *structural.Structural, cardinality uint64) {
	node, cardinality = root, 1
	for _, next := range way(l) {
		switch next.Role {
		case schema.Property:
			property, ok := node.Properties[next.Name]
			if !ok {
				return nil, 0
			}
			node = &property
		case schema.Values:
			if node.AdditionalProperties == nil || node.AdditionalProperties.Structural == nil {
				return nil, 0
			}
			cardinality = product(cardinality, limitOf(node, func(v *structural.ValueValidation) *int64 { return v.MaxProperties }))
			node = node.AdditionalProperties.Structural
		case schema.Items:
			if node.Items == nil {
				return nil, 0
			}
			cardinality = product(cardinality, limitOf(node, func(v *structural.ValueValidation) *int64 { return v.MaxItems }))
			node = node.Items
		}
	}
	return node, cardinality
}

func limitOf(node *structural.Structural, of func(*structural.ValueValidation) *int64) uint64 {
	if node.ValueValidation == nil {
		return 0
	}
	if limit := of(node.ValueValidation); limit != nil && *limit > 0 {
		return uint64(*limit)
	}
	return 0
}

// product and sum stop at the largest number.
func product(a, b uint64) uint64 {
	if a != 0 && b > math.MaxUint64/a {
		return math.MaxUint64
	}
	return a * b
}

func sum(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}
