package storageversion_test

import (
	"testing"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/storageversion"
)

// TestStorage: what the stored version lacks is lost, unless a webhook converts objects or unknown fields are kept.
func TestStorage(t *testing.T) {
	read := func(conversion, preserve string) *crd.CRD {
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
  - {name: v2, served: false, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object`+preserve+`, properties: {a: {type: string}}}}}}}
`))
		if err != nil {
			t.Fatal(err)
		}
		return crds[0]
	}
	const keep = ", x-kubernetes-preserve-unknown-fields: true"
	for _, row := range []struct {
		name, conversion, preserve string
		through                    int
		lost                       bool
	}{
		{"without conversion", "None", "", 1, true},
		{"unknown fields are kept", "None", keep, 1, false},
		{"a webhook may keep it elsewhere", "Webhook", "", 0, false},
	} {
		c := read(row.conversion, row.preserve)
		v1, _ := c.Version("v1")
		v2, _ := c.Version("v2")
		if got := storageversion.Through(c, v1); storageversion.Version(c) != v2 || len(got) != row.through || storageversion.Through(c, v2) != nil {
			t.Errorf("%s: objects of v1 go through %d versions, want %d", row.name, len(got), row.through)
		}
		lost := storageversion.Lost(c)
		if lost([]string{"spec.b"}) != row.lost || lost([]string{"spec.a"}) || lost([]string{"spec.a", "spec.b"}) || lost(nil) {
			t.Errorf("%s: spec.b is lost: %v, want %v", row.name, lost([]string{"spec.b"}), row.lost)
		}
		if served := storageversion.Served(c); len(served) != 1 || served[0] != v1 {
			t.Errorf("%s: %d versions are served", row.name, len(served))
		}
	}
}
