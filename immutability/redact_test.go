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
	frozen := *mark(object(inner.Properties), immutability.KeyImmutable, true)
	tokens := *mark(list(&secret), immutability.KeyListType, "set", immutability.KeyAdditionOnly, true)
	root := object(map[string]spec.Schema{"whole": frozen, "part": *inner, "tokens": tokens})
	part := root.Properties["part"].Properties
	part["token"] = *mark(&spec.Schema{}, immutability.KeyImmutable, true)
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
	if !strings.Contains(shown, `"old"`) || !strings.Contains(shown, immutability.Redacted) {
		t.Errorf("what is no secret is hidden: %s", shown)
	}
}

func TestRedactedPathThatLeadsNowhere(t *testing.T) {
	_, err := immutability.Compile(object(nil), immutability.WithRedacted("/properties/tokn"))
	if err == nil || !strings.Contains(err.Error(), `no "/properties/tokn" to redact`) {
		t.Errorf("got %v", err)
	}
}
