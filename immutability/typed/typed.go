// Package typed checks Go objects of an API against the locks of its schema, where calls of ValidateImmutableField were
// written by hand.
//
// Both objects are converted once, as encoding/json writes them: what a json tag leaves out is absent on both sides, so
// that nil, empty and absent are one where the field has omitempty. A slice or map without omitempty is null or [], and
// these differ: mark it with x-kubernetes-normalize (Go: +normalize=zero), as Semantic.DeepEqual would have it.
package typed

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fieldlock/fieldlock/immutability"
)

// ValidateUpdate reports every locked field that differs between oldObj and newObj, two pointers to the same versioned
// Go type. An error means that nothing was checked: the update has to be refused then. Objects are not changed.
// Cost: one conversion of each object, none where v is Empty.
func ValidateUpdate(v *immutability.Validator, newObj, oldObj runtime.Object) (field.ErrorList, error) {
	report, err := Check(v, newObj, oldObj)
	if err != nil {
		return nil, err
	}
	return report.ErrorList(), nil
}

// Check is ValidateUpdate with old values, locks and schema paths.
func Check(v *immutability.Validator, newObj, oldObj runtime.Object) (immutability.Report, error) {
	if reflect.TypeOf(newObj) != reflect.TypeOf(oldObj) {
		return immutability.Report{}, fmt.Errorf("the new object is a %T and the old one a %T: convert both to one version", newObj, oldObj)
	}
	if v.Empty() {
		return immutability.Report{}, nil
	}
	newContent, err := content(newObj)
	if err != nil {
		return immutability.Report{}, fmt.Errorf("converting the new object: %w", err)
	}
	oldContent, err := content(oldObj)
	if err != nil {
		return immutability.Report{}, fmt.Errorf("converting the old object: %w", err)
	}
	return v.Check(newContent, oldContent), nil
}

// content returns obj as decoded JSON.
func content(obj runtime.Object) (map[string]any, error) {
	if value := reflect.ValueOf(obj); value.Kind() != reflect.Pointer || value.IsNil() {
		return nil, fmt.Errorf("%T is no pointer to an object", obj)
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
}
