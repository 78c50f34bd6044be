// Package canonical gives values that an API server takes for equal one form.
package canonical

import (
	"encoding/json"
	"strings"

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
