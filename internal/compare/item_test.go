package compare

import (
	"testing"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

func TestItemKeys(t *testing.T) {
	crds, err := crd.Read("crd.yaml", []byte(widgets("None", `
ports: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [port, protocol], items: {type: object, properties: {port: {type: integer}, protocol: {type: string}, name: {type: string}}}}
plain: {type: array, items: {type: object, properties: {name: {type: string}}}}
pools: {type: object, additionalProperties: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, properties: {name: {type: string}, size: {type: integer}}}}}
`, "")))
	if err != nil {
		t.Fatal(err)
	}
	version, _ := crds[0].Version("v1")
	documents, err := yamldoc.Read("w.yaml", []byte(widget("v1", "", "x",
		"{ports: [{port: 80, protocol: TCP, name: a}, {port: 53}, 5], plain: [{name: a}], pools: {a.b: [{name: big, size: 1}]}, unknown: [{name: z}]}")))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want, reason string }{
		{"spec.ports[0].name", "80, TCP", "every key"},
		{"spec.ports[0]", "80, TCP", "the item itself"},
		{"spec.ports[1].name", "53", "the keys that the item has"},
		{"spec.ports[2].name", "", "an item that is no object"},
		{"spec.ports[9].name", "", "an item that is not there"},
		{"spec.ports", "", "the list is no item"},
		{"spec.plain[0].name", "", "a list without keys"},
		{"spec.pools[a.b][0].size", "big", "below a key of a map"},
		{"spec.unknown[0].name", "", "a field that the schema does not have"},
		{"metadata.name", "", "no list at all"},
	} {
		if got := newLaws(version.Schema, nil).itemKeys(documents[0].Object, fieldpath.Parse(c.path)); got != c.want {
			t.Errorf("%s: got %q, want %q: %s", c.path, got, c.want, c.reason)
		}
	}
}
