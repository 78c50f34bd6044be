package celrule

import (
	"strconv"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// facts makes a scenario of what is known of each object: "spec.f" is there, "!spec.f" is not, "spec.f=a" has a value.
// Nothing is known of other fields.
func facts(t *testing.T, tr *tree, objects ...string) *scenario {
	t.Helper()
	m := newScenario(nil)
	for object, text := range objects {
		for _, fact := range strings.Fields(text) {
			path, value, hasValue := strings.Cut(fact, "=")
			path, absent := strings.CutPrefix(path, "!")
			l := locate(t, tr, path)
			m.track(l)
			m.set(object, askPresence, l, !absent)
			if n, err := strconv.Atoi(value); err == nil {
				m.set(object, askValue, l, int64(n))
			} else if value == "empty" {
				m.set(object, askValue, l, emptyValue{})
			} else if hasValue {
				m.set(object, askValue, l, value)
			}
		}
	}
	return m
}

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

var outcomeNames = map[outcome]string{open: "open", opaque: "opaque", no: "no", yes: "yes", fails: "fails"}

// TestDemands: what combinations of schemas say of an object of which some fields are known.
func TestDemands(t *testing.T) {
	for _, c := range []struct {
		name, combination, object string
		want                      outcome
	}{
		{"none", `"type": "object"`, "", yes},
		{"allOf, both satisfied", `"allOf": [{"required": ["a"]}, {"required": ["b"]}]`, "spec.a spec.b", yes},
		{"allOf, the second not", `"allOf": [{"required": ["a"]}, {"required": ["b"]}]`, "spec.a !spec.b", no},
		{"allOf, the first not", `"allOf": [{"required": ["a"]}, {"required": ["b"]}]`, "!spec.a spec.b", no},
		{"anyOf, the first", `"anyOf": [{"required": ["a"]}, {"required": ["b"]}]`, "spec.a !spec.b", yes},
		{"anyOf, the second", `"anyOf": [{"required": ["a"]}, {"required": ["b"]}]`, "!spec.a spec.b", yes},
		{"anyOf, none", `"anyOf": [{"required": ["a"]}, {"required": ["b"]}]`, "!spec.a !spec.b", no},
		{"oneOf, the first", `"oneOf": [{"required": ["a"]}, {"required": ["b"]}]`, "spec.a !spec.b", yes},
		{"oneOf, the second", `"oneOf": [{"required": ["a"]}, {"required": ["b"]}]`, "!spec.a spec.b", yes},
		{"oneOf, both", `"oneOf": [{"required": ["a"]}, {"required": ["b"]}]`, "spec.a spec.b", no},
		{"oneOf, none", `"oneOf": [{"required": ["a"]}, {"required": ["b"]}]`, "!spec.a !spec.b", no},
		{"oneOf, the first and the third", `"oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"required": ["n"]}]`, "spec.a !spec.b spec.n", no},
		{"oneOf, all three", `"oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"required": ["n"]}]`, "spec.a spec.b spec.n", no},
		{"oneOf, the third", `"oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"required": ["n"]}]`, "!spec.a !spec.b spec.n", yes},
		{"not, which is so", `"not": {"required": ["a"]}`, "spec.a", no},
		{"not, which is not so", `"not": {"required": ["a"]}`, "!spec.a", yes},
		{"all that are there count", `"allOf": [{"required": ["a"]}], "not": {"required": ["b"]}`, "spec.a spec.b", no},
		{"the others count beside oneOf", `"anyOf": [{"required": ["a"]}], "oneOf": [{"required": ["b"]}]`, "!spec.a spec.b", no},
		{"the others count beside anyOf", `"allOf": [{"required": ["a"]}], "anyOf": [{"required": ["b"]}]`, "!spec.a spec.b", no},
		{"a combination in another one", `"allOf": [{"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}]`, "!spec.a !spec.b", no},
		{"two required fields", `"allOf": [{"required": ["a", "b"]}]`, "spec.a !spec.b", no},
		{"two required fields, the first missing", `"allOf": [{"required": ["a", "b"]}]`, "!spec.a spec.b", no},
		{"a field of which nothing is known", `"allOf": [{"required": ["a"]}]`, "spec.b", opaque},
		{"a field that the schema does not have", `"allOf": [{"required": ["z"]}]`, "spec.b", opaque},
		{"one of two words", `"allOf": [{"properties": {"a": {"enum": ["x", "y"]}}}]`, "spec.a=y", yes},
		{"another word", `"allOf": [{"properties": {"a": {"enum": ["x", "y"]}}}]`, "spec.a=z", no},
		{"a number", `"allOf": [{"properties": {"n": {"enum": [1]}}}]`, "spec.n=1", yes},
		{"another number", `"allOf": [{"properties": {"n": {"enum": [1]}}}]`, "spec.n=2", no},
		{"words of an absent field", `"allOf": [{"properties": {"a": {"enum": ["x"]}}}]`, "!spec.a", yes},
		{"words of a field whose value is not known yet", `"allOf": [{"properties": {"a": {"enum": ["x"]}}}]`, "spec.a", open},
		{"a field with another keyword", `"allOf": [{"properties": {"a": {"maxLength": 1}}}]`, "spec.a=x", opaque},
		{"words of an object", `"allOf": [{"properties": {"o": {"enum": ["x"]}}}]`, "spec.o spec.o.x=x", opaque},
		{"both fields have to have their word", `"allOf": [{"properties": {"a": {"enum": ["x"]}, "b": {"enum": ["x"]}}}]`, "spec.a=x spec.b=y", no},
		{"type object", `"allOf": [{"type": "object"}]`, "", yes},
		{"another type", `"allOf": [{"type": "string"}]`, "", opaque},
		{"items", `"allOf": [{"items": {}}]`, "", opaque},
		{"additionalProperties", `"allOf": [{"additionalProperties": {}}]`, "", opaque},
		{"minProperties", `"allOf": [{"minProperties": 1}]`, "", opaque},
		{"maxProperties", `"allOf": [{"maxProperties": 1}]`, "", opaque},
		{"enum", `"allOf": [{"enum": [{}]}]`, "", opaque},
		{"pattern", `"allOf": [{"pattern": "a"}]`, "", opaque},
		{"minItems", `"allOf": [{"minItems": 1}]`, "", opaque},
		{"maxItems", `"allOf": [{"maxItems": 1}]`, "", opaque},
		{"minLength", `"allOf": [{"minLength": 1}]`, "", opaque},
		{"maxLength", `"allOf": [{"maxLength": 1}]`, "", opaque},
		{"minimum", `"allOf": [{"minimum": 1}]`, "", opaque},
		{"maximum", `"allOf": [{"maximum": 1}]`, "", opaque},
		{"what decides hides what is not understood", `"allOf": [{"maximum": 1}, {"required": ["a"]}]`, "!spec.a", no},
	} {
		tr := readTree(version(t, c.name, []byte(`{`+c.combination+`, "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "n": {"type": "integer"},
			"o": {"type": "object", "properties": {"x": {"type": "string"}}}}}`)).schema)
		at := locate(t, tr, "spec")
		m := facts(t, tr, c.object)
		if got := demands(m, 0, at, at.Schema); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, outcomeNames[got], outcomeNames[c.want])
		}
		if combines(at.Schema) != (c.name != "none") {
			t.Errorf("%s: combines says %v", c.name, combines(at.Schema))
		}
	}
}

// TestStepLocks: what the locks of a field say of an update of which some fields are known.
func TestStepLocks(t *testing.T) {
	const parent = "spec.p "
	for _, c := range []struct {
		name, field, newObj, oldObj string
		want                        outcome
	}{
		{"none", `"type": "string"`, "spec.p.f=a", "spec.p.f=b", yes},
		{"immutable and the same", `"type": "string", "x-kubernetes-immutable": true`, "spec.p.f=a", "spec.p.f=a", yes},
		{"immutable and changed", `"type": "string", "x-kubernetes-immutable": true`, "spec.p.f=a", "spec.p.f=b", no},
		{"immutable and set", `"type": "string", "x-kubernetes-immutable": true`, "spec.p.f=a", "!spec.p.f", no},
		{"immutable and unset", `"type": "string", "x-kubernetes-immutable": true`, "!spec.p.f", "spec.p.f=a", no},
		{"immutable and absent", `"type": "string", "x-kubernetes-immutable": true`, "!spec.p.f", "!spec.p.f", yes},
		{"immutable, with a value that is not known yet", `"type": "string", "x-kubernetes-immutable": true`, "spec.p.f", "spec.p.f=a", open},
		{"NoSet and set", `"type": "string", "x-fieldlock-update": ["NoSet"]`, "spec.p.f=a", "!spec.p.f", no},
		{"NoSet and unset", `"type": "string", "x-fieldlock-update": ["NoSet"]`, "!spec.p.f", "spec.p.f=a", yes},
		{"NoUnset and unset", `"type": "string", "x-fieldlock-update": ["NoUnset"]`, "!spec.p.f", "spec.p.f=a", no},
		{"NoUnset and changed", `"type": "string", "x-fieldlock-update": ["NoUnset"]`, "spec.p.f=b", "spec.p.f=a", yes},
		{"NoModify and changed", `"type": "string", "x-fieldlock-update": ["NoModify"]`, "spec.p.f=b", "spec.p.f=a", no},
		{"NoModify and set", `"type": "string", "x-fieldlock-update": ["NoModify"]`, "spec.p.f=b", "!spec.p.f", yes},
		{"without the parent before", `"type": "string", "x-fieldlock-update": ["NoSet"]`, "spec.p spec.p.f=a", "!spec.p", yes},
		{"without the parent after", `"type": "string", "x-fieldlock-update": ["NoUnset"]`, "!spec.p", "spec.p spec.p.f=a", yes},
		{"no item added, and one added", `"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}, "x-fieldlock-update": ["NoAddItem"]`,
			"spec.p.f spec.p.f[*]", "spec.p.f !spec.p.f[*]", no},
		{"no item added, and one removed", `"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}, "x-fieldlock-update": ["NoAddItem"]`,
			"spec.p.f !spec.p.f[*]", "spec.p.f spec.p.f[*]", yes},
		{"no item removed, and one removed", `"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}, "x-fieldlock-update": ["NoRemoveItem"]`,
			"spec.p.f !spec.p.f[*]", "spec.p.f spec.p.f[*]", no},
		{"no item removed, and one added", `"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}, "x-fieldlock-update": ["NoRemoveItem"]`,
			"spec.p.f spec.p.f[*]", "spec.p.f !spec.p.f[*]", yes},
		{"no item added, and nothing is known of the items", `"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}, "x-fieldlock-update": ["NoAddItem", "NoRemoveItem"]`,
			"spec.p.f", "spec.p.f", yes},
	} {
		tr := readTree(version(t, c.name, []byte(`{"type": "object", "properties": {"p": {"type": "object", "properties": {"f": {`+c.field+`}}}}}`)).schema)
		objects := []string{c.oldObj, c.newObj}
		for i, o := range objects {
			if !strings.Contains(o, "spec.p ") && !strings.Contains(o, "!spec.p ") && o != "!spec.p" {
				objects[i] = parent + o
			}
		}
		m := facts(t, tr, objects...)
		if got := (step{scenario: m, newObj: 1, oldObj: 0}).locks(locate(t, tr, "spec.p.f")); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, outcomeNames[got], outcomeNames[c.want])
		}
	}
	tr := readTree(version(t, "root", []byte(`{"type": "object"}`)).schema)
	if got := (step{scenario: facts(t, tr, ""), newObj: 1}).locks(tr.Root); got != yes {
		t.Errorf("the root has no locks, and they are %s", outcomeNames[got])
	}
}

// TestScenarioValues: equality, emptiness and fingerprints of values of which some parts are known.
func TestScenarioValues(t *testing.T) {
	tr := readTree(version(t, "values", []byte(`{"type": "object", "properties": {
		"f": {"type": "string"}, "o": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
		"m": {"type": "object", "additionalProperties": {"type": "string"}},
		"full": {"type": "array", "minItems": 1, "x-kubernetes-list-type": "set", "items": {"type": "string"}}}}`)).schema)
	for _, c := range []struct {
		name, path, a, b string
		equal            outcome
	}{
		{"the same value", "spec.f", "spec.f=a", "spec.f=a", yes},
		{"another value", "spec.f", "spec.f=a", "spec.f=b", no},
		{"one is not known", "spec.f", "spec.f=a", "spec.f", open},
		{"the other is not known", "spec.f", "spec.f", "spec.f=a", open},
		{"the same fields", "spec.o", "spec.o=r spec.o.a=x spec.o.b=y", "spec.o=r spec.o.a=x spec.o.b=y", yes},
		{"the first field differs", "spec.o", "spec.o=r spec.o.a=x spec.o.b=y", "spec.o=r spec.o.a=z spec.o.b=y", no},
		{"the second field differs", "spec.o", "spec.o=r spec.o.a=x spec.o.b=y", "spec.o=r spec.o.a=x spec.o.b=z", no},
		{"a field is absent from one", "spec.o", "spec.o=r spec.o.a=x spec.o.b=y", "spec.o=r spec.o.a=x !spec.o.b", no},
		{"a field is absent from both", "spec.o", "spec.o=r spec.o.a=x !spec.o.b", "spec.o=r spec.o.a=x !spec.o.b", yes},
		{"a field is not known", "spec.o", "spec.o=r spec.o.a spec.o.b=y", "spec.o=r spec.o.a=x spec.o.b=y", open},
		{"a field that no rule reads may differ", "spec.o", "spec.o spec.o.a=x", "spec.o spec.o.a=x", open},
		{"fields that no rule reads are the same", "spec.o", "spec.o=r spec.o.a=x", "spec.o=r spec.o.a=x", yes},
		{"fields that no rule reads differ", "spec.o", "spec.o=r spec.o.a=x", "spec.o=s spec.o.a=x", no},
		{"the same key with the same value", "spec.m", "spec.m spec.m[*]=x", "spec.m spec.m[*]=x", yes},
		{"the same key with another value", "spec.m", "spec.m spec.m[*]=x", "spec.m spec.m[*]=y", no},
		{"a key less", "spec.m", "spec.m spec.m[*]=x", "spec.m !spec.m[*]", no},
	} {
		m := facts(t, tr, c.a, c.b)
		l := locate(t, tr, c.path)
		if got := m.equal(0, 1, l); got != c.equal {
			t.Errorf("%s: equal is %s, want %s", c.name, outcomeNames[got], outcomeNames[c.equal])
		}
		printA, okA := m.fingerprint(0, l)
		printB, okB := m.fingerprint(1, l)
		if c.equal == open && okA && okB || c.equal != open && !(okA && okB) || c.equal != open && (printA == printB) != (c.equal == yes) {
			t.Errorf("%s: fingerprints %q (%v) and %q (%v)", c.name, printA, okA, printB, okB)
		}
	}
	for _, c := range []struct {
		name, path, object string
		others             any // whether there are other keys
		want               outcome
	}{
		{"a value", "spec.f", "spec.f=a", nil, no},
		{"the empty string", "spec.f", "spec.f=", nil, yes},
		{"a value that is not known", "spec.f", "spec.f", nil, open},
		{"an empty map whose keys no rule reads", "spec.m", "spec.m=empty", nil, yes},
		{"with a key", "spec.m", "spec.m spec.m[*]", nil, no},
		{"without the key, with another one", "spec.m", "spec.m !spec.m[*]", true, no},
		{"without any key", "spec.m", "spec.m !spec.m[*]", false, yes},
		{"without the key, and nothing is known of others", "spec.m", "spec.m !spec.m[*]", nil, open},
		{"with at least one item", "spec.full", "spec.full !spec.full[*]", false, no},
	} {
		m := facts(t, tr, c.object)
		l := locate(t, tr, c.path)
		if c.others != nil {
			m.set(0, askOtherKeys, l, c.others)
		}
		if got := m.empty(0, l); got != c.want {
			t.Errorf("%s: empty is %s, want %s", c.name, outcomeNames[got], outcomeNames[c.want])
		}
	}
}
