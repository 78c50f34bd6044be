package locktest_test

import (
	"testing"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/locktest"
)

// TestExternalLocks: locks on a CRD that somebody else owns, and the keys of another dialect, are locks in tests too.
func TestExternalLocks(t *testing.T) {
	const crd = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {group: example.com,
  scope: Namespaced, names: {kind: Widget, plural: widgets}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema:
  {type: object, required: [spec], properties: {spec: {type: object, properties: {class: {type: string}, zone: {type: string, x-acme-fixed: true}}}}}}}]}}`
	updates := func(refused ...string) []locktest.Update {
		return []locktest.Update{
			{Name: "both", Old: `spec: {class: a, zone: a}`, Patch: `spec: {class: b, zone: b}`, Refused: refused},
		}
	}
	locktest.CRDFrom(t, "crd.yaml", []byte(crd)).Run(t, updates())
	locktest.CRDFrom(t, "crd.yaml", []byte(crd),
		immutability.WithLocks(immutability.ExternalLock{Kind: "Widget.example.com", Path: "spec.class", Locks: []immutability.Lock{immutability.LockImmutable}}),
		immutability.WithKeyAlias("x-acme-fixed", immutability.LockNoUnset, immutability.LockNoModify),
	).Run(t, updates("spec.class", "spec.zone"))
}
