package immutability_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
)

// levels returns an object with others in each other, depth levels of them, and a leaf in each.
func levels(depth int, leaf string) map[string]any {
	obj := map[string]any{"leaf": leaf}
	for range depth {
		obj = map[string]any{"leaf": "same", "child": obj}
	}
	return obj
}

// lockedLevels returns the validator of such objects, in which no child may be modified.
func lockedLevels(normalized string) *immutability.Validator {
	child := refTo("node")
	mark(&child, "x-fieldlock-update", []any{"NoModify"})
	if normalized != "" {
		mark(&child, "x-kubernetes-normalize", normalized)
	}
	node := object(map[string]spec.Schema{"leaf": {}, "child": child})
	root := *node
	root.Definitions = spec.Definitions{"node": *node}
	return immutability.MustCompile(&root)
}

// collect is what a validation by hand does where no level may be modified once it is set: it looks at each level once
// and adds an error for each that differs.
func collect(errs *field.ErrorList, path *field.Path, newObj, oldObj map[string]any) (differs bool) {
	newChild, _ := newObj["child"].(map[string]any)
	oldChild, _ := oldObj["child"].(map[string]any)
	if newChild != nil && oldChild != nil {
		differs = collect(errs, path.Child("child"), newChild, oldChild)
	}
	differs = differs || newObj["leaf"] != oldObj["leaf"] || len(newObj) != len(oldObj) || (newChild == nil) != (oldChild == nil)
	if differs && path != nil {
		*errs = append(*errs, field.Invalid(path, newObj, "field is immutable: it may not be modified once set").WithOrigin("NoModify"))
	}
	return differs
}

// TestRefusedAllocates: a list of errors is made without looking for differences, which it does not name. Allocations
// are counted because they do not depend on the clock.
func TestRefusedAllocates(t *testing.T) {
	for _, normalized := range []string{"", "undefined"} {
		for _, depth := range []int{100, 400} {
			v, newObj, oldObj := lockedLevels(normalized), levels(depth, "new"), levels(depth, "old")
			byHand := testing.AllocsPerRun(3, func() {
				var errs field.ErrorList
				collect(&errs, nil, newObj, oldObj)
			})
			locks := testing.AllocsPerRun(3, func() {
				if errs := v.ValidateUpdate(newObj, oldObj); len(errs) != depth {
					t.Fatalf("%d errors, want %d", len(errs), depth)
				}
			})
			if locks > 3*byHand {
				t.Errorf("depth %d %s: %.0f allocations, %.0f by hand", depth, normalized, locks, byHand)
			}
		}
	}
}

// TestRefusedValues: each level has the long leaf at the bottom in its value, and counts as if it alone had it. The
// values of ten levels fit into the megabyte that an error list may have; the others are left out.
func TestRefusedValues(t *testing.T) {
	const depth, fit = 20, 10
	errs := lockedLevels("").ValidateUpdate(levels(depth, strings.Repeat("n", 100_000)), levels(depth, "old"))
	if len(errs) != depth {
		t.Fatalf("%d errors, want %d", len(errs), depth)
	}
	for i, err := range errs {
		if _, left := err.BadValue.(field.OmitValueType); left != (i >= fit) {
			t.Errorf("error %d: its value is left out: %t", i, left)
		}
	}
	v := compileJSON(t, `{"properties":{"a":{"x-kubernetes-immutable":true},"b":{"x-kubernetes-immutable":true}}}`)
	errs = v.ValidateUpdate(map[string]any{"a": []any{strings.Repeat("n", 2_000_000)}, "b": "x"}, map[string]any{})
	if len(errs) != 2 || errs[0].BadValue != (field.OmitValueType{}) || errs[1].BadValue != "x" {
		t.Errorf("the value of a scalar is left out with the one of a long list")
	}
}

// BenchmarkRefused measures updates that are refused at every level, next to collecting the errors by hand, and a large
// set of which one item changes, next to the one that only changes its order.
func BenchmarkRefused(b *testing.B) {
	run := func(name string, errors int, do func() field.ErrorList) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if errs := do(); len(errs) != errors {
					b.Fatalf("%d errors, want %d", len(errs), errors)
				}
			}
		})
	}
	for _, normalized := range []string{"", "undefined"} {
		v := lockedLevels(normalized)
		for _, depth := range []int{100, 400} {
			newObj, oldObj := levels(depth, "new"), levels(depth, "old")
			newJSON, oldJSON := encodedObject(b, newObj), encodedObject(b, oldObj)
			title := fmt.Sprintf("depth=%d/normalize=%s/route=", depth, cmp.Or(normalized, "no"))
			run(title+"decoded", depth, func() field.ErrorList { return v.ValidateUpdate(newObj, oldObj) })
			run(title+"decoded-by-hand", depth, func() (errs field.ErrorList) {
				collect(&errs, nil, newObj, oldObj)
				return errs
			})
			run(title+"raw", depth, func() field.ErrorList {
				errs, _ := v.ValidateUpdateJSON(newJSON, oldJSON)
				return errs
			})
			run(title+"raw-by-hand", depth, func() (errs field.ErrorList) {
				var n, o map[string]any
				if utiljson.Unmarshal(newJSON, &n) == nil && utiljson.Unmarshal(oldJSON, &o) == nil {
					collect(&errs, nil, n, o)
				}
				return errs
			})
		}
	}
	set := mark(list(&spec.Schema{}), "x-kubernetes-list-type", "set", "x-kubernetes-immutable", true)
	v := immutability.MustCompile(object(map[string]spec.Schema{"set": *set}))
	const n = 20_000
	oldSet, newSet := make([]any, n), make([]any, n)
	for i, at := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		oldSet[i], newSet[at] = fmt.Sprint("item-", i), fmt.Sprint("item-", i)
	}
	changed := append([]any{}, newSet...)
	changed[n/2] = "another"
	oldObj := map[string]any{"set": oldSet}
	run("n=20000/update=another-order", 0, func() field.ErrorList { return v.ValidateUpdate(map[string]any{"set": newSet}, oldObj) })
	run("n=20000/update=one-item", 1, func() field.ErrorList { return v.ValidateUpdate(map[string]any{"set": changed}, oldObj) })
}

func encodedObject(b *testing.B, obj map[string]any) []byte {
	data, err := json.Marshal(obj)
	if err != nil {
		b.Fatal(err)
	}
	return data
}
