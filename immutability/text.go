package immutability

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
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
