package celrule

import (
	"fmt"
	"math"
	"slices"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// bound is a limit that a schema lacks, or that it has and could lower.
type bound struct {
	at      *schema.Location
	keyword string // maxItems, maxProperties or maxLength
	now     int64  // 0 for none
}

// boundsOf lists the limits of the lists, maps and strings above l, at l and below it.
func boundsOf(l *schema.Location) []bound {
	var bounds []bound
	for up := l.Parent(); up != nil; up = up.Parent() {
		bounds = append(bounds, containerBound(up)...)
	}
	slices.Reverse(bounds)
	l.Descend(nil, func(l *schema.Location, _ *schema.Path) bool {
		bounds = append(bounds, containerBound(l)...)
		if l.Schema.Type.Contains("string") && len(l.Schema.Enum) == 0 {
			bounds = append(bounds, newBound(l, "maxLength", l.Schema.MaxLength))
		}
		return true
	})
	return bounds
}

// missing returns the bounds that the schema lacks.
func missing(bounds []bound) []bound {
	return slices.DeleteFunc(slices.Clone(bounds), func(b bound) bool { return b.now > 0 })
}

func containerBound(l *schema.Location) []bound {
	switch {
	case l.Items != nil:
		return []bound{newBound(l, "maxItems", l.Schema.MaxItems)}
	case l.Values != nil:
		return []bound{newBound(l, "maxProperties", l.Schema.MaxProperties)}
	}
	return nil
}

func newBound(l *schema.Location, keyword string, limit *int64) bound {
	b := bound{at: l, keyword: keyword}
	if limit != nil {
		b.now = max(*limit, 1)
	}
	return b
}

// say names the bound with its new limit.
func (b bound) say(limit int64) string {
	text := fmt.Sprintf("%s: %d at %s", b.keyword, limit, displayPath(b.at))
	if b.now > 0 {
		text += fmt.Sprintf(" (now %d)", b.now)
	}
	return text
}

// set puts the limit into root, unless a lower one is there.
func (b bound) set(root *structural.Structural, limit int64) {
	if b.now > 0 && b.now <= limit {
		return
	}
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
