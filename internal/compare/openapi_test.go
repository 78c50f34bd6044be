package compare

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/schemadoc"
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

// TestChangedDefaults: the values of a chart's user stay as they are, and a locked one changes with the values.yaml of
// the chart.
func TestChangedDefaults(t *testing.T) {
	document, err := schemadoc.Read("values.schema.json", []byte(`{"$schema": "x", "type": "object", "properties": {"class": {"type": "string", "x-kubernetes-immutable": true}}}`))
	if err != nil {
		t.Fatal(err)
	}
	schemas := manifest.Schemas{Documents: []*schemadoc.Document{document}}
	values := map[string]string{"values.yaml": "size: 1\n"}
	for class, want := range map[string]bool{"fast": true, "slow": false} {
		r, err := Check(Input{
			New: files(values), Old: files(values), NewSchemas: schemas, OldSchemas: schemas,
			NewDefaults: map[string]any{"class": class}, OldDefaults: map[string]any{"class": "fast"},
		}, Options{})
		if err != nil || r.Allowed != want {
			t.Errorf("fast to %s: allowed %v, %v, %q, want %t", class, r.Allowed, err, found(r), want)
		}
	}
}
