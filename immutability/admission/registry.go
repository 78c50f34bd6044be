package admission

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fieldlock/fieldlock/immutability"
)

// Kind holds the locks of one kind of object in each of its versions.
type Kind struct {
	schema.GroupKind
	// Resource is the plural name in the URL, such as "clusters". Where it is set, a request for another resource with
	// objects of this kind is refused, and so is one for this resource with objects of another kind. Without it, an
	// update through a subresource that has objects of another kind, as scale has, is not seen to concern this kind.
	Resource string
	// Versions has every version that is served: an update in any other cannot be checked. A version without locks has
	// an empty Validator.
	Versions map[string]Version
}

// Version is the locks of a kind in one version.
type Version struct {
	Validator *immutability.Validator
	// Replicas are the names that lead to the field which the scale subresource sets, such as spec, replicas. Empty
	// without such a subresource.
	Replicas []string
	// Gaps are the fields that this version leaves free and another served version locks, such as "spec.class". An
	// update through this version gets around those locks; WithVersionGaps says what a handler does about it.
	Gaps []string
}

// The errors of Registry.Find that pass: until the registry is filled, and until it knows a new version of a kind.
var (
	ErrNotLoaded = errors.New("not all kinds are loaded")
	ErrNotServed = errors.New("the version is not served")
)

// Registry holds the locks of kinds. Each change replaces the whole table at once, so a request sees the table before
// the change or the one after, never parts of both, and never waits. All methods may be called at the same time. The
// zero Registry is empty and not complete, so updates cannot be checked yet; a nil Registry stays so.
type Registry struct {
	change sync.Mutex
	table  atomic.Pointer[table]
}

// table is one state of a registry. It is never changed.
type table struct {
	kinds     map[schema.GroupKind]Kind
	resources map[schema.GroupResource]schema.GroupKind
	faults    map[schema.GroupKind]error
	complete  bool
}

var noTable = &table{}

func (r *Registry) load() *table {
	if r == nil {
		return noTable
	}
	if t := r.table.Load(); t != nil {
		return t
	}
	return noTable
}

// Put adds kinds, or replaces them with all their versions, in one step. It clears the faults of these kinds.
func (r *Registry) Put(kinds ...Kind) {
	r.replace(func(t *table) {
		for _, k := range kinds {
			t.remove(k.GroupKind)
			k.Versions = maps.Clone(k.Versions)
			t.kinds[k.GroupKind] = k
			if k.Resource != "" {
				t.resources[k.groupResource()] = k.GroupKind
			}
		}
	})
}

// PutFault records that the locks of a kind cannot be known now, for instance because somebody broke its annotation.
// The locks from before stay in force. Without any, updates of the kind cannot be checked, and the failure policy
// decides. The resource may be "".
func (r *Registry) PutFault(kind schema.GroupKind, resource string, fault error) {
	if fault == nil {
		fault = errors.New("no reason is given")
	}
	r.replace(func(t *table) {
		t.faults[kind] = fault
		if resource != "" {
			t.resources[schema.GroupResource{Group: kind.Group, Resource: resource}] = kind
		}
	})
}

// Delete forgets kinds: their updates are allowed from now on.
func (r *Registry) Delete(kinds ...schema.GroupKind) {
	r.replace(func(t *table) {
		for _, kind := range kinds {
			t.remove(kind)
		}
	})
}

// SetComplete says that the registry holds every kind with locks, so that updates of any other kind are allowed. Before
// that they cannot be checked: a webhook that has just started must not let updates pass.
func (r *Registry) SetComplete() {
	r.replace(func(t *table) { t.complete = true })
}

// Ready returns nil when every update can be checked: the registry is complete, and each kind has locks in force, if
// only the last good ones. Otherwise the error says what is missing, and is
// ErrNotLoaded if SetComplete was not called. It is meant for a readiness check.
func (r *Registry) Ready() error {
	t := r.load()
	if !t.complete {
		return ErrNotLoaded
	}
	var unknown []string
	for kind, fault := range t.faults {
		if _, ok := t.kinds[kind]; !ok {
			unknown = append(unknown, fmt.Sprintf("the locks of %s are not known: %v", kind, fault))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return errors.New(strings.Join(unknown, "; "))
}

// Faults returns the kinds whose locks cannot be known now, and why.
func (r *Registry) Faults() map[schema.GroupKind]error { return maps.Clone(r.load().faults) }

// Kinds returns the kinds whose locks are in force, sorted by group and kind.
func (r *Registry) Kinds() []Kind {
	t := r.load()
	kinds := make([]Kind, 0, len(t.kinds))
	for _, k := range t.kinds {
		k.Versions = maps.Clone(k.Versions)
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b Kind) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind))
	})
	return kinds
}

func (r *Registry) replace(edit func(*table)) {
	if r == nil {
		return
	}
	r.change.Lock()
	defer r.change.Unlock()
	old := r.load()
	t := &table{
		kinds:     clone(old.kinds),
		resources: clone(old.resources),
		faults:    clone(old.faults),
		complete:  old.complete,
	}
	edit(t)
	r.table.Store(t)
}

// clone is maps.Clone that makes an empty map of nil.
func clone[K comparable, V any](m map[K]V) map[K]V {
	c := make(map[K]V, len(m)+1)
	maps.Copy(c, m)
	return c
}

func (t *table) remove(kind schema.GroupKind) {
	delete(t.kinds, kind)
	delete(t.faults, kind)
	maps.DeleteFunc(t.resources, func(_ schema.GroupResource, k schema.GroupKind) bool { return k == kind })
}

func (k Kind) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.Resource}
}

// scaleKind is what the scale subresource of a custom resource is read and written as.
var scaleKind = schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}

// Find returns what an update must be checked against. Take kind and resource from the objects in the request, after
// conversion (not requestKind and requestResource); the subresource is "" for the object itself. ok is false if nothing
// is locked there, so that the update needs no check.
//
// It returns an error if the update cannot be checked: the registry is not complete (ErrNotLoaded), the version is not
// served (ErrNotServed), the locks of the kind are not known because of a fault, or kind and resource do not belong
// together.
func (r *Registry) Find(kind schema.GroupVersionKind, resource schema.GroupVersionResource, subresource string) (target *Target, ok bool, err error) {
	t := r.load()
	if kind.Group != resource.Group || kind.Version != resource.Version || t.of(kind.GroupKind()).Kind == "" {
		return t.findForeign(kind, resource, subresource)
	}
	k := t.of(kind.GroupKind())
	if k.Resource != "" && k.Resource != resource.Resource {
		return nil, false, fmt.Errorf("the request is for the resource %q with objects of kind %s: that kind is stored as %q", resource.Resource, kind.Kind, k.Resource)
	}
	return t.target(kind, kind)
}

// findForeign finds the target of a request whose kind is not one that is registered for its group and version.
func (t *table) findForeign(kind schema.GroupVersionKind, resource schema.GroupVersionResource, subresource string) (target *Target, ok bool, err error) {
	parent, known := t.resources[resource.GroupResource()]
	switch {
	case !known && t.of(kind.GroupKind()).Kind != "":
		return nil, false, fmt.Errorf("the request is for the resource %s with objects of kind %s: they do not belong together", show(resource), show(kind))
	case !known && !t.complete:
		return nil, false, fmt.Errorf("the locks of %s are not known yet: %w", show(kind), ErrNotLoaded)
	case !known:
		return nil, false, nil
	case subresource == "":
		return nil, false, fmt.Errorf("the request is for the resource %s with objects of kind %s: that resource holds objects of kind %s", show(resource), show(kind), parent.Kind)
	}
	target, ok, err = t.target(parent.WithVersion(resource.Version), kind)
	if err != nil || !ok {
		return nil, false, err
	}
	target.replicas, target.Validator = t.kinds[parent].Versions[resource.Version].Replicas, nil
	if subresource != "scale" || kind != scaleKind || len(target.replicas) == 0 {
		return nil, false, fmt.Errorf("an update of the subresource %q with an object of kind %s cannot be checked against the locks of %s", subresource, show(kind), parent.Kind)
	}
	return target, true, nil
}

// of returns the kind, without versions where only its fault is known, and the zero Kind where nothing is.
func (t *table) of(kind schema.GroupKind) Kind {
	if k, ok := t.kinds[kind]; ok {
		return k
	}
	if t.faults[kind] != nil {
		return Kind{GroupKind: kind}
	}
	return Kind{}
}

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
		return nil, false, fmt.Errorf("the locks of %s are not known: %w: the kind is registered without version %s", show(kind), ErrNotServed, kind.Version)
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

// has reports whether a kind is registered in this version.
func (r *Registry) has(kind schema.GroupVersionKind) bool {
	_, ok := r.load().of(kind.GroupKind()).Versions[kind.Version]
	return ok
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
		return fmt.Errorf("the %s says that it is %q of %q: the request says %q of %q", name, kind, apiVersion, t.wire.Kind, t.wire.GroupVersion())
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

// of returns why the request is exempt, or "" when it is not.
func (e *Exemptions) of(r *admissionv1.AdmissionRequest, o objects) (string, error) {
	if r.UserInfo.Username != "" && slices.Contains(e.Users, r.UserInfo.Username) {
		return "the user is exempt", nil
	}
	for _, group := range r.UserInfo.Groups {
		if slices.Contains(e.Groups, group) {
			return "a group of the user is exempt", nil
		}
	}
	if e.Deleting {
		deleting, err := o.deleting()
		if err != nil {
			return "", err
		}
		if deleting {
			return "the object is being deleted", nil
		}
	}
	if len(e.DryRunAnnotations) > 0 && isDryRun(r) {
		annotations, err := o.annotations()
		if err != nil {
			return "", err
		}
		for _, name := range e.DryRunAnnotations {
			if _, ok := annotations[name]; ok {
				return "the dry-run update is marked by the annotation " + name, nil
			}
		}
	}
	return "", nil
}

// metadataOf returns the undecoded members of the metadata of an object. Names match exactly, as the API server's do.
func metadataOf(name string, object []byte) (map[string]json.RawMessage, error) {
	if unlessNull(object) == nil {
		return nil, missing(name)
	}
	var metadata map[string]json.RawMessage
	err := eachMember(object, func(member, value []byte) error {
		if string(member) != "metadata" {
			return nil
		}
		return json.Unmarshal(value, &metadata)
	})
	if err != nil {
		return nil, fmt.Errorf("the %s cannot be read: %w", name, err)
	}
	return metadata, nil
}
