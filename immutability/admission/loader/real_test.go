package loader_test

import (
	"os"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/admission/loader"
	"github.com/fieldlock/fieldlock/immutability/celrule"
	"github.com/fieldlock/fieldlock/internal/realcrds"
)

// TestRealCRDs: no CRD of another project is a fault, with or without its CEL rules read as locks. A webhook that
// watches a cluster meets all of them.
func TestRealCRDs(t *testing.T) {
	files := realcrds.Files(t)
	imported := loader.CRDs{Import: func(s *spec.Schema) (*spec.Schema, error) {
		return celrule.Apply(s, celrule.Import(s).Changes), nil
	}}
	withLocks := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var object apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(data, &object); err != nil || object.Kind != "CustomResourceDefinition" {
			t.Fatalf("%s: %v", file, err)
		}
		if _, err := (loader.CRDs{}).Object(&object); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		kind, err := imported.Object(&object)
		if err != nil {
			t.Errorf("%s, with its CEL rules: %v", file, err)
		}
		for _, v := range kind.Versions {
			if !v.Validator.Empty() {
				withLocks++
				break
			}
		}
	}
	if withLocks == 0 {
		t.Error("no CEL rule of any CRD became a lock")
	}
	t.Logf("%d of %d kinds have locks from CEL rules", withLocks, len(files))
}
