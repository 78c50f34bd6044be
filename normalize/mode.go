package normalize

import (
	"encoding/json"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/extension"
)

// blank says which values of a marked property count as absent, besides null.
type blank struct {
	object, array, text, number, boolean bool
}

// undefined is the blank of x-kubernetes-normalize: undefined.
var undefined = blank{object: true, array: true}

// zeroOf returns the blank of x-kubernetes-normalize: zero under s; ok is false where s has no single type, so that it
// has no zero value.
func zeroOf(s *spec.Schema) (b blank, ok bool) {
	if s.Extensions[extension.IntOrString] == true {
		return blank{number: true}, true
	}
	if len(s.Type) != 1 {
		return blank{}, false
	}
	switch s.Type[0] {
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

// scalar reports whether value, neither object nor list, counts as absent.
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
