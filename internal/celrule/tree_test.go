package celrule

import (
	"math"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// TestReadTree: where no lock is allowed, where CEL does not pair old and new values, and which keys values have.
func TestReadTree(t *testing.T) {
	tr := readTree(decodeSchema(t, []byte(`{"type": "object", "required": ["required"], "properties": {
		"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
		"required": {"type": "string"}, "defaulted": {"type": "string", "default": "a"}, "maybe": {"type": "string"}, "required-null": {"type": "string", "nullable": true, "default": "a"},
		"spec": {"type": "object", "properties": {
			"kind": {"type": "string"},
			"template": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}, "spec": {"type": "object"}}},
			"set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string", "minLength": 1}},
			"numbers": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "number"}},
			"atomic": {"type": "array", "minItems": 1, "items": {"type": "object", "properties": {"deep": {"type": "object", "properties": {"leaf": {"type": "string"}}}}}},
			"keyed": {"type": "array", "minItems": 0, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "string"}}}},
			"half": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "properties": {"k": {"type": "string"}}}},
			"dates": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string", "format": "date"}}}},
			"map": {"type": "object", "additionalProperties": {"type": "string"}}, "full": {"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"}},
			"unknown": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "additionalProperties": {"type": "string"}},
			"word": {"type": "string", "minLength": 1}, "number": {"type": "integer"}}}}}`)))
	at := func(path string) *schema.Location { return locate(t, tr, path) }
	for path, want := range map[string]string{
		"": "root of an object", "apiVersion": "in apiVersion", "kind": "in kind", "metadata": "in metadata", "metadata.name": "in name", "spec": "", "spec.kind": "",
		"spec.template": "", "spec.template.apiVersion": "in apiVersion", "spec.template.kind": "in kind", "spec.template.metadata": "in metadata", "spec.template.spec": "",
		"spec.set": "", "spec.set[*]": "below the items of a set", "spec.keyed[*].v": "",
	} {
		if got := tr.unlockable[at(path)]; (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: no lock because %q, want %q", path, got, want)
		}
	}
	for path, want := range map[string]string{
		"spec.set": "", "spec.set[*]": "items of a set", "spec.atomic": "", "spec.atomic[*]": "an atomic list", "spec.atomic[*].deep": "an atomic list", "spec.atomic[*].deep.leaf": "an atomic list",
		"spec.keyed[*]": "", "spec.keyed[*].v": "", "spec.half[*]": "neither required nor defaulted", "spec.half[*].k": "neither required nor defaulted", "spec.map[*]": "",
	} {
		if got := tr.uncorrelated[at(path)]; (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: not paired because %q, want %q", path, got, want)
		}
	}
	for path, want := range map[string]keyKind{
		"spec.set": setItems, "spec.numbers": noKeys, "spec.atomic": noKeys, "spec.keyed": listKeys, "spec.half": noKeys, "spec.dates": listKeys,
		"spec.map": mapKeys, "spec.full": mapKeys, "spec.unknown": noKeys, "spec.word": noKeys, "maybe": noKeys, "spec": noKeys, "spec.number": noKeys,
	} {
		if got := keysOf(at(path)); got != want {
			t.Errorf("%s: keys %d, want %d", path, got, want)
		}
	}
	for path, want := range map[string]bool{"required": true, "defaulted": true, "maybe": false, "required-null": false, "spec": false, "spec.map[*]": true, "spec.keyed[*].k": true} {
		if got := present(at(path)); got != want {
			t.Errorf("%s is always there: %v", path, got)
		}
	}
	if inside(at("spec.map")) != at("spec.map[*]") || inside(at("spec.set")) != at("spec.set[*]") || inside(at("spec")) != nil {
		t.Error("inside a map are its values, in a list its items, in an object nothing")
	}
	if !within(at("spec.map[*]"), at("spec")) || !within(at("spec"), at("spec")) || within(at("spec"), at("spec.map")) {
		t.Error("within is at or below")
	}
	if displayPath(tr.Root) != "the root" || displayPath(at("spec.map")) != "spec.map" {
		t.Error("a path is named, and so is the root")
	}
}

// locate returns the location at a path for people.
func locate(t *testing.T, tr *tree, path string) *schema.Location {
	t.Helper()
	for _, l := range tr.All {
		if l.Path.String() == path {
			return l
		}
	}
	t.Fatalf("the schema has no %s", path)
	return nil
}

// TestCostArithmetic: costs stop at the largest number instead of starting over.
func TestCostArithmetic(t *testing.T) {
	const most = math.MaxUint64
	for _, c := range []struct{ a, b, product, sum uint64 }{
		{0, 0, 0, 0}, {0, 5, 0, 5}, {5, 0, 0, 5}, {2, 3, 6, 5}, {1, most, most, most}, {most, 1, most, most}, {2, most / 2, most - 1, most/2 + 2}, {2, most/2 + 1, most, most/2 + 3},
		{3, most / 3, most, most/3 + 3}, {most, most, most, most}, {most - 1, 1, most - 1, most},
	} {
		if got := product(c.a, c.b); got != c.product {
			t.Errorf("%d × %d is %d, want %d", c.a, c.b, got, c.product)
		}
		if got := sum(c.a, c.b); got != c.sum {
			t.Errorf("%d + %d is %d, want %d", c.a, c.b, got, c.sum)
		}
	}
	for cost, want := range map[uint64]string{15: "1.5 times", 999: "99.9 times", 1000: "more than 100 times"} {
		if got := times(cost, 10); got != want {
			t.Errorf("%d of 10 is %q, want %q", cost, got, want)
		}
	}
}
