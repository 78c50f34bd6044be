package loader_test

import (
	"os"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/admission/loader"
	"github.com/fieldlock/fieldlock/internal/testing/realcrds"
)

// TestRealCRDs: no CRD of another project is a fault, and none has locks: the API server runs its CEL rules. A webhook
// that watches a cluster meets all of them.
func TestRealCRDs(t *testing.T) {
	for _, file := range realcrds.Files(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var object apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(data, &object); err != nil || object.Kind != "CustomResourceDefinition" {
			t.Fatalf("%s: %v", file, err)
		}
		kind, err := loader.New().Object(&object)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for name, v := range kind.Versions {
			if !v.Validator.Empty() {
				t.Errorf("%s: version %s has locks", file, name)
			}
		}
	}
}
