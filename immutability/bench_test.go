package immutability_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// The schemas of the benchmarks, which lock the same cluster in different ways.
const (
	lockedSpec = `{"properties":{"spec":{"x-kubernetes-immutable":true}}}`

	lockedParts = `{"properties":{"spec":{"properties":{
		"class":{"type":"string","x-kubernetes-immutable":true},
		"tags":{"type":"array","x-kubernetes-immutable":true,"x-kubernetes-list-type":"set","items":{"type":"string"}},
		"nodes":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"x-kubernetes-immutable":true,
			"properties":{"name":{"type":"string"}}}}}}}}`

	lockedKeys = `{"properties":{"spec":{"properties":{
		"nodes":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"x-kubernetes-immutable-keys":true,
			"items":{"properties":{"name":{"type":"string","x-kubernetes-immutable":true}}}}}}}}`

	lockedInItems = `{"properties":{"spec":{"properties":{
		"nodes":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
			"items":{"properties":{"name":{"type":"string","x-kubernetes-immutable":true},"zone":{"type":"string","x-kubernetes-immutable":true}}}}}}}}`

	unorderedNodes = `{"properties":{"spec":{"properties":{
		"nodes":{"type":"array","x-kubernetes-immutable":true,"x-fieldlock-map-list-order":"ignored","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
			"items":{"properties":{"name":{"type":"string"}}}}}}}}`
)

// cluster is a custom resource with a keyed list of n nodes and a set of n tags, with the metadata and status that a
// live object has: 2 KB with 4 nodes, 230 KB with 1,000.
func cluster(n int) map[string]any {
	nodes, tags := make([]any, n), make([]any, n)
	for i := range n {
		tags[i] = fmt.Sprintf("tag-%d", i)
		nodes[i] = map[string]any{
			"name": fmt.Sprintf("node-%d", i), "zone": fmt.Sprintf("europe-west1-%c", 'a'+i%3), "weight": int64(i % 100), "schedulable": true,
			"labels":    map[string]any{"pool": fmt.Sprintf("pool-%d", i%10), "role": "worker"},
			"image":     fmt.Sprintf("registry.example.com/team/agent:v1.%d.0", i%30),
			"resources": map[string]any{"cpu": "4", "memory": fmt.Sprintf("%dGi", 8+i%8)},
			"ports":     []any{int64(80), int64(443)},
		}
	}
	condition := func(kind string) map[string]any {
		return map[string]any{
			"type": kind, "status": "True", "reason": "AsExpected", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": int64(3),
		}
	}
	return map[string]any{
		"apiVersion": "example.com/v1", "kind": "Cluster",
		"metadata": map[string]any{
			"name": "main", "namespace": "default", "uid": "0c9a5b1e-54f1-4a52-9c5e-7d1a4c0fbd7e", "resourceVersion": "1001", "generation": int64(3),
			"creationTimestamp": "2026-01-01T00:00:00Z", "labels": map[string]any{"app.kubernetes.io/name": "main", "app.kubernetes.io/managed-by": "operator"},
			"managedFields": []any{map[string]any{
				"manager": "kubectl", "operation": "Apply", "apiVersion": "example.com/v1", "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
				"fieldsV1": map[string]any{"f:spec": map[string]any{"f:class": map[string]any{}, "f:replicas": map[string]any{}, "f:nodes": map[string]any{}}},
			}},
		},
		"spec": map[string]any{"class": "standard", "replicas": int64(3), "nodes": nodes, "tags": tags},
		"status": map[string]any{
			"conditions": []any{condition("Ready"), condition("Progressing")}, "observedGeneration": int64(3),
		},
	}
}

func copyOf(obj map[string]any) map[string]any { return runtime.DeepCopyJSON(obj) }

// changedAround returns obj as an ordinary update leaves it: metadata, status and an unlocked field differ.
func changedAround(obj map[string]any) map[string]any {
	out := copyOf(obj)
	metadata := out["metadata"].(map[string]any)
	metadata["resourceVersion"], metadata["generation"] = "1002", int64(4)
	metadata["managedFields"].([]any)[0].(map[string]any)["time"] = "2026-01-02T03:04:05Z"
	out["spec"].(map[string]any)["replicas"] = int64(12)
	ready := out["status"].(map[string]any)["conditions"].([]any)[1].(map[string]any)
	ready["status"], ready["reason"], ready["message"] = "False", "Waiting", "9 of 12 replicas are there"
	return out
}

// reordered returns obj with the lists of spec in another order, laid out in memory as decoding that would.
func reordered(obj map[string]any) map[string]any {
	out := copyOf(obj)
	r := rand.New(rand.NewPCG(1, 2))
	spec := out["spec"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(spec)) {
		if list, ok := spec[name].([]any); ok {
			r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
	}
	return copyOf(out)
}

func encoded(t testing.TB, obj map[string]any) []byte {
	t.Helper()
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// compareByHand is what a programmer writes to compare two specs, and what memory allows.
func compareByHand(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, value := range a {
			other, ok := b[key]
			if !ok || !compareByHand(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, compareByHand)
	}
	return a == b
}

// accepted are updates that break nothing: what each costs is compared with what comparing by hand costs.
func accepted(n int) map[string]struct {
	schema   string
	new, old map[string]any
} {
	obj := cluster(n)
	type update = struct {
		schema   string
		new, old map[string]any
	}
	return map[string]update{
		"no locks":    {`{"properties":{"spec":{}}}`, copyOf(obj), obj},
		"spec":        {lockedSpec, copyOf(obj), obj},
		"parts":       {lockedParts, copyOf(obj), obj},
		"keys":        {lockedKeys, copyOf(obj), obj},
		"in items":    {lockedInItems, copyOf(obj), obj},
		"shuffled":    {lockedParts, reordered(obj), obj},
		"order apart": {unorderedNodes, reordered(obj), obj},
	}
}

func BenchmarkValidateUpdate(b *testing.B) {
	for _, n := range []int{10, 1_000} {
		obj := cluster(n)
		same := copyOf(obj)
		b.Run(fmt.Sprintf("route=by-hand/n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !compareByHand(same["spec"], obj["spec"]) {
					b.Fatal("differs")
				}
			}
		})
		updates := accepted(n)
		for _, name := range slices.Sorted(maps.Keys(updates)) {
			u := updates[name]
			v := compileJSON(b, u.schema)
			b.Run(fmt.Sprintf("route=decoded/locks=%s/n=%d", strings.ReplaceAll(name, " ", "-"), n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if errs := v.ValidateUpdate(u.new, u.old); errs != nil {
						b.Fatal(errs)
					}
				}
			})
		}
	}
}

func BenchmarkValidateUpdateRefused(b *testing.B) {
	for _, changes := range []int{1, 10, 100} {
		obj := cluster(1_000)
		changed := copyOf(obj)
		for i := range changes {
			changed["spec"].(map[string]any)["nodes"].([]any)[i*7].(map[string]any)["zone"] = "elsewhere"
		}
		v := compileJSON(b, lockedInItems)
		b.Run(fmt.Sprintf("route=decoded/n=1000/changes=%d", changes), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if errs := v.ValidateUpdate(changed, obj); len(errs) != changes {
					b.Fatal(errs)
				}
			}
		})
	}
}

func TestAcceptedUpdatesAllocateNothing(t *testing.T) {
	for _, n := range []int{0, 1, 10, 1_000} {
		for name, u := range accepted(n) {
			if name == "shuffled" || name == "order apart" {
				continue // an index costs memory
			}
			v := compileJSON(t, u.schema)
			if n := testing.AllocsPerRun(10, func() { v.ValidateUpdate(u.new, u.old) }); n != 0 {
				t.Errorf("%s: %v allocations", name, n)
			}
		}
	}
}
