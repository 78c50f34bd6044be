package builtin_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/builtin"
)

// TestWrittenDefaults: a default that a manifest writes out, or leaves out again, is no change, and another value is
// one. A server of 1.36 with all features on accepts and refuses the same; the groups of pods are as the code of 1.37
// has them.
func TestWrittenDefaults(t *testing.T) {
	const toleration = `key: a, value: b, effect: NoSchedule`
	request := func(more string) string {
		return `{devices: {requests: [{name: r, exactly: {deviceClassName: c, tolerations: [{` + toleration + more + `}]}}]}}`
	}
	first := func(more string) string {
		return `{devices: {requests: [{name: r, firstAvailable: [{name: s, deviceClassName: c, tolerations: [{` + toleration + more + `}]}]}]}}`
	}
	beta := func(more string) string {
		return `{devices: {requests: [{name: r, deviceClassName: c, tolerations: [{` + toleration + more + `}]}]}}`
	}
	variable := func(more string) string {
		return `{template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, env: [{name: A, ` + more + `}]}]}}}`
	}
	for _, c := range []struct{ apiVersion, kind, name, without, written, other string }{
		{"resource.k8s.io/v1alpha3", "ResourcePoolStatusRequest", "a", "{driver: d}", "{driver: d, limit: 100}", "{driver: d, limit: 10}"},
		{"certificates.k8s.io/v1beta1", "PodCertificateRequest", "a", "{signerName: a/b}", "{signerName: a/b, maxExpirationSeconds: 86400}", "{signerName: a/b, maxExpirationSeconds: 3600}"},
		{"resource.k8s.io/v1", "ResourceClaim", "a", request(""), request(", operator: Equal"), request(", operator: Exists")},
		{"resource.k8s.io/v1", "ResourceClaim", "a", first(""), first(", operator: Equal"), first(", operator: Exists")},
		{"resource.k8s.io/v1beta1", "ResourceClaim", "a", beta(""), beta(", operator: Equal"), beta(", operator: Exists")},
		{"resource.k8s.io/v1", "ResourceClaimTemplate", "a", "{spec: " + request("") + "}", "{spec: " + request(", operator: Equal") + "}", "{spec: " + request(", operator: Exists") + "}"},
		{"batch/v1", "Job", "a", variable("valueFrom: {resourceFieldRef: {resource: limits.cpu}}"), variable("valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: '0'}}"), variable("valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}")},
		{"batch/v1", "Job", "a", variable(""), variable("value: ''"), variable("value: '0'")},
		{"flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration", "catch-all", "{type: Limited, limited: {nominalConcurrencyShares: 5}}", "{type: Limited, limited: {nominalConcurrencyShares: 5, lendablePercent: 0}}", "{type: Limited, limited: {nominalConcurrencyShares: 5, lendablePercent: 1}}"},
		{"scheduling.k8s.io/v1beta1", "PodGroup", "a", "{}", "{disruptionMode: {single: {}}, preemptionPolicy: PreemptLowerPriority}", "{disruptionMode: {all: {}}}"},
		{"scheduling.k8s.io/v1alpha3", "CompositePodGroup", "a", "{}", "{disruptionMode: {single: {}}, preemptionPolicy: PreemptLowerPriority}", "{disruptionMode: {all: {}}}"},
	} {
		minor := "1.36"
		if c.kind == "PodGroup" || c.kind == "CompositePodGroup" {
			minor = "1.37"
		}
		kinds, err := builtin.For(minor)
		if err != nil {
			t.Fatal(err)
		}
		kind, _ := kinds.Find(c.apiVersion, c.kind)
		if kind == nil {
			t.Fatalf("%s of %s is not known", c.kind, c.apiVersion)
		}
		object := func(spec string) map[string]any {
			var o map[string]any
			if err := yaml.Unmarshal([]byte("{apiVersion: "+c.apiVersion+", kind: "+c.kind+", metadata: {name: "+c.name+"}, spec: "+spec+"}"), &o); err != nil {
				t.Fatal(err)
			}
			return o
		}
		for _, pair := range [][2]string{{c.written, c.without}, {c.without, c.written}} {
			if v := kind.Check(object(pair[0]), object(pair[1])); len(v.Violations)+len(v.Unknown) > 0 {
				t.Errorf("%s: %s after %s: %+v", c.kind, pair[0], pair[1], v)
			}
		}
		if v := kind.Check(object(c.other), object(c.without)); len(v.Violations) == 0 {
			t.Errorf("%s: %s after %s is accepted", c.kind, c.other, c.without)
		}
	}
}
