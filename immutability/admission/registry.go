package admission

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"

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

// has reports whether a kind is registered in this version.
func (r *Registry) has(kind schema.GroupVersionKind) bool {
	_, ok := r.load().of(kind.GroupKind()).Versions[kind.Version]
	return ok
}
