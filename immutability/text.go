package immutability

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// shownBytes is how much of a value a message shows.
const shownBytes = 120

// show prints a value as JSON, cut where it is long. Cost: what is shown, and sorting the keys of the objects in it.
func show(v any) string {
	data := appendJSON(nil, v)
	if len(data) > shownBytes {
		return strings.ToValidUTF8(string(data[:shownBytes]), "") + "…"
	}
	return string(data)
}

// showChange shows two different values. Long strings that begin alike are cut around their first difference. Cost: what is
// shown, and comparing the strings.
func showChange(oldVal, newVal any) (oldText, newText string) {
	was, wasString := oldVal.(string)
	is, isString := newVal.(string)
	if !wasString || !isString {
		return show(oldVal), show(newVal)
	}
	was, is = aroundDifference(was, is)
	return jsonvalue.Excerpts(string(appendScalar(nil, was)), string(appendScalar(nil, is)), shownBytes)
}

// aroundDifference cuts two long strings to more than what is shown on both sides of their first difference.
func aroundDifference(oldText, newText string) (string, string) {
	const enough = 8 * shownBytes // so that the ends of cut strings are not among what is shown
	if max(len(oldText), len(newText)) <= enough {
		return oldText, newText
	}
	same := 0
	for n := 1 << 12; n > 0; n /= 64 { // whole blocks first: many messages can show the same long strings
		for same+n <= min(len(oldText), len(newText)) && oldText[same:same+n] == newText[same:same+n] {
			same += n
		}
	}
	around := func(text string) string {
		return strings.ToValidUTF8(text[max(0, same-enough):min(len(text), same+enough)], "")
	}
	return around(oldText), around(newText)
}

// appendJSON appends v as JSON to b, as far as it is shown.
func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return append(b, "null"...)
		}
		b = append(b, '{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if len(b) > shownBytes {
				return b
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(append(appendScalar(b, cut(key)), ':'), v[key])
		}
		return append(b, '}')
	case []any:
		if v == nil {
			return append(b, "null"...)
		}
		b = append(b, '[')
		for i, item := range v {
			if len(b) > shownBytes {
				return b
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, item)
		}
		return append(b, ']')
	case string:
		return appendScalar(b, cut(v))
	}
	return appendScalar(b, v)
}

// cut returns the beginning of s, longer than what is shown.
func cut(s string) string { return s[:min(len(s), 2*shownBytes)] }

func appendScalar(b []byte, v any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // a message is text
	if err := encoder.Encode(v); err != nil {
		return fmt.Append(b, v)
	}
	return append(b, bytes.TrimSpace(text.Bytes())...)
}

// jsonSize is about how many bytes v takes as JSON, counted only up to what is beyond limit.
func jsonSize(v any, limit int) int {
	const scalar = 8
	sum := scalar
	switch v := v.(type) {
	case string:
		sum += len(v)
	case map[string]any:
		for key, member := range v {
			if sum > limit {
				break
			}
			sum += len(key) + scalar + jsonSize(member, limit-sum)
		}
	case []any:
		for _, item := range v {
			if sum > limit {
				break
			}
			sum += jsonSize(item, limit-sum)
		}
	}
	return sum
}
