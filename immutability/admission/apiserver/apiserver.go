// Package apiserver puts the check of locks into an API server that is built from k8s.io/apiserver: as a plugin of its
// admission chain, or as part of the update strategy of one resource.
//
// The proposal places the check after mutation and right before update validation, which is where an update strategy
// runs; its errors join the errors of the strategy's own validation. The plugin comes right after, before validating
// webhooks, and serves any number of resources from one registry that may change while the server runs. Use one or the
// other.
//
// Objects of Go types are compared in place, by package typed.
package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"sync"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	k8sadmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/admission"
	"github.com/fieldlock/fieldlock/immutability/typed"
)

// PluginName is the name of the plugin in an API server's options.
const PluginName = "FieldImmutability"

type plugin struct {
	reviewer *admission.Reviewer
	plans    sync.Map // of planned, by GroupVersionKind
}

// planned is how the objects of one Go type are compared with one validator. The plan is nil where the type cannot be
// planned: such objects are converted.
type planned struct {
	validator *immutability.Validator
	typ       reflect.Type
	plan      *typed.Plan
}

var _ k8sadmission.ValidationInterface = (*plugin)(nil)

// NewPlugin returns a validating admission plugin that refuses updates which break a lock of r; r may be filled and
// changed later. It takes the options of a webhook's handler: mode, exemptions, failure policy, version gaps, status
// code, logger and observer. Warnings go to the client, notes to the audit log under "fieldlock.dev/". Unless an option
// says otherwise, the plugin refuses an update that cannot be checked with an internal error. It is safe for concurrent
// use.
//
// NewPlugin returns an error if r is nil or an option has a value that makes no sense.
func NewPlugin(r *admission.Registry, opts ...admission.Option) (k8sadmission.ValidationInterface, error) {
	reviewer, err := admission.NewReviewer(r, opts...)
	if err != nil {
		return nil, err
	}
	return &plugin{reviewer: reviewer}, nil
}

// Register makes the plugin known to an API server's options; Order says where in the chain it belongs. If NewPlugin
// returns an error, building the admission chain fails with it.
func Register(plugins *k8sadmission.Plugins, r *admission.Registry, opts ...admission.Option) {
	plugins.Register(PluginName, func(io.Reader) (k8sadmission.Interface, error) { return NewPlugin(r, opts...) })
}

// Order adds the plugin to an order of plugins: before ValidatingAdmissionPolicy and ValidatingAdmissionWebhook, so
// that these see only updates that break no lock, or at the end without them. An order that names the plugin already is
// returned unchanged.
func Order(plugins []string) []string {
	if slices.Contains(plugins, PluginName) {
		return plugins
	}
	i := slices.IndexFunc(plugins, func(name string) bool {
		return name == "ValidatingAdmissionPolicy" || name == "ValidatingAdmissionWebhook"
	})
	if i < 0 {
		i = len(plugins)
	}
	return slices.Insert(slices.Clone(plugins), i, PluginName)
}

// Handles reports whether operation is an update.
func (p *plugin) Handles(operation k8sadmission.Operation) bool {
	return operation == k8sadmission.Update
}

// Validate refuses an update that breaks a lock. The objects are those that mutating admission and the update strategy
// have left, converted to the version of the request.
func (p *plugin) Validate(ctx context.Context, a k8sadmission.Attributes, o k8sadmission.ObjectInterfaces) error {
	if a.GetOperation() != k8sadmission.Update {
		return nil
	}
	response := p.reviewer.ReviewObjects(ctx, requestOf(a), admission.Objects{
		New: metadataOf(a.GetObject()), Old: metadataOf(a.GetOldObject()),
		Check: func(target *admission.Target) (immutability.Report, error) {
			newObj, err := versioned(a, o, a.GetObject())
			if err != nil {
				return immutability.Report{}, err
			}
			oldObj, err := versioned(a, o, a.GetOldObject())
			if err != nil {
				return immutability.Report{}, err
			}
			return p.check(target, newObj, oldObj)
		},
	})
	for _, text := range response.Warnings {
		warning.AddWarning(ctx, "", text)
	}
	for key, value := range response.AuditAnnotations {
		_ = a.AddAnnotation(auditPrefix+key, value) // an audit log without a note is no reason to refuse
	}
	if !response.Allowed {
		return &apierrors.StatusError{ErrStatus: *response.Result}
	}
	return nil
}

// auditPrefix begins the keys of the plugin's notes in the audit log.
const auditPrefix = "fieldlock.dev/"

// requestOf returns what a webhook would be told about the request, without its objects.
func requestOf(a k8sadmission.Attributes) *admissionv1.AdmissionRequest {
	kind, resource := a.GetKind(), a.GetResource()
	of := &struct { // one allocation for both
		request admissionv1.AdmissionRequest
		dryRun  bool
	}{dryRun: a.IsDryRun()}
	r := &of.request
	*r = admissionv1.AdmissionRequest{
		Kind: metav1.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind},
		Resource: metav1.GroupVersionResource{Group: resource.Group, Version: resource.Version,
			Resource: resource.Resource},
		SubResource: a.GetSubresource(), Name: a.GetName(), Namespace: a.GetNamespace(), Operation: admissionv1.Update,
		DryRun: &of.dryRun,
	}
	if user := a.GetUserInfo(); user != nil {
		r.UserInfo.Username, r.UserInfo.UID, r.UserInfo.Groups = user.GetName(), user.GetUID(), user.GetGroups()
	}
	return r
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

// check compares two objects in the version of the request: Go types in place where possible.
func (p *plugin) check(target *admission.Target, newObj, oldObj runtime.Object) (immutability.Report, error) {
	if v := target.Validator; v != nil && newObj != nil && reflect.TypeOf(newObj) == reflect.TypeOf(oldObj) {
		if plan := p.plan(target.Kind, v, newObj); plan != nil {
			return plan.Check(newObj, oldObj)
		}
	}
	newContent, err := content(newObj)
	if err != nil {
		return immutability.Report{}, err
	}
	oldContent, err := content(oldObj)
	if err != nil {
		return immutability.Report{}, err
	}
	return target.Check(newContent, oldContent)
}

// plan returns the plan for the Go type of obj, nil for a type without one.
func (p *plugin) plan(kind schema.GroupVersionKind, v *immutability.Validator, obj runtime.Object) *typed.Plan {
	if _, ok := obj.(runtime.Unstructured); ok {
		return nil
	}
	if obj.GetObjectKind().GroupVersionKind() != kind {
		return nil // Target.Check says what is wrong
	}
	t := reflect.TypeOf(obj)
	if known, ok := p.plans.Load(kind); ok {
		if known := known.(planned); known.validator == v && known.typ == t {
			return known.plan
		}
	}
	fresh := planned{validator: v, typ: t}
	if t.Kind() == reflect.Pointer {
		fresh.plan, _ = typed.CompileType(v, t.Elem())
	}
	p.plans.Store(kind, fresh)
	return fresh.plan
}

// versioned returns an object in the version of the request; nil for nil.
func versioned(a k8sadmission.Attributes, o k8sadmission.ObjectInterfaces, obj runtime.Object) (runtime.Object, error) {
	if missing(obj) {
		return nil, nil
	}
	converted, err := k8sadmission.ConvertToGVK(obj, a.GetKind(), o)
	if err != nil {
		return nil, fmt.Errorf("the object cannot be converted to %v: %w", a.GetKind(), err)
	}
	return converted, nil
}

// Locks checks objects of Go types, or unstructured ones, against the locks of one version of their kind, as an update
// strategy calls it. It is safe for concurrent use. The zero Locks and nil ones refuse every update.
type Locks struct{ objects *typed.Objects }

// NewLocks returns the locks of v for the kind in the version that v's schema describes: typed.CompileObjects for a
// strategy. The scheme knows the Go type of that version, and converts objects of other versions to it, such as the
// internal ones of a strategy. Without a scheme only unstructured objects of the kind can be checked.
//
// It returns an error if the scheme does not know the kind, or the locks cannot be found in its Go type: see
// typed.Compile.
func NewLocks(v *immutability.Validator, kind schema.GroupVersionKind, scheme *runtime.Scheme) (*Locks, error) {
	objects, err := typed.CompileObjects(v, kind, scheme)
	if err != nil {
		return nil, err
	}
	return &Locks{objects}, nil
}

// ValidateUpdate reports every locked field that differs. It returns an internal error if it cannot compare the
// objects: an object is missing or of another kind, or a typed object needs a scheme and NewLocks got none. Call it at
// the end of a strategy's own ValidateUpdate. Neither object is changed.
//
// Objects of the Go type of the locks are compared in place; others are converted first.
func (l *Locks) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	if l == nil {
		return (*typed.Objects)(nil).ValidateUpdate(obj, old)
	}
	return l.objects.ValidateUpdate(obj, old)
}

// missing reports whether obj is nil, or a nil pointer of any type.
func missing(obj runtime.Object) bool {
	v := reflect.ValueOf(obj)
	return obj == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

// content returns an object as JSON decodes it; nil for nil. The content of an unstructured object is shared, the
// content of a typed one is new.
func content(obj runtime.Object) (map[string]any, error) {
	if obj == nil {
		return nil, nil
	}
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

type updateStrategy struct {
	rest.RESTUpdateStrategy
	locks *Locks
}

var _ rest.RESTUpdateStrategy = (*updateStrategy)(nil)

// NewUpdateStrategy returns inner with a ValidateUpdate that also enforces locks. inner's own validation runs first;
// violations of locks are added to its errors, so that the update is refused with 422 Invalid.
//
// It returns an error if there is nothing to wrap, or if the strategy has declarative validation (k8s.io/apiserver 0.37
// and later): an API server looks for that on the strategy itself and would not find it behind the wrapper. Such a
// strategy should call Locks.ValidateUpdate in its own ValidateUpdate.
func NewUpdateStrategy(inner rest.RESTUpdateStrategy, locks *Locks) (rest.RESTUpdateStrategy, error) {
	if inner == nil {
		return nil, errors.New("there is no strategy to wrap")
	}
	if locks == nil {
		return nil, errors.New("there are no locks: make them with NewLocks")
	}
	// By name: older versions do not have the interface.
	if reflect.ValueOf(inner).MethodByName("ValidateDeclaratively").IsValid() {
		return nil, fmt.Errorf("the strategy %T validates declaratively, which a wrapper would hide: call "+
			"Locks.ValidateUpdate in its ValidateUpdate", inner)
	}
	return &updateStrategy{RESTUpdateStrategy: inner, locks: locks}, nil
}

// ValidateUpdate returns the errors of the wrapped strategy and a violation for each locked field that differs.
func (s *updateStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	errs := s.RESTUpdateStrategy.ValidateUpdate(ctx, obj, old)
	return append(errs, s.locks.ValidateUpdate(ctx, obj, old)...)
}
