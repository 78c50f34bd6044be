package builtin

import (
	"encoding/json"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Typed returns obj as an API server shows it to its admission policies: each field as its Go type writes it, with the
// defaults that matter to the rows of the kind. Fields that the type does not have are gone, and some that it always writes
// are there with their zero value. Other defaults are missing. obj is a decoded manifest and stays as it is.
//
// It returns false for a version whose Go type is not linked, and for an object that its type cannot hold.
func (k *Kind) Typed(obj map[string]any) (typed map[string]any, ok bool) {
	gvk := schema.FromAPIVersionAndKind(text(obj, "apiVersion"), k.Kind)
	t := goType(schema.GroupVersionKind{Group: k.Group, Version: gvk.Version, Kind: k.Kind})
	if gvk.Group != k.Group || t == nil || !strings.HasSuffix(t.PkgPath(), "/"+gvk.Version) || k.compile() != nil {
		return nil, false
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, false
	}
	value := reflect.New(t).Interface()
	if json.Unmarshal(data, value) != nil {
		return nil, false
	}
	if typed, err = runtime.DefaultUnstructuredConverter.ToUnstructured(value); err != nil {
		return nil, false
	}
	for _, rule := range k.prepare {
		rule(typed)
	}
	k.fields.fill(typed)
	return typed, true
}
