package kudo_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
)

// BenchmarkThousand evaluates 1,000 parameters of every type, a third of them immutable.
func BenchmarkThousand(b *testing.B) {
	var text strings.Builder
	text.WriteString("parameters:\n")
	values := parameter.Values{}
	types := [][2]string{{"string", "text"}, {"integer", "1048576"}, {"boolean", "true"}, {"number", "1.5"}}
	for i := range 1000 {
		of := types[i%len(types)]
		fmt.Fprintf(&text, "- {name: P%d, type: %s, default: %s, immutable: %t, trigger: deploy}\n", i, of[0], of[1], i%3 == 0)
		values[fmt.Sprintf("P%d", i)] = parameter.Text(of[1])
	}
	version, err := kudo.ReadOperatorVersion([]byte(text.String()))
	if err != nil {
		b.Fatal(err)
	}
	one := parameter.Values{"P1": parameter.Text("7")}
	for name, evaluate := range map[string]func() kudo.Admission{
		"install/values=all": func() kudo.Admission { return version.Install(values) },
		"update/values=one":  func() kudo.Admission { return version.Update(one, values) },
		"update/values=all":  func() kudo.Admission { return version.Update(values, values) },
		"upgrade/values=all": func() kudo.Admission { return version.Upgrade(values, version, values) },
	} {
		b.Run("operation="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if admission := evaluate(); !admission.Allowed() {
					b.Fatal(admission.Err())
				}
			}
		})
	}
	b.Run("operation=read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := kudo.ReadOperatorVersion([]byte(text.String())); err != nil {
				b.Fatal(err)
			}
		}
	})
}
