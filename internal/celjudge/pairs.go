package celjudge

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/pointer"
)

// Pairs makes random updates: two objects that an API server could store for a schema, the new one made from the old one
// by setting, unsetting, changing, reordering, and removing parents and adding them anew. Patterns and oneOf and the like
// are not heeded, so that the objects are a superset of the valid ones.
type Pairs struct {
	schema *spec.Schema
	focus  map[string]bool // schema paths on the way to what the updates are to hit
	target []string
	rand   *rand.Rand
}

// NewPairs returns the updates of s for a seed. The schema paths in focus are those that updates hit most.
func NewPairs(s *spec.Schema, focus []string, seed uint64) *Pairs {
	p := &Pairs{schema: s, focus: map[string]bool{}, target: slices.Sorted(slices.Values(focus)), rand: rand.New(rand.NewPCG(seed, 1))}
	for _, path := range focus {
		for ; path != ""; path = parentOf(path) {
			p.focus[path] = true
		}
	}
	return p
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
func (p *Pairs) Next() (newObj, oldObj map[string]any) {
	oldObj = p.object(p.schema, "", 0)
	newObj = clone(oldObj).(map[string]any)
	for range p.rand.IntN(3) {
		steps := ""
		if len(p.target) > 0 && p.chance(0.9) {
			steps = p.target[p.rand.IntN(len(p.target))]
		}
		newObj = p.change(p.schema, "", newObj, steps).(map[string]any)
	}
	return newObj, oldObj
}

func (p *Pairs) chance(of float64) bool { return p.rand.Float64() < of }

func pick[T any](p *Pairs, from ...T) T { return from[p.rand.IntN(len(from))] }

// change returns v, the value at path, with one change on the way to target or below it.
func (p *Pairs) change(s *spec.Schema, path string, v any, target string) any {
	beyond := !strings.HasPrefix(target+"/", path+"/") || target == path
	switch v := v.(type) {
	case map[string]any:
		if path != "" && p.chance(0.15) || beyond && p.chance(0.2) && path != "" {
			return p.value(s, path, 1)
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			return p.changeMap(s, path, v, target)
		}
		return p.changeObject(s, path, v, target)
	case []any:
		return p.changeList(s, path, v, target)
	}
	return p.value(s, path, 1)
}

func (p *Pairs) changeObject(s *spec.Schema, path string, v map[string]any, target string) any {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		at := path + "/properties/" + pointer.Escape(name)
		if target == at || strings.HasPrefix(target, at+"/") {
			names = []string{name}
			break
		}
		if _, ok := v[name]; ok || p.focus[at] {
			names = append(names, name)
		}
	}
	if len(names) == 0 || path == "" && len(target) == 0 {
		names = slices.Sorted(maps.Keys(s.Properties))
	}
	if len(names) == 0 {
		return v
	}
	name := names[p.rand.IntN(len(names))]
	property := s.Properties[name]
	at := path + "/properties/" + pointer.Escape(name)
	optional := !slices.Contains(s.Required, name) && (property.Default == nil || property.Nullable)
	old, there := v[name]
	switch {
	case !there:
		v[name] = p.value(&property, at, 1)
	case optional && p.chance(0.3):
		delete(v, name)
	default:
		v[name] = p.change(&property, at, old, target)
	}
	return v
}

func (p *Pairs) changeMap(s *spec.Schema, path string, v map[string]any, target string) any {
	at := path + "/additionalProperties"
	values := s.AdditionalProperties.Schema
	keys := slices.Sorted(maps.Keys(v))
	switch {
	case len(keys) == 0 || p.chance(0.25):
		v[p.key()] = p.value(values, at, 1)
	case p.chance(0.3) && (s.MinProperties == nil || int64(len(v)) > *s.MinProperties):
		delete(v, pick(p, keys...))
	case p.chance(0.2):
		key := pick(p, keys...)
		moved := v[key]
		delete(v, key)
		v[p.key()] = moved
	default:
		key := pick(p, keys...)
		v[key] = p.change(values, at, v[key], target)
	}
	return v
}

func (p *Pairs) changeList(s *spec.Schema, path string, v []any, target string) any {
	if s.Items == nil || s.Items.Schema == nil {
		return v
	}
	at := path + "/items"
	switch {
	case len(v) == 0 || p.chance(0.2):
		v = append(v, p.value(s.Items.Schema, at, 1))
	case p.chance(0.25) && (s.MinItems == nil || int64(len(v)) > *s.MinItems):
		i := p.rand.IntN(len(v))
		v = slices.Delete(v, i, i+1)
	case p.chance(0.4):
		p.rand.Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] })
	default:
		i := p.rand.IntN(len(v))
		v[i] = p.change(s.Items.Schema, at, v[i], target)
	}
	return unique(s, v)
}

// value returns a random value for s.
func (p *Pairs) value(s *spec.Schema, path string, depth int) any {
	if s.Nullable && p.chance(0.2) {
		return nil
	}
	if len(s.Enum) > 0 {
		return literal(pick(p, s.Enum...))
	}
	if s.Extensions["x-kubernetes-int-or-string"] == true {
		return pick[any](p, int64(1), "1", "50%")
	}
	if len(s.Type) == 0 {
		return p.unknown()
	}
	switch s.Type[0] {
	case "object":
		return p.object(s, path, depth+1)
	case "array":
		return p.list(s, path, depth+1)
	case "string":
		return p.text(s)
	case "integer":
		return within(s, pick[int64](p, 0, 1, 2, 1<<53, 1<<53+1, -1, 7))
	case "number":
		return pick[any](p, int64(1), 1.5, -2.25, int64(0))
	case "boolean":
		return p.chance(0.5)
	}
	return p.unknown()
}

func (p *Pairs) unknown() any {
	return pick[any](p, "x", int64(3), map[string]any{"a": int64(1)}, map[string]any{"b": int64(1)}, []any{"y"})
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

func (p *Pairs) text(s *spec.Schema) string {
	switch s.Format {
	case "date-time":
		return pick(p, "2020-01-01T00:00:00Z", "2020-01-01T00:00:00.000Z", "2021-05-05T05:05:05Z")
	case "date":
		return pick(p, "2020-01-01", "2021-05-05")
	case "duration":
		return pick(p, "60s", "1m", "2h")
	case "byte":
		return pick(p, "YQ==", "Yg==")
	}
	text := pick(p, "", "", "a", "b", "ä", "c/d")
	for s.MinLength != nil && int64(len([]rune(text))) < *s.MinLength {
		text += pick(p, "x", "y")
	}
	return text
}

func (p *Pairs) key() string { return pick(p, "a", "b", "my-key", "x.y/z") }

func (p *Pairs) list(s *spec.Schema, path string, depth int) any {
	list := []any{}
	if s.Items == nil || s.Items.Schema == nil {
		return list
	}
	n := p.rand.IntN(4)
	if depth > 12 {
		n = 0
	}
	if s.MinItems != nil {
		n = max(n, int(*s.MinItems))
	}
	for range n {
		list = append(list, p.value(s.Items.Schema, path+"/items", depth))
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

func (p *Pairs) object(s *spec.Schema, path string, depth int) map[string]any {
	obj := map[string]any{}
	if ap := s.AdditionalProperties; ap != nil && ap.Schema != nil {
		for range p.rand.IntN(4) {
			obj[p.key()] = p.value(ap.Schema, path+"/additionalProperties", depth)
		}
		for i := 0; s.MinProperties != nil && int64(len(obj)) < *s.MinProperties; i++ {
			obj[fmt.Sprint("k", i)] = p.value(ap.Schema, path+"/additionalProperties", depth)
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
		if needed || p.focus[at] && p.chance(0.75) || p.chance(rest) {
			obj[name] = p.value(&property, at, depth)
		}
	}
	if s.Extensions["x-kubernetes-preserve-unknown-fields"] == true {
		obj[p.key()] = p.unknown()
	}
	if path == "" {
		delete(obj, "metadata")
		obj["metadata"] = map[string]any{"name": "x"}
		obj["apiVersion"], obj["kind"] = "v1", "K"
	}
	return obj
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = clone(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = clone(value)
		}
		return out
	}
	return v
}
