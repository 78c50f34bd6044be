package normalize_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/normalizer"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/normalize"
)

// suite is one entry of the files in testdata.
type suite struct {
	Name        string                 `json:"name"`
	Schema      spec.Schema            `json:"schema"`
	Definitions map[string]spec.Schema `json:"definitions"`
	Rows        []struct {
		Reason string         `json:"reason"`
		In     map[string]any `json:"in"`
		Out    map[string]any `json:"out"`
		Same   bool           `json:"same"`
	} `json:"rows"`
	Problems []string `json:"problems"`
	Says     string   `json:"says"`
}

func (s *suite) resolve(ref string) (*spec.Schema, error) {
	if def, ok := s.Definitions[strings.TrimPrefix(ref, "#/definitions/")]; ok {
		return &def, nil
	}
	return nil, fmt.Errorf("no definition")
}

func load(t testing.TB, file string) []suite {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var suites []suite
	if err := yaml.UnmarshalStrict(data, &suites); err != nil {
		t.Fatal(err)
	}
	return suites
}

func same(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

func TestNormalize(t *testing.T) {
	for _, s := range load(t, "testdata/cases.yaml") {
		n, err := normalize.Compile(&s.Schema, s.resolve)
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		for _, row := range s.Rows {
			t.Run(s.Name+"/"+row.Reason, func(t *testing.T) {
				before := runtime.DeepCopyJSON(row.In)
				got := n.Normalize(row.In)
				if diff := cmp.Diff(before, row.In); diff != "" {
					t.Fatalf("the input changed (-before +after):\n%s", diff)
				}
				if row.Same {
					if !same(got, row.In) {
						t.Fatalf("got another map: %v", got)
					}
					if allocs := testing.AllocsPerRun(10, func() { n.Normalize(row.In) }); allocs != 0 {
						t.Fatalf("%v allocations although nothing changes", allocs)
					}
					return
				}
				if diff := cmp.Diff(row.Out, got); diff != "" {
					t.Fatalf("(-want +got):\n%s", diff)
				}
				if !same(n.Normalize(got), got) {
					t.Fatal("normalizing twice is not normalizing once")
				}
			})
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, s := range load(t, "testdata/refused.yaml") {
		t.Run(s.Name, func(t *testing.T) {
			_, err := normalize.Compile(&s.Schema, s.resolve)
			if err == nil {
				t.Fatal("no error")
			}
			var got []string
			_, _, problems := normalizer.Compile(schema.Read(&s.Schema, s.resolve))
			for _, p := range problems {
				got = append(got, p.SchemaPath+" "+p.Rule)
				if !strings.Contains(err.Error(), p.Message) || !strings.Contains(err.Error(), p.SchemaPath) {
					t.Errorf("the error lacks %s: %s: %v", p.SchemaPath, p.Message, err)
				}
			}
			if !strings.Contains(err.Error(), s.Says) {
				t.Errorf("the error lacks %q: %v", s.Says, err)
			}
			if diff := cmp.Diff(s.Problems, got); diff != "" {
				t.Fatalf("(-want +got):\n%s\n%v", diff, err)
			}
		})
	}
}

func TestNilAndUnmarked(t *testing.T) {
	var none *normalize.Normalizer
	obj := map[string]any{"a": []any{}}
	for name, schema := range map[string]*spec.Schema{
		"no schema": nil,
		"no marks":  spec.MapProperty(spec.StringProperty()),
	} {
		n, err := normalize.Compile(schema, nil)
		if err != nil || !n.Empty() {
			t.Errorf("%s: got %v, %v, want a normalizer without marks", name, n, err)
		}
	}
	if !same(none.Normalize(obj), obj) || none.Normalize(nil) != nil {
		t.Error("a nil Normalizer changes its input")
	}
	if zero := (&normalize.Normalizer{}); !none.Empty() || !zero.Empty() || !same(zero.Normalize(obj), obj) {
		t.Error("a nil or zero Normalizer has marks")
	}
}

// TestSharing: a change copies the path to it, and nothing beside it.
func TestSharing(t *testing.T) {
	s := load(t, "testdata/cases.yaml")[2]
	n, err := normalize.Compile(&s.Schema, s.resolve)
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]any{"name": "x"}
	out := n.Normalize(map[string]any{"outer": kept, "unmarked": map[string]any{"list": []any{}}})
	if !same(out["outer"].(map[string]any), kept) {
		t.Error("a subtree that does not change was copied")
	}
}
