// Package controllerruntime checks locks in webhooks that controller-runtime serves.
//
//	locks, err := typed.Compile[v1.Database](validator) // once
//	...
//	updates, err := controllerruntime.NewValidator(locks, v1.GroupVersion.WithKind("Database"))
//	...
//	err = ctrl.NewWebhookManagedBy(manager, &v1.Database{}).WithValidator(updates).Complete()
//
// A Validator is for one Go type, next to other validation of it. NewHandler answers for any number of kinds, from the
// raw bytes of both objects, and Watch keeps its locks in step with the CustomResourceDefinitions of the cluster. Both
// take the options of package admission: mode, exemptions, failure policy, logger, observer; Metrics counts with
// Prometheus.
//
// A refusal reaches the client as 422 Invalid with a cause for each field, as from the API server itself.
//
// The module is apart from the library's, so that nobody else inherits controller-runtime.
package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/admission"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/typed"
)

// Validator refuses updates of objects of type T, a pointer to an API type, that break a lock. Creations and deletions
// are allowed. It has the methods of controller-runtime's Validator, which give the old object first. It is safe for
// concurrent use. The zero Validator and nil refuse every update.
type Validator[T runtime.Object] struct {
	reviewer *admission.Reviewer
	kind     schema.GroupVersionKind
	check    func(newObj, oldObj T) (immutability.Report, error)
}

var _ ctrladmission.Validator[runtime.Object] = (*Validator[runtime.Object])(nil)

// NewValidator returns a Validator for the Go type of locks, whose objects are of the given kind. It compares them in
// place.
//
// It returns an error if locks are nil, the kind has no name, or an option has a value that makes no sense.
func NewValidator[T any, P interface {
	*T
	runtime.Object
}](locks *typed.Validator[T], kind schema.GroupVersionKind, opts ...admission.Option) (*Validator[P], error) {
	return newValidator(locks.Untyped(), kind,
		func(newObj, oldObj P) (immutability.Report, error) { return locks.Check(newObj, oldObj) }, opts)
}

// ForObjects returns a Validator for the objects of a kind, of a Go type or unstructured.
//
// It returns an error if objects are nil or an option has a value that makes no sense.
func ForObjects[T runtime.Object](objects *typed.Objects, opts ...admission.Option) (*Validator[T], error) {
	return newValidator(objects.Untyped(), objects.Kind(), func(newObj, oldObj T) (immutability.Report, error) {
		return objects.Check(newObj, oldObj)
	}, opts)
}

// ForCRD returns a Validator for the objects of one version of a CRD. The scheme knows their Go type; without a scheme
// they have to be unstructured. The builder of webhooks takes only kinds of the manager's scheme; a Validator of
// another kind is registered by its path:
//
//	manager.GetWebhookServer().Register("/validate-databases", admission.WithValidator(manager.GetScheme(), updates))
//
// It returns an error if the version is nil, its locks do not compile or cannot be found in the Go type, or an option
// has a value that makes no sense.
func ForCRD[T runtime.Object](version *crd.Version, scheme *runtime.Scheme,
	opts ...admission.Option) (*Validator[T], error) {
	v, err := version.Compile()
	if err != nil {
		return nil, err
	}
	c := version.CRD()
	objects, err := typed.CompileObjects(v,
		schema.GroupVersionKind{Group: c.Group, Version: version.Name, Kind: c.Kind}, scheme)
	if err != nil {
		return nil, err
	}
	return ForObjects[T](objects, opts...)
}

func newValidator[T runtime.Object](
	locks *immutability.Validator, kind schema.GroupVersionKind,
	check func(newObj, oldObj T) (immutability.Report, error), opts []admission.Option,
) (*Validator[T], error) {
	switch {
	case locks == nil:
		return nil, errors.New("there are no locks: compile them first")
	case kind.Version == "" || kind.Kind == "":
		return nil, fmt.Errorf("%v is not a kind: give its group, version and name", kind)
	}
	registry := &admission.Registry{}
	registry.Put(admission.Kind{GroupKind: kind.GroupKind(),
		Versions: map[string]admission.Version{kind.Version: {Validator: locks}}})
	registry.SetComplete()
	reviewer, err := admission.NewReviewer(registry, opts...)
	if err != nil {
		return nil, err
	}
	return &Validator[T]{reviewer, kind, check}, nil
}

// ValidateCreate allows every object: locks are about updates.
func (*Validator[T]) ValidateCreate(context.Context, T) (ctrladmission.Warnings, error) {
	return nil, nil
}

// ValidateDelete allows every deletion.
func (*Validator[T]) ValidateDelete(context.Context, T) (ctrladmission.Warnings, error) {
	return nil, nil
}

// ValidateUpdate refuses an update that breaks a lock with a *StatusError of k8s.io/apimachinery: 422 Invalid with a
// cause for each field unless an option says otherwise. An update that cannot be checked is refused too.
//
// Within a webhook, the request in ctx says who updates, and whether it is a dry run. Without one the update is checked
// all the same.
func (v *Validator[T]) ValidateUpdate(ctx context.Context, oldObj, newObj T) (ctrladmission.Warnings, error) {
	if v == nil || v.reviewer == nil {
		return nil, apierrors.NewInternalError(errors.New("this update cannot be checked for immutable fields: there " +
			"are no locks; make them with NewValidator"))
	}
	response := v.reviewer.ReviewObjects(ctx, v.request(ctx, newObj), admission.Objects{
		New: metadataOf(newObj), Old: metadataOf(oldObj),
		Check: func(*admission.Target) (immutability.Report, error) {
			if missing(newObj) || missing(oldObj) {
				return immutability.Report{}, errors.New("an object is missing")
			}
			return v.check(newObj, oldObj)
		},
	})
	if !response.Allowed {
		return response.Warnings, &apierrors.StatusError{ErrStatus: *response.Result}
	}
	return response.Warnings, nil
}

// request returns the request in ctx as an update of an object of the kind.
func (v *Validator[T]) request(ctx context.Context, newObj T) *admissionv1.AdmissionRequest {
	var r admissionv1.AdmissionRequest
	if in, err := ctrladmission.RequestFromContext(ctx); err == nil {
		r = in.AdmissionRequest
	}
	r.Operation = admissionv1.Update
	if r.Kind == (metav1.GroupVersionKind{}) {
		r.Kind = metav1.GroupVersionKind{Group: v.kind.Group, Version: v.kind.Version, Kind: v.kind.Kind}
	}
	if r.Resource == (metav1.GroupVersionResource{}) {
		r.Resource = metav1.GroupVersionResource{Group: r.Kind.Group, Version: r.Kind.Version}
	}
	if metadata := metadataOf(newObj); metadata != nil && r.Name == "" {
		r.Name, r.Namespace = metadata.GetName(), metadata.GetNamespace()
	}
	return &r
}

// missing reports whether obj is nil, or a nil pointer of any type.
func missing(obj runtime.Object) bool {
	v := reflect.ValueOf(obj)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// metadataOf returns the metadata of an object, nil for one that is missing or has none.
func metadataOf(obj runtime.Object) metav1.Object {
	if missing(obj) {
		return nil
	}
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return nil
	}
	return metadata
}

// NewHandler returns a handler for a webhook of controller-runtime that answers for every kind in r, from the raw bytes
// of both objects; r may be filled and changed later, as Watch does. Serve it with
//
//	manager.GetWebhookServer().Register("/immutability", &webhook.Admission{Handler: handler})
//
// It returns an error if r is nil or an option has a value that makes no sense.
func NewHandler(r *admission.Registry, opts ...admission.Option) (ctrladmission.Handler, error) {
	reviewer, err := admission.NewReviewer(r, opts...)
	if err != nil {
		return nil, err
	}
	return ctrladmission.HandlerFunc(func(ctx context.Context, req ctrladmission.Request) ctrladmission.Response {
		return ctrladmission.Response{AdmissionResponse: *reviewer.Review(ctx, &req.AdmissionRequest)}
	}), nil
}
