package heat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/internal/document"
)

// Type is the type of a parameter: "string", "number", "comma_delimited_list", "json", or "boolean" (true, t, on, yes, y, 1
// and their opposites, in any letter case).
type Type string

const (
	typeString  Type = "string"
	typeNumber  Type = "number"
	typeList    Type = "comma_delimited_list"
	typeJSON    Type = "json"
	typeBoolean Type = "boolean"
)

var types = []Type{typeString, typeNumber, typeList, typeJSON, typeBoolean}

// numeral is a number in the one spelling that equal numbers share. Integers are exact; a literal with a fraction or
// an exponent is the float64 that it reads as.
type numeral string

// isStructured reports whether value is a list or a map.
func isStructured(value parameter.Value) bool {
	switch value.Data.(type) {
	case []any, map[string]any:
		return true
	}
	return false
}

// convert returns the value as type t has it, or why it is not of type t. Equal values convert to trees for which
// reflect.DeepEqual holds: string, bool, numeral, nil, []any, map[string]any.
func (t Type) convert(value parameter.Value) (any, string) {
	switch t {
	case typeString:
		if !isStructured(value) {
			return value.Text, ""
		}
	case typeNumber:
		if !isStructured(value) {
			if n, ok := toNumeral(strings.TrimSpace(value.Text)); ok {
				return n, ""
			}
		}
	case typeBoolean:
		if !isStructured(value) {
			switch strings.ToLower(strings.TrimSpace(value.Text)) {
			case "1", "t", "true", "on", "y", "yes":
				return true, ""
			case "0", "f", "false", "off", "n", "no":
				return false, ""
			}
		}
	case typeList:
		if list, ok := toList(value); ok {
			return list, ""
		}
	case typeJSON:
		if _, text := value.Data.(string); !text {
			return canonical(value.Data), ""
		}
		if value.Text == "" { // Heat keeps an empty text as it is
			return "", ""
		}
		decoded, err := decodeJSON(value.Text)
		if err == nil {
			return canonical(decoded), ""
		}
		return nil, fmt.Sprintf("its type is json: %v", err)
	}
	return nil, fmt.Sprintf("its type is %s", t)
}

var (
	integerText = regexp.MustCompile(`^[+-]?[0-9]+$`)
	floatText   = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)
)

func toNumeral(text string) (numeral, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return numeral(strconv.FormatInt(n, 10)), true
	}
	if integerText.MatchString(text) {
		n, ok := new(big.Int).SetString(text, 10)
		if !ok {
			return "", false
		}
		return numeral(n.String()), true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !floatText.MatchString(text) {
		return "", false
	}
	if n, accuracy := big.NewFloat(f).Int(nil); accuracy == big.Exact {
		return numeral(n.String()), true
	}
	return numeral(strconv.FormatFloat(f, 'g', -1, 64)), true
}

// toList reads a comma-delimited list, or a list of scalars as a list of their texts.
func toList(value parameter.Value) ([]any, bool) {
	list := []any{}
	switch data := value.Data.(type) {
	case string, json.Number:
		if value.Text == "" {
			return list, true
		}
		for _, item := range strings.Split(value.Text, ",") {
			list = append(list, item)
		}
		return list, true
	case []any:
		for _, item := range data {
			switch item := item.(type) {
			case string:
				list = append(list, item)
			case json.Number:
				list = append(list, item.String())
			case bool:
				list = append(list, strconv.FormatBool(item))
			default:
				return nil, false
			}
		}
		return list, true
	}
	return nil, false
}

// canonical replaces the numbers in a JSON tree by numerals.
func canonical(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, ok := toNumeral(v.String()); ok {
			return n
		}
		return v
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = canonical(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = canonical(item)
		}
		return out
	}
	return v
}

// decodeJSON decodes one JSON value, numbers as json.Number. A member name that an object has twice is an error:
// readers differ in which of the two they take.
func decodeJSON(text string) (any, error) {
	if !json.Valid([]byte(text)) {
		return nil, errors.New("the text is not JSON")
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	value, err := decodeNext(decoder)
	if err == nil {
		if _, end := decoder.Token(); !errors.Is(end, io.EOF) {
			return nil, errors.New("the text goes on after its value")
		}
	}
	return value, err
}

func decodeNext(decoder *json.Decoder) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			item, err := decodeNext(decoder)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err = decoder.Token()
		return list, err
	case json.Delim('{'):
		object := map[string]any{}
		for decoder.More() {
			token, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			name, _ := token.(string)
			if _, twice := object[name]; twice {
				return nil, fmt.Errorf("the member %q is given twice", name)
			}
			if object[name], err = decodeNext(decoder); err != nil {
				return nil, err
			}
		}
		_, err = decoder.Token()
		return object, err
	}
	return token, nil
}

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
	kinds := []constraintKind{constraintRange, constraintLength, constraintModulo, constraintValues, constraintPattern, constraintCustom}
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
				return c, document.Errorf(n, "a constraint of %q has both %s and %s: give each its own entry", name, c.kind, kind)
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
	return c, document.Errorf(n, "a constraint of %q has none of length, range, modulo, allowed_values, allowed_pattern and custom_constraint", name)
}

func (c *constraint) readNumbers(n *yaml.Node, name, first, second string) error {
	if n.Kind != yaml.MappingNode {
		return document.Errorf(n, "%s of %q is %s: it should be a mapping with %s and %s", c.kind, name, document.Describe(n), first, second)
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
				return document.Errorf(n, "%s of %s of %q is %s: it should be a number", limit.name, c.kind, name, document.Describe(n))
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
	if itemType == typeList {
		itemType = typeString
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
				return fmt.Sprintf("it should be a multiple of %s, counted from %s", c.first, rational(c.second).RatString())
			}
		}
	case constraintValues:
		items := []any{converted}
		if list, isList := converted.([]any); isList && t == typeList {
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
