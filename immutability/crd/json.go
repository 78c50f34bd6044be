package crd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"
)

// errJSONSyntax is the error of a text that is no JSON; it may still be YAML.
var errJSONSyntax = errors.New("not JSON")

// readJSON reads JSON values that stand one after another, as the API server's decoder reads them, but strictly: a
// member name twice in one object is an error.
func readJSON(name string, data []byte) ([]root, error) {
	var roots []root
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
		roots = append(roots, root{value, &jsonSource{data: data, start: start}})
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

var _ source = (*jsonSource)(nil)

// jsonSource is a value that was read as JSON. It scans the text anew for every place that is asked for: only
// violations and findings are.
type jsonSource struct {
	data  []byte
	start int // offset of the value
}

func (s *jsonSource) find(steps []any) Position {
	decoder := json.NewDecoder(bytes.NewReader(s.data[s.start:]))
	at := s.start
	for _, step := range steps {
		next, ok := s.descend(decoder, step)
		if !ok {
			break
		}
		at = next
	}
	line := bytes.LastIndexByte(s.data[:at], '\n')
	return Position{lineAt(s.data, at), at - line}
}

// descend reads from decoder, which stands before a value, up to the value one step below it, and returns the offset
// of that value's name, or of the value itself in a list.
func (s *jsonSource) descend(decoder *json.Decoder, step any) (int, bool) {
	open, err := decoder.Token()
	if err != nil {
		return 0, false
	}
	for i := 0; decoder.More(); i++ {
		at := s.tokenStart(decoder)
		switch open {
		case json.Delim('{'):
			name, err := decoder.Token()
			if err != nil {
				return 0, false
			}
			if name == step {
				return at, true
			}
		case json.Delim('['):
			if i == step {
				return at, true
			}
		}
		var skipped json.RawMessage
		if decoder.Decode(&skipped) != nil {
			return 0, false
		}
	}
	return 0, false
}

// tokenStart returns the offset in the text where the next token of decoder starts.
func (s *jsonSource) tokenStart(decoder *json.Decoder) int {
	at := s.start + int(decoder.InputOffset())
	for at < len(s.data)-1 && strings.IndexByte(" \t\r\n,:", s.data[at]) >= 0 {
		at++
	}
	return at
}

// parseIndex reads the index of a list item as a path has it: decimal, without sign or leading zero.
func parseIndex(text string) (int, error) {
	i, err := strconv.Atoi(text)
	if err != nil || strconv.Itoa(i) != text || i < 0 {
		return 0, fmt.Errorf("%q is no index", text)
	}
	return i, nil
}
