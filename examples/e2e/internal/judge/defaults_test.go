package judge

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/kindcase"
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
		manifest = numbers(manifest).(map[string]any)
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

// withDefaults returns a manifest with every default that the API server fills in, nil for one that it cannot read.
func withDefaults(manifest map[string]any) map[string]any {
	data, err := json.Marshal(manifest)
	if err != nil {
		return nil
	}
	object, err := runtime.Decode(legacyscheme.Codecs.UniversalDeserializer(), data)
	if err != nil {
		return nil
	}
	legacyscheme.Scheme.Default(object)
	if data, err = json.Marshal(object); err != nil {
		return nil
	}
	var defaulted map[string]any
	if json.Unmarshal(data, &defaulted) != nil {
		return nil
	}
	delete(defaulted, "status") // a subresource
	written, _ := filled(copyOf(manifest), numbers(defaulted)).(map[string]any)
	return written
}

// filled adds to an object what only the other one has, at any depth. Null and what is empty, which Go's types write, are no
// defaults.
func filled(value, defaulted any) any {
	switch value := value.(type) {
	case map[string]any:
		other, _ := defaulted.(map[string]any)
		for name, member := range other {
			is, ok := value[name]
			switch {
			case ok:
				value[name] = filled(is, member)
			case !empty(member):
				value[name] = member
			}
		}
	case []any:
		other, _ := defaulted.([]any)
		for i := range min(len(value), len(other)) {
			value[i] = filled(value[i], other[i])
		}
	}
	return value
}

func empty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	}
	return false
}

// numbers makes numbers without a fraction int64, as the API machinery decodes them.
func numbers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			value[name] = numbers(member)
		}
	case []any:
		for i, item := range value {
			value[i] = numbers(item)
		}
	case float64:
		if value == float64(int64(value)) {
			return int64(value)
		}
	}
	return value
}
