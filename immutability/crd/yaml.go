package crd

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	// maxDepth bounds nesting, as encoding/json does.
	maxDepth = 10_000

	// maxAliased bounds the values that a document's aliases may add, so that a few lines cannot fill the memory.
	maxAliased = 1_000_000

	// maxMerges bounds how deep merge keys may lead through one another.
	maxMerges = 100
)

// readYAML reads the documents of a YAML stream, each into the values that JSON knows.
func readYAML(name string, data []byte) ([]root, error) {
	var roots []root
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document yaml.Node
		switch err := decodeNode(decoder, &document); {
		case errors.Is(err, io.EOF):
			return roots, nil
		case err != nil:
			return nil, yamlError(name, err)
		}
		if len(document.Content) == 0 {
			continue
		}
		node := document.Content[0]
		c := yamlConverter{file: name, document: len(roots) + 1}
		value, err := c.value(node, 0)
		if err != nil {
			return nil, err
		}
		roots = append(roots, root{value, &yamlSource{node}})
	}
}

// decodeNode reads the next document. The parser reports a broken text as an error, but gives up on states that it
// believes impossible with a panic; for a reader of files from anywhere, that is a broken text too.
func decodeNode(decoder *yaml.Decoder, node *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: the parser gave up: %v", r)
		}
	}()
	return decoder.Decode(node)
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(?s:(.*))$`)

// yamlError turns an error of the parser, which has its line in the text, into an Error.
func yamlError(name string, err error) error {
	e := &Error{File: name, Message: err.Error()}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		e.Message = m[2]
	}
	e.Message = "the YAML is broken: " + e.Message
	return e
}

// yamlConverter makes values of the nodes of one document.
type yamlConverter struct {
	file     string
	document int
	aliased  int // values made while following an alias
	inAlias  int // how many aliases are being followed
}

func (c *yamlConverter) errorf(node *yaml.Node, format string, args ...any) error {
	return &Error{File: c.file, Line: node.Line, Document: c.document, Message: fmt.Sprintf(format, args...)}
}

// value returns what node stands for. A mapping is map[string]any, a list []any, a scalar as scalarOf says.
func (c *yamlConverter) value(node *yaml.Node, depth int) (any, error) {
	if depth > maxDepth {
		return nil, c.errorf(node, "the nesting is deeper than %d; an alias may lead back to itself", maxDepth)
	}
	if c.inAlias > 0 {
		if c.aliased++; c.aliased > maxAliased {
			return nil, c.errorf(node, "the aliases of this document stand for more than %d values; write the values out", maxAliased)
		}
	}
	switch node.Kind {
	case yaml.AliasNode:
		c.inAlias++
		defer func() { c.inAlias-- }()
		return c.value(node.Alias, depth+1)
	case yaml.MappingNode:
		if node.Tag != "!!map" {
			return nil, c.errorf(node, "the tag %s is not known to JSON; an object has none", node.Tag)
		}
		return c.mapping(node, depth)
	case yaml.SequenceNode:
		if node.Tag != "!!seq" {
			return nil, c.errorf(node, "the tag %s is not known to JSON; a list has none", node.Tag)
		}
		list := make([]any, len(node.Content))
		for i, item := range node.Content {
			value, err := c.value(item, depth+1)
			if err != nil {
				return nil, err
			}
			list[i] = value
		}
		return list, nil
	case yaml.ScalarNode:
		value, err := scalarOf(node)
		if err != nil {
			return nil, c.errorf(node, "%v", err)
		}
		return value, nil
	}
	return nil, c.errorf(node, "the document has a part that is no mapping, list or scalar")
}

// mapping returns the members of node, merge keys followed: a key of the mapping itself wins over a merged one, an
// earlier merge over a later.
func (c *yamlConverter) mapping(node *yaml.Node, depth int) (map[string]any, error) {
	object := make(map[string]any, len(node.Content)/2)
	var merges []*yaml.Node
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if isMerge(key) {
			merges = append(merges, mergeSources(node.Content[i+1])...)
			continue
		}
		name, err := keyOf(key)
		if err != nil {
			return nil, c.errorf(key, "%v", err)
		}
		if _, ok := object[name]; ok {
			return nil, c.errorf(key, "the key %q stands twice in one mapping, first in line %d; remove one", name, firstLine(node, name))
		}
		if object[name], err = c.value(node.Content[i+1], depth+1); err != nil {
			return nil, err
		}
	}
	for _, merge := range merges {
		value, err := c.value(merge, depth+1)
		if err != nil {
			return nil, err
		}
		merged, ok := value.(map[string]any)
		if !ok {
			return nil, c.errorf(merge, "the merge key << has %s; it takes a mapping or a list of mappings", describe(value))
		}
		for name, value := range merged {
			if _, ok := object[name]; !ok {
				object[name] = value
			}
		}
	}
	return object, nil
}

// firstLine returns the line of the first key of node that reads name.
func firstLine(node *yaml.Node, name string) int {
	for i := 0; i < len(node.Content); i += 2 {
		if key, err := keyOf(node.Content[i]); err == nil && key == name {
			return node.Content[i].Line
		}
	}
	return node.Line
}

// isMerge reports whether key is the merge key <<, unquoted.
func isMerge(key *yaml.Node) bool { return key.Kind == yaml.ScalarNode && key.Tag == "!!merge" }

// mergeSources returns the nodes that the value of a merge key names: the items of a list, else the node itself.
func mergeSources(value *yaml.Node) []*yaml.Node {
	if value.Kind == yaml.SequenceNode {
		return value.Content
	}
	return []*yaml.Node{value}
}

// keyOf returns the member name that a key stands for. Numbers and booleans are keys as JSON writes them.
func keyOf(node *yaml.Node) (string, error) {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Kind != yaml.ScalarNode {
		return "", errors.New("a mapping or list is used as a key; the keys of an object are strings")
	}
	if node.Tag == "!!str" && node.Style&yaml.TaggedStyle == 0 && !oldBoolean(node) {
		return node.Value, nil
	}
	value, err := scalarOf(node)
	if err != nil {
		return "", err
	}
	switch value := value.(type) {
	case string:
		return value, nil
	case bool:
		return strconv.FormatBool(value), nil
	case int64:
		return strconv.FormatInt(value, 10), nil
	case float64:
		if math.Abs(value) >= 1<<63 {
			return "", fmt.Errorf("%s is too large a number for a key; quote it", node.Value)
		}
		return strconv.FormatFloat(value, 'g', -1, 32), nil // 32 as kubectl has it
	}
	return "", errors.New("null is used as a key; the keys of an object are strings")
}

// oldBoolean reports whether node is a plain scalar that YAML 1.1 reads as a boolean and YAML 1.2 as a string.
func oldBoolean(node *yaml.Node) bool {
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	if node.Style&quoted != 0 {
		return false
	}
	_, ok := booleanOf(node.Value)
	return ok
}

// booleanOf reads the booleans of YAML 1.1, which kubectl reads too.
func booleanOf(text string) (value, ok bool) {
	switch text {
	case "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		return true, true
	case "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		return false, true
	}
	return false, false
}

// scalarOf returns the value of a scalar as kubectl reads it: nil, bool, int64, float64 or string. Dates are strings.
// It is an error when the tag is unknown or does not fit, or for the floats that JSON does not have.
func scalarOf(node *yaml.Node) (any, error) {
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	tag := ""
	if node.Style&yaml.TaggedStyle != 0 {
		tag = node.Tag
	} else if node.Style&quoted != 0 {
		return node.Value, nil
	}
	switch tag {
	case "!!str":
		return node.Value, nil
	case "!!binary":
		data, err := base64.StdEncoding.DecodeString(node.Value)
		if err != nil {
			return nil, fmt.Errorf("the tag !!binary stands before %q, which is not base64", node.Value)
		}
		if i := invalidUTF8(data); i >= 0 {
			return nil, errors.New("the tag !!binary stands before data that is no UTF-8 text; JSON has no binary values, write base64 as a string")
		}
		return string(data), nil
	}
	value := plainOf(node.Value)
	if f, ok := value.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return nil, fmt.Errorf("%s is a number that JSON does not have; quote it when it is text", node.Value)
	}
	fits := true
	switch tag {
	case "":
	case "!!null":
		fits = value == nil
	case "!!bool":
		_, fits = value.(bool)
	case "!!int":
		_, fits = value.(int64)
	case "!!float":
		switch value.(type) {
		case int64, float64:
		default:
			fits = false
		}
	case "!!timestamp":
		value = node.Value
	default:
		return nil, fmt.Errorf("the tag %s is not known to JSON; remove it", tag)
	}
	if !fits {
		return nil, fmt.Errorf("the tag %s stands before %q, which is none", tag, node.Value)
	}
	return value, nil
}

var plainFloat = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// plainOf returns the value of a plain scalar by the rules of YAML 1.1 without base 60: null, booleans, integers of
// base 2, 8, 10 and 16 with underscores, floats, else the text. An integer beyond int64 is the float64 next to it, as
// in JSON.
func plainOf(text string) any {
	if text == "" {
		return nil
	}
	switch first := text[0]; {
	case first == '~', first == 'n', first == 'N':
		switch text {
		case "~", "null", "Null", "NULL":
			return nil
		}
	case first == '.':
		switch text {
		case ".nan", ".NaN", ".NAN":
			return math.NaN()
		case ".inf", ".Inf", ".INF":
			return math.Inf(1)
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f
		}
		return text
	case first == '+', first == '-', '0' <= first && first <= '9':
		return numberOf(text)
	}
	if b, ok := booleanOf(text); ok {
		return b
	}
	return text
}

// numberOf is plainOf for a text that starts with a digit or a sign.
func numberOf(text string) any {
	switch text {
	case "+.inf", "+.Inf", "+.INF":
		return math.Inf(1)
	case "-.inf", "-.Inf", "-.INF":
		return math.Inf(-1)
	}
	if isDate(text) {
		return text
	}
	plain := strings.ReplaceAll(text, "_", "")
	if i, err := strconv.ParseInt(plain, 0, 64); err == nil {
		return i
	}
	if u, err := strconv.ParseUint(plain, 0, 64); err == nil {
		return float64(u)
	}
	if plainFloat.MatchString(plain) {
		if f, err := strconv.ParseFloat(plain, 64); err == nil {
			return f
		}
	}
	return text
}

// isDate reports whether a text starts as a date does, with four digits and a hyphen; none of those is a number.
func isDate(text string) bool {
	return len(text) > 4 && text[4] == '-' && strings.Trim(text[:4], "0123456789") == ""
}
