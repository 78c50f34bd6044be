package policy

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// params returns the parameters with which the policy runs, a nil one for null. They count where both sides have them;
// missing says what is not known otherwise.
func (r *run) params() (list []runtime.Object, missing string) {
	kind, ref := r.p.Spec.ParamKind, r.b.Spec.ParamRef
	if kind == nil || ref == nil {
		return []runtime.Object{nil}, ""
	}
	selector, err := metav1.LabelSelectorAsSelector(ref.Selector)
	if err != nil {
		return nil, "a selector that cannot be read"
	}
	namespace := ref.Namespace
	namespaced, known := r.s.scopes(kind.APIVersion, kind.Kind)
	if namespaced && namespace == "" {
		namespace = namespaceOf(r.u.New)
	}
	found := r.s.parameters[kind.APIVersion+" "+kind.Kind]
	for _, key := range slices.Sorted(maps.Keys(found)) {
		isParam := func(e entry) bool {
			_, _, name := identity(e.Object)
			selected := ref.Name == "" && ref.Selector != nil && selector.Matches(labels.Set(labelsOf(e.Object)))
			return (selected || ref.Name == name && name != "") &&
				(namespaceOf(e.Object) == namespace || !namespaced && known)
		}
		if !slices.ContainsFunc(found[key], isParam) {
			continue
		}
		obj, ok := found.of(key)
		if !ok {
			return nil, "parameters that the change adds, changes or removes"
		}
		list = append(list, object(obj))
	}
	if len(list) == 0 {
		return nil, "parameters that are not among the manifests"
	}
	return list, ""
}

// objects are the manifests of a kind by namespace and name.
type objects map[string][]entry

func (o objects) add(e entry) {
	_, _, name := identity(e.Object)
	key := namespaceOf(e.Object) + "/" + name
	o[key] = append(o[key], e)
}

// of returns the object with a key of the map. ok is false unless both sides have it, alike and once: what changes
// together with the object that a policy is asked about may reach the cluster before it or after it.
func (o objects) of(key string) (obj map[string]any, ok bool) {
	list := o[key]
	if len(list) != 1 || !list[0].inNew || !list[0].inOld {
		return nil, false
	}
	return list[0].Object, true
}
