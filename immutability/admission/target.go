package admission

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fieldlock/fieldlock/immutability"
)

// A request names a kind and a resource, which clients choose: the kind that is registered for both decides which locks
// count, and a Scale is checked against those of its parent.

// Find returns what an update must be checked against. Take kind and resource from the objects in the request, after
// conversion (not requestKind and requestResource); the subresource is "" for the object itself. ok is false if nothing
// is locked there, so that the update needs no check.
//
// It returns an error if the update cannot be checked: the registry is not complete (ErrNotLoaded), the version is not
// served (ErrNotServed), the locks of the kind are not known because of a fault, or kind and resource do not belong
// together.
func (r *Registry) Find(kind schema.GroupVersionKind, resource schema.GroupVersionResource,
	subresource string) (target *Target, ok bool, err error) {
	t := r.load()
	if kind.Group != resource.Group || kind.Version != resource.Version || t.of(kind.GroupKind()).Kind == "" {
		return t.findForeign(kind, resource, subresource)
	}
	k := t.of(kind.GroupKind())
	if k.Resource != "" && k.Resource != resource.Resource {
		return nil, false, fmt.Errorf("the request is for the resource %q with objects of kind %s: that kind is "+
			"stored as %q", resource.Resource, kind.Kind, k.Resource)
	}
	return t.target(kind, kind)
}

// findForeign finds the target of a request whose kind is not one that is registered for its group and version.
func (t *table) findForeign(kind schema.GroupVersionKind, resource schema.GroupVersionResource,
	subresource string) (target *Target, ok bool, err error) {
	parent, known := t.resources[resource.GroupResource()]
	switch {
	case !known && t.of(kind.GroupKind()).Kind != "":
		return nil, false, fmt.Errorf("the request is for the resource %s with objects of kind %s: they do not "+
			"belong together", show(resource), show(kind))
	case !known && !t.complete:
		return nil, false, fmt.Errorf("the locks of %s are not known yet: %w", show(kind), ErrNotLoaded)
	case !known:
		return nil, false, nil
	case subresource == "":
		return nil, false, fmt.Errorf("the request is for the resource %s with objects of kind %s: that resource "+
			"holds objects of kind %s", show(resource), show(kind), parent.Kind)
	}
	target, ok, err = t.target(parent.WithVersion(resource.Version), kind)
	if err != nil || !ok {
		return nil, false, err
	}
	target.replicas, target.Validator = t.kinds[parent].Versions[resource.Version].Replicas, nil
	if subresource != "scale" || kind != scaleKind || len(target.replicas) == 0 {
		return nil, false, fmt.Errorf("an update of the subresource %q with an object of kind %s cannot be checked "+
			"against the locks of %s", subresource, show(kind), parent.Kind)
	}
	return target, true, nil
}

// scaleKind is what the scale subresource of a custom resource is read and written as.
var scaleKind = schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}

// target returns the locks of kind for objects that come as wire. ok is false if nothing is locked.
func (t *table) target(kind, wire schema.GroupVersionKind) (target *Target, ok bool, err error) {
	v, served := t.of(kind.GroupKind()).Versions[kind.Version]
	switch fault := t.faults[kind.GroupKind()]; {
	case served && v.Validator != nil && v.Validator.Empty() && len(v.Gaps) == 0:
		return nil, false, nil
	case served && v.Validator != nil:
		return &Target{Kind: kind, Validator: v.Validator, wire: wire, locks: v.Validator, gaps: v.Gaps}, true, nil
	case fault != nil:
		return nil, false, fmt.Errorf("the locks of %s are not known: %w", show(kind), fault)
	default:
		return nil, false, fmt.Errorf("the locks of %s are not known: %w: the kind is registered without version %s",
			show(kind), ErrNotServed, kind.Version)
	}
}

// show prints a group, version and kind or resource as people write them.
func show[T schema.GroupVersionKind | schema.GroupVersionResource](v T) string {
	switch v := any(v).(type) {
	case schema.GroupVersionKind:
		return v.GroupVersion().String() + " " + v.Kind
	case schema.GroupVersionResource:
		return v.GroupVersion().String() + " " + v.Resource
	}
	return ""
}

// Target is what one update is checked against: the locks of a kind in one version. Get one from Registry.Find. The
// zero Target and a nil one check nothing: they return an error.
//
// An update of the status subresource carries whole objects and is checked as a whole: an API server has put the stored
// spec back by then, and if it has not, the change is refused. An update of the scale subresource carries Scale
// objects, each of which represents the one field that it sets.
type Target struct {
	// Kind is the kind whose locks apply; for a scale subresource that is the kind of its parent.
	Kind schema.GroupVersionKind
	// Validator checks whole objects of the kind; it is nil for a Scale. Prefer Check, which also makes sure that the
	// objects are of the kind that the request says.
	Validator *immutability.Validator

	wire     schema.GroupVersionKind // what the objects say they are
	locks    *immutability.Validator
	replicas []string // the field that a Scale sets; empty for whole objects
	gaps     []string // as Version.Gaps
}

// Check compares two decoded objects. It returns an error if one of them is missing or is not of the kind that the
// request says.
func (t *Target) Check(newObj, oldObj map[string]any) (immutability.Report, error) {
	if t == nil || t.locks == nil {
		return immutability.Report{}, errors.New("there are no locks to check against: get them from Registry.Find")
	}
	for _, side := range []struct {
		name string
		obj  map[string]any
	}{{"object", newObj}, {"oldObject", oldObj}} {
		if side.obj == nil {
			return immutability.Report{}, missing(side.name)
		}
		apiVersion, _ := side.obj["apiVersion"].(string)
		kind, _ := side.obj["kind"].(string)
		if err := t.identify(side.name, apiVersion, kind); err != nil {
			return immutability.Report{}, err
		}
	}
	if len(t.replicas) > 0 {
		return t.checkScale(newObj, oldObj)
	}
	return t.locks.Check(newObj, oldObj), nil
}

func (t *Target) checkDocuments(newDoc, oldDoc *document) (immutability.Report, error) {
	for _, d := range []*document{newDoc, oldDoc} {
		if err := d.identify(); err != nil {
			return immutability.Report{}, err
		}
		if err := t.identify(d.name, d.apiVersion, d.kind); err != nil {
			return immutability.Report{}, err
		}
	}
	if len(t.replicas) == 0 {
		return t.locks.CheckJSON(newDoc.raw, oldDoc.raw)
	}
	var newObj, oldObj map[string]any
	if err := utiljson.Unmarshal(newDoc.raw, &newObj); err != nil {
		return immutability.Report{}, fmt.Errorf("the object cannot be read: %w", err)
	}
	if err := utiljson.Unmarshal(oldDoc.raw, &oldObj); err != nil {
		return immutability.Report{}, fmt.Errorf("the oldObject cannot be read: %w", err)
	}
	return t.checkScale(newObj, oldObj)
}

func (t *Target) identify(name, apiVersion, kind string) error {
	if apiVersion != t.wire.GroupVersion().String() || kind != t.wire.Kind {
		return fmt.Errorf("the %s says that it is %q of %q: the request says %q of %q",
			name, kind, apiVersion, t.wire.Kind, t.wire.GroupVersion())
	}
	return nil
}

// checkScale compares the one field that a Scale sets. A Scale writes 0 and unset alike, so where the old one is 0, the
// update has to be allowed from both: setting a field that is locked unset must not get through.
func (t *Target) checkScale(newScale, oldScale map[string]any) (immutability.Report, error) {
	newReplicas, err := replicasOf("object", newScale)
	if err != nil {
		return immutability.Report{}, err
	}
	oldReplicas, err := replicasOf("oldObject", oldScale)
	if err != nil {
		return immutability.Report{}, err
	}
	oldObj := t.withReplicas(oldReplicas)
	report := t.locks.Check(t.withReplicas(newReplicas), oldObj)
	if oldReplicas == 0 && report.Allowed() {
		parent := oldObj
		for _, name := range t.replicas[:len(t.replicas)-1] {
			parent = parent[name].(map[string]any)
		}
		delete(parent, t.replicas[len(t.replicas)-1])
		report = t.locks.Check(t.withReplicas(newReplicas), oldObj)
	}
	return report, nil
}

// withReplicas returns an object that has nothing but the field that a Scale sets.
func (t *Target) withReplicas(n int64) map[string]any {
	var v any = n
	for i := len(t.replicas) - 1; i >= 0; i-- {
		v = map[string]any{t.replicas[i]: v}
	}
	return v.(map[string]any)
}

func replicasOf(name string, scale map[string]any) (int64, error) {
	spec, ok := scale["spec"].(map[string]any)
	if !ok && scale["spec"] != nil {
		return 0, fmt.Errorf("the spec of the Scale in the %s is not an object", name)
	}
	switch n := spec["replicas"].(type) {
	case nil:
		return 0, nil
	case int64:
		return n, nil
	default:
		return 0, fmt.Errorf("spec.replicas of the Scale in the %s is not a whole number", name)
	}
}
