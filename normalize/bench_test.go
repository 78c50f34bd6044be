package normalize_test

import (
	"fmt"
	"testing"

	"github.com/fieldlock/fieldlock/normalize"
)

func BenchmarkNormalize(b *testing.B) {
	s := load(b, "testdata/cases.yaml")[3]
	n, err := normalize.Compile(&s.Schema, s.resolve)
	if err != nil {
		b.Fatal(err)
	}
	object := func(tags any) map[string]any {
		list := make([]any, 1000)
		for i := range list {
			list[i] = map[string]any{"name": fmt.Sprint(i), "tags": []any{"a"}}
		}
		list[500].(map[string]any)["tags"] = tags
		return map[string]any{"list": list}
	}
	for name, obj := range map[string]map[string]any{
		"unchanged": object([]any{"a"}),
		"changed":   object([]any{}),
	} {
		b.Run("n=1000/object="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n.Normalize(obj)
			}
		})
	}
}
