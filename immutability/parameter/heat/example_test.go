package heat_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/heat"
)

// A stack update may not change a parameter that is not updatable.
func ExampleTemplate_Patch() {
	template, err := heat.ReadTemplate([]byte(`
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
	current := parameter.FromTexts(map[string]string{"key_name": "mine"})
	requested, err := heat.ReadValues([]byte(`{flavor: m1.large, count: 1.0}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(template.Patch(requested, template, current).Err())

	requested["key_name"] = parameter.Text("yours")
	err = template.Patch(requested, template, current).Err()
	var modified *heat.ImmutableParameterModified
	fmt.Println(errors.As(err, &modified), modified.Names)
	fmt.Println(err)
	// Output:
	// <nil>
	// true [key_name]
	// The following parameters are immutable and may not be updated: key_name
}
