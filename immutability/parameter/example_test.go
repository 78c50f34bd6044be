package parameter_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/fieldlock/fieldlock/immutability/parameter"
)

// KEP-30: an update is refused as a whole when an immutable value changes.
func ExampleDefinitions_Update() {
	definitions, err := parameter.ReadDefinitions([]byte(`
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
	install := definitions.Install(nil)
	fmt.Println("stored:", install.Resulting.Texts())

	update := definitions.Update(install.Resulting, parameter.FromTexts(map[string]string{
		"NODE_COUNT": "5",
		"NUM_TOKENS": "512",
	}))
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
func ExampleDefinitions_Upgrade() {
	before, err := parameter.ReadDefinitions([]byte(`parameters: [{name: DISK_SIZE, default: 5Gi}]`))
	if err != nil {
		log.Fatal(err)
	}
	after, err := parameter.ReadDefinitions([]byte(`parameters: [{name: DISK_SIZE, default: 10Gi, immutable: true}]`))
	if err != nil {
		log.Fatal(err)
	}
	stored := parameter.FromTexts(map[string]string{"DISK_SIZE": "5Gi"})
	fmt.Println(after.Upgrade(before, stored, nil).Err())
	fmt.Println(after.Upgrade(before, stored, stored).Err())
	// Output:
	// parameter "DISK_SIZE" becomes immutable with this upgrade: set its value in the upgrade, for it cannot be changed afterwards (the default is "10Gi")
	// <nil>
}

// KEP-27: which changes restart the pods, and how the objects of the plan are marked.
func ExampleEnhancement() {
	definitions, err := parameter.ReadDefinitions([]byte(`
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
		plan := definitions.Update(nil, parameter.FromTexts(map[string]string{name: "5"}))
		enhancement := parameter.Enhancement{
			Operator: "cassandra", Instance: "ring", OperatorVersion: "1.0.0",
			Plan: "deploy", Phase: "nodes", Step: "rack", PlanUID: "4f9a", Restart: len(plan.Restarts) > 0,
		}
		set, err := enhancement.Apply(map[string]any{
			"kind": "StatefulSet",
			"spec": map[string]any{"template": map[string]any{}},
		}, nil)
		if err != nil {
			log.Fatal(err)
		}
		template := set["spec"].(map[string]any)["template"].(map[string]any)["metadata"].(map[string]any)
		fmt.Println(name, "restarts:", plan.Restarts, "annotations of the template:", template["annotations"])
	}
	// Output:
	// NODE_COUNT restarts: [] annotations of the template: <nil>
	// HEAP restarts: [HEAP] annotations of the template: map[kudo.dev/last-plan-execution-uid:4f9a]
}

// KEP-36: a parameter switches a child instance on and off.
func ExampleTask() {
	definitions, err := parameter.ReadDefinitions([]byte(`parameters: [{name: installDependency, default: true}]`))
	if err != nil {
		log.Fatal(err)
	}
	task, err := parameter.ReadTask([]byte(`
name: dependency
kind: KudoOperator
spec:
  package: ./packages/dependency
  enablingParameter: installDependency
`))
	if err != nil {
		log.Fatal(err)
	}
	for _, text := range []string{"true", "false", "yes"} {
		plan := definitions.Update(nil, parameter.Values{"installDependency": parameter.Text(text)}, task)
		if err := plan.Err(); err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(text, "present:", plan.Children[0].Present)
	}
	// Output:
	// true present: true
	// false present: false
	// parameter "installDependency" has "yes" and cannot enable the task "dependency": it is 1, t, T, TRUE, true, True or 0, f, F, FALSE, false, False
}

// Heat: a stack update may not change a parameter that is not updatable.
func ExampleTemplate_Update() {
	template, err := parameter.ReadTemplate([]byte(`
heat_template_version: 2016-04-08
parameters:
  key_name:
    type: string
    updatable: false
  count:
    type: number
    default: 1
    updatable: false
  flavor:
    type: string
    default: m1.small
`))
	if err != nil {
		log.Fatal(err)
	}
	stored := parameter.FromTexts(map[string]string{"key_name": "mine"})
	requested, err := parameter.ReadValues([]byte(`{flavor: m1.large, count: 1.0}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(template.Update(template, stored, requested, parameter.Patch).Err())

	requested["key_name"] = parameter.Text("yours")
	err = template.Update(template, stored, requested, parameter.Patch).Err()
	var modified *parameter.ImmutableParameterModified
	fmt.Println(errors.As(err, &modified))
	fmt.Println(err)
	// Output:
	// <nil>
	// true
	// The following parameters are immutable and may not be updated: key_name
}
