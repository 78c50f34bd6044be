package celrule_test

import (
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/celrule"
	"github.com/fieldlock/fieldlock/immutability/crd"
)

const databases = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: databases.example.com}
spec:
  group: example.com
  names: {kind: Database, plural: databases}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            properties:
              engine: {type: string, maxLength: 8, x-kubernetes-immutable: true} # chosen once
              steps: {type: array, items: {type: string, x-kubernetes-immutable: true}}
`

// TestFiles: an operator's generator writes its CRDs as a stock API server accepts them, without running the command.
// What comes back has the same locks.
func TestFiles(t *testing.T) {
	exported, err := celrule.ExportFile("crd.yaml", []byte(databases))
	if err != nil {
		t.Fatal(err)
	}
	text := string(exported.Data)
	for _, want := range []string{"x-kubernetes-validations", "# chosen once", crd.AnnotationKey} {
		if !strings.Contains(text, want) {
			t.Errorf("the exported file lacks %s:\n%s", want, text)
		}
	}
	if strings.Contains(text, "x-kubernetes-immutable: true") {
		t.Errorf("the exported file has a key that an API server refuses:\n%s", text)
	}
	if len(exported.Rest) != 1 || exported.Rest[0].Path != "spec.steps[*]" || exported.Rest[0].CRD != "databases.example.com" || exported.Rest[0].Reason == "" {
		t.Errorf("the rest is %+v", exported.Rest)
	}
	again, err := celrule.ExportFile("crd.yaml", exported.Data)
	if err != nil || string(again.Data) != text {
		t.Errorf("a second export changes the file: %v\n%s", err, again.Data)
	}
	annotated, err := celrule.AnnotateFile("crd.yaml", []byte(databases))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"exported": exported.Data, "annotated": annotated} {
		crds, err := crd.Read("crd.yaml", data)
		if err != nil {
			t.Fatal(err)
		}
		v, err := crds[0].Versions[0].Compile()
		if err != nil {
			t.Fatal(err)
		}
		if errs, err := v.ValidateUpdateJSON([]byte(`{"spec":{"engine":"b"}}`), []byte(`{"spec":{"engine":"a"}}`)); err != nil || len(errs) != 1 {
			t.Errorf("%s: %v, %v", name, errs, err)
		}
	}
	for _, data := range []string{"", "kind: ConfigMap", strings.Replace(databases, "x-kubernetes-immutable: true}", "x-kubernetes-immutable: 1}", 1)} {
		if _, err := celrule.ExportFile("crd.yaml", []byte(data)); err == nil {
			t.Errorf("%.20q is exported", data)
		}
		if _, err := celrule.AnnotateFile("crd.yaml", []byte(data)); err == nil {
			t.Errorf("%.20q is annotated", data)
		}
	}
}
