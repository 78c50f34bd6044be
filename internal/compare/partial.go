package compare

import (
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// partialTest returns a function that reports whether an object lacks what an API server requires, as a patch does. No
// server can have stored it. The schemas of OLD decide for both sides, so that a change cannot make objects of OLD
// partial.
func (k *kinds) partialTest() func(*manifest.Object) bool {
	known := map[*manifest.Object]bool{}
	return func(o *manifest.Object) bool {
		partial, ok := known[o]
		if !ok {
			partial = k.lacksRequired(o)
			known[o] = partial
		}
		return partial
	}
}

func (k *kinds) lacksRequired(o *manifest.Object) bool {
	if kind := k.builtinOf(o); kind != nil {
		return kind.Missing(o.Value()) != ""
	}
	covers := func(d *customKind) bool { return d.inOld && d.covers(o.APIVersion) }
	lacks := func(d *customKind) bool { return !covers(d) || d.lacks(o) }
	definitions := k.byKind[groupKind{o.Group, o.Kind}]
	return slices.ContainsFunc(definitions, covers) && !slices.ContainsFunc(definitions,
		func(d *customKind) bool { return !lacks(d) })
}

// lacks reports whether an object lacks a field that its version requires and has no default for. One that cannot be
// read counts as whole.
func (d *customKind) lacks(o *manifest.Object) bool {
	v := d.version(o.APIVersion)
	if v.Schema == nil {
		return false
	}
	obj, err := d.versions[v].Stored(o.Value(), nil)
	if _, ok := obj["status"]; ok && v.HasStatus {
		obj = maps.Clone(obj)
		obj["status"] = nil // which is not stored
	}
	return err == nil && lacksRequired(v.Schema, obj)
}

// lacksRequired reports whether some object of a value lacks a member that the schema requires.
func lacksRequired(s *spec.Schema, v any) bool {
	switch v := v.(type) {
	case map[string]any:
		if slices.ContainsFunc(s.Required, func(name string) bool { _, ok := v[name]; return !ok }) {
			return true
		}
		for name, member := range v {
			if of := schema.Below(s, name); of != nil && lacksRequired(of, member) {
				return true
			}
		}
	case []any:
		for i, item := range v {
			if of := schema.Below(s, i); of != nil && lacksRequired(of, item) {
				return true
			}
		}
	}
	return false
}
