package markers_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/markers"
	"github.com/fieldlock/fieldlock/markers/openapigen"
)

// TestDefinitions: a struct's fields are marked in its own definition, in whatever package it is.
func TestDefinitions(t *testing.T) {
	data, err := json.MarshalIndent(api(t).Definitions(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "testdata/definitions.golden.json", append(data, '\n'))

	marks, err := openapigen.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	defs := definitions(marks)
	out, err := marks.Apply(defs)
	if err != nil {
		t.Fatal(err)
	}
	const path = "github.com/fieldlock/fieldlock/markers/testdata/api/"
	spec := out[path+"v1.WidgetSpec"].Schema
	if got := spec.Properties["labels"].Extensions["x-kubernetes-immutable-keys"]; got != true {
		t.Errorf("labels: got %v", got)
	}
	if got := spec.Properties["matrix"].Items.Schema.Items.Schema.Extensions["x-kubernetes-immutable"]; got != true {
		t.Errorf("matrix: got %v", got)
	}
	if got, ok := spec.Properties["tags"].Extensions.GetStringSlice("x-fieldlock-update"); !ok || !slices.Equal(got, []string{"NoRemoveItem"}) {
		t.Errorf("tags: got %v", got)
	}
	if got := out[path+"shared.Placement"].Schema.Properties["rack"].Extensions["x-kubernetes-immutable"]; got != true {
		t.Errorf("rack in another package: got %v", got)
	}
	if diff := cmp.Diff(encode(t, definitions(marks)), encode(t, defs)); diff != "" {
		t.Errorf("the input changed:\n%s", diff)
	}
	again, err := marks.Apply(out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(encode(t, out), encode(t, again)); diff != "" {
		t.Errorf("applying twice is not applying once:\n%s", diff)
	}
}

func encode(t *testing.T, defs map[string]common.OpenAPIDefinition) string {
	t.Helper()
	data, err := json.Marshal(defs)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// definitions are schemas without extensions that have all the paths of marks, as openapi-gen writes them.
func definitions(marks openapigen.Marks) map[string]common.OpenAPIDefinition {
	defs := map[string]common.OpenAPIDefinition{}
	for name, paths := range marks {
		var root spec.Schema
		for _, path := range slices.Sorted(maps.Keys(paths)) {
			grow(&root, strings.Split(path, "/")[1:])
		}
		defs[name] = common.OpenAPIDefinition{Schema: root}
	}
	return defs
}

func grow(s *spec.Schema, steps []string) {
	switch {
	case len(steps) == 0:
	case steps[0] == "properties":
		if s.Properties == nil {
			s.Properties = map[string]spec.Schema{}
		}
		property := s.Properties[steps[1]]
		grow(&property, steps[2:])
		s.Properties[steps[1]] = property
	case steps[0] == "items":
		if s.Items == nil {
			s.Items = &spec.SchemaOrArray{Schema: &spec.Schema{}}
		}
		grow(s.Items.Schema, steps[1:])
	default:
		if s.AdditionalProperties == nil {
			s.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: &spec.Schema{}}
		}
		grow(s.AdditionalProperties.Schema, steps[1:])
	}
}

// TestModelPackage: openapi-gen names definitions by the marker of the package, where it has one.
func TestModelPackage(t *testing.T) {
	source, err := markers.Load(t.Context(), ".", []string{"./testdata/api/model"})
	if err != nil {
		t.Fatal(err)
	}
	want := openapigen.Marks{"dev.fieldlock.test.Thing": {"/properties/name": {"x-kubernetes-immutable": true}}}
	if diff := cmp.Diff(want, source.Definitions()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
