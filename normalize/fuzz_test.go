package normalize_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/normalize"
)

// FuzzNormalize: the input stays unchanged, twice is once, and the result is that of the naive reference.
func FuzzNormalize(f *testing.F) {
	suites := load(f, "testdata/cases.yaml")
	for i, s := range suites {
		for _, row := range s.Rows {
			data, err := json.Marshal(row.In)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint(i), data)
		}
	}
	f.Fuzz(func(t *testing.T, pick uint, data []byte) {
		s := suites[pick%uint(len(suites))]
		var obj map[string]any
		if err := json.Unmarshal(data, &obj); err != nil || obj == nil {
			return
		}
		n, err := normalize.Compile(&s.Schema, s.resolve)
		if err != nil {
			t.Fatal(err)
		}
		before := runtime.DeepCopyJSON(obj)
		got := n.Normalize(obj)
		if diff := cmp.Diff(before, obj); diff != "" {
			t.Fatalf("the input changed:\n%s", diff)
		}
		if !same(n.Normalize(got), got) {
			t.Fatalf("normalizing twice is not normalizing once: %v", got)
		}
		want := naive(&s, &s.Schema, before)
		if diff := cmp.Diff(want, any(got)); diff != "" {
			t.Fatalf("(-reference +got):\n%s", diff)
		}
		if cmp.Equal(before, got) != same(got, obj) {
			t.Fatal("another map comes back although nothing changed, or the input although something did")
		}
	})
}

// naive rebuilds value by the schema, with nothing compiled and everything copied.
func naive(su *suite, s *spec.Schema, value any) any {
	s = deref(su, s)
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, member := range value {
			property, ok := s.Properties[name]
			if !ok {
				if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
					member = naive(su, s.AdditionalProperties.Schema, member)
				}
				out[name] = member
				continue
			}
			member = naive(su, &property, member)
			resolved := deref(su, &property)
			mode := property.Extensions["x-kubernetes-normalize"]
			if mode == nil {
				mode = resolved.Extensions["x-kubernetes-normalize"]
			}
			if mode != nil && blank(mode, resolved, member) {
				continue
			}
			out[name] = member
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = item
			if s.Items != nil {
				out[i] = naive(su, s.Items.Schema, item)
			}
		}
		return out
	}
	return value
}

func deref(su *suite, s *spec.Schema) *spec.Schema {
	for {
		if len(s.AllOf) == 1 {
			s = &s.AllOf[0]
		}
		if s.Ref.String() == "" {
			return s
		}
		s, _ = su.resolve(s.Ref.String())
	}
}

func blank(mode any, s *spec.Schema, value any) bool {
	if value == nil {
		return true
	}
	emptyObject, emptyList := cmp.Equal(value, any(map[string]any{})), cmp.Equal(value, any([]any{}))
	if mode == "undefined" {
		return emptyObject || emptyList
	}
	switch {
	case s.Type.Contains("object"):
		return emptyObject
	case s.Type.Contains("array"):
		return emptyList
	case s.Type.Contains("string"):
		return value == ""
	case s.Type.Contains("boolean"):
		return value == false
	default:
		return value == int64(0) || value == float64(0)
	}
}
