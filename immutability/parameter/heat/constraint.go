package heat

import (
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/immutability/parameter/internal/document"
)

// constraintKind is what a constraint limits.
type constraintKind string

const (
	constraintLength  constraintKind = "length"
	constraintRange   constraintKind = "range"
	constraintModulo  constraintKind = "modulo"
	constraintValues  constraintKind = "allowed_values"
	constraintPattern constraintKind = "allowed_pattern"
	constraintCustom  constraintKind = "custom_constraint" // only the cloud can check it
)

// constraint is one entry of a parameter's constraints.
type constraint struct {
	kind        constraintKind
	description string // shown instead of fieldlock's own message, as Heat does

	first, second numeral // min and max, or step and offset; "" where it is not given
	values        []any   // converted to the parameter's type; for a list, its items
	text          string  // a regular expression that matches the whole value, or the name of a custom constraint

	expression *regexp.Regexp // nil where Go does not support the pattern's syntax
}

// unchecked names the constraint if only Heat itself can check it: it asks the cloud, or its pattern has a syntax that
// Go does not support, such as a lookahead.
func (c *constraint) unchecked() (string, bool) {
	unknown := c.kind == constraintCustom || c.kind == constraintPattern && c.expression == nil
	return string(c.kind) + ": " + c.text, unknown
}

func readConstraints(n *yaml.Node, name string, t Type) ([]constraint, error) {
	items, err := document.Items(n, "constraints of "+strconv.Quote(name), "constraints")
	if err != nil {
		return nil, err
	}
	var constraints []constraint
	for _, item := range items {
		c, err := readConstraint(item, name, t)
		if err != nil {
			return nil, err
		}
		constraints = append(constraints, c)
	}
	return constraints, nil
}

func readConstraint(n *yaml.Node, name string, t Type) (c constraint, err error) {
	if n.Kind != yaml.MappingNode {
		return c, document.Errorf(n, "a constraint of %q is %s: it should be a mapping", name, document.Describe(n))
	}
	kinds := []constraintKind{constraintRange, constraintLength, constraintModulo, constraintValues,
		constraintPattern, constraintCustom}
	known := []string{"description"}
	for _, kind := range kinds {
		known = append(known, string(kind))
	}
	found, err := document.Strict(n, known...)
	if err != nil {
		return c, err
	}
	if c.description, err = document.Text(found["description"], "description"); err != nil {
		return c, err
	}
	for _, kind := range kinds {
		if found[string(kind)] != nil {
			if c.kind != "" {
				return c, document.Errorf(n, "a constraint of %q has both %s and %s: give each its own entry",
					name, c.kind, kind)
			}
			c.kind = kind
		}
	}
	value := found[string(c.kind)]
	switch c.kind {
	case constraintRange, constraintLength:
		return c, c.readNumbers(value, name, "min", "max")
	case constraintModulo:
		err := c.readNumbers(value, name, "step", "offset")
		if err == nil && (c.first == "" || c.first == "0") {
			err = document.Errorf(value, "modulo of %q has no step other than 0", name)
		}
		return c, err
	case constraintValues:
		return c, c.readValues(value, name, t)
	case constraintPattern:
		if c.text, err = document.Text(value, string(c.kind)); err != nil {
			return c, err
		}
		c.expression, _ = regexp.Compile(`\A(?:` + c.text + `)\z`)
		return c, nil
	case constraintCustom:
		c.text, err = document.Text(value, string(c.kind))
		return c, err
	}
	return c, document.Errorf(n, "a constraint of %q has none of length, range, modulo, allowed_values, "+
		"allowed_pattern and custom_constraint", name)
}

func (c *constraint) readNumbers(n *yaml.Node, name, first, second string) error {
	if n.Kind != yaml.MappingNode {
		return document.Errorf(n, "%s of %q is %s: it should be a mapping with %s and %s",
			c.kind, name, document.Describe(n), first, second)
	}
	found, err := document.Strict(n, first, second)
	if err != nil {
		return err
	}
	for _, limit := range []struct {
		name string
		to   *numeral
	}{{first, &c.first}, {second, &c.second}} {
		if n := found[limit.name]; n != nil && !document.IsNull(n) {
			number, ok := toNumeral(n.Value)
			if !ok {
				return document.Errorf(n, "%s of %s of %q is %s: it should be a number",
					limit.name, c.kind, name, document.Describe(n))
			}
			*limit.to = number
		}
	}
	return nil
}

func (c *constraint) readValues(n *yaml.Node, name string, t Type) error {
	if n.Kind != yaml.SequenceNode {
		return document.Errorf(n, "allowed_values of %q is %s: it should be a list", name, document.Describe(n))
	}
	itemType := t
	if itemType == TypeList {
		itemType = TypeString
	}
	for _, item := range n.Content {
		value, err := document.Value(item)
		if err != nil {
			return err
		}
		converted, problem := itemType.convert(value)
		if problem != "" {
			return document.Errorf(item, "allowed_values of %q has %s: %s", name, document.Describe(item), problem)
		}
		c.values = append(c.values, converted)
	}
	return nil
}

// check reports why a converted value breaks the constraint, "" when it does not or when the constraint says nothing
// about values of its type.
func (c *constraint) check(t Type, converted any) string {
	switch c.kind {
	case constraintLength:
		if length, ok := lengthOf(converted); ok && !within(numeral(fmt.Sprint(length)), c.first, c.second) {
			return fmt.Sprintf("its length is %d and should be %s", length, limits(c.first, c.second))
		}
	case constraintRange:
		if n, ok := converted.(numeral); ok && !within(n, c.first, c.second) {
			return "it should be " + limits(c.first, c.second)
		}
	case constraintModulo:
		if n, ok := converted.(numeral); ok {
			distance := new(big.Rat).Sub(rational(n), rational(c.second))
			if !distance.Quo(distance, rational(c.first)).IsInt() {
				return fmt.Sprintf("it should be a multiple of %s, counted from %s",
					c.first, rational(c.second).RatString())
			}
		}
	case constraintValues:
		items := []any{converted}
		if list, isList := converted.([]any); isList && t == TypeList {
			items = list
		}
		for _, item := range items {
			if !containsEqual(c.values, item) {
				return "it is not one of the allowed_values"
			}
		}
	case constraintPattern:
		if text, ok := converted.(string); ok && c.expression != nil && !c.expression.MatchString(text) {
			return "it does not match the allowed_pattern " + c.text
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

// within reports whether least <= n <= most; "" means unlimited.
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

// rational returns the number; "" is 0. A numeral may have the exponents of a float64.
func rational(n numeral) *big.Rat {
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return new(big.Rat)
	}
	return r
}
