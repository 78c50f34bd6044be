package immutability_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v4/typed"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/celrun"
)

// celSpec is lockedSpec as a CRD has it in CEL, with the types that CEL needs.
const celSpec = `{"type":"object","properties":{"spec":{"type":"object","x-kubernetes-validations":[{"rule":"self == oldSelf"}],"properties":{
	"class":{"type":"string"},"replicas":{"type":"integer"},
	"tags":{"type":"array","maxItems":1000,"x-kubernetes-list-type":"set","items":{"type":"string","maxLength":64}},
	"nodes":{"type":"array","maxItems":1000,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],"properties":{
		"name":{"type":"string"},"zone":{"type":"string"},"weight":{"type":"integer"},"schedulable":{"type":"boolean"},
		"labels":{"type":"object","additionalProperties":{"type":"string"}},"image":{"type":"string"},
		"resources":{"type":"object","properties":{"cpu":{"type":"string"},"memory":{"type":"string"}}},
		"ports":{"type":"array","items":{"type":"integer"}}}}}}}}}`

// peers compare the spec of two equal objects, each in its own way; the locks are those of lockedSpec.
func peers(tb testing.TB, n int) map[string]func() bool {
	tb.Helper()
	oldObj := cluster(n)
	newObj := copyOf(oldObj)
	locks := compileJSON(tb, lockedSpec)
	var s spec.Schema
	if err := json.Unmarshal([]byte(celSpec), &s); err != nil {
		tb.Fatal(err)
	}
	rules := celrun.New(&s, func(celrun.Rule) bool { return true })
	return map[string]func() bool{
		"locks":    func() bool { return locks.ValidateUpdate(newObj, oldObj) == nil },
		"by-hand":  func() bool { return compareByHand(newObj["spec"], oldObj["spec"]) },
		"reflect":  func() bool { return reflect.DeepEqual(newObj["spec"], oldObj["spec"]) },
		"semantic": func() bool { return equality.Semantic.DeepEqual(newObj["spec"], oldObj["spec"]) },
		"go-cmp":   func() bool { return cmp.Equal(newObj["spec"], oldObj["spec"]) },
		"smd": func() bool {
			is, err := typed.DeducedParseableType.FromUnstructured(newObj["spec"])
			if err != nil {
				return false
			}
			was, err := typed.DeducedParseableType.FromUnstructured(oldObj["spec"])
			if err != nil {
				return false
			}
			c, err := was.Compare(is)
			return err == nil && c.IsSame()
		},
		"cel": func() bool {
			refused, err := rules.ValidateUpdate(newObj, oldObj)
			return err == nil && len(refused) == 0
		},
	}
}

// TestPeers: every peer compares all of the spec, so that no benchmark measures one that looks away.
func TestPeers(t *testing.T) {
	for name, equal := range peers(t, 10) {
		if !equal() {
			t.Errorf("%s: equal objects differ", name)
		}
	}
	oldObj := cluster(10)
	var s spec.Schema
	if err := json.Unmarshal([]byte(celSpec), &s); err != nil {
		t.Fatal(err)
	}
	newObj := copyOf(oldObj)
	newObj["spec"].(map[string]any)["nodes"].([]any)[9].(map[string]any)["zone"] = "elsewhere"
	refused, err := celrun.New(&s, func(celrun.Rule) bool { return true }).ValidateUpdate(newObj, oldObj)
	if err != nil || len(refused) != 1 {
		t.Errorf("CEL: %v, %v", refused, err)
	}
	if v := compileJSON(t, lockedSpec); len(v.ValidateUpdate(newObj, oldObj)) != 1 {
		t.Error("the locks look away")
	}
}

// BenchmarkPeers measures the headline ratios: an unchanged object whose whole spec is compared. The locks come first,
// so that benchstat takes them for the base of its columns:
//
//	go test -run '^$' -bench Peers -count 6 ./immutability > peers.txt
//	benchstat -filter .unit:sec/op -col /peer peers.txt
func BenchmarkPeers(b *testing.B) {
	const n = 1_000
	all := peers(b, n)
	for _, name := range []string{"locks", "by-hand", "reflect", "semantic", "smd", "go-cmp", "cel"} {
		b.Run("peer="+name+"/n=1000", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !all[name]() {
					b.Fatal("equal objects differ")
				}
			}
		})
	}
}

// BenchmarkCompile measures what a server does once for each schema.
func BenchmarkCompile(b *testing.B) {
	for _, row := range []struct{ locks, schema string }{{"whole", lockedSpec}, {"parts", lockedParts}, {"items", lockedInItems}} {
		s := new(spec.Schema)
		if err := json.Unmarshal([]byte(row.schema), s); err != nil {
			b.Fatal(err)
		}
		b.Run("locks="+row.locks, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := immutability.Compile(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
