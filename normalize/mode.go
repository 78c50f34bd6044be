package normalize

import (
	"encoding/json"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// blank says which values of a marked property count as absent, besides null.
type blank struct {
	object, array, text, number, boolean bool
}

// undefined is the blank of x-kubernetes-normalize: undefined.
var undefined = blank{object: true, array: true}

// zeroOf returns the blank of x-kubernetes-normalize: zero at l. ok is false if l has no single type, and so no zero
// value.
func zeroOf(l *schema.Location) (b blank, ok bool) {
	if l.IntOrString() {
		return blank{number: true}, true
	}
	switch l.Type() {
	case "object":
		return blank{object: true}, true
	case "array":
		return blank{array: true}, true
	case "string":
		return blank{text: true}, true
	case "integer", "number":
		return blank{number: true}, true
	case "boolean":
		return blank{boolean: true}, true
	}
	return blank{}, false
}

// scalar reports whether value, which is neither an object nor a list, counts as absent.
func (b blank) scalar(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return b.text && value == ""
	case bool:
		return b.boolean && !value
	case int64:
		return b.number && value == 0
	case int:
		return b.number && value == 0
	case float64:
		return b.number && value == 0
	case json.Number:
		f, err := value.Float64()
		return b.number && err == nil && f == 0
	}
	return false
}
