package celrule

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// TestImportOfRandomRules makes rules of the operators and conditions that people use, in random combinations. Those
// that are recognized have the verdict of their locks, in CEL's own words.
func TestImportOfRandomRules(t *testing.T) {
	if testing.Short() {
		t.Skip("it judges random rules")
	}
	raw := []byte(`{"type": "object", "required": ["spec"], "properties": {"spec": {"type": "object", "required": ["r", "s"], "properties": {
		"o": {"type": "string"}, "r": {"type": "string"}, "n": {"type": "integer", "nullable": true}, "b": {"type": "boolean", "default": false},
		"a": {"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "object", "required": ["z"], "properties": {"z": {"type": "integer"}}}}},
		"s": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
		"m": {"type": "object", "additionalProperties": {"type": "string"}},
		"l": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object",
			"required": ["name"], "properties": {"name": {"type": "string"}, "v": {"type": "integer"}}}}}}}}`)
	bare := decodeSchema(t, raw)
	rules := &ruleMaker{rand.New(rand.NewPCG(1, 1))}
	recognized, refused := 0, 0
	for range 500 {
		entries := []any{map[string]any{"rule": rules.condition(3)}}
		if rules.IntN(3) == 0 {
			entries = append(entries, map[string]any{"rule": rules.condition(2)})
		}
		s := Apply(bare, []Change{{SchemaPath: "/properties/spec", SetKeys: map[string]any{schema.KeyValidations: entries}}})
		im := Import(s)
		if len(im.Recognized) == 0 || !compiles(s) {
			continue
		}
		recognized++
		_, r := proveImport(t, crdVersion{fmt.Sprint(entries), []byte(asJSON(s)), s}, im, 120)
		refused += r
	}
	t.Logf("%d schemas with recognized rules, %d updates refused", recognized, refused)
	if recognized < 100 || refused < 2000 {
		t.Errorf("%d schemas with recognized rules, %d updates refused: too few to prove much", recognized, refused)
	}
}

// ruleMaker writes random rules.
type ruleMaker struct{ *rand.Rand }

func (m *ruleMaker) pick(from ...string) string { return from[m.IntN(len(from))] }

// condition writes a condition of at most depth operators above each other. It stays with one field mostly, as rules that
// tie fields to each other are not recognized.
func (m *ruleMaker) condition(depth int) string {
	return m.on(m.pick("o", "r", "n", "b", "a", "a", "s", "m", "l"), depth)
}

func (m *ruleMaker) on(field string, depth int) string {
	if m.IntN(20) == 0 {
		field = "o"
	}
	if depth > 0 && m.IntN(4) > 0 {
		a, b := m.on(field, depth-1), m.on(field, depth-1)
		switch m.IntN(6) {
		case 0, 1:
			return "(" + a + " || " + b + ")"
		case 2, 3:
			return "(" + a + " && " + b + ")"
		case 4:
			return "!(" + a + ")"
		}
		return "(" + a + " ? " + b + " : " + m.on(field, depth-1) + ")"
	}
	one, other := "self", "oldSelf"
	if m.IntN(2) == 0 {
		one, other = other, one
	}
	path := field
	if field == "a" {
		path = m.pick("a", "a.x", "a.y", "a.y.z")
	}
	x, y := one+"."+path, other+"."+path
	switch choice := m.IntN(8); {
	case choice <= 2:
		return "has(" + x + ")"
	case choice == 3:
		return "has(" + x + ") == has(" + y + ")"
	case choice == 4 && field == "b":
		return x
	case choice == 4 && (field == "o" || field == "r"):
		return x + m.pick(" == ", " != ") + m.pick("''", "'a'")
	case choice == 4 && field == "m":
		return m.pick(x+".all(k, k in "+y+")", x+".all(k, !(k in "+y+") || "+x+"[k] == "+y+"[k])", x+".exists(k, k in "+y+")", "size("+x+") == size("+y+")",
			x+".all(k, k in "+y+" && "+x+"[k] == "+y+"[k])", "size("+x+") > 0", "size("+x+") <= size("+y+")")
	case choice == 4 && field == "s":
		return m.pick(x+".all(k, k in "+y+")", "size("+x+") == size("+y+")", x+".all(k, "+y+".exists(i, i == k))", "size("+x+") == 0", x+".size() < "+y+".size()")
	case choice == 4 && field == "l":
		return m.pick(x+".all(k, "+y+".exists(i, i.name == k.name))", x+".all(k, k in "+y+")", x+".all(k, "+y+".all(i, i.name != k.name || i == k))",
			"size("+x+") >= size("+y+")", x+".all(k, "+y+".exists_one(i, k.name == i.name && k == i))", x+".all(k, "+y+".all(i, i.name != k.name || i != k))")
	case choice == 5:
		return one + ".?" + path + " == " + other + ".?" + path
	}
	return x + m.pick(" == ", " == ", " != ") + y
}
