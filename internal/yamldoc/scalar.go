package yamldoc

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	yamlv2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"
)

// kubectl reads files with sigs.k8s.io/yaml, which leaves scalars to go.yaml.in/yaml/v2. The positions come from v3,
// whose scalars follow other rules. So v2 decides here what each scalar means.

// nonSpecific is the tag that makes a scalar text, whatever it looks like.
const nonSpecific = "!"

// quoted are the styles of scalars that are text as they are, unless a tag says otherwise.
const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// scalarOf returns the value of a scalar: nil, bool, int64, float64 or string. Dates are strings, and so is what has
// the tag "!" or a tag of its own. An integer beyond int64 is the float64 next to it, as in JSON. It returns an error
// if the value does not fit the tag, and for floats that JSON does not have.
func scalarOf(node *yaml.Node) (any, error) {
	value, err := resolved(node)
	switch v := value.(type) {
	case uint64:
		return float64(v), err
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%s is a number that JSON does not have; quote it when it is text", node.Value)
		}
	}
	return value, err
}

// resolved returns the value of a scalar as v2 has it: an integer beyond int64 is a uint64.
func resolved(node *yaml.Node) (any, error) {
	switch {
	case node.Tag == nonSpecific:
	case node.Style&yaml.TaggedStyle != 0:
		return tagged(node.Tag, node.Value)
	case node.Style&quoted == 0:
		return plainOf(node.Value), nil
	}
	return node.Value, nil
}

// tagged returns the value of a text with a tag. It returns an error if the text does not fit one of YAML's own tags.
func tagged(tag, text string) (any, error) {
	switch tag {
	case "!!null", "!!bool", "!!int", "!!float", "!!timestamp", "!!binary":
	default:
		return text, nil
	}
	value, err := decode(tag + " " + quote(text))
	switch data, _ := value.(string); {
	case err != nil && tag == "!!binary":
		return nil, fmt.Errorf("the tag !!binary is on %q, which is not base64", text)
	case err != nil:
		return nil, fmt.Errorf("the tag %s is on %q, which is something else", tag, text)
	case tag == "!!binary" && !utf8.ValidString(data):
		return nil, errors.New("the tag !!binary is on data that is not UTF-8 text; JSON has no binary values, write " +
			"base64 as a string")
	}
	return value, nil
}

// plainOf returns the value of a plain scalar.
func plainOf(text string) any {
	switch { // what is usual is decided without the parser, which takes its time
	case !mayMean(text):
		return text
	case text == "true", text == "false":
		return text == "true"
	}
	if n, err := strconv.Atoi(text); err == nil && strconv.Itoa(n) == text {
		return int64(n)
	}
	value, err := decode("[" + text + "]") // "-" and "..." mean something else at the beginning of a line
	switch list, _ := value.([]any); {
	case err != nil:
		return text
	case len(list) == 0:
		return nil
	default:
		return signed(list[0])
	}
}

// The words that are not text, and the characters of numbers in every base.
const (
	words   = "~ null Null NULL y Y yes Yes YES true True TRUE on On ON n N no No NO false False FALSE off Off OFF"
	numeric = "0123456789abcdefABCDEF_+-.oxOXinIN"
)

// mayMean reports whether a plain scalar may be something else than text. It is true for every one that is.
func mayMean(text string) bool {
	if text == "" || strings.IndexByte("0123456789+-.", text[0]) < 0 {
		return len(text) <= len("false") && strings.Contains(words, text)
	}
	return strings.Trim(text, numeric) == ""
}

// decode returns the value of a text.
func decode(text string) (any, error) {
	var value any
	err := yamlv2.Unmarshal([]byte(text), &value)
	return signed(value), err
}

// signed returns an int as int64, and other values as they are.
func signed(value any) any {
	if n, ok := value.(int); ok {
		return int64(n)
	}
	return value
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
	case uint64:
		return "", fmt.Errorf("%s is too large a number for a key; quote it", node.Value)
	case float64:
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
