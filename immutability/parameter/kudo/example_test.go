package kudo_test

import (
	"context"
	"fmt"
	"log"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
)

// KEP-30: an install copies the default of an immutable parameter, and an update may not change its value.
func ExampleOperatorVersion_Update() {
	version, err := kudo.ReadOperatorVersion([]byte(`
parameters:
  - name: NUM_TOKENS
    default: 256
    immutable: true
  - name: NODE_COUNT
    default: 3
`))
	if err != nil {
		log.Fatal(err)
	}
	install := version.Install(nil)
	fmt.Println("stored:", install.Resulting.Texts())

	update := version.Update(parameter.FromTexts(map[string]string{
		"NODE_COUNT": "5",
		"NUM_TOKENS": "512",
	}), install.Resulting)
	fmt.Println("allowed:", update.Allowed())
	fmt.Println(update.Err())
	fmt.Println("stored:", update.Resulting.Texts())
	// Output:
	// stored: map[NUM_TOKENS:256]
	// allowed: false
	// parameter "NUM_TOKENS" is immutable: it may not change from "256" to "512"
	// stored: map[NUM_TOKENS:256]
}

// KEP-30: an upgrade to a version that locks a parameter asks for its value.
func ExampleOperatorVersion_Upgrade() {
	before := &kudo.OperatorVersion{Parameters: []kudo.Parameter{
		{Name: "DISK_SIZE", Default: parameter.Text("5Gi")},
	}}
	after := &kudo.OperatorVersion{Parameters: []kudo.Parameter{
		{Name: "DISK_SIZE", Default: parameter.Text("10Gi"), Immutable: true},
	}}
	stored := parameter.FromTexts(map[string]string{"DISK_SIZE": "5Gi"})
	fmt.Println(after.Upgrade(nil, before, stored).Err())
	fmt.Println(after.Upgrade(stored, before, stored).Err())
	// Output:
	// parameter "DISK_SIZE" becomes immutable with this upgrade: set its value in the upgrade, for it cannot be changed afterwards (the default is "10Gi")
	// <nil>
}

// A webhook sees the Instance before and after the request.
func ExampleOperatorVersion_Admit() {
	version, err := kudo.ReadOperatorVersion([]byte(`
apiVersion: kudo.dev/v1beta1
kind: OperatorVersion
metadata: {name: cassandra-1.0.0}
spec:
  parameters:
  - {name: NUM_TOKENS, value-type: integer, default: "256", immutable: true}
`))
	if err != nil {
		log.Fatal(err)
	}
	oldInstance, err := kudo.ReadInstance([]byte(`{"apiVersion": "kudo.dev/v1beta1", "kind": "Instance", "spec": {"parameters": {"NUM_TOKENS": "256"}}}`))
	if err != nil {
		log.Fatal(err)
	}
	newInstance, err := kudo.ReadInstance([]byte(`{"apiVersion": "kudo.dev/v1beta1", "kind": "Instance", "spec": {"parameters": {"NUM_TOKENS": "16"}}}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(version.Admit(newInstance, oldInstance, nil).Err())
	// Output:
	// parameter "NUM_TOKENS" is immutable: it may not change from "256" to "16"
}

// KEP-27: which changes restart the pods, and how the objects of the plan are marked.
func ExampleEnhancement() {
	version, err := kudo.ReadOperatorVersion([]byte(`
parameters:
  - name: NODE_COUNT
    default: "3"
    forcePodRestart: "false"
  - name: HEAP
    default: 1G
`))
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"NODE_COUNT", "HEAP"} {
		admission := version.Update(parameter.Values{name: parameter.Text("5")}, nil)
		enhancement := kudo.Enhancement{
			Operator: "cassandra", Instance: "ring", OperatorVersion: "1.0.0",
			Plan: "deploy", Phase: "nodes", Step: "rack", PlanUID: "4f9a", Restart: len(admission.Restarts) > 0,
		}
		set, err := enhancement.Apply(map[string]any{
			"kind": "StatefulSet",
			"spec": map[string]any{"template": map[string]any{}},
		}, nil)
		if err != nil {
			log.Fatal(err)
		}
		template := set["spec"].(map[string]any)["template"].(map[string]any)["metadata"].(map[string]any)
		fmt.Println(name, "restarts:", admission.Restarts, "annotations of the template:", template["annotations"])
	}
	// Output:
	// NODE_COUNT restarts: [] annotations of the template: <nil>
	// HEAP restarts: [HEAP] annotations of the template: map[kudo.dev/last-plan-execution-uid:4f9a]
}

// KEP-36: a parameter switches a child instance on and off.
func ExampleTask() {
	version := &kudo.OperatorVersion{
		Parameters: []kudo.Parameter{{Name: "installDependency", Default: parameter.Text("true")}},
		Tasks:      []kudo.Task{{Name: "dependency", EnablingParameter: "installDependency"}},
	}
	for _, text := range []string{"true", "false", "yes"} {
		admission := version.Update(parameter.Values{"installDependency": parameter.Text(text)}, nil)
		if err := admission.Err(); err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(text, "present:", admission.Children[0].Present)
	}
	// Output:
	// true present: true
	// false present: false
	// parameter "installDependency" has "yes" and cannot enable the task "dependency": it should be 1, t, T, TRUE, true, True or 0, f, F, FALSE, false, False
}

// A webhook on Instances answers a request with one call.
func ExampleReview() {
	find := func(_ context.Context, name string) (*kudo.OperatorVersion, error) {
		return kudo.ReadOperatorVersion([]byte(`{"apiVersion": "kudo.dev/v1beta1", "kind": "OperatorVersion", "metadata": {"name": "` + name + `"},
			"spec": {"parameters": [{"name": "NUM_TOKENS", "default": "256", "immutable": true}, {"name": "NODES", "default": "3"}]}}`))
	}
	instance := func(parameters string) []byte {
		return []byte(`{"apiVersion": "kudo.dev/v1beta1", "kind": "Instance", "metadata": {"name": "ring"},
			"spec": {"operatorVersion": {"name": "cassandra-1.0.0"}, "parameters": ` + parameters + `}}`)
	}
	for _, parameters := range []string{`{"NUM_TOKENS": "256", "NODES": "5"}`, `{"NUM_TOKENS": "16"}`} {
		admission, err := kudo.Review(context.Background(), instance(parameters), instance(`{"NUM_TOKENS": "256"}`), find)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(admission.Allowed(), admission.Resulting.Texts(), admission.Err())
	}
	// Output:
	// true map[NODES:5 NUM_TOKENS:256] <nil>
	// false map[NUM_TOKENS:256] parameter "NUM_TOKENS" is immutable: it may not change from "256" to "16"
}
