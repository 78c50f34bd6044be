package immutability_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/rawschema"
)

// TestExternal runs testdata/external.yaml: what aliases and external locks refuse, and their mistakes.
func TestExternal(t *testing.T) {
	data, err := os.ReadFile("testdata/external.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Reason any
		Alias        map[string][]immutability.Lock
		Kind         string
		Locks        []immutability.ExternalLock
		Fields       map[string]any
		Old, New     map[string]any
		Refused      []string
		Findings     []struct{ Rule, Path, Message string }
	}
	if err := yaml.UnmarshalStrict(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		s, wrong := rawschema.Schema(map[string]any{
			"type": "object",
			"properties": map[string]any{
				"spec": map[string]any{"type": "object", "properties": c.Fields},
			},
			"definitions": map[string]any{"place": map[string]any{"type": "object", "properties": map[string]any{"zone": map[string]any{"type": "string"}}}},
		})
		if wrong != nil {
			t.Fatal(wrong)
		}
		if c.Kind != "" {
			s.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{"group": "example.com", "version": "v1", "kind": c.Kind}})
		}
		before := encode(t, s)
		opts := []immutability.Option{immutability.WithLocks(c.Locks...)}
		for key, locks := range c.Alias {
			opts = append(opts, immutability.WithKeyAlias(key, locks...))
		}
		v, err := immutability.Compile(s, opts...)
		if after := encode(t, s); after != before {
			t.Errorf("%v: the schema has changed to %s", c.Name, after)
		}
		var mistakes *immutability.SchemaError
		if errors.As(err, &mistakes) != (c.Findings != nil) {
			t.Errorf("%v: got the error %v, want %v", c.Name, err, c.Findings)
			continue
		}
		for _, want := range c.Findings {
			if !slices.ContainsFunc(mistakes.Findings, func(f immutability.Finding) bool {
				return f.Rule == want.Rule && f.Path == want.Path && strings.Contains(f.Message, want.Message)
			}) {
				t.Errorf("%v: got %+v, want %+v", c.Name, mistakes.Findings, want)
			}
		}
		if err != nil {
			continue
		}
		var refused []string
		for _, violation := range v.Check(map[string]any{"spec": c.New}, map[string]any{"spec": c.Old}).Violations {
			refused = append(refused, violation.Path.String())
		}
		if !slices.Equal(refused, c.Refused) {
			t.Errorf("%v: got %q refused, want %q", c.Name, refused, c.Refused)
		}
	}
}

func encode(t *testing.T, s *spec.Schema) string {
	t.Helper()
	data, err := yaml.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
