// Package canonical gives values that an API server takes for equal one form.
package canonical

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Quantity writes an amount in one way: "1Gi" and "1024Mi" are equal. Malformed amounts stay as they are.
func Quantity(v any) any {
	s, ok := v.(string)
	if !ok {
		data, _ := json.Marshal(v) // an error leaves a text that is not a quantity
		s = string(data)
	}
	q, err := resource.ParseQuantity(s)
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
