package crd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/crd/prepare"
	"github.com/fieldlock/fieldlock/internal/testing/realcrds"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

func readFile(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Every published CRD reads, agrees with what kubectl's YAML library makes of it, prepares an object and lints
// without an error.
func TestRealCRDs(t *testing.T) {
	for _, file := range realcrds.Files(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data := readFile(t, file)
			crds, err := crd.Read(file, data)
			if err != nil {
				t.Fatal(err)
			}
			if len(crds) != 1 {
				t.Fatalf("%d CRDs, want 1: each file holds one", len(crds))
			}
			c := crds[0]
			if want := strings.TrimSuffix(filepath.Base(file), ".yaml"); c.Name != want {
				t.Errorf("name %q, want %q", c.Name, want)
			}
			var want map[string]any
			if err := yaml.UnmarshalStrict(data, &want); err != nil {
				t.Fatal(err)
			}
			documents, err := yamldoc.Read(file, data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := diff(jsonValue(t, want), jsonValue(t, documents[0].Object)); diff != "" {
				t.Errorf("the document differs from that of sigs.k8s.io/yaml (-want +got):\n%s", diff)
			}
			for i, v := range c.Versions {
				raw := at(t, documents[0].Object, "spec", "versions", i, "schema", "openAPIV3Schema")
				if diff := diff(jsonValue(t, kubeOpenAPI(t, raw)), jsonValue(t, v.Schema)); diff != "" {
					t.Errorf("version %s: the schema differs from that of kube-openapi's decoder (-want +got):\n%s", v.Name, diff)
				}
				object := map[string]any{
					"apiVersion": c.Group + "/" + v.Name, "kind": c.Kind, "metadata": map[string]any{"name": "a"},
					"noSuchField": true,
				}
				got, err := prepare.New(v).Prepare(object)
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := got["noSuchField"]; ok {
					t.Errorf("version %s: an unknown field is not pruned", v.Name)
				}
			}
			for _, f := range crd.Lint(c, nil) {
				if f.Severity == "error" {
					t.Errorf("%s: %s: %s", f.Position, f.Path, f.Message)
				}
			}
		})
	}
}
