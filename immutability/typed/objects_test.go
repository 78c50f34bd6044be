package typed_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fieldlock/fieldlock/immutability/typed"
)

var deviceKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Device"}

// Device is an object of an API.
type Device struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              DeviceSpec `json:"spec"`
}

// DeviceSpec is what the user wants.
type DeviceSpec struct {
	Model string `json:"model"`
	Size  int    `json:"size"`
}

// DeepCopyObject implements runtime.Object.
func (d *Device) DeepCopyObject() runtime.Object { c := *d; return &c }

const deviceLocks = `{type: object, properties: {spec: {type: object, properties: {model: {type: string, x-kubernetes-immutable: true}, size: {type: integer}}}}}`

func device(model string) *Device {
	return &Device{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Device"}, Spec: DeviceSpec{Model: model}}
}

func unstructuredDevice(model string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Device", "spec": map[string]any{"model": model, "size": int64(0)},
	}}
}

// TestObjects: objects of a Go type and unstructured ones have the same verdict, in any mixture, and what cannot be compared is
// refused.
func TestObjects(t *testing.T) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(deviceKind, &Device{})
	objects, err := typed.CompileObjects(validatorOf(deviceLocks), deviceKind, scheme)
	if err != nil {
		t.Fatal(err)
	}
	loose, err := typed.CompileObjects(validatorOf(deviceLocks), deviceKind, nil)
	if err != nil {
		t.Fatal(err)
	}
	other := unstructuredDevice("a")
	other.SetKind("Gadget")
	for _, row := range []struct {
		name           string
		objects        *typed.Objects
		newObj, oldObj runtime.Object
		want           string // part of the only error, "" for none
	}{
		{"the same", objects, device("a"), device("a"), ""},
		{"changed", objects, device("b"), device("a"), "spec.model: Invalid value"},
		{"unstructured", objects, unstructuredDevice("b"), unstructuredDevice("a"), "spec.model: Invalid value"},
		{"mixed", objects, device("b"), unstructuredDevice("a"), "spec.model: Invalid value"},
		{"mixed, the same", objects, unstructuredDevice("a"), device("a"), ""},
		{"without a scheme", loose, unstructuredDevice("b"), unstructuredDevice("a"), "spec.model: Invalid value"},
		{"a Go type without a scheme", loose, device("a"), device("a"), "give a scheme"},
		{"another kind", objects, other, other, "the locks are of example.com/v1, Kind=Device"},
		{"nothing", objects, nil, device("a"), "an object is missing"},
		{"a nil pointer", objects, device("a"), (*Device)(nil), "an object is missing"},
	} {
		t.Run(row.name, func(t *testing.T) {
			errs := row.objects.ValidateUpdate(row.newObj, row.oldObj)
			if text := fmt.Sprint(errs.ToAggregate()); len(errs) > 1 || (len(errs) == 0) != (row.want == "") || !strings.Contains(text, row.want) {
				t.Errorf("%v, want %q", errs, row.want)
			}
			report, err := row.objects.Check(row.newObj, row.oldObj)
			if allowed := err == nil && report.Allowed(); allowed != (row.want == "") {
				t.Errorf("Check: %v, %v", report, err)
			}
		})
	}
	if objects.Kind() != deviceKind {
		t.Error(objects.Kind())
	}
	if _, err := typed.CompileObjects(nil, deviceKind, nil); err == nil {
		t.Error("locks without a validator")
	}
	if _, err := typed.CompileObjects(validatorOf(deviceLocks), deviceKind.GroupVersion().WithKind("Gadget"), scheme); err == nil {
		t.Error("locks of a kind that the scheme does not know")
	}
}

// validateDeviceSpecUpdate is a validation function as Kubernetes has them, for a part of an object.
func validateDeviceSpecUpdate(locks *typed.Validator[DeviceSpec], newSpec, oldSpec *DeviceSpec, fldPath *field.Path) field.ErrorList {
	errs := locks.ValidateUpdateAt(fldPath, newSpec, oldSpec)
	if newSpec.Size < 0 {
		errs = append(errs, field.Invalid(fldPath.Child("size"), newSpec.Size, "must not be negative"))
	}
	return errs
}

func ExampleValidator_ValidateUpdateAt() {
	locks, err := typed.Compile[DeviceSpec](validatorOf(`{type: object, properties: {model: {type: string, x-kubernetes-immutable: true}}}`))
	if err != nil {
		panic(err)
	}
	errs := validateDeviceSpecUpdate(locks, &DeviceSpec{Model: "b", Size: -1}, &DeviceSpec{Model: "a"}, field.NewPath("spec"))
	for _, err := range errs {
		fmt.Println(err)
	}
	// Output:
	// spec.model: Invalid value: "b": field is immutable
	// spec.size: Invalid value: -1: must not be negative
}
