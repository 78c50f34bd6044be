package yamldoc

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// This file follows the rules of sigs.k8s.io/yaml, by which kubectl reads files.

// nonSpecific is the tag that makes a scalar text, whatever it looks like.
const nonSpecific = "!"

// quoted are the styles of scalars that are text as they are, unless a tag says otherwise.
const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// scalarOf returns the value of a scalar: nil, bool, int64, float64 or string. Dates are strings, and so is what has the
// tag "!" or a tag of its own. It returns an error if the value does not fit the tag, and for floats that JSON does not
// have.
func scalarOf(node *yaml.Node) (any, error) {
	value, err := resolved(node)
	if f, ok := value.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return nil, fmt.Errorf("%s is a number that JSON does not have; quote it when it is text", node.Value)
	}
	return value, err
}

// resolved is scalarOf before what JSON cannot say is refused.
func resolved(node *yaml.Node) (any, error) {
	text := node.Value
	tag := ""
	switch {
	case node.Tag == nonSpecific:
		return text, nil
	case node.Style&yaml.TaggedStyle != 0:
		tag = node.Tag
	case node.Style&quoted != 0:
		return text, nil
	}
	switch tag {
	case "":
		return plainOf(text), nil
	case "!!binary":
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("the tag !!binary is on %q, which is not base64", text)
		}
		if !utf8.Valid(data) {
			return nil, errors.New("the tag !!binary is on data that is not UTF-8 text; JSON has no binary values, write base64 as a string")
		}
		return string(data), nil
	case "!!null", "!!bool", "!!int", "!!float", "!!timestamp":
		if value, ok := tagged(tag, text); ok {
			return value, nil
		}
		return nil, fmt.Errorf("the tag %s is on %q, which is something else", tag, text)
	}
	return text, nil
}

// tagged returns the value of a text with one of YAML's own tags, and whether the text fits the tag.
func tagged(tag, text string) (value any, fits bool) {
	if tag == "!!timestamp" {
		return text, isTimestamp(text)
	}
	value = plainOf(text)
	switch tag {
	case "!!null":
		fits = value == nil
	case "!!bool":
		_, fits = value.(bool)
	case "!!int":
		fits = isInteger(value, text)
	case "!!float":
		if i, ok := value.(int64); ok {
			return float64(i), true
		}
		_, fits = value.(float64)
		fits = fits && !isInteger(value, text)
	}
	return value, fits
}

// isInteger reports whether value, which plainOf made of text, was written as an integer; those beyond int64 are floats.
func isInteger(value any, text string) bool {
	if _, ok := value.(int64); ok {
		return true
	}
	_, ok := value.(float64)
	return ok && isUnsigned(strings.ReplaceAll(text, "_", ""))
}

func isUnsigned(text string) bool {
	_, ok := unsignedOf(text)
	return ok
}

// plainOf returns the value of a plain scalar by the rules of YAML 1.1 without base 60: null, booleans, integers of
// base 2, 8, 10 and 16 with underscores, floats, else the text. An integer beyond int64 is the float64 next to it, as
// in JSON.
func plainOf(text string) any {
	if text == "" {
		return nil
	}
	switch first := text[0]; {
	case first == '.', first == '+', first == '-', '0' <= first && first <= '9':
		return numberOf(text)
	}
	switch text {
	case "~", "null", "Null", "NULL":
		return nil
	case "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		return true
	case "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		return false
	}
	return text
}

// numberOf is plainOf for a text that starts with a digit, a sign or a dot.
func numberOf(text string) any {
	switch text {
	case ".nan", ".NaN", ".NAN":
		return math.NaN()
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF":
		return math.Inf(1)
	case "-.inf", "-.Inf", "-.INF":
		return math.Inf(-1)
	}
	if text[0] == '.' {
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f
		}
		return text
	}
	if len(text) > 4 && text[4] == '-' && strings.Trim(text[:4], "0123456789") == "" {
		return text // a date, or like one
	}
	plain := strings.ReplaceAll(text, "_", "")
	if i, err := strconv.ParseInt(plain, 0, 64); err == nil {
		return i
	}
	if u, ok := unsignedOf(plain); ok {
		return float64(u)
	}
	if isDecimal(plain) {
		if f, err := strconv.ParseFloat(plain, 64); err == nil {
			return f
		}
	}
	// A sign may follow the prefix of base 2, and only there.
	if digits, ok := strings.CutPrefix(plain, "0b"); ok {
		if i, err := strconv.ParseInt(digits, 2, 64); err == nil {
			return i
		}
	}
	return text
}

func unsignedOf(plain string) (uint64, bool) {
	if u, err := strconv.ParseUint(plain, 0, 64); err == nil {
		return u, true
	}
	return 0, false
}

// isDecimal reports whether text is a decimal number with a fraction and an exponent, or with neither.
func isDecimal(text string) bool {
	text = strings.TrimLeft(text[:1], "+-") + text[1:]
	mantissa, exponent, hasExponent := cutAny(text, "eE")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if !isDigits(whole) || !isDigits(fraction) || whole+fraction == "" {
		return false
	}
	if !hasExponent {
		return true
	}
	if exponent != "" {
		exponent = strings.TrimLeft(exponent[:1], "+-") + exponent[1:]
	}
	return exponent != "" && isDigits(exponent)
}

// cutAny cuts text at the first of chars.
func cutAny(text, chars string) (before, after string, found bool) {
	if i := strings.IndexAny(text, chars); i >= 0 {
		return text[:i], text[i+1:], true
	}
	return text, "", false
}

func isDigits(text string) bool { return strings.Trim(text, "0123456789") == "" }

// isTimestamp reports whether text is a date, or a date with a time, in one of the forms that the tag !!timestamp takes.
func isTimestamp(text string) bool {
	if len(text) < 5 || text[4] != '-' || !isDigits(text[:4]) {
		return false
	}
	for _, format := range [...]string{"2006-1-2T15:4:5.999999999Z07:00", "2006-1-2t15:4:5.999999999Z07:00", "2006-1-2 15:4:5.999999999", "2006-1-2"} {
		if _, err := time.Parse(format, text); err == nil {
			return true
		}
	}
	return false
}

// keyOf returns the member name that a key means. Numbers and booleans are keys as JSON writes them.
func keyOf(node *yaml.Node) (string, error) {
	node = aliased(node)
	if node.Kind != yaml.ScalarNode {
		return "", errors.New("a mapping or list is used as a key; the keys of an object are strings")
	}
	value, err := resolved(node)
	switch value := value.(type) {
	case string:
		return value, err
	case bool:
		return strconv.FormatBool(value), nil
	case int64:
		return strconv.FormatInt(value, 10), nil
	case float64:
		if value >= 1<<63 && isInteger(value, node.Value) {
			return "", fmt.Errorf("%s is too large a number for a key; quote it", node.Value)
		}
		switch s := strconv.FormatFloat(value, 'g', -1, 32); s {
		case "+Inf":
			return ".inf", nil
		case "-Inf":
			return "-.inf", nil
		case "NaN":
			return ".nan", nil
		default:
			return s, nil
		}
	}
	if err != nil {
		return "", err
	}
	return "", errors.New("null is used as a key; the keys of an object are strings")
}
