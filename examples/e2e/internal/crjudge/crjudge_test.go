package crjudge_test

import (
	"os"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/examples/e2e/internal/crjudge"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/testing/realcrds"
)

// TestWitnesses writes the objects of every finding of lint --explain: each is accepted after the one before it, and an
// update from the first to the last is refused.
func TestWitnesses(t *testing.T) {
	shown := 0
	for _, file := range realcrds.Files(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "oldSelf") {
			continue
		}
		crds, err := crd.Read(file, text)
		if err != nil || len(crds) != 1 {
			t.Fatalf("%s: %d CRDs, %v", file, len(crds), err)
		}
		server, err := crjudge.New(text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		report, err := audit.CRDs(crds, nil, audit.Options{Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range report.Findings {
			if f.Witness == nil {
				continue
			}
			shown++
			objects := f.Witness.Objects
			create(t, server, objects[0])
			for i, obj := range objects[1:] {
				if err := server.Update(obj); err != nil {
					t.Errorf("%s %s: %s at %s: step %d of %v is refused: %v", f.CRD, f.Version, f.Rule, f.Path, i+1, objects, err)
				}
			}
			create(t, server, objects[0])
			if err := server.Update(objects[len(objects)-1]); !crjudge.Invalid(err) {
				t.Errorf("%s %s: %s at %s: the direct update of %v ends with %v", f.CRD, f.Version, f.Rule, f.Path, objects, err)
			}
		}
	}
	t.Logf("%d witnesses", shown)
	if realcrds.All() && shown < 200 {
		t.Errorf("%d witnesses: too few to show much", shown)
	}
}

func create(t *testing.T, server *crjudge.Server, obj map[string]any) {
	t.Helper()
	if err := server.Create(obj); err != nil {
		t.Errorf("%v cannot be created: %v", obj, err)
	}
}

const document = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: discs.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Disc, plural: discs, singular: disc, listKind: DiscList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              class: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}
              label: {type: string, default: none, x-kubernetes-validations: [{rule: "self != 'no'"}]}
          status:
            type: object
            properties:
              phase: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}
  - name: v2
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              label: {type: string}
`

// TestServer: the judge refuses what a server refuses, and keeps what a server stores.
func TestServer(t *testing.T) {
	type object = map[string]any
	disc := func(version string, spec object, phase string) object {
		obj := object{"apiVersion": "example.com/" + version, "kind": "Disc", "metadata": object{"name": "one"}, "spec": spec}
		if phase != "" {
			obj["status"] = object{"phase": phase}
		}
		return obj
	}
	fast := disc("v1", object{"class": "fast"}, "")
	for _, c := range []struct {
		name    string
		objects []object
		refused string // the last one, with this text; "" if it is accepted
	}{
		{"a new object", []object{fast}, ""},
		{"the same", []object{fast, fast}, ""},
		{"a transition rule", []object{fast, disc("v1", object{"class": "slow"}, "")}, "failed rule: self == oldSelf"},
		{"a plain rule", []object{disc("v1", object{"label": "no"}, "")}, "failed rule: self != 'no'"},
		{"an unknown field", []object{fast, disc("v1", object{"class": "fast", "colour": "red"}, "")}, `unknown field "spec.colour"`},
		{"another kind of value", []object{disc("v1", object{"class": int64(1)}, "")}, "must be of type string"},
		{"the status changes", []object{disc("v1", object{}, "new"), disc("v1", object{}, "old")}, "failed rule: self == oldSelf"},
		{"the status appears", []object{fast, disc("v1", object{"class": "fast"}, "new")}, ""},
		{"a version without the field", []object{fast, disc("v2", object{}, ""), disc("v1", object{"class": "slow"}, "")}, ""},
		{"what another version left invalid", []object{disc("v2", object{"label": "no"}, ""), disc("v1", object{"label": "no", "class": "fast"}, "")}, ""},
		{"a version that is not there", []object{disc("v3", object{}, "")}, "is not served"},
	} {
		server, err := crjudge.New([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		write := server.Create
		for i, obj := range c.objects {
			err := write(obj)
			last := i == len(c.objects)-1
			if wanted := last && c.refused != ""; (err != nil) != wanted || wanted && !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: object %d ends with %v, want %q", c.name, i+1, err, c.refused)
			}
			write = server.Update
		}
	}
}
