// Package canonical gives values that an API server takes for equal one form.
package canonical

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// ParseQuantity reads an amount as the API server does. Exponents of more than three digits are an error: the
// arithmetic of the API server, too, takes gigabytes for 1e999999999, so none stores such an amount.
func ParseQuantity(text string) (resource.Quantity, error) {
	if exponentDigits(text) > 3 {
		return resource.Quantity{}, resource.ErrFormatWrong
	}
	return resource.ParseQuantity(text)
}

// exponentDigits returns how many digits an amount such as "1e999" has in its exponent, without zeros in front.
func exponentDigits(text string) int {
	at := strings.LastIndexAny(text, "eE")
	if at < 0 {
		return 0
	}
	return len(strings.TrimLeft(strings.TrimLeft(text[at+1:], "+-"), "0"))
}

// Vast returns a text in a JSON value that CEL's quantity() would take for an amount of millions of digits, such as
// "1e999999999"; "" if there is none. Comparing such amounts does not end in reasonable time, in an API server either.
func Vast(value any) string {
	switch value := value.(type) {
	case string:
		if exponentDigits(value) > 6 && amount.MatchString(value) {
			return value
		}
	case map[string]any:
		for _, member := range value {
			if text := Vast(member); text != "" {
				return text
			}
		}
	case []any:
		for _, item := range value {
			if text := Vast(item); text != "" {
				return text
			}
		}
	}
	return ""
}

// amount matches amounts with an exponent.
var amount = regexp.MustCompile(`^[+-]?[0-9.]+[eE][+-]?[0-9]+$`)

// Quantity writes an amount in one way: "1Gi" and "1024Mi" are equal. What ParseQuantity refuses stays as it is.
func Quantity(v any) any {
	s, ok := v.(string)
	if !ok {
		data, _ := json.Marshal(v) // an error leaves a text that is not a quantity
		s = string(data)
	}
	q, err := ParseQuantity(s)
	if err != nil {
		return v
	}
	return Amount(q)
}

// Amount gives equal quantities one text, whatever their format.
func Amount(q resource.Quantity) string {
	text := q.AsDec().String()
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// Duration writes a duration in one way: "60m" and "1h" are equal. It returns any other value unchanged.
func Duration(v any) any {
	if s, ok := v.(string); ok {
		if d, err := time.ParseDuration(s); err == nil {
			return d.String()
		}
	}
	return v
}

// Base64 writes base64 in one way. It returns any other value unchanged.
func Base64(v any) any {
	if s, ok := v.(string); ok {
		if data, err := base64.StdEncoding.DecodeString(s); err == nil {
			return base64.StdEncoding.EncodeToString(data)
		}
	}
	return v
}

// Whole makes numbers without a fraction int64, as the API machinery decodes them. It changes objects and lists in
// place.
func Whole(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = Whole(member)
		}
	case []any:
		for i, item := range v {
			v[i] = Whole(item)
		}
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v)
		}
	case int:
		return int64(v)
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
	}
	return v
}
