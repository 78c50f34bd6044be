package celrule

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// TestReadTree: where no lock is allowed, where CEL does not pair old and new values, and which keys and sizes values have.
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
	for path, want := range map[string]struct {
		kind         keyKind
		sized, empty bool // has a size, and can have the size 0
	}{
		"spec.set": {setItems, true, true}, "spec.numbers": {noKeys, true, true}, "spec.atomic": {noKeys, true, false}, "spec.keyed": {listKeys, true, true},
		"spec.half": {noKeys, true, true}, "spec.dates": {listKeys, true, true}, "spec.map": {mapKeys, true, true}, "spec.full": {mapKeys, true, false},
		"spec.unknown": {noKeys, true, true}, "spec.word": {noKeys, true, false}, "maybe": {noKeys, true, true}, "spec": {noKeys, false, true}, "spec.number": {noKeys, false, true},
	} {
		l := at(path)
		if keysOf(l) != want.kind || hasSize(l.Schema) != want.sized || emptyAllowed(l.Schema) != want.empty {
			t.Errorf("%s: keys %d, sized %v, empty %v", path, keysOf(l), hasSize(l.Schema), emptyAllowed(l.Schema))
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

// TestRelevant: which rules a search weighs together with one.
func TestRelevant(t *testing.T) {
	tr := readTree(version(t, "relevant", []byte(`{"type": "object", "x-kubernetes-validations": [
		{"rule": "self.a == oldSelf.a"}, {"rule": "self.a != self.b"}, {"rule": "has(self.c)"}, {"rule": "self.b == self.d"}, {"rule": "has(self.p) && has(self.p.f)"}, {"rule": "self.p.g == self.e"}, {"rule": "self.q == oldSelf.q"}],
		"properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}, "d": {"type": "string"}, "e": {"type": "string"}, "q": {"type": "object", "properties": {"r": {"type": "string"}}},
		"p": {"type": "object", "x-kubernetes-validations": [{"rule": "has(self.h)"}], "properties": {"f": {"type": "string"}, "g": {"type": "string"}, "h": {"type": "string"}}}}}`)).schema)
	var all []*readRule
	for _, l := range tr.All {
		for _, r := range tr.rules[l] {
			all = append(all, newReadRule(r))
		}
	}
	find := func(text string) *readRule {
		i := slices.IndexFunc(all, func(r *readRule) bool { return r.Text == text })
		if i < 0 {
			t.Fatalf("there is no rule %s", text)
		}
		return all[i]
	}
	for _, c := range []struct {
		name, rule, gone string
		want             []string
	}{
		{"those that share a field, also by way of others", "self.a == oldSelf.a", "", []string{"self.a == oldSelf.a", "self.a != self.b", "self.b == self.d"}},
		{"none", "has(self.c)", "", []string{"has(self.c)"}},
		{"those that read what goes, from above", "has(self.c)", "spec.p.f", []string{"has(self.c)", "has(self.p) && has(self.p.f)"}},
		{"those that read below what goes", "has(self.c)", "spec.p", []string{"has(self.c)", "has(self.p) && has(self.p.f)", "self.p.g == self.e"}},
		{"those that read what it goes with", "has(self.c)", "spec.q.r", []string{"has(self.c)", "self.q == oldSelf.q"}},
		{"not those of what goes itself", "has(self.h)", "spec.p.h", []string{"has(self.h)", "has(self.p) && has(self.p.f)"}},
	} {
		var gone *schema.Location
		if c.gone != "" {
			gone = locate(t, tr, c.gone)
		}
		var got []string
		for _, r := range newRuleIndex(all, nil).relevant(find(c.rule), gone, nil) {
			got = append(got, r.Text)
		}
		if got[0] != c.rule {
			t.Errorf("%s: %q is the first one", c.name, got[0])
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
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
