package heat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/parameter"
)

// Type is the type of a parameter: "string", "number", "comma_delimited_list", "json", or "boolean" (true, t, on, yes,
// y, 1 and their opposites, in any letter case).
type Type string

// The types.
const (
	TypeString  Type = "string"
	TypeNumber  Type = "number"
	TypeList    Type = "comma_delimited_list"
	TypeJSON    Type = "json"
	TypeBoolean Type = "boolean"
)

var types = []Type{TypeString, TypeNumber, TypeList, TypeJSON, TypeBoolean}

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
	case TypeString:
		if !isStructured(value) {
			return value.Text, ""
		}
	case TypeNumber:
		if !isStructured(value) {
			if n, ok := toNumeral(strings.TrimSpace(value.Text)); ok {
				return n, ""
			}
		}
	case TypeBoolean:
		if !isStructured(value) {
			switch strings.ToLower(strings.TrimSpace(value.Text)) {
			case "1", "t", "true", "on", "y", "yes":
				return true, ""
			case "0", "f", "false", "off", "n", "no":
				return false, ""
			}
		}
	case TypeList:
		if list, ok := toList(value); ok {
			return list, ""
		}
	case TypeJSON:
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
