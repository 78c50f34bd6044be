// Package typed checks Go objects of an API against the locks of its schema, without converting them. It replaces calls
// of ValidateImmutableField that were written by hand.
//
// [Compile] decides once, from a Go type and a Validator, which field holds which property, as encoding/json would
// write it: json tags, embedded structs, omitempty, omitzero. A check then reads only what the locks cover, in place.
// The verdict and the paths are exactly those of ValidateUpdateJSON on the objects that encoding/json writes.
//
// # How it works
//
// Most updates break no lock, so the plan of a type only proves that: values that are equal in Go are written as equal
// JSON, and equal JSON breaks no lock. Where the proof fails, both objects are written as JSON and compared by the
// Validator, which gives the exact answer. So a mistake in the plan can cost time but cannot let a change through, as
// long as two things hold: equal Go values are written alike (the methods MarshalJSON and MarshalText depend on nothing
// else), and the plan reads every field that a locked property is written from.
//
// [CompileObjects] does the same for objects that come as runtime.Object, of a Go type or unstructured; it needs no
// k8s.io/apiserver.
//
// # Absent, null and empty
//
// What a json tag leaves out is absent on both sides: nil, empty and absent are the same where the field has omitempty.
// A slice or map without omitempty is null or [], and these differ. Use x-kubernetes-normalize (in Go: +normalize=zero)
// for the meaning of Semantic.DeepEqual.
//
// # Package unsafe
//
// Fields are read in place by package unsafe, at the offsets that package reflect gives. What the package takes for
// granted beyond that, about slices, maps and stacks, is listed in memory.go with the tests that check it on a new
// version of Go. Nothing is written through an unsafe pointer.
package typed

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/check"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
)

// Validator checks objects of the Go type T. It is immutable and safe for concurrent use. The zero Validator and a nil
// one refuse every update.
type Validator[T any] struct{ plan *Plan }

// Compile plans how to read the locked parts of a T. T is a struct, as API types are: the object that encoding/json
// writes of it is what the schema of v describes.
//
// The error names the field that cannot be planned: a locked part that encoding/json cannot write, a lock inside a type
// that writes its own JSON, a locked property without a field. Call Compile once per type and Validator.
func Compile[T any](v *immutability.Validator) (*Validator[T], error) {
	plan, err := CompileType(v, reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	return &Validator[T]{plan}, nil
}

// ValidateUpdate reports every locked field that differs between oldObj and newObj, with the verdict and paths of
// ValidateUpdateJSON on the objects that encoding/json writes. Nil when the update is allowed. It takes a nil pointer
// as an object without fields. Neither object is changed, so checks may share them, as long as the objects' own methods
// (MarshalJSON, MarshalText, IsZero) change nothing either.
//
// An object that encoding/json cannot write, such as one with a NaN or an infinity in a locked field, gives an internal
// error; the update must be refused then, as with every error of the list. What both objects share in memory is not
// looked at. An API server guards apiVersion, kind, name and namespace, which no lock covers; elsewhere the caller
// does.
//
// Cost: one pass over what the locks cover, without allocation, if nothing is broken. Writing both objects as JSON
// otherwise.
func (v *Validator[T]) ValidateUpdate(newObj, oldObj *T) field.ErrorList {
	plan := v.compiled()
	if plan.accepts(unsafe.Pointer(newObj), unsafe.Pointer(oldObj)) {
		return nil
	}
	return plan.refusals(newObj, oldObj)
}

// ValidateUpdateAt is ValidateUpdate with the fields of the errors below fldPath, as Kubernetes' validation functions
// have it: for a T that is the spec of an object, fldPath is field.NewPath("spec"). A nil fldPath is the object itself.
func (v *Validator[T]) ValidateUpdateAt(fldPath *field.Path, newObj, oldObj *T) field.ErrorList {
	return fieldpath.Under(fldPath, v.ValidateUpdate(newObj, oldObj))
}

// Check is ValidateUpdate with old values, locks and schema paths. An error means that nothing was checked.
func (v *Validator[T]) Check(newObj, oldObj *T) (immutability.Report, error) {
	plan := v.compiled()
	if plan.accepts(unsafe.Pointer(newObj), unsafe.Pointer(oldObj)) {
		return plan.allowed, nil
	}
	return plan.exact(newObj, oldObj)
}

// Untyped returns the locks that v was compiled from, for objects of other types; nil for a Validator that Compile did
// not make.
func (v *Validator[T]) Untyped() *immutability.Validator {
	if plan := v.compiled(); plan != nil {
		return plan.validator
	}
	return nil
}

// compiled returns the plan of v, nil for a Validator that Compile did not make.
func (v *Validator[T]) compiled() *Plan {
	if v == nil {
		return nil
	}
	return v.plan
}

// Plan is a Validator for a type that is only known at run time. The zero Plan and a nil one refuse every update.
type Plan struct {
	validator *immutability.Validator
	typ       reflect.Type
	root      lock                // nil: no locks
	allowed   immutability.Report // of an update that breaks nothing
}

// CompileType is Compile for the struct type t.
func CompileType(v *immutability.Validator, t reflect.Type) (*Plan, error) {
	switch {
	case v == nil:
		return nil, errors.New("there is no validator: compile the schema of the type first")
	case t == nil:
		return nil, errors.New("there is no type: give the type of an API object")
	}
	p := &Plan{validator: v, typ: t, allowed: v.Check(nil, nil)}
	switch {
	case v.Empty():
		return p, nil
	case !p.allowed.Allowed(): // as every update of an object without fields is
		return nil, errors.New("the validator has no schema: make it with immutability.Compile")
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is not a struct: give the type of an API object", t)
	}
	k := locker{comparers: comparers{}, built: map[lockKey]lock{}}
	locks := checkerOf(v).Root()
	container, ok := locks.(*check.ContainerNode)
	if !ok {
		return nil, fmt.Errorf("the root of the schema is %T: locks are below it", locks)
	}
	root, err := k.container(t, container, t.String())
	if err != nil {
		return nil, err
	}
	p.root = root
	return p, nil
}

// checkerOf returns the compiled locks of v. They are a field that is not exported, since its type is internal.
func checkerOf(v *immutability.Validator) *check.Checker {
	checker := reflect.ValueOf(v).Elem().FieldByName("checker")
	if checker.Type() != reflect.TypeFor[*check.Checker]() {
		panic(fmt.Sprintf("typed: the locks of a validator are a %s", checker.Type()))
	}
	return (*check.Checker)(checker.UnsafePointer())
}

// Check compares two objects of the plan's type, given as pointers; nil is an object without fields. It returns an
// error if one of them is of another type, or cannot be written as JSON.
func (p *Plan) Check(newObj, oldObj any) (immutability.Report, error) {
	accepted, err := p.acceptsAny(newObj, oldObj)
	if err != nil {
		return immutability.Report{}, err
	}
	if accepted {
		return p.allowed, nil
	}
	return p.exact(newObj, oldObj)
}

// ValidateUpdate is Check as a list of errors. An error of Check is an internal error of the list. An API server guards
// apiVersion, kind, name and namespace, which no lock covers; elsewhere the caller does.
func (p *Plan) ValidateUpdate(newObj, oldObj any) field.ErrorList {
	accepted, err := p.acceptsAny(newObj, oldObj)
	if err != nil {
		return unchecked(err)
	}
	if accepted {
		return nil
	}
	return p.refusals(newObj, oldObj)
}

// ValidateUpdateAt is ValidateUpdate with the fields of the errors below fldPath; nil is the object itself.
func (p *Plan) ValidateUpdateAt(fldPath *field.Path, newObj, oldObj any) field.ErrorList {
	return fieldpath.Under(fldPath, p.ValidateUpdate(newObj, oldObj))
}

// acceptsAny is accepts for objects whose type is not known yet.
func (p *Plan) acceptsAny(newObj, oldObj any) (bool, error) {
	if p.uncompiled() {
		return false, errUncompiled
	}
	var at [2]unsafe.Pointer
	for i, obj := range []any{newObj, oldObj} {
		v := reflect.ValueOf(obj)
		if obj == nil || v.Kind() != reflect.Pointer || v.Type().Elem() != p.typ {
			return false, fmt.Errorf("an object is a %T: the locks are planned for *%s", obj, p.typ)
		}
		at[i] = v.UnsafePointer()
	}
	return p.accepts(at[0], at[1]), nil
}

// accepts proves that an update breaks nothing. False means unknown.
func (p *Plan) accepts(newObj, oldObj unsafe.Pointer) bool {
	if p == nil || p.root == nil {
		return !p.uncompiled()
	}
	return newObj != nil && oldObj != nil && p.root.keeps(newObj, oldObj, 0)
}

// uncompiled reports whether p is nil or the zero Plan.
func (p *Plan) uncompiled() bool { return p == nil || p.validator == nil }

var errUncompiled = errors.New("there is no plan: make it with Compile or CompileType")

// exact compares what encoding/json writes.
func (p *Plan) exact(newObj, oldObj any) (immutability.Report, error) {
	if p.uncompiled() {
		return immutability.Report{}, errUncompiled
	}
	newJSON, oldJSON, err := written(newObj, oldObj)
	if err != nil {
		return immutability.Report{}, err
	}
	return p.validator.CheckJSON(newJSON, oldJSON)
}

// refusals is exact as a list of errors, which needs no differences.
func (p *Plan) refusals(newObj, oldObj any) field.ErrorList {
	if p.uncompiled() {
		return unchecked(errUncompiled)
	}
	newJSON, oldJSON, err := written(newObj, oldObj)
	if err != nil {
		return unchecked(err)
	}
	errs, err := p.validator.ValidateUpdateJSON(newJSON, oldJSON)
	if err != nil {
		return unchecked(err)
	}
	return errs
}

// written returns the JSON of two objects.
func written(newObj, oldObj any) (newJSON, oldJSON []byte, err error) {
	if newJSON, err = json.Marshal(newObj); err != nil {
		return nil, nil, fmt.Errorf("writing the new object: %w", err)
	}
	if oldJSON, err = json.Marshal(oldObj); err != nil {
		return nil, nil, fmt.Errorf("writing the old object: %w", err)
	}
	return newJSON, oldJSON, nil
}

// unchecked refuses an update that could not be checked.
func unchecked(err error) field.ErrorList {
	return field.ErrorList{field.InternalError(nil,
		fmt.Errorf("this update cannot be checked for immutable fields: %w", err))}
}
