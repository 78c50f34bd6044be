package immutability_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
)

// TestRedacted looks for the secret in everything that a report shows.
func TestRedacted(t *testing.T) {
	secret := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"string"}}}
	password := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"string"}, Format: "password"}}
	inner := object(map[string]spec.Schema{"token": secret, "password": password, "user": {}})
	frozen := *mark(object(inner.Properties), "x-kubernetes-immutable", true)
	tokens := *mark(list(&secret), "x-kubernetes-list-type", "set", "x-kubernetes-addition-only", true)
	root := object(map[string]spec.Schema{"whole": frozen, "part": *inner, "tokens": tokens})
	part := root.Properties["part"].Properties
	part["token"] = *mark(&spec.Schema{}, "x-kubernetes-immutable", true)
	v, err := immutability.Compile(root, immutability.WithRedacted(
		"/properties/whole/properties/token", "/properties/part/properties/token", "/properties/tokens/items"))
	if err != nil {
		t.Fatal(err)
	}
	build := func(user string, n int) map[string]any {
		s := func(i int) string { return fmt.Sprintf("SECRET-%d-%d", n, i) }
		return map[string]any{
			"whole":  map[string]any{"token": s(1), "password": s(2), "user": user},
			"part":   map[string]any{"token": s(3), "user": user},
			"tokens": []any{s(4)},
		}
	}
	r := v.Check(build("new", 1), build("old", 2))
	if len(r.Violations) != 3 {
		t.Fatalf("%d violations", len(r.Violations))
	}
	shown := fmt.Sprintf("%v %+v", r.ErrorList(), r.Violations)
	for i := range r.Violations {
		shown += r.Violations[i].Message()
	}
	if strings.Contains(shown, "SECRET") {
		t.Errorf("a secret is shown: %s", shown)
	}
	if !strings.Contains(shown, `"old"`) || !strings.Contains(shown, "(redacted)") {
		t.Errorf("what is no secret is hidden: %s", shown)
	}
}

// TestRedactedRecursion: what is hidden hides everything below it, also where a schema leads back to itself.
func TestRedactedRecursion(t *testing.T) {
	v := compileJSON(t, `{"properties":{"a":{"$ref":"#/definitions/A"}},
		"definitions":{"A":{"format":"password","properties":{"a":{"$ref":"#/definitions/A"},"x":{"x-kubernetes-immutable":true}}}}}`)
	r := v.Check(nested(3, map[string]any{"x": "SECRET-1"}), nested(3, map[string]any{"x": "SECRET-2"}))
	if len(r.Violations) != 1 || strings.Contains(fmt.Sprintf("%v %v", r.ErrorList(), r.Violations), "SECRET") {
		t.Errorf("got %+v", r.Violations)
	}
}

// TestRedactedItems: passwords in the items of a list and under the keys of a map, whatever locks them, and map keys.
func TestRedactedItems(t *testing.T) {
	item := `{"type":"object","properties":{"name":{"type":"string","format":"password","x-kubernetes-immutable":true},"token":{"type":"string","format":"password"},"user":{"type":"string"}}}`
	keyed := `"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":` + item
	for name, schema := range map[string]string{
		"immutable list":     `{"type":"array","x-kubernetes-immutable":true,"items":` + item + `}`,
		"immutable map":      `{"type":"object","x-kubernetes-immutable":true,"additionalProperties":` + item + `}`,
		"keys of a list":     `{"x-kubernetes-immutable-keys":true,` + keyed + `}`,
		"list without order": `{"x-kubernetes-immutable":true,"x-fieldlock-map-list-order":"ignored",` + keyed + `}`,
		"NoModify":           `{"type":"array","x-fieldlock-update":["NoModify"],"items":` + item + `}`,
		"shared definition":  `{"allOf":[{"$ref":"#/definitions/list"}]}`,
	} {
		v := compileJSON(t, `{"properties":{"a":`+schema+`},"definitions":{"list":{"x-kubernetes-immutable":true,"type":"array","items":`+item+`}}}`)
		object := func(secret, user string) map[string]any {
			item := map[string]any{"name": secret + "-name", "token": secret, "user": user}
			if name == "immutable map" {
				return map[string]any{"a": map[string]any{"key": item}}
			}
			return map[string]any{"a": []any{item, map[string]any{"name": secret + "-other", "user": user}}}
		}
		newObj, oldObj := object("SECRET-1", "new"), object("SECRET-2", "old")
		r := v.Check(newObj, oldObj)
		shown := fmt.Sprintf("%v %+v", r.ErrorList(), r.Violations)
		for i := range r.Violations {
			shown += r.Violations[i].Message()
		}
		if r.Allowed() || strings.Contains(shown, "SECRET") || !strings.Contains(shown, "(redacted)") {
			t.Errorf("%s: shown is %s", name, shown)
		}
		if !strings.Contains(fmt.Sprint(newObj), "SECRET-1") {
			t.Errorf("%s: the object itself was changed", name)
		}
	}
}

// TestRedactedThroughOneOfTwoRefs: what one $ref hides is hidden wherever the definition is used.
func TestRedactedThroughOneOfTwoRefs(t *testing.T) {
	d := object(map[string]spec.Schema{"x": *mark(&spec.Schema{}, "x-kubernetes-immutable", true)})
	root := object(map[string]spec.Schema{"a": refTo("d"), "b": refTo("d")})
	root.Definitions = spec.Definitions{"d": *d}
	v := immutability.MustCompile(root, immutability.WithRedacted("/properties/b"))
	r := v.Check(map[string]any{"b": map[string]any{"x": "SECRET"}}, map[string]any{"b": map[string]any{"x": "old"}})
	if shown := fmt.Sprintf("%v %+v", r.ErrorList(), r.Violations); r.Allowed() || strings.Contains(shown, "SECRET") {
		t.Errorf("shown is %s", shown)
	}
}

func TestRedactedPathThatLeadsNowhere(t *testing.T) {
	_, err := immutability.Compile(object(nil), immutability.WithRedacted("/properties/tokn"))
	if err == nil || !strings.Contains(err.Error(), `no "/properties/tokn" to redact`) {
		t.Errorf("got %v", err)
	}
}
