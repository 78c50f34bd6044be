package celrun_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/celrun"
)

// BenchmarkFirstUse compiles 20 rules on 20 nodes and checks 500 objects, as the command does for a directory.
func BenchmarkFirstUse(b *testing.B) {
	var properties []string
	obj := map[string]any{}
	for i := range 20 {
		properties = append(properties, fmt.Sprintf(`"p%d": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "p%d is immutable"}]}`, i, i))
		obj[fmt.Sprint("p", i)] = "x"
	}
	text := fmt.Sprintf(`{"type": "object", "properties": {"spec": {"type": "object", "properties": {%s}}}}`, strings.Join(properties, ", "))
	object := map[string]any{"spec": obj}
	for b.Loop() {
		v := celrun.New(schemaOf(b, text), celrun.Transition)
		for range 500 {
			if found, err := v.ValidateUpdate(object, object); err != nil || found != nil {
				b.Fatal(found, err)
			}
		}
	}
}
