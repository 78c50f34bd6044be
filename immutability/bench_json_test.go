package immutability_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// itemUpdates are the usual updates of a keyed list with locks in its items: none of them breaks a lock.
func itemUpdates(n int) map[string]func(nodes []any) []any {
	weights := func(k int) func(nodes []any) []any {
		return func(nodes []any) []any {
			for i := range k {
				nodes[(i*n/k+n/2)%n].(map[string]any)["weight"] = int64(1000 + i)
			}
			return nodes
		}
	}
	return map[string]func(nodes []any) []any{
		"one field":  weights(1),
		"ten fields": weights(10),
		"appended": func(nodes []any) []any {
			return append(nodes, map[string]any{"name": "another", "zone": "europe-west1-a"})
		},
		"removed": func(nodes []any) []any { return slices.Delete(nodes, n/2, n/2+1) },
		"rotated": func(nodes []any) []any { return append(nodes[n/3:len(nodes):len(nodes)], nodes[:n/3]...) },
	}
}

func BenchmarkItemUpdateJSON(b *testing.B) {
	const n = 1_000
	v := compileJSON(b, lockedInItems)
	old := encoded(b, cluster(n))
	for name, change := range itemUpdates(n) {
		obj := changedAround(cluster(n))
		spec := obj["spec"].(map[string]any)
		spec["nodes"] = change(spec["nodes"].([]any))
		data := encoded(b, obj)
		b.Run("route=raw/n=1000/update="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if errs, err := v.ValidateUpdateJSON(data, old); err != nil || errs != nil {
					b.Fatal(errs, err)
				}
			}
		})
	}
	b.Run("route=decode-both/n=1000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var newObj, oldObj map[string]any
			if utiljson.Unmarshal(old, &newObj) != nil || utiljson.Unmarshal(old, &oldObj) != nil {
				b.Fatal("no JSON")
			}
		}
	})
}

func BenchmarkValidateUpdateJSON(b *testing.B) {
	for _, n := range []int{4, 1_000} {
		obj := cluster(n)
		everything := reordered(changedAround(obj))
		old, around, all := encoded(b, obj), encoded(b, changedAround(obj)), encoded(b, everything)
		spaced, err := json.MarshalIndent(obj, "", " ")
		if err != nil {
			b.Fatal(err)
		}
		for _, u := range []struct {
			name, schema string
			new          []byte
		}{
			{"around spec parts", lockedParts, around},
			{"around keys", lockedKeys, around},
			{"lists differ", lockedParts, all},
			{"spaces differ", lockedParts, spaced},
		} {
			v := compileJSON(b, u.schema)
			b.Run(fmt.Sprintf("route=raw/n=%d/update=%s", n, strings.ReplaceAll(u.name, " ", "-")), func(b *testing.B) {
				b.SetBytes(int64(len(old)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := v.ValidateUpdateJSON(u.new, old); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprintf("route=decode-first/n=%d/update=%s", n, strings.ReplaceAll(u.name, " ", "-")), func(b *testing.B) {
				b.SetBytes(int64(len(old)))
				b.ReportAllocs()
				for b.Loop() {
					var newObj, oldObj map[string]any
					if utiljson.Unmarshal(u.new, &newObj) != nil || utiljson.Unmarshal(old, &oldObj) != nil {
						b.Fatal("no JSON")
					}
					v.ValidateUpdate(newObj, oldObj)
				}
			})
		}
	}
}

// A schema without locks looks at no member of the objects.
func TestRawUpdatesWithoutLocksAllocateNothing(t *testing.T) {
	v := compileJSON(t, `{"type": "object", "properties": {"spec": {"type": "object"}}}`)
	obj := cluster(1_000)
	newJSON, oldJSON := encoded(t, changedAround(obj)), encoded(t, obj)
	if n := testing.AllocsPerRun(10, func() {
		if errs, err := v.ValidateUpdateJSON(newJSON, oldJSON); err != nil || errs != nil {
			t.Fatal(errs, err)
		}
	}); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

// An ordinary update on raw JSON allocates nothing in the long run, however large the object is.
func TestRawUpdatesAllocateNothing(t *testing.T) {
	for _, schema := range []string{lockedParts, lockedKeys} {
		var counts []float64
		for _, n := range []int{4, 1_000} {
			v := compileJSON(t, schema)
			obj := cluster(n)
			newJSON, oldJSON := encoded(t, changedAround(obj)), encoded(t, obj)
			counts = append(counts, testing.AllocsPerRun(10, func() {
				if errs, err := v.ValidateUpdateJSON(newJSON, oldJSON); err != nil || errs != nil {
					t.Fatal(errs, err)
				}
			}))
		}
		if counts[0] >= 1 || counts[1] >= 1 {
			t.Errorf("%v allocations", counts)
		}
	}
}
