package compare

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestMergeValues(t *testing.T) {
	const defaults = "a: 1\nb: {c: 2, d: [1, 2], e: {f: 3}}\ng: x\nh: {i: 1}\n"
	for _, c := range []struct{ name, values, want string }{
		{"nothing", "{}", defaults},
		{"scalar", "a: 2", "a: 2\nb: {c: 2, d: [1, 2], e: {f: 3}}\ng: x\nh: {i: 1}"},
		{"deep", "b: {e: {z: 1}}", "a: 1\nb: {c: 2, d: [1, 2], e: {f: 3, z: 1}}\ng: x\nh: {i: 1}"},
		{"list", "b: {d: [3]}", "a: 1\nb: {c: 2, d: [3], e: {f: 3}}\ng: x\nh: {i: 1}"},
		{"null removes a default", "b: {e: null}\na: null", "b: {c: 2, d: [1, 2]}\ng: x\nh: {i: 1}"},
		{"null without a default", "n: {m: null}", "a: 1\nb: {c: 2, d: [1, 2], e: {f: 3}}\ng: x\nh: {i: 1}\nn: {}"},
		{"object over a scalar", "g: {y: 1}", "a: 1\nb: {c: 2, d: [1, 2], e: {f: 3}}\ng: {y: 1}\nh: {i: 1}"},
		{"scalar over an object", "h: 5", "a: 1\nb: {c: 2, d: [1, 2], e: {f: 3}}\ng: x\nh: 5"},
		{"null within a list", "b: {d: [null]}", "a: 1\nb: {c: 2, d: [null], e: {f: 3}}\ng: x\nh: {i: 1}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var values, standard, want, unchanged map[string]any
			for text, into := range map[string]*map[string]any{c.values: &values, c.want: &want} {
				if err := yaml.Unmarshal([]byte(text), into); err != nil {
					t.Fatal(err)
				}
			}
			for _, into := range []*map[string]any{&standard, &unchanged} {
				if err := yaml.Unmarshal([]byte(defaults), into); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, mergeValues(values, standard)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(unchanged, standard); diff != "" {
				t.Errorf("the defaults have changed: %s", diff)
			}
		})
	}
}
