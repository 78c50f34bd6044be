package celrule

import (
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// FuzzImport reads any text as a rule at three places. It never panics, and a rule that is recognized and that the API
// server compiles has the verdict of its locks.
func FuzzImport(f *testing.F) {
	for _, rule := range []string{
		"self == oldSelf", "!has(oldSelf.f) || self.f == oldSelf.f", "oldSelf.m.all(k, k in self.m)", "self.?f == oldSelf.?f",
		"oldSelf.l.all(o, self.l.exists(n, n.name == o.name))", "size(self.m) == size(oldSelf.m)", "self.f == 'a' ? oldSelf.f == 'a' : true",
		"!(has(self.f) && !has(oldSelf.f))", "[1, self.f].all(x, x == oldSelf.f)", "self.s == oldSelf.s && {'a': self}.a == oldSelf", "oldSelf", "has(self)",
		"self.m.all(k, !(k in oldSelf.m) || self.m[k] == oldSelf.m[k])", "oldSelf.l.all(o, self.l.all(n, n.name != o.name || n == o))",
		"self.m.exists(k, k in oldSelf.m)", "self.s.size() >= 1 || oldSelf.s.size() == 0", "oldSelf.f != self.f", "true || oldSelf == self", "has() && A(oldSelf)",
	} {
		f.Add(rule, uint8(0))
	}
	f.Fuzz(func(t *testing.T, rule string, place uint8) {
		raw := []byte(`{"type": "object", "required": ["spec"], "properties": {"spec": {"type": "object", "required": ["s"], "properties": {
			"f": {"type": "string", "nullable": true}, "s": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
			"m": {"type": "object", "additionalProperties": {"type": "string"}}, "b": {"type": "boolean", "default": false},
			"l": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object",
				"required": ["name"], "properties": {"name": {"type": "string"}, "v": {"type": "integer"}}}}}}}}`)
		s := decodeSchema(t, raw)
		at := []string{"/properties/spec", "/properties/spec/properties/f", "/properties/spec/properties/l/items"}[int(place)%3]
		s = Apply(s, []Change{{SchemaPath: at, SetKeys: map[string]any{schema.KeyValidations: []any{map[string]any{"rule": rule}}}}})
		im := Import(s)
		if len(im.Recognized) == 0 {
			return
		}
		if compiles(s) {
			proveImport(t, crdVersion{rule, []byte(asJSON(s)), s}, im, 60)
		}
	})
}

// compiles reports whether the API server takes the rules of s.
func compiles(s *spec.Schema) bool {
	t := readTree(s)
	c, err := newCosts(s, t)
	if err != nil {
		return false
	}
	for _, l := range t.All {
		for _, r := range t.rules[l] {
			if _, err := c.estimate(c.root, l, r.Text, false); err != nil {
				return false
			}
		}
	}
	return true
}
