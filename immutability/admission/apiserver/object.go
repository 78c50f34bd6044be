package apiserver

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// missing reports whether there is no object: nil, or a nil pointer of some type.
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
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("the object of type %T cannot be read: %w", obj, err)
	}
	return fields, nil
}
