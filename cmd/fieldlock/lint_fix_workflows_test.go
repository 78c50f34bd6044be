package main

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/testing/realcrds"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// TestLintFixKeepsWorkflows: what the documentation of projects describes is accepted by their CRDs, and still is after
// lint --fix.
func TestLintFixKeepsWorkflows(t *testing.T) {
	onlyInCI(t)
	data, err := os.ReadFile("testdata/workflows.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Source, CRD string
		Object            map[string]any
		Steps             []map[string]any
	}
	if err := yaml.UnmarshalStrict(data, &cases); err != nil {
		t.Fatal(err)
	}
	realcrds.Files(t) // skips the test if there are none
	if len(cases) < 20 {
		t.Errorf("%d workflows, want 20", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			names, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "crds", "*", c.CRD+".yaml"))
			if len(names) != 1 {
				t.Fatalf("%d files of %s", len(names), c.CRD)
			}
			text, err := os.ReadFile(names[0])
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(writeFiles(t, map[string]string{"crd.yaml": string(text)}), "crd.yaml")
			before := witness.FromCRD(readCRDs(t, file)[0], nil)
			runCommand("", "lint", "--fix", file)
			after := witness.FromCRD(readCRDs(t, file)[0], nil)
			for i, v := range before.Versions {
				if !v.Storage {
					continue
				}
				base, ok := before.Valid(v)
				if !ok {
					t.Fatal("no valid object was found")
				}
				obj := merged(base, c.Object)
				for n, step := range c.Steps {
					next := merged(obj, step)
					was, mistakes, err := before.Update(next, obj)
					if err != nil || len(mistakes)+len(was) > 0 {
						t.Errorf("step %d is refused by %s as published: %v %+v, %v", n+1, after.Versions[i].APIVersion, mistakes, was, err)
					}
					is, mistakes, err := after.Update(next, obj)
					if err != nil || len(mistakes)+len(is) > 0 {
						t.Errorf("step %d (%s) is refused after lint --fix: %v %+v, %v", n+1, c.Source, mistakes, is, err)
					}
					obj = next
				}
			}
		})
	}
}

// merged applies a merge patch to a copy of obj.
func merged(obj, patch map[string]any) map[string]any {
	result, _ := jsonvalue.Clone(obj).(map[string]any)
	if result == nil {
		result = map[string]any{}
	}
	for name, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(result, name)
		case map[string]any:
			below, _ := result[name].(map[string]any)
			result[name] = merged(below, value)
		case float64:
			result[name] = int64(value)
		default:
			result[name] = value
		}
	}
	return result
}
