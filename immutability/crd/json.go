package crd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	kjson "sigs.k8s.io/json"
)

// errJSONSyntax is the error of a text that is no JSON; it may still be YAML.
var errJSONSyntax = errors.New("not JSON")

// readJSON reads JSON values that stand one after another, as the API server's decoder reads them, but strictly: a
// member name twice in one object is an error.
func readJSON(name string, data []byte) ([]root, error) {
	var roots []root
	text := &jsonText{data: data}
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var raw json.RawMessage
		switch err := decoder.Decode(&raw); {
		case errors.Is(err, io.EOF):
			return roots, nil
		case err != nil:
			var syntax *json.SyntaxError
			offset := len(data)
			if errors.As(err, &syntax) {
				offset = int(syntax.Offset)
			}
			return nil, &Error{File: name, Line: lineAt(data, offset), Message: "the JSON is broken: " + err.Error(), cause: errJSONSyntax}
		}
		value, err := decodeJSON(raw)
		start := int(decoder.InputOffset()) - len(raw)
		if err != nil {
			return nil, &Error{File: name, Line: lineAt(data, start), Document: len(roots) + 1, Message: err.Error()}
		}
		roots = append(roots, root{value, &jsonSource{jsonText: text, start: start}})
	}
}

// decodeJSON decodes one value: int64 where a number is one, no member name twice.
func decodeJSON(raw []byte) (any, error) {
	var value any
	strict, err := kjson.UnmarshalStrict(raw, &value)
	if err != nil {
		return nil, fmt.Errorf("the JSON is broken: %w", err)
	}
	if len(strict) > 0 {
		return nil, fmt.Errorf("the JSON has a %w; a member name stands once in an object", strict[0])
	}
	return value, nil
}

// parseIndex reads the index of a list item as a path has it: decimal, without sign or leading zero.
func parseIndex(text string) (int, error) {
	i, err := strconv.Atoi(text)
	if err != nil || strconv.Itoa(i) != text || i < 0 {
		return 0, fmt.Errorf("%q is no index", text)
	}
	return i, nil
}
