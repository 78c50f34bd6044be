package parameter_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/parameter"
)

// thousand returns the text of definitions of 1,000 parameters of every type, every third of them immutable, and a
// value for each.
func thousand() (definitions, template string, values parameter.Values) {
	var kudo, heat strings.Builder
	kudo.WriteString("parameters:\n")
	heat.WriteString("heat_template_version: 2016-04-08\nparameters:\n")
	values = parameter.Values{}
	types := [][3]string{{"string", "string", "text"}, {"integer", "number", "1048576"}, {"boolean", "boolean", "true"}, {"number", "number", "1.5"}}
	for i := range 1000 {
		of := types[i%len(types)]
		fmt.Fprintf(&kudo, "- {name: P%d, type: %s, default: %s, immutable: %t, trigger: deploy}\n", i, of[0], of[2], i%3 == 0)
		fmt.Fprintf(&heat, "  P%d: {type: %s, default: %s, updatable: %t}\n", i, of[1], of[2], i%3 != 0)
		values[fmt.Sprintf("P%d", i)] = parameter.Text(of[2])
	}
	return kudo.String(), heat.String(), values
}

func BenchmarkThousand(b *testing.B) {
	kudo, heat, values := thousand()
	definitions, err := parameter.ReadDefinitions([]byte(kudo))
	if err != nil {
		b.Fatal(err)
	}
	template, err := parameter.ReadTemplate([]byte(heat))
	if err != nil {
		b.Fatal(err)
	}
	one := parameter.Values{"P1": parameter.Text("7")}
	for name, evaluate := range map[string]func() parameter.Plan{
		"install":     func() parameter.Plan { return definitions.Install(values) },
		"update/one":  func() parameter.Plan { return definitions.Update(values, one) },
		"update/all":  func() parameter.Plan { return definitions.Update(values, values) },
		"upgrade/all": func() parameter.Plan { return definitions.Upgrade(definitions, values, values) },
		"heat/patch":  func() parameter.Plan { return template.Update(template, values, one, parameter.Patch) },
		"heat/put":    func() parameter.Plan { return template.Update(template, values, values, parameter.Put) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if plan := evaluate(); !plan.Allowed() {
					b.Fatal(plan.Err())
				}
			}
		})
	}
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := parameter.ReadDefinitions([]byte(kudo)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
