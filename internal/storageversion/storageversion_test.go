package storageversion_test

import (
	"testing"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/storageversion"
)

// TestStorage: an object goes through the stored version, unless a webhook converts objects.
func TestStorage(t *testing.T) {
	read := func(conversion string) *crd.CRD {
		crds, err := crd.Read("crd.yaml", []byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  conversion: {strategy: `+conversion+`}
  versions:
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string}, b: {type: string}}}}}}}
  - {name: v2, served: false, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string}}}}}}}
`))
		if err != nil {
			t.Fatal(err)
		}
		return crds[0]
	}
	for _, row := range []struct {
		conversion string
		through    int
	}{
		{"None", 1},
		{"Webhook", 0},
	} {
		c := read(row.conversion)
		v1, _ := c.Version("v1")
		v2, _ := c.Version("v2")
		if got := storageversion.Through(c, v1); storageversion.Version(c) != v2 || len(got) != row.through || storageversion.Through(c, v2) != nil {
			t.Errorf("conversion %s: objects of v1 go through %d versions, want %d", row.conversion, len(got), row.through)
		}
		if served := storageversion.Served(c); len(served) != 1 || served[0] != v1 {
			t.Errorf("conversion %s: %d versions are served", row.conversion, len(served))
		}
	}
}
