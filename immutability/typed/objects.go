package typed

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
)

// Objects checks the objects of one kind that come as runtime.Object, of a Go type or unstructured, as webhooks, update
// strategies and controllers have them. It is immutable and safe for concurrent use. The zero Objects and nil refuse
// every update.
type Objects struct {
	validator *immutability.Validator
	kind      schema.GroupVersionKind
	scheme    *runtime.Scheme // nil: for unstructured objects only
	plan      *Plan           // for the Go type of kind; nil without one
	typ       reflect.Type    // a pointer to it
}

// CompileObjects returns the locks of v for the objects of a kind, in the version that v's schema describes. The scheme
// knows the Go type of that version, and converts objects of other versions to it, such as the internal ones of an API
// server. Without a scheme only unstructured objects of the kind can be checked.
//
// It returns an error if v is nil, if the scheme does not know the kind, or if the locks cannot be found in its Go
// type: see Compile.
func CompileObjects(v *immutability.Validator, kind schema.GroupVersionKind, scheme *runtime.Scheme) (*Objects, error) {
	if v == nil {
		return nil, errors.New("the locks have no validator: compile the schema of the kind")
	}
	o := &Objects{validator: v, kind: kind, scheme: scheme}
	if scheme == nil {
		return o, nil
	}
	obj, err := scheme.New(kind)
	if err != nil {
		return nil, fmt.Errorf("the scheme does not know the version that the locks are for: %w", err)
	}
	if _, ok := obj.(runtime.Unstructured); ok {
		return o, nil
	}
	o.typ = reflect.TypeOf(obj)
	if o.plan, err = CompileType(v, o.typ.Elem()); err != nil {
		return nil, fmt.Errorf("the locks of %v: %w", kind, err)
	}
	return o, nil
}

// Kind returns the kind whose objects are checked.
func (o *Objects) Kind() schema.GroupVersionKind {
	if o == nil {
		return schema.GroupVersionKind{}
	}
	return o.kind
}

// Untyped returns the locks that o was compiled from; nil for Objects that CompileObjects did not make.
func (o *Objects) Untyped() *immutability.Validator {
	if o == nil {
		return nil
	}
	return o.validator
}

// ValidateUpdate reports every locked field that differs; nil when the update is allowed. It returns an internal error
// if it cannot compare the objects: an object is missing or of another kind, or a typed object needs a scheme and there
// is none. Neither object is changed. Whether apiVersion, kind, name and namespace may change is not its business: an
// API server guards them.
//
// Objects of the Go type of the locks are compared in place; others are converted first.
func (o *Objects) ValidateUpdate(newObj, oldObj runtime.Object) field.ErrorList {
	if o == nil || o.validator == nil {
		return unchecked(errNoObjects)
	}
	if o.validator.Empty() {
		return nil
	}
	isNew, isOld, err := o.sides(newObj, oldObj)
	if err != nil {
		return unchecked(err)
	}
	if o.inPlace(isNew, isOld) {
		return o.plan.ValidateUpdate(isNew, isOld)
	}
	newContent, oldContent, err := contents(isNew, isOld)
	if err != nil {
		return unchecked(err)
	}
	return o.validator.ValidateUpdate(newContent, oldContent)
}

// ValidateUpdateAt is ValidateUpdate with the fields of the errors below fldPath, as Kubernetes' validation functions
// have it; nil is the object itself.
func (o *Objects) ValidateUpdateAt(fldPath *field.Path, newObj, oldObj runtime.Object) field.ErrorList {
	return fieldpath.Under(fldPath, o.ValidateUpdate(newObj, oldObj))
}

// Check is ValidateUpdate with old values, locks and schema paths. An error means that nothing was checked.
func (o *Objects) Check(newObj, oldObj runtime.Object) (immutability.Report, error) {
	if o == nil || o.validator == nil {
		return immutability.Report{}, errNoObjects
	}
	isNew, isOld, err := o.sides(newObj, oldObj)
	if err != nil {
		return immutability.Report{}, err
	}
	if o.inPlace(isNew, isOld) {
		return o.plan.Check(isNew, isOld)
	}
	newContent, oldContent, err := contents(isNew, isOld)
	if err != nil {
		return immutability.Report{}, err
	}
	return o.validator.Check(newContent, oldContent), nil
}

var errNoObjects = errors.New("there are no locks: make them with CompileObjects")

// sides returns both objects in the version of the locks.
func (o *Objects) sides(newObj, oldObj runtime.Object) (isNew, isOld runtime.Object, err error) {
	if isNew, err = o.versioned(newObj); err != nil {
		return nil, nil, err
	}
	isOld, err = o.versioned(oldObj)
	return isNew, isOld, err
}

// inPlace reports whether both objects have the Go type of the locks.
func (o *Objects) inPlace(newObj, oldObj runtime.Object) bool {
	return o.typ != nil && reflect.TypeOf(newObj) == o.typ && reflect.TypeOf(oldObj) == o.typ
}

// versioned returns an object in the version of the locks. Objects of other versions must not be read as they are:
// internal types have other names for their fields, and no lock would be found.
func (o *Objects) versioned(obj runtime.Object) (runtime.Object, error) {
	if v := reflect.ValueOf(obj); obj == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, errors.New("an object is missing")
	}
	if reflect.TypeOf(obj) == o.typ {
		return obj, nil
	}
	if _, ok := obj.(runtime.Unstructured); ok {
		if kind := obj.GetObjectKind().GroupVersionKind(); kind != o.kind {
			return nil, fmt.Errorf("the object is of %v: the locks are of %v", kind, o.kind)
		}
		return obj, nil
	}
	if o.scheme == nil {
		return nil, fmt.Errorf("the object is of the Go type %T: give a scheme that knows it", obj)
	}
	if kinds, _, err := o.scheme.ObjectKinds(obj); err == nil && slices.Contains(kinds, o.kind) {
		return obj, nil
	}
	converted, err := o.scheme.ConvertToVersion(obj, o.kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	if kind := converted.GetObjectKind().GroupVersionKind(); kind != o.kind {
		return nil, fmt.Errorf("the object is of %v: the locks are of %v", kind, o.kind)
	}
	return converted, nil
}

// contents returns two objects as JSON decodes them. The content of an unstructured object is shared, the content of a
// typed one is new.
func contents(newObj, oldObj runtime.Object) (newContent, oldContent map[string]any, err error) {
	if newContent, err = content(newObj); err != nil {
		return nil, nil, err
	}
	oldContent, err = content(oldObj)
	return newContent, oldContent, err
}

func content(obj runtime.Object) (map[string]any, error) {
	if u, ok := obj.(runtime.Unstructured); ok {
		return u.UnstructuredContent(), nil
	}
	// Not runtime.DefaultUnstructuredConverter: it does not know encoding.TextMarshaler and the option "string", and
	// reads fields that are not written.
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
