package judge

import (
	"path/filepath"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
)

// TestWrittenDefaults: no default of Kubernetes' own code is a change when a manifest writes it out.
func TestWrittenDefaults(t *testing.T) {
	cases, err := kindcase.Read(filepath.Join("..", "..", "..", "..", "immutability", "builtin", "testdata", "cases"))
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := builtin.For("1.36")
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{
		"{apiVersion: resource.k8s.io/v1alpha3, kind: ResourcePoolStatusRequest, spec: {driver: d}}",
		"{apiVersion: certificates.k8s.io/v1beta1, kind: PodCertificateRequest, spec: {signerName: a/b}}",
		"{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, spec: {devices: {requests: [{name: r, exactly: {tolerations: [{key: a, value: b}]}}, {name: s, firstAvailable: [{tolerations: [{key: a, value: b}]}]}]}}}",
		"{apiVersion: resource.k8s.io/v1beta1, kind: ResourceClaim, spec: {devices: {requests: [{name: r, deviceClassName: c, tolerations: [{key: a, value: b}]}]}}}",
		"{apiVersion: resource.k8s.io/v1beta2, kind: ResourceClaimTemplate, spec: {spec: {devices: {requests: [{name: r, exactly: {tolerations: [{key: a, value: b}]}}]}}}}",
		"{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration, metadata: {name: catch-all}, spec: {type: Limited, limited: {nominalConcurrencyShares: 5}}}",
	} {
		var manifest map[string]any
		if err := yaml.Unmarshal([]byte(text), &manifest); err != nil {
			t.Fatal(err)
		}
		manifest = kindcase.Clone(manifest).(map[string]any)
		cases = append(cases, kindcase.Case{Name: "own " + strconv.Itoa(i), Old: manifest, New: manifest})
	}
	tried := 0
	for _, c := range cases {
		for _, manifest := range []map[string]any{c.Old, c.New} {
			apiVersion, kindName := text(manifest, "apiVersion"), text(manifest, "kind")
			kind, _ := kinds.Find(apiVersion, kindName)
			written := withDefaults(manifest)
			if kind == nil || written == nil {
				continue // another minor has the version, or the case has a value of a wrong type
			}
			labelled := copyOf(manifest)
			(&unstructured.Unstructured{Object: labelled}).SetLabels(map[string]string{"any": "change"})
			if len(kind.Check(labelled, manifest).Violations) > 0 {
				continue // the server refuses any change of it
			}
			tried++
			if v := kind.Check(written, manifest); len(v.Violations) > 0 {
				t.Errorf("%s: %s: %s\n  old %s\n  new %s", c.Name, v.Violations[0].Path, v.Violations[0].Message, Show(manifest), Show(written))
			}
		}
	}
	if tried < 500 {
		t.Errorf("only %d manifests were tried", tried)
	}
}
