package kudo_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
)

// The marks as they are wanted in the tables below.
const (
	wantLabels = `{heritage: kudo, kudo.dev/operator: cassandra, kudo.dev/instance: ring}`
	wantTop    = `{kudo.dev/plan: deploy, kudo.dev/phase: nodes, kudo.dev/step: rack, kudo.dev/operator-version: 1.0.0}`
	wantUID    = `{kudo.dev/last-plan-execution-uid: 4f9a}`
)

func enhancement(restart bool) kudo.Enhancement {
	return kudo.Enhancement{
		Operator: "cassandra", Instance: "ring", OperatorVersion: "1.0.0",
		Plan: "deploy", Phase: "nodes", Step: "rack", PlanUID: "4f9a", Restart: restart,
	}
}

func TestEnhancement(t *testing.T) {
	const top = "metadata: {labels: " + wantLabels + ", annotations: " + wantTop + "}\n"
	for _, test := range []struct {
		name, reason string
		restart      bool
		object, live string
		want         string
	}{{
		name:    "Deployment with restart",
		reason:  "KEP-27, Implementation Details: the plan UID is set on templates when the flag says so",
		restart: true,
		object:  "{kind: Deployment, spec: {replicas: 3, template: {metadata: {labels: {app: c}, annotations: {a: b}}, spec: {containers: []}}}}",
		want: "kind: Deployment\n" + top + `
spec:
  replicas: 3
  template:
    metadata:
      labels: {app: c, heritage: kudo, kudo.dev/operator: cassandra, kudo.dev/instance: ring}
      annotations: {a: b, kudo.dev/last-plan-execution-uid: 4f9a}
    spec: {containers: []}`,
	}, {
		name:   "DaemonSet without restart",
		reason: "KEP-27, Implementation Details: annotations go to the top-level resource only, labels are static",
		object: "{kind: DaemonSet, spec: {template: {spec: {containers: []}}}}",
		want:   "kind: DaemonSet\n" + top + "spec: {template: {metadata: {labels: " + wantLabels + "}, spec: {containers: []}}}",
	}, {
		name:    "StatefulSet's volume claims have labels and never the plan UID",
		reason:  "KEP-27, Implementation Details: volumeClaimTemplates[] is a path of labels, not of annotations",
		restart: true,
		object:  "{kind: StatefulSet, spec: {template: {}, volumeClaimTemplates: [{metadata: {name: data}}, {spec: {}}, text]}}",
		want: "kind: StatefulSet\n" + top + `
spec:
  template: {metadata: {labels: ` + wantLabels + `, annotations: ` + wantUID + `}}
  volumeClaimTemplates:
  - metadata: {name: data, labels: ` + wantLabels + `}
  - {spec: {}, metadata: {labels: ` + wantLabels + `}}
  - text`,
	}, {
		name:    "CronJob with restart",
		reason:  "KEP-27, Implementation Details: both templates of a CronJob",
		restart: true,
		object:  "{kind: CronJob, spec: {jobTemplate: {spec: {template: {spec: {}}}}}}",
		want: "kind: CronJob\n" + top + `
spec:
  jobTemplate:
    metadata: {labels: ` + wantLabels + `, annotations: ` + wantUID + `}
    spec:
      template: {spec: {}, metadata: {labels: ` + wantLabels + `, annotations: ` + wantUID + `}}`,
	}, {
		name:   "Job without restart",
		reason: "KEP-27, Implementation Details",
		object: "{kind: Job, spec: {template: {spec: {}}}}",
		want:   "kind: Job\n" + top + "spec: {template: {spec: {}, metadata: {labels: " + wantLabels + "}}}",
	}, {
		name:    "a kind without templates gets none",
		reason:  "paths that an object does not have are no paths of it",
		restart: true,
		object:  "{kind: ConfigMap, data: {a: b}}",
		want:    "kind: ConfigMap\ndata: {a: b}\n" + top,
	}, {
		name:    "a template that is a text is none",
		reason:  "other kinds have a spec.template of their own making",
		restart: true,
		object:  "{kind: Dashboard, spec: {template: text, jobTemplate: [1], volumeClaimTemplates: {}}}",
		want:    "kind: Dashboard\nspec: {template: text, jobTemplate: [1], volumeClaimTemplates: {}}\n" + top,
	}, {
		name:   "without restart the UID of the last one stays",
		reason: "KEP-27, Implementation Details: the template is unchanged, and leaving the UID out would change it",
		object: "{kind: Deployment, spec: {template: {metadata: {annotations: {a: b}}}}}",
		live:   "{kind: Deployment, spec: {template: {metadata: {annotations: {kudo.dev/last-plan-execution-uid: earlier}}}}}",
		want: "kind: Deployment\n" + top + `
spec:
  template:
    metadata: {labels: ` + wantLabels + `, annotations: {a: b, kudo.dev/last-plan-execution-uid: earlier}}`,
	}, {
		name:    "with restart the UID of the last one goes",
		reason:  "KEP-27, Implementation Details: the new UID restarts the pods",
		restart: true,
		object:  "{kind: Deployment, spec: {template: {}}}",
		live:    "{kind: Deployment, spec: {template: {metadata: {annotations: {kudo.dev/last-plan-execution-uid: earlier}}}}}",
		want:    "kind: Deployment\n" + top + "spec: {template: {metadata: {labels: " + wantLabels + ", annotations: " + wantUID + "}}}",
	}, {
		name:   "marks of an earlier plan are replaced, others stay",
		reason: "KEP-27, Implementation Details: plan, phase and step change with every plan",
		object: "{kind: Service, metadata: {name: s, labels: {a: b, heritage: helm}, annotations: {kudo.dev/plan: update, c: d}}}",
		want: `
kind: Service
metadata:
  name: s
  labels: {a: b, heritage: kudo, kudo.dev/operator: cassandra, kudo.dev/instance: ring}
  annotations: {c: d, kudo.dev/plan: deploy, kudo.dev/phase: nodes, kudo.dev/step: rack, kudo.dev/operator-version: 1.0.0}`,
	}} {
		t.Run(test.name, func(t *testing.T) {
			object, live := tree(t, test.object), tree(t, test.live)
			got, err := enhancement(test.restart).Apply(object, live)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tree(t, test.want), got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", test.reason, diff)
			}
			if diff := cmp.Diff(tree(t, test.object), object) + cmp.Diff(tree(t, test.live), live); diff != "" {
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
		"metadata is a []interface {}: it should be a mapping":                                  "{metadata: []}",
		"metadata.labels is a string: it should be a mapping":                                   "{metadata: {labels: a}}",
		"metadata.annotations is a []interface {}: it should be a mapping":                      "{metadata: {annotations: [a]}}",
		"spec.template.metadata is a string: it should be a mapping":                            "{spec: {template: {metadata: a}}}",
		"spec.volumeClaimTemplates[1].metadata.labels is a float64: it should be a mapping":     "{spec: {volumeClaimTemplates: [{}, {metadata: {labels: 1}}]}}",
		"spec.jobTemplate.spec.template.metadata.annotations is a bool: it should be a mapping": "{spec: {jobTemplate: {spec: {template: {metadata: {annotations: true}}}}}}",
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
