package builtin

import (
	"reflect"
	"testing"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fieldlock/fieldlock/internal/kind"
)

// TestApply: what a manager applied before and leaves out goes; what only the server has stays; null removes.
func TestApply(t *testing.T) {
	var none any = "none"
	root := fieldsFrom(t, map[string]kind.FieldData{"keyed": {Keys: []string{"name"}}, "keyed[*].name": {Default: &none}, "set": {MergeSet: true, PatchSet: true}, "whole": {Atomic: true}})
	for _, row := range []struct{ reason, stored, oldObj, newObj, want string }{
		{"the server's member stays", "{a: 1, b: 2}", "{a: 1}", "{a: 3}", "{a: 3, b: 2}"},
		{"what was applied and is left out goes", "{a: 1, b: 2}", "{a: 1, b: 2}", "{a: 1}", "{a: 1}"},
		{"null that was applied and is left out goes, with what the server has there", "{a: {b: 1}}", "{a: null}", "{}", "{}"},
		{"null again changes nothing", "{a: x}", "{a: null}", "{a: null}", "{a: x}"},
		{"null removes", "{a: 1, b: 2}", "{}", "{a: null}", "{b: 2}"},
		{"objects merge", "{a: {b: 1, c: 2}}", "{a: {b: 1}}", "{a: {d: 3}}", "{a: {c: 2, d: 3}}"},
		{"an object for a text", "{a: x}", "{}", "{a: {b: 1}}", "{a: {b: 1}}"},
		{"an atomic object is replaced", "{whole: {a: 1, b: 2}}", "{whole: {a: 1}}", "{whole: {c: 3}}", "{whole: {c: 3}}"},
		{"a list without keys is replaced", "{l: [1, 2]}", "{l: [1]}", "{l: [3]}", "{l: [3]}"},
		{"the server's item stays", "{keyed: [{name: s, a: 1}, {name: x, a: 1}]}", "{keyed: [{name: x}]}", "{keyed: [{name: z}, {name: x, b: 2}]}", "{keyed: [{name: z}, {name: s, a: 1}, {name: x, a: 1, b: 2}]}"},
		{"an item that was applied and is left out goes", "{keyed: [{name: s}, {name: x}]}", "{keyed: [{name: x}]}", "{keyed: []}", "{keyed: [{name: s}]}"},
		{"no patch has an item without a name, so the list is replaced", "{keyed: [{name: none, a: 1}]}", "{}", "{keyed: [{b: 2}]}", "{keyed: [{b: 2}]}"},
		{"a patch removes an empty list that was applied", "{keyed: [{name: s}]}", "{keyed: []}", "{}", "{}"},
		{"an empty list without keys does", "{l: [1]}", "{l: []}", "{}", "{}"},
		{"a list with a text among its items is replaced as a whole", "{keyed: [{name: s}]}", "{}", "{keyed: [x]}", "{keyed: [x]}"},
		{"the server's item of a set stays", "{set: [s, x]}", "{set: [x]}", "{set: [z]}", "{set: [z, s]}"},
		{"no item of a set twice", "{set: [s, x]}", "{}", "{set: [x]}", "{set: [s, x]}"},
		{"a set for a text", "{set: x}", "{}", "{set: [n]}", "{set: [n]}"},
	} {
		stored, oldObj, newObj := objectOf(t, row.stored), objectOf(t, row.oldObj), objectOf(t, row.newObj)
		if got, want := merge(root, "", stored, oldObj, newObj), objectOf(t, row.want); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", row.reason, got, want)
		}
		if !reflect.DeepEqual(stored, objectOf(t, row.stored)) || !reflect.DeepEqual(newObj, objectOf(t, row.newObj)) {
			t.Errorf("%s: an input has changed", row.reason)
		}
	}
}

func TestApplyBy(t *testing.T) {
	var none any = "none"
	root := fieldsFrom(t, map[string]kind.FieldData{"keyed": {Keys: []string{"name"}}, "keyed[*].name": {Default: &none}, "strategy": {RetainKeys: true}, "whole": {Atomic: true}})
	for _, row := range []struct {
		by                                   Applier
		reason, stored, oldObj, newObj, want string
	}{
		{ApplierServerSide, "null takes what was applied, and leaves a default", "{a: {b: 1, c: 2}}", "{a: {b: 1}}", "{a: null}", "{a: {c: 2}}"},
		{ApplierServerSide, "null takes an object that was applied as a whole", "{a: {b: 1}}", "{a: {b: 1}}", "{a: null}", "{a: null}"},
		{ApplierServerSide, "null takes an atomic object", "{whole: {a: 1}}", "{}", "{whole: null}", "{whole: null}"},
		{ApplierServerSide, "what is left without members is null", "{a: {b: 1}}", "{a: {b: 1}}", "{a: {}}", "{a: null}"},
		{ApplierServerSide, "what has lost an object is empty", "{a: {b: {c: 1}}}", "{a: {b: {c: 1}}}", "{a: {b: {}}}", "{a: {b: null}}"},
		{ApplierServerSide, "what the server always writes stays", "{a: {b: 1, c: null}}", "{a: {b: 1}}", "{a: null}", "{a: {c: null}}"},
		{ApplierServerSide, "an object that was empty stays", "{a: {}}", "{a: {}}", "{a: {}}", "{a: {}}"},
		{ApplierServerSide, "an atomic object is replaced by an empty one", "{whole: {a: 1}}", "{whole: {a: 1}}", "{whole: {}}", "{whole: {}}"},
		{ApplierServerSide, "null takes a scalar", "{a: 1}", "{}", "{a: null}", "{a: null}"},
		{ApplierServerSide, "an empty list that was applied owns no item", "{keyed: [{name: s}]}", "{keyed: []}", "{}", "{keyed: [{name: s}]}"},
		{ApplierServerSide, "an item without a name has the default one", "{keyed: [{name: none, a: 1}]}", "{}", "{keyed: [{b: 2}]}", "{keyed: [{name: none, a: 1, b: 2}]}"},
		{ApplierServerSide, "a default stays", "{strategy: {type: R, rolling: 1}}", "{strategy: {type: R}}", "{strategy: {type: C}}", "{strategy: {type: C, rolling: 1}}"},
		{ApplierClientSide, "null takes a default, too", "{a: {b: 1, c: 2}}", "{a: {b: 1}}", "{a: null}", "{}"},
		{ApplierClientSide, "a changed object keeps what the manifest has", "{strategy: {type: R, rolling: 1}}", "{strategy: {type: R}}", "{strategy: {type: C}}", "{strategy: {type: C}}"},
		{ApplierClientSide, "an unchanged one, too", "{strategy: {type: R, rolling: 1}}", "{strategy: {type: R}}", "{strategy: {type: R}}", "{strategy: {type: R}}"},
		{ApplierClientSide, "a member that goes is a change", "{strategy: {type: R, rolling: 1, x: 1}}", "{strategy: {type: R, x: 1}}", "{strategy: {type: R}}", "{strategy: {type: R}}"},
		{ApplierClientSide, "an object that only a server-side apply replaces", "{whole: {a: 1, b: 2}}", "{whole: {a: 1}}", "{whole: {c: 3}}", "{whole: {b: 2, c: 3}}"},
		{ApplierClientSide, "a list that is replaced", "{whole: [1, 2]}", "{whole: [1]}", "{whole: [3]}", "{whole: [3]}"},
		{ApplierClientSide, "other objects keep their defaults", "{a: {type: R, rolling: 1}}", "{a: {type: R}}", "{a: {type: C}}", "{a: {type: C, rolling: 1}}"},
	} {
		stored, oldObj, newObj := objectOf(t, row.stored), objectOf(t, row.oldObj), objectOf(t, row.newObj)
		if got, want := merge(root, row.by, stored, oldObj, newObj), objectOf(t, row.want); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s: %v, want %v", row.by, row.reason, got, want)
		}
	}
}

func fieldsFrom(t *testing.T, fields map[string]kind.FieldData) *kind.Field {
	t.Helper()
	root, err := kind.NewField(fields, nil)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// merge applies a manifest by the fields of a tree.
func merge(fields *kind.Field, by Applier, stored, oldObj, newObj map[string]any) map[string]any {
	m := newMerging(apischema.GroupVersionKind{Version: "v1", Kind: "Test"}, fields)
	applied, _ := m.apply(by, stored, oldObj, newObj)
	delete(applied, "metadata") // the managedFields of a server-side apply
	return applied
}

// TestNormalize: Flux applies the texts of a Secret as data.
func TestNormalize(t *testing.T) {
	kinds, err := For("")
	if err != nil {
		t.Fatal(err)
	}
	secret, _ := kinds.Find("v1", "Secret")
	for manifest, want := range map[string]string{
		"{stringData: {a: x}}":                           "{data: {a: eA==}}",
		"{stringData: {a: x}, data: {a: dw==, b: dw==}}": "{data: {a: eA==, b: dw==}}",
		"{stringData: {}, data: {a: dw==, b: null}}":     "{data: {a: dw==, b: null}}",
	} {
		obj := objectOf(t, manifest)
		obj["apiVersion"] = "v1"
		got := secret.normalize(obj)
		if !reflect.DeepEqual(got["data"], objectOf(t, want)["data"]) || got["stringData"] != nil {
			t.Errorf("%s: %v, want %s", manifest, got, want)
		}
	}
	newObj, oldObj := objectOf(t, "{apiVersion: v1, immutable: true, stringData: {a: x}}"), objectOf(t, "{apiVersion: v1, immutable: true, stringData: {a: y}}")
	if v := secret.CheckBy(fluxApply, newObj, oldObj); v.Allowed() {
		t.Error("a text of an immutable Secret may change")
	}
}
