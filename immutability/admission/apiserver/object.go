package apiserver

import (
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// missing reports whether obj is nil, or a nil pointer of any type.
func missing(obj runtime.Object) bool {
	v := reflect.ValueOf(obj)
	return obj == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

// content returns an object as JSON decodes it; nil for nil. The content of an unstructured object is shared, the content
// of a typed one is new.
func content(obj runtime.Object) (map[string]any, error) {
	if obj == nil {
		return nil, nil
	}
	if u, ok := obj.(runtime.Unstructured); ok {
		return u.UnstructuredContent(), nil
	}
	// Not runtime.DefaultUnstructuredConverter: it does not know encoding.TextMarshaler and the option "string", and reads
	// fields that are not written.
	data, err := json.Marshal(obj)
	var fields map[string]any
	if err == nil {
		err = utiljson.Unmarshal(data, &fields)
	}
	if err != nil {
		return nil, fmt.Errorf("the object of type %T cannot be read: %w", obj, err)
	}
	return fields, nil
}
