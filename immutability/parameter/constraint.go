package parameter

import (
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// ConstraintKind is what a constraint of a Heat parameter limits.
type ConstraintKind string

// The kinds of constraints. The last one asks a cloud and is kept without being checked.
const (
	ConstraintLength  ConstraintKind = "length"
	ConstraintRange   ConstraintKind = "range"
	ConstraintModulo  ConstraintKind = "modulo"
	ConstraintValues  ConstraintKind = "allowed_values"
	ConstraintPattern ConstraintKind = "allowed_pattern"
	ConstraintCustom  ConstraintKind = "custom_constraint"
)

// Constraint is one entry of a Heat parameter's constraints.
type Constraint struct {
	Kind        ConstraintKind
	Description string // shown instead of fieldlock's own message, as Heat does

	First, Second numeral // min and max, or step and offset; "" where it is not given
	Values        []any   // converted to the parameter's type; for a list, its items
	Pattern       string  // a regular expression that matches the whole text

	expression *regexp.Regexp // nil where Go does not know the pattern's syntax: Heat itself checks it
}

func readConstraints(n *yaml.Node, p *StackParameter) ([]Constraint, error) {
	switch {
	case n == nil || isNull(n):
		return nil, nil
	case n.Kind != yaml.SequenceNode:
		return nil, unreadable(n, "the constraints of %q are %s: they are a list", p.Name, describe(n))
	}
	var constraints []Constraint
	for _, item := range n.Content {
		constraint, err := readConstraint(item, p)
		if err != nil {
			return nil, err
		}
		constraints = append(constraints, constraint)
	}
	return constraints, nil
}

func readConstraint(n *yaml.Node, p *StackParameter) (c Constraint, err error) {
	if n.Kind != yaml.MappingNode {
		return c, unreadable(n, "a constraint of %q is %s: it is a mapping", p.Name, describe(n))
	}
	kinds := []ConstraintKind{ConstraintRange, ConstraintLength, ConstraintModulo, ConstraintValues, ConstraintPattern, ConstraintCustom}
	known := []string{"description"}
	for _, kind := range kinds {
		known = append(known, string(kind))
	}
	found, err := attributes(n, known...)
	if err != nil {
		return c, err
	}
	if c.Description, err = textAttribute(found["description"], "description"); err != nil {
		return c, err
	}
	for _, kind := range kinds {
		if found[string(kind)] != nil {
			if c.Kind != "" {
				return c, unreadable(n, "a constraint of %q has both %s and %s: each has its own entry", p.Name, c.Kind, kind)
			}
			c.Kind = kind
		}
	}
	value := found[string(c.Kind)]
	switch c.Kind {
	case ConstraintRange, ConstraintLength:
		return c, c.readNumbers(value, p, "min", "max")
	case ConstraintModulo:
		err := c.readNumbers(value, p, "step", "offset")
		if err == nil && (c.First == "" || c.First == "0") {
			err = unreadable(value, "modulo of %q has no step other than 0", p.Name)
		}
		return c, err
	case ConstraintValues:
		return c, c.readValues(value, p)
	case ConstraintPattern:
		if c.Pattern, err = textAttribute(value, string(c.Kind)); err != nil {
			return c, err
		}
		c.expression, _ = regexp.Compile(`\A(?:` + c.Pattern + `)\z`)
		return c, nil
	case ConstraintCustom:
		return c, nil
	}
	return c, unreadable(n, "a constraint of %q has none of length, range, modulo, allowed_values, allowed_pattern and custom_constraint", p.Name)
}

func (c *Constraint) readNumbers(n *yaml.Node, p *StackParameter, first, second string) error {
	if n.Kind != yaml.MappingNode {
		return unreadable(n, "%s of %q is %s: it is a mapping with %s and %s", c.Kind, p.Name, describe(n), first, second)
	}
	found, err := attributes(n, first, second)
	if err != nil {
		return err
	}
	for _, limit := range []struct {
		name string
		to   *numeral
	}{{first, &c.First}, {second, &c.Second}} {
		if n := found[limit.name]; n != nil && !isNull(n) {
			number, ok := toNumeral(n.Value)
			if !ok {
				return unreadable(n, "%s of %s of %q is %s: it is a number", limit.name, c.Kind, p.Name, describe(n))
			}
			*limit.to = number
		}
	}
	return nil
}

func (c *Constraint) readValues(n *yaml.Node, p *StackParameter) error {
	if n.Kind != yaml.SequenceNode {
		return unreadable(n, "allowed_values of %q is %s: it is a list", p.Name, describe(n))
	}
	itemType := p.Type
	if itemType == StackList {
		itemType = StackString
	}
	for _, item := range n.Content {
		value, err := valueOf(item)
		if err != nil {
			return err
		}
		converted, problem := itemType.convert(value)
		if problem != "" {
			return unreadable(item, "allowed_values of %q has %s: %s", p.Name, describe(item), problem)
		}
		c.Values = append(c.Values, converted)
	}
	return nil
}

// check reports why a converted value breaks the constraint, "" when it does not or when the constraint says nothing
// about values of its type.
func (c *Constraint) check(t StackType, converted any) string {
	switch c.Kind {
	case ConstraintLength:
		if length, ok := lengthOf(converted); ok && !within(numeral(fmt.Sprint(length)), c.First, c.Second) {
			return fmt.Sprintf("its length is %d and is to be %s", length, limits(c.First, c.Second))
		}
	case ConstraintRange:
		if n, ok := converted.(numeral); ok && !within(n, c.First, c.Second) {
			return "it is to be " + limits(c.First, c.Second)
		}
	case ConstraintModulo:
		if n, ok := converted.(numeral); ok {
			distance := new(big.Rat).Sub(rational(n), rational(c.Second))
			if !distance.Quo(distance, rational(c.First)).IsInt() {
				return fmt.Sprintf("it is to be a multiple of %s, counted from %s", c.First, rational(c.Second).RatString())
			}
		}
	case ConstraintValues:
		items, isList := converted.([]any)
		if t != StackList || !isList {
			items = []any{converted}
		}
		for _, item := range items {
			if !containsEqual(c.Values, item) {
				return "it is not one of the allowed_values"
			}
		}
	case ConstraintPattern:
		if text, ok := converted.(string); ok && c.expression != nil && !c.expression.MatchString(text) {
			return "it does not match the allowed_pattern " + c.Pattern
		}
	}
	return ""
}

func lengthOf(v any) (int, bool) {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v), true
	case []any:
		return len(v), true
	case map[string]any:
		return len(v), true
	}
	return 0, false
}

func containsEqual(list []any, v any) bool {
	for _, item := range list {
		if reflect.DeepEqual(item, v) {
			return true
		}
	}
	return false
}

// within reports whether least <= n <= most, where "" is no limit.
func within(n, least, most numeral) bool {
	value := rational(n)
	return (least == "" || value.Cmp(rational(least)) >= 0) && (most == "" || value.Cmp(rational(most)) <= 0)
}

func limits(least, most numeral) string {
	switch {
	case least == "":
		return fmt.Sprintf("at most %s", most)
	case most == "":
		return fmt.Sprintf("at least %s", least)
	}
	return fmt.Sprintf("from %s to %s", least, most)
}

// rational returns the number; "" is 0. The exponents of numerals are bounded by those of float64.
func rational(n numeral) *big.Rat {
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return new(big.Rat)
	}
	return r
}
