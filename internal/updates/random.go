// Package updates makes random updates of objects of a schema, for tests.
package updates

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/pointer"
)

// Random makes random updates: two objects that an API server could store for a schema, the new one made from the old one
// by setting, unsetting, changing and reordering values, and by removing parents and adding them again. It ignores
// patterns, oneOf and the like, so some of the objects are not valid.
type Random struct {
	values
	schema *spec.Schema
	target []string
}

// New returns random updates of s; the same seed gives the same ones. The schema paths in focus are changed most.
func New(s *spec.Schema, focus []string, seed uint64) *Random {
	r := &Random{values{map[string]bool{}, rand.New(rand.NewPCG(seed, 1))}, s, slices.Sorted(slices.Values(focus))}
	for _, path := range focus {
		for ; path != ""; path = parentOf(path) {
			r.focus[path] = true
		}
	}
	return r
}

// parentOf cuts the last property, items or additionalProperties from a schema path.
func parentOf(path string) string {
	for _, cut := range []string{"/items", "/additionalProperties"} {
		if parent, ok := strings.CutSuffix(path, cut); ok {
			return parent
		}
	}
	i := strings.LastIndex(path, "/properties/")
	return path[:max(i, 0)]
}

// Next returns an update.
func (r *Random) Next() (newObj, oldObj map[string]any) {
	oldObj = r.object(r.schema, "", 0)
	newObj = jsonvalue.Clone(oldObj).(map[string]any)
	for range r.rand.IntN(3) {
		steps := ""
		if len(r.target) > 0 && r.chance(0.9) {
			steps = r.target[r.rand.IntN(len(r.target))]
		}
		newObj = r.change(r.schema, "", newObj, steps).(map[string]any)
	}
	return newObj, oldObj
}

// Object returns a random object.
func (r *Random) Object() map[string]any { return r.object(r.schema, "", 0) }

// Change returns a copy of obj with one random change.
func (r *Random) Change(obj map[string]any) map[string]any {
	target := ""
	if len(r.target) > 0 {
		target = pick(r.rand, r.target...)
	}
	return r.change(r.schema, "", jsonvalue.Clone(obj), target).(map[string]any)
}

// change returns v, the value at path, with one change on the way to target or below it.
func (r *Random) change(s *spec.Schema, path string, v any, target string) any {
	beyond := !strings.HasPrefix(target+"/", path+"/") || target == path
	switch v := v.(type) {
	case map[string]any:
		if path != "" && r.chance(0.15) || beyond && r.chance(0.2) && path != "" {
			return r.value(s, path, 1)
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			return r.changeMap(s, path, v, target)
		}
		return r.changeObject(s, path, v, target)
	case []any:
		return r.changeList(s, path, v, target)
	}
	return r.value(s, path, 1)
}

func (r *Random) changeObject(s *spec.Schema, path string, v map[string]any, target string) any {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		at := path + "/properties/" + pointer.Escape(name)
		if target == at || strings.HasPrefix(target, at+"/") {
			names = []string{name}
			break
		}
		if _, ok := v[name]; ok || r.focus[at] {
			names = append(names, name)
		}
	}
	if len(names) == 0 || path == "" && len(target) == 0 {
		names = slices.Sorted(maps.Keys(s.Properties))
	}
	if len(names) == 0 {
		return v
	}
	name := names[r.rand.IntN(len(names))]
	property := s.Properties[name]
	at := path + "/properties/" + pointer.Escape(name)
	optional := !slices.Contains(s.Required, name) && (property.Default == nil || property.Nullable)
	optional = optional && (s.MinProperties == nil || int64(len(v)) > *s.MinProperties)
	old, there := v[name]
	switch {
	case !there:
		v[name] = r.value(&property, at, 1)
	case optional && r.chance(0.3):
		delete(v, name)
	default:
		v[name] = r.change(&property, at, old, target)
	}
	return v
}

func (r *Random) changeMap(s *spec.Schema, path string, v map[string]any, target string) any {
	at := path + "/additionalProperties"
	values := s.AdditionalProperties.Schema
	keys := slices.Sorted(maps.Keys(v))
	switch {
	case len(keys) == 0 || r.chance(0.25):
		v[r.key()] = r.value(values, at, 1)
	case r.chance(0.3) && (s.MinProperties == nil || int64(len(v)) > *s.MinProperties):
		delete(v, pick(r.rand, keys...))
	case r.chance(0.2):
		key := pick(r.rand, keys...)
		moved := v[key]
		delete(v, key)
		v[r.key()] = moved
	default:
		key := pick(r.rand, keys...)
		v[key] = r.change(values, at, v[key], target)
	}
	return v
}

func (r *Random) changeList(s *spec.Schema, path string, v []any, target string) any {
	if s.Items == nil || s.Items.Schema == nil {
		return v
	}
	at := path + "/items"
	switch {
	case len(v) == 0 || r.chance(0.2):
		v = append(v, r.value(s.Items.Schema, at, 1))
	case r.chance(0.25) && (s.MinItems == nil || int64(len(v)) > *s.MinItems):
		i := r.rand.IntN(len(v))
		v = slices.Delete(v, i, i+1)
	case r.chance(0.4):
		r.rand.Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] })
	default:
		i := r.rand.IntN(len(v))
		v[i] = r.change(s.Items.Schema, at, v[i], target)
	}
	return unique(s, v)
}
