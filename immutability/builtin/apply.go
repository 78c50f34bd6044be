package builtin

import (
	"maps"
	"reflect"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/apply"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/kind"
)

// An update is predicted in three steps: the server stores the old manifest, merges the new one into it, and stores the
// result. How the fields of a kind merge is data, so that a minor's fields do not depend on the Go types that are
// linked; a field that is not in the data is merged if it is an object, and replaced otherwise.

// merging is how the objects of a kind merge: as appliers merge them, and with caution where it is not known who
// applies. Then a default stays that only the server has set, null removes it, and what a server-side apply replaces as
// a whole is replaced.
type merging struct {
	gvk             apischema.GroupVersionKind
	known, cautious *apply.Kind
}

func newMerging(gvk apischema.GroupVersionKind, fields *kind.Field) merging {
	model := apply.Model(gvk, fields.Merged(false))
	types := apply.NewTypes(map[string]*spec.Schema{gvk.Kind: model})
	return merging{gvk, &apply.Kind{Types: types, Strategic: model}, &apply.Kind{Strategic: fields.Merged(true)}}
}

// update returns what an API server holds before and after newObj is applied over oldObj. A PUT stores the new manifest
// as it is; what the server has given the object at its creation, the manifest has to name.
func (k *Kind) update(by Applier, newObj, oldObj map[string]any) *update {
	if by == fluxApply {
		by, newObj, oldObj = ApplierServerSide, k.normalize(newObj), k.normalize(oldObj)
	}
	u := &update{by: by, newObj: newObj, oldObj: oldObj, stored: k.store(oldObj)}
	for _, rule := range k.create {
		rule(u.stored)
	}
	applied := newObj
	if by != ApplierReplace {
		applied = k.applied(u)
	}
	if k.keep != nil {
		applied = k.keep(applied, u.stored)
	}
	u.applied = k.store(applied)
	return u
}

// applied returns what the server makes of the stored object of an update, before it stores the result.
func (k *Kind) applied(u *update) map[string]any {
	stored := u.stored
	if u.by == ApplierServerSide {
		t, _ := k.goType(u.newObj)
		stored = k.types.written(stored, t).(map[string]any)
	}
	applied, err := k.merging.apply(u.by, stored, u.oldObj, u.newObj)
	if err != nil {
		_, before := k.merging.apply(u.by, stored, u.oldObj, u.oldObj)
		u.unmerged = before == nil
	}
	return applied
}

// addUnmerged adds that a request fails, which the last one did not.
func addUnmerged(v *result.Verdict, u *update) {
	who := "an apply"
	if u.by != "" {
		who = "a " + string(u.by) + " apply"
	}
	v.Unknown = append(v.Unknown, result.Remark{Message: "refused if " + who +
		" cannot merge the manifest: an item of a list lacks its key, " +
		"two items have the same one, or a value is of another type"})
}

// apply returns what the server makes of a stored object by an apply, before it stores the result. With an error, the
// result is what is left to compare: lists are replaced as a whole.
func (m *merging) apply(by Applier, stored, oldObj, newObj map[string]any) (map[string]any, error) {
	// all in one version: what another one names otherwise is not merged by item
	in := func(obj map[string]any) map[string]any {
		obj = maps.Clone(obj)
		obj["apiVersion"], obj["kind"] = m.gvk.GroupVersion().String(), m.gvk.Kind
		return obj
	}
	request, merged := apply.Request{By: apply.ClientSide, Stored: in(stored), Last: in(oldObj), Manifest: in(newObj)},
		m.known
	switch by {
	case ApplierServerSide:
		request.By = apply.ServerSide
	case ApplierClientSide:
	default:
		merged = m.cautious
		request.Manifest = withRepeatedNull(request.Manifest, request.Last, request.Stored)
	}
	applied, err := merged.Apply(request)
	if err != nil {
		unknown := apply.Kind{}
		if applied, _ = unknown.Apply(request); applied == nil {
			return newObj, err
		}
	}
	for _, name := range [...]string{"apiVersion", "kind"} {
		delete(applied, name)
		if value, ok := newObj[name]; ok {
			applied[name] = value
		}
	}
	return applied, err
}

// withRepeatedNull returns a manifest with the stored value in the place of null that the old manifest has, too.
func withRepeatedNull(newObj, oldObj, stored map[string]any) map[string]any {
	out := maps.Clone(newObj)
	for name, member := range newObj {
		old, again := oldObj[name]
		is, stays := stored[name]
		switch {
		case member != nil:
			below, isObject := member.(map[string]any)
			oldBelow, wasObject := old.(map[string]any)
			if isObject && wasObject {
				out[name] = withRepeatedNull(below, oldBelow, fieldpath.Object(is))
			}
		case again && old == nil && stays:
			out[name] = is
		case again && old == nil:
			delete(out, name)
		}
	}
	return out
}

// normalize returns a manifest as Flux applies it. What has no Go type stays as it is.
func (k *Kind) normalize(manifest map[string]any) map[string]any {
	t := goType(apischema.FromAPIVersionAndKind(fieldpath.Text(manifest, "apiVersion"), k.Kind))
	if t == nil {
		return manifest
	}
	return apply.Normalized(manifest, reflect.New(t).Interface())
}
