package kustomize_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/kustomize"
)

// sameInJSON builds a kustomization in JSON, and compares the objects with those that kustomize prints.
func sameInJSON(t *testing.T, tree fstest.MapFS, o kustomize.Options) {
	t.Helper()
	want, wantErr := kustomize.Build(context.Background(), tree, "live", o)
	o.JSON = true
	got, err := kustomize.Build(context.Background(), tree, "live", o)
	if fmt.Sprint(err) != fmt.Sprint(wantErr) || len(got) != len(want) {
		t.Fatalf("%d objects in JSON, error %v; want %d, error %v", len(got), err, len(want), wantErr)
	}
	for i := range got {
		var object, printed any
		if err := json.Unmarshal(got[i].YAML, &object); err != nil {
			t.Fatalf("%s: %v", got[i].YAML, err)
		}
		if err := yaml.Unmarshal(want[i].YAML, &printed); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(object, printed) {
			t.Errorf("in JSON: %v\nwant: %v", object, printed)
		}
	}
}

// TestJSON: an object means the same in JSON, however its values are written.
func TestJSON(t *testing.T) {
	for name, value := range map[string]string{
		"scalars":   `{a: [yes, "1", 0x10, 1.50, ~, 2020-01-01, on, 0o17, 1e3, 9007199254740993], "on": off, "1": b}`,
		"texts":     "\n  a: |\n    one\n    two\n  b: >-\n    folded\n    text\n\n    more\n  c: \"\\u00e9 <&> \\\" \\\\\"\n",
		"an anchor": "\n  a: &x {b: [1, c]}\n  d: *x\n",
		"a merge":   "\n  a: &x {b: 1}\n  c:\n    <<: *x\n    d: 2\n",
		"tags":      `{a: !!str 1, b: !!int "2"}`,
		"empty":     `{a: {}, b: [], c: "", d: null}`,
		"comments":  "\n  # before\n  a: b # behind\n",
		"nesting":   `{a: [[{b: [c, {d: e}]}]]}`,
	} {
		t.Run(name, func(t *testing.T) {
			sameInJSON(t, fstest.MapFS{
				"live/kustomization.yaml": {Data: []byte("resources: [a.yaml]\nnamespace: live\n")},
				"live/a.yaml":             {Data: []byte("apiVersion: example.com/v1\nkind: A\nmetadata: {name: a}\nspec: " + value + "\n")},
			}, kustomize.Options{})
		})
	}
}
