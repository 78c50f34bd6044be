package loader_test

import (
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/admission/loader"
)

// TestExternalLocks: the webhook refuses what breaks an external lock, and names the versions that lack an alias.
func TestExternalLocks(t *testing.T) {
	const crd = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {group: example.com,
  scope: Namespaced, names: {kind: Widget, plural: widgets}, versions: [
  {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {class: {type: string}, zone: {type: string, x-acme-fixed: true}}}}}}},
  {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {class: {type: string}, zone: {type: string}}}}}}}]}}`
	lock := immutability.ExternalLock{Kind: "Widget", Path: "spec.class", Locks: []immutability.Lock{immutability.LockImmutable}}
	kinds, err := loader.New(immutability.WithLocks(lock), immutability.WithKeyAlias("x-acme-fixed", immutability.LockImmutable)).Read("crd.yaml", []byte(crd))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"v1": "spec.class spec.zone", "v2": "spec.class"} {
		var refused []string
		for _, e := range kinds[0].Versions[name].Validator.ValidateUpdate(
			map[string]any{"spec": map[string]any{"class": "b", "zone": "b"}}, map[string]any{"spec": map[string]any{"class": "a", "zone": "a"}}) {
			refused = append(refused, e.Field)
		}
		if got := strings.Join(refused, " "); got != want {
			t.Errorf("%s: got %q refused, want %q", name, got, want)
		}
	}
	if gaps := kinds[0].Versions["v2"].Gaps; strings.Join(gaps, " ") != "spec.zone" {
		t.Errorf("the gaps of v2 are %q, want spec.zone", gaps)
	}
	lock.Path = "spec.clas"
	if _, err := loader.New(immutability.WithLocks(lock)).Read("crd.yaml", []byte(crd)); err == nil || !strings.Contains(err.Error(), "the nearest path is spec.class") {
		t.Errorf("a misspelled path gives the error %v", err)
	}
}
