package kudo_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
	"github.com/fieldlock/fieldlock/internal/testing/paramcase"
)

func enhancement(restart bool) kudo.Enhancement {
	return kudo.Enhancement{
		Operator: "cassandra", Instance: "ring", OperatorVersion: "1.0.0",
		Plan: "deploy", Phase: "nodes", Step: "rack", PlanUID: "4f9a", Restart: restart,
	}
}

// TestEnhancement runs the shared cases through the Go API.
func TestEnhancement(t *testing.T) {
	cases, err := paramcase.LoadEnhance("../../../testdata/params/enhance/enhance.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			objects, live := c.Objects(t, c.Templates), c.Objects(t, c.Live)
			var got []map[string]any
			for _, object := range objects {
				marked, err := enhancement(c.Restart).Apply(object, liveOf(object, live))
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, marked)
			}
			if diff := cmp.Diff(c.Objects(t, c.Want), got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", c.Reason, diff)
			}
			if diff := cmp.Diff(c.Objects(t, c.Templates), objects) + cmp.Diff(c.Objects(t, c.Live), live); diff != "" {
				t.Errorf("the inputs were changed:\n%s", diff)
			}
		})
	}
}

// A second plan without a restart leaves the templates byte for byte as the first one wrote them.
func TestEnhancementKeepsTemplates(t *testing.T) {
	object := tree(t, "{kind: StatefulSet, spec: {template: {spec: {}}, volumeClaimTemplates: [{}], jobTemplate: {spec: {template: {}}}}}")
	first, err := enhancement(true).Apply(object, nil)
	if err != nil {
		t.Fatal(err)
	}
	next := enhancement(false)
	next.Plan, next.Phase, next.Step, next.OperatorVersion, next.PlanUID = "update", "other", "else", "2.0.0", "another"
	for name, rendered := range map[string]map[string]any{"rendered anew": object, "read from the cluster": first} {
		second, err := next.Apply(rendered, first)
		if err != nil {
			t.Fatal(err)
		}
		before, _ := json.Marshal(first["spec"])
		after, _ := json.Marshal(second["spec"])
		if string(before) != string(after) {
			t.Errorf("%s: the templates were\n%s\nand are\n%s", name, before, after)
		}
		if cmp.Equal(first["metadata"], second["metadata"]) {
			t.Errorf("%s: the annotations of the object itself are those of the last plan", name)
		}
	}
}

func TestEnhancementRefuses(t *testing.T) {
	for name, object := range map[string]string{
		"metadata is a list: it should be a mapping":                                                      "{metadata: []}",
		"metadata.labels is the string \"a\": it should be a mapping":                                     "{metadata: {labels: a}}",
		"metadata.annotations is a list: it should be a mapping":                                          "{metadata: {annotations: [a]}}",
		"spec.template.metadata is the string \"a\": it should be a mapping":                              "{spec: {template: {metadata: a}}}",
		"spec.volumeClaimTemplates[1].metadata.labels is the number 1: it should be a mapping":            "{spec: {volumeClaimTemplates: [{}, {metadata: {labels: 1}}]}}",
		"spec.jobTemplate.spec.template.metadata.annotations is the boolean true: it should be a mapping": "{spec: {jobTemplate: {spec: {template: {metadata: {annotations: true}}}}}}",
	} {
		if _, err := enhancement(true).Apply(tree(t, object), nil); err == nil || err.Error() != name {
			t.Errorf("%s: got %v, want %s", object, err, name)
		}
	}
}

func tree(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// liveOf returns the live object of a rendered one, as in the shared cases; nil for none.
func liveOf(rendered map[string]any, live []map[string]any) map[string]any {
	r := unstructured.Unstructured{Object: rendered}
	for _, object := range live {
		l := unstructured.Unstructured{Object: object}
		if l.GroupVersionKind().GroupKind() == r.GroupVersionKind().GroupKind() && l.GetName() == r.GetName() &&
			(r.GetNamespace() == "" || l.GetNamespace() == r.GetNamespace()) {
			return object
		}
	}
	return nil
}
