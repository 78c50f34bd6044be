package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sadmission "k8s.io/apiserver/pkg/admission"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/admission"
	"github.com/fieldlock/fieldlock/immutability/typed"
)

// PluginName is the name of the plugin in an API server's options.
const PluginName = "FieldImmutability"

// Plugin is a validating admission plugin that refuses updates which break a lock. It refuses an update that cannot be
// checked with an internal error.
type Plugin struct {
	registry *admission.Registry
	code     immutability.StatusCode
	plans    sync.Map // of planned, by GroupVersionKind
}

// planned is how the objects of one Go type are compared with one validator. The plan is nil where the type cannot be
// planned: such objects are converted.
type planned struct {
	validator *immutability.Validator
	typ       reflect.Type
	plan      *typed.Plan
}

var _ k8sadmission.ValidationInterface = (*Plugin)(nil)

// NewPlugin returns a plugin with the locks of r, which may be filled and changed later. It returns an error if r is nil or
// an option has a value that makes no sense.
func NewPlugin(r *admission.Registry, opts ...Option) (*Plugin, error) {
	if r == nil {
		return nil, errors.New("the plugin has no registry: give one, it may be filled later")
	}
	p := &Plugin{registry: r, code: immutability.StatusCodeInvalid}
	for _, o := range opts {
		if err := o.apply(p); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Option changes how a Plugin answers.
type Option interface{ apply(*Plugin) error }

type option func(*Plugin) error

func (o option) apply(p *Plugin) error { return o(p) }

// WithStatusCode sets the status of a refusal: immutability.StatusCodeInvalid (422), which deployment tools look for, unless set;
// immutability.StatusCodeBadRequest (400) is the proposal's.
func WithStatusCode(code immutability.StatusCode) Option {
	return option(func(p *Plugin) error {
		if code != immutability.StatusCodeInvalid && code != immutability.StatusCodeBadRequest {
			return fmt.Errorf("%v is not the status of a refusal: it is %v or %v", code, immutability.StatusCodeInvalid, immutability.StatusCodeBadRequest)
		}
		p.code = code
		return nil
	})
}

// Register makes the plugin known to an API server's options; Order says where in the chain it belongs. The errors of
// NewPlugin are those of building the admission chain.
func Register(plugins *k8sadmission.Plugins, r *admission.Registry, opts ...Option) {
	plugins.Register(PluginName, func(io.Reader) (k8sadmission.Interface, error) { return NewPlugin(r, opts...) })
}

// Order adds the plugin to an order of plugins: before ValidatingAdmissionPolicy and ValidatingAdmissionWebhook, so that
// these see only updates that break no lock, or at the end without them. It returns an order that has the plugin as it is.
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
func (p *Plugin) Handles(operation k8sadmission.Operation) bool {
	return operation == k8sadmission.Update
}

// Validate refuses an update that breaks a lock. The objects are those that mutating admission and the update strategy
// have left, converted to the version of the request.
func (p *Plugin) Validate(_ context.Context, a k8sadmission.Attributes, o k8sadmission.ObjectInterfaces) error {
	if a.GetOperation() != k8sadmission.Update {
		return nil
	}
	target, locked, err := p.registry.Find(a.GetKind(), a.GetResource(), a.GetSubresource())
	if err != nil {
		return unchecked(err)
	}
	if !locked {
		return nil
	}
	newObj, err := versioned(a, o, a.GetObject())
	if err != nil {
		return unchecked(err)
	}
	oldObj, err := versioned(a, o, a.GetOldObject())
	if err != nil {
		return unchecked(err)
	}
	report, err := p.check(target, newObj, oldObj)
	if err != nil {
		return unchecked(err)
	}
	if status := report.Status(target.Kind().GroupKind(), a.GetName(), p.code); status != nil {
		return &apierrors.StatusError{ErrStatus: *status}
	}
	return nil
}

// check compares two objects in the version of the request: Go types in place where possible.
func (p *Plugin) check(target *admission.Target, newObj, oldObj runtime.Object) (immutability.Report, error) {
	if v := target.Validator(); v != nil && newObj != nil && reflect.TypeOf(newObj) == reflect.TypeOf(oldObj) {
		if plan := p.plan(target.Kind(), v, newObj); plan != nil {
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
func (p *Plugin) plan(kind schema.GroupVersionKind, v *immutability.Validator, obj runtime.Object) *typed.Plan {
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

func unchecked(err error) error {
	return apierrors.NewInternalError(fmt.Errorf("this update cannot be checked for immutable fields: %w", err))
}
