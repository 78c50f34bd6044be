package immutability_test

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// choices makes random schemas and objects out of the bytes of a fuzzer: each byte is one choice, and when they run out
// every choice is the first, so that small inputs are small cases.
type choices struct{ data []byte }

// n chooses a number below k.
func (c *choices) n(k int) int {
	if len(c.data) == 0 {
		return 0
	}
	b := int(c.data[0])
	c.data = c.data[1:]
	return b % k
}

func (c *choices) oneIn(k int) bool { return c.n(k) == k-1 }

// schema chooses a root schema with locks at allowed places, mostly: what Compile refuses is dropped by the caller.
func (c *choices) schema() *spec.Schema {
	root := object(map[string]spec.Schema{})
	if c.oneIn(3) {
		def := c.node(3, false)
		root.Definitions = spec.Definitions{"d": *def}
	}
	for i := range 1 + c.n(3) {
		root.Properties[fmt.Sprintf("p%d", i)] = *c.property(3, false)
	}
	return root
}

func object(properties map[string]spec.Schema) *spec.Schema {
	return &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Properties: properties}}
}

func set(s *spec.Schema, key string, value any) {
	if s.Extensions == nil {
		s.Extensions = spec.Extensions{}
	}
	s.Extensions[key] = value
}

// property is a node that may be normalized.
func (c *choices) property(depth int, inSet bool) *spec.Schema {
	s := c.node(depth, inSet)
	if c.oneIn(6) {
		set(s, "x-kubernetes-normalize", []string{"undefined", "zero"}[c.n(2)])
	}
	return s
}

func (c *choices) node(depth int, inSet bool) *spec.Schema {
	s := c.topology(depth, inSet)
	if inSet {
		return s
	}
	switch c.n(8) {
	case 1, 2:
		set(s, "x-kubernetes-immutable", true)
		if c.oneIn(4) {
			set(s, "x-fieldlock-map-list-order", "ignored")
		}
	case 3:
		words := []any{}
		for _, w := range []string{"NoSet", "NoUnset", "NoModify"} {
			if c.n(2) == 1 {
				words = append(words, w)
			}
		}
		if len(words) > 0 {
			set(s, "x-fieldlock-update", words)
		}
	case 4, 5:
		c.keyLock(s)
	}
	return s
}

func (c *choices) keyLock(s *spec.Schema) {
	isSet := s.Extensions["x-kubernetes-list-type"] == "set"
	if s.AdditionalProperties == nil && s.Extensions["x-kubernetes-list-type"] != "map" && !isSet {
		return
	}
	switch c.n(5) {
	case 0:
		if isSet {
			set(s, "x-kubernetes-immutable", true)
		} else {
			set(s, "x-kubernetes-immutable-keys", true)
		}
	case 1:
		set(s, "x-kubernetes-addition-only", true)
	case 2:
		set(s, "x-kubernetes-deletion-only", true)
	case 3:
		set(s, "x-fieldlock-update", []any{"NoAddItem"})
	case 4:
		set(s, "x-fieldlock-update", []any{"NoRemoveItem", "NoModify"})
	}
}

func (c *choices) topology(depth int, inSet bool) *spec.Schema {
	kinds := 10
	if depth == 0 {
		kinds = 3
	}
	switch c.n(kinds) {
	default:
		return &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{[]string{"string", "integer", "boolean"}[c.n(3)]}}}
	case 3:
		s := object(map[string]spec.Schema{})
		for i := range 1 + c.n(3) {
			s.Properties[fmt.Sprintf("p%d", i)] = *c.property(depth-1, inSet)
		}
		return s
	case 4, 5:
		s := object(map[string]spec.Schema{})
		if c.oneIn(3) {
			s.Properties["p0"] = *c.property(depth-1, inSet)
		}
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: c.node(depth-1, inSet)}
		return s
	case 6:
		return list(c.node(depth-1, inSet))
	case 7:
		s := list(c.node(depth-1, true))
		set(s, "x-kubernetes-list-type", "set")
		return s
	case 8:
		item := object(map[string]spec.Schema{})
		keys := []any{"k"}
		if c.oneIn(3) {
			keys = append(keys, "l")
		}
		for _, k := range keys {
			key := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"string"}}}
			if c.oneIn(3) {
				key.Default = "x"
			}
			if !inSet {
				set(&key, "x-kubernetes-immutable", true)
			}
			item.Properties[k.(string)] = key
		}
		item.Properties["p0"] = *c.property(depth-1, inSet)
		if !inSet && c.oneIn(4) {
			set(item, "x-kubernetes-immutable", true)
		}
		s := list(item)
		set(s, "x-kubernetes-list-type", "map")
		set(s, "x-kubernetes-list-map-keys", keys)
		return s
	case 9:
		return &spec.Schema{SchemaProps: spec.SchemaProps{Ref: spec.MustCreateRef("#/definitions/d")}}
	}
}

func list(item *spec.Schema) *spec.Schema {
	return &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"array"}, Items: &spec.SchemaOrArray{Schema: item}}}
}

// scalars are values that are easily taken for each other.
var scalars = []any{
	"a", "b", "x", "", int64(1), int64(0), true, false, "1", 1.5, 1.0, 0.0, int64(1) << 53, int64(1)<<53 + 1, float64(1 << 53), 1e30,
}

// value chooses a value that mostly fits s.
func (c *choices) value(root, s *spec.Schema, depth int) any {
	for s != nil && s.Ref.String() != "" {
		def, ok := root.Definitions["d"]
		if s = &def; !ok || depth <= 0 {
			s = nil
		}
	}
	if s == nil || c.oneIn(16) {
		return c.junk()
	}
	switch {
	case len(s.Type) > 0 && s.Type[0] == "object":
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if p := s.Properties[name]; c.n(4) != 3 {
				out[name] = c.value(root, &p, depth-1)
			}
		}
		if s.AdditionalProperties != nil {
			for range c.n(4) {
				out[[]string{"a", "b", "c", "p1"}[c.n(4)]] = c.value(root, s.AdditionalProperties.Schema, depth-1)
			}
		} else if c.oneIn(8) {
			out["unknown"] = c.junk()
		}
		return out
	case s.Items != nil:
		out := []any{}
		for range c.n(5) {
			out = append(out, c.value(root, s.Items.Schema, depth-1))
		}
		return out
	}
	return scalars[c.n(len(scalars))]
}

func (c *choices) junk() any {
	switch c.n(5) {
	default:
		return nil
	case 1:
		return map[string]any{}
	case 2:
		return []any{}
	case 3:
		return map[string]any{"k": "a", "p0": c.junk()}
	case 4:
		return scalars[c.n(len(scalars))]
	}
}

// mutate returns v with a few random changes, sharing what it leaves.
func (c *choices) mutate(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			switch c.n(8) {
			case 1:
				delete(out, key)
			case 2:
				out[key] = c.junk()
			case 3, 4, 5:
				out[key] = c.mutate(v[key])
			}
		}
		if c.oneIn(6) {
			out[[]string{"a", "p0", "k"}[c.n(3)]] = c.junk()
		}
		return out
	case []any:
		out := slices.Clone(v)
		for range c.n(3) {
			if len(out) == 0 {
				return []any{c.junk()}
			}
			i, j := c.n(len(out)), c.n(len(out))
			switch c.n(5) {
			case 0:
				out[i], out[j] = out[j], out[i]
			case 1:
				out[i] = c.mutate(out[i])
			case 2:
				out = append(out, out[i])
			case 3:
				out = slices.Delete(out, i, i+1)
			case 4:
				out[i] = out[j]
			}
		}
		return out
	}
	if c.oneIn(3) {
		return scalars[c.n(len(scalars))]
	}
	return v
}
