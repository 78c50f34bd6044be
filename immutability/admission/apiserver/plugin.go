package apiserver

import (
	"context"
	"fmt"
	"io"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	k8sadmission "k8s.io/apiserver/pkg/admission"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/admission"
)

// PluginName is the name of the plugin in an API server's options.
const PluginName = "FieldImmutability"

// Plugin is an admission plugin that refuses updates which break a lock. It validates, updates only, and changes
// nothing. An update that cannot be checked is refused with an internal error.
type Plugin struct {
	registry *admission.Registry
	code     immutability.StatusCode
}

var _ k8sadmission.ValidationInterface = (*Plugin)(nil)

// NewPlugin returns a plugin with the locks of r, which may be filled and changed later. Refusals have the status code:
// immutability.Invalid, or immutability.BadRequest for the proposal's wording.
func NewPlugin(r *admission.Registry, code immutability.StatusCode) *Plugin {
	return &Plugin{registry: r, code: code}
}

// Register makes the plugin known to an API server's options; Order says where in the chain it belongs.
func Register(plugins *k8sadmission.Plugins, r *admission.Registry, code immutability.StatusCode) {
	plugins.Register(PluginName, func(io.Reader) (k8sadmission.Interface, error) { return NewPlugin(r, code), nil })
}

// Order returns an order of plugins with this one in it: before the first that validates for users
// (ValidatingAdmissionPolicy, ValidatingAdmissionWebhook), so that these see only updates that keep the locks, and else
// at the end. An order that has the plugin is returned as it is.
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
	target, err := p.registry.Find(a.GetKind(), a.GetResource(), a.GetSubresource())
	if err != nil {
		return unchecked(err)
	}
	if target == nil {
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
	report, err := target.Check(newObj, oldObj)
	if err != nil {
		return unchecked(err)
	}
	if status := report.Status(target.Kind().GroupKind(), a.GetName(), p.code); status != nil {
		return &apierrors.StatusError{ErrStatus: *status}
	}
	return nil
}

// versioned returns the content of an object in the version of the request; nil for nil.
func versioned(a k8sadmission.Attributes, o k8sadmission.ObjectInterfaces, obj runtime.Object) (map[string]any, error) {
	if obj == nil {
		return nil, nil
	}
	converted, err := k8sadmission.ConvertToGVK(obj, a.GetKind(), o)
	if err != nil {
		return nil, fmt.Errorf("the object cannot be converted to %v: %w", a.GetKind(), err)
	}
	return content(converted)
}

func unchecked(err error) error {
	return apierrors.NewInternalError(fmt.Errorf("this update cannot be checked for immutable fields: %w", err))
}
