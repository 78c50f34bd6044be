// Package randomupdates makes random updates of objects of a schema, for tests.
package randomupdates

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/pointer"
)

// Random makes random updates: two objects that an API server could store for a schema, the new one made from the old
// one by setting, unsetting, changing and reordering values, and by removing parents and adding them again. It ignores
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
		if s.MaxItems == nil || int64(len(v)) < *s.MaxItems {
			v = append(v, r.value(s.Items.Schema, at, 1))
		}
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

// values makes random values.
type values struct {
	focus map[string]bool // schema paths of optional properties to set often
	rand  *rand.Rand
}

func (g values) chance(of float64) bool { return g.rand.Float64() < of }

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// value returns a random value for s.
func (g values) value(s *spec.Schema, path string, depth int) any {
	if s.Nullable && g.chance(0.2) {
		return nil
	}
	if len(s.Enum) > 0 {
		return literal(pick(g.rand, s.Enum...))
	}
	if s.Extensions["x-kubernetes-int-or-string"] == true {
		return pick[any](g.rand, int64(1), "1", "50%")
	}
	if len(s.Type) == 0 {
		return g.unknown()
	}
	switch s.Type[0] {
	case "object":
		return g.object(s, path, depth+1)
	case "array":
		return g.list(s, path, depth+1)
	case "string":
		return g.text(s)
	case "integer":
		return within(s, pick[int64](g.rand, 0, 1, 2, 1<<53, 1<<53+1, -1, 7))
	case "number":
		return pick[any](g.rand, int64(1), 1.5, -2.25, int64(0))
	case "boolean":
		return g.chance(0.5)
	}
	return g.unknown()
}

func (g values) unknown() any {
	return pick[any](g.rand, "x", int64(3), map[string]any{"a": int64(1)}, map[string]any{"b": int64(1)}, []any{"y"})
}

func literal(v any) any {
	if f, ok := v.(float64); ok && f == float64(int64(f)) {
		return int64(f)
	}
	return v
}

func within(s *spec.Schema, v int64) int64 {
	if s.Minimum != nil && float64(v) < *s.Minimum {
		v = int64(*s.Minimum) + 1
	}
	if s.Maximum != nil && float64(v) > *s.Maximum {
		v = int64(*s.Maximum)
	}
	return v
}

func (g values) text(s *spec.Schema) string {
	switch s.Format {
	case "date-time":
		return pick(g.rand, "2020-01-01T00:00:00Z", "2020-01-01T00:00:00.000Z", "2021-05-05T05:05:05Z")
	case "date":
		return pick(g.rand, "2020-01-01", "2021-05-05")
	case "duration":
		return pick(g.rand, "60s", "1m", "2h")
	case "byte":
		return pick(g.rand, "YQ==", "Yg==")
	}
	text := pick(g.rand, "", "", "a", "b", "ä", "c/d")
	for s.MinLength != nil && int64(len([]rune(text))) < *s.MinLength {
		text += pick(g.rand, "x", "y")
	}
	return text
}

func (g values) key() string { return pick(g.rand, "a", "b", "my-key", "x.y/z") }

func (g values) list(s *spec.Schema, path string, depth int) any {
	list := []any{}
	if s.Items == nil || s.Items.Schema == nil {
		return list
	}
	n := g.rand.IntN(4)
	if depth > 12 {
		n = 0
	}
	if s.MinItems != nil {
		n = max(n, int(*s.MinItems))
	}
	if s.MaxItems != nil {
		n = min(n, int(*s.MaxItems))
	}
	for range n {
		list = append(list, g.value(s.Items.Schema, path+"/items", depth))
	}
	return unique(s, list)
}

// unique drops the duplicates that the list-type of s forbids.
func unique(s *spec.Schema, list []any) []any {
	var keyOf func(any) string
	switch s.Extensions["x-kubernetes-list-type"] {
	case "set":
		keyOf = func(v any) string { return fmt.Sprintf("%T %v", v, v) }
	case "map":
		keys, _ := s.Extensions["x-kubernetes-list-map-keys"].([]any)
		keyOf = func(v any) string {
			item, _ := v.(map[string]any)
			var b strings.Builder
			for _, key := range keys {
				fmt.Fprintf(&b, "%T %q;", item[key.(string)], fmt.Sprint(item[key.(string)]))
			}
			return b.String()
		}
	default:
		return list
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(v any) bool {
		key := keyOf(v)
		again := seen[key]
		seen[key] = true
		return again
	})
}

func (g values) object(s *spec.Schema, path string, depth int) map[string]any {
	obj := map[string]any{}
	if ap := s.AdditionalProperties; ap != nil && ap.Schema != nil {
		for range g.rand.IntN(4) {
			obj[g.key()] = g.value(ap.Schema, path+"/additionalProperties", depth)
		}
		for i := 0; s.MinProperties != nil && int64(len(obj)) < *s.MinProperties; i++ {
			obj[fmt.Sprint("k", i)] = g.value(ap.Schema, path+"/additionalProperties", depth)
		}
		return obj
	}
	rest := 0.5 / float64(depth*depth+1)
	if len(s.Properties) > 12 {
		rest /= 4
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		at := path + "/properties/" + pointer.Escape(name)
		needed := slices.Contains(s.Required, name) || property.Default != nil && !property.Nullable
		if needed || g.focus[at] && g.chance(0.75) || g.chance(rest) {
			obj[name] = g.value(&property, at, depth)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if _, there := obj[name]; !there && s.MinProperties != nil && int64(len(obj)) < *s.MinProperties {
			property := s.Properties[name]
			obj[name] = g.value(&property, path+"/properties/"+pointer.Escape(name), depth)
		}
	}
	if s.Extensions["x-kubernetes-preserve-unknown-fields"] == true {
		obj[g.key()] = g.unknown()
	}
	if path == "" {
		delete(obj, "metadata")
		obj["metadata"] = map[string]any{"name": "x"}
		obj["apiVersion"], obj["kind"] = "v1", "K"
	}
	return obj
}
