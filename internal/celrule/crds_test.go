package celrule

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/testing/realcrds"
)

// crdVersion is one version of a CRD in a test.
type crdVersion struct {
	name   string // file and version
	raw    []byte // openAPIV3Schema as JSON
	schema *spec.Schema
}

// readRealCRDs returns the versions of CRDs of other projects.
func readRealCRDs(t testing.TB) []crdVersion {
	var all []crdVersion
	for _, file := range realcrds.Files(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, crdVersions(t, filepath.Base(file), data)...)
	}
	return all
}

func crdVersions(t testing.TB, name string, data []byte) []crdVersion {
	var all []crdVersion
	docs := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		var crd struct {
			Kind string
			Spec struct {
				Versions []struct {
					Name   string
					Schema struct {
						OpenAPIV3Schema json.RawMessage
					}
				}
			}
		}
		if err := yaml.Unmarshal(doc, &crd); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if crd.Kind != "CustomResourceDefinition" {
			continue
		}
		for _, v := range crd.Spec.Versions {
			all = append(all, crdVersion{name + " " + v.Name, v.Schema.OpenAPIV3Schema, decodeSchema(t, v.Schema.OpenAPIV3Schema)})
		}
	}
}

func decodeSchema(t testing.TB, raw []byte) *spec.Schema {
	s := &spec.Schema{}
	if err := json.Unmarshal(raw, s); err != nil {
		t.Fatal(err)
	}
	return s
}
