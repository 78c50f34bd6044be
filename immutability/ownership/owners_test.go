package ownership_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/ownership"
)

func readCluster(t testing.TB) (map[string]any, *ownership.Managers) {
	t.Helper()
	data, err := os.ReadFile("testdata/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var obj map[string]any
	if err := yaml.Unmarshal(data, &obj); err != nil {
		t.Fatal(err)
	}
	return obj, mustRead(t, obj, obj)
}

func mustRead[Object map[string]any | []byte](t testing.TB, newObj, oldObj Object) *ownership.Managers {
	t.Helper()
	managers, err := ownership.Read(newObj, oldObj)
	if err != nil {
		t.Fatal(err)
	}
	return managers
}

// managedBy returns an encoded object with those managed fields.
func managedBy(managedFields, apiVersion string) []byte {
	return []byte(`{"apiVersion":"` + apiVersion + `","metadata":{"managedFields":` + managedFields + `}}`)
}

func encode(t testing.TB, obj map[string]any) []byte {
	t.Helper()
	encoded, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// TestOwnersInBrokenText: an object that is not what the path says has no item there, and is not a reason to fail.
func TestOwnersInBrokenText(t *testing.T) {
	obj, _ := readCluster(t)
	stored := encode(t, obj)
	path := field.NewPath("spec", "nodes").Index(1).Child("zone")
	const want = "its parent was last applied by kubectl-client-side-apply"
	for _, text := range []string{``, `null`, `{}`, `[]`, `{"spec"`, `{"spec":[]}`, `{"spec":{"nodes":{}}}`, `{"spec":{"nodes":[1,`, `{"spec":{"nodes":[1,x]}}`, `{"spec":{"nodes":[1,2]}}`} {
		if got := ownership.Text(mustRead(t, []byte(text), stored).Owners(path)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestOwners(t *testing.T) {
	obj, managers := readCluster(t)
	encoded := mustRead(t, encode(t, obj), encode(t, obj))
	spec := field.NewPath("spec")
	for _, row := range []struct {
		name, reason string
		path         *field.Path
		want         string
	}{
		{"several managers", "the newest first, each other one once, at most three names",
			spec.Child("class"), "last applied by argocd, also owned by kubectl-client-side-apply, class-controller (through status) and 1 more"},
		{"one manager", "client-side apply is recorded as an update and is an apply to its user",
			spec.Child("network", "cidr"), "last applied by kubectl-client-side-apply"},
		{"a subtree", "a locked object belongs to the owners of what is in it",
			spec.Child("network"), "last applied by kubectl-client-side-apply"},
		{"keyed item", "the index counts the items of the object, the managers go by key",
			spec.Child("nodes").Index(1).Child("zone"), "last applied by argocd"},
		{"other keyed item", "the same, for the manager of the other item",
			spec.Child("nodes").Index(0).Child("zone"), "last applied by flux"},
		{"keyed item, number spelled as float", "80.0 is the key 80",
			spec.Child("nodes").Index(1), "last applied by argocd"},
		{"item without a key field", "no manager has its key: the nearest owned parent speaks",
			spec.Child("nodes").Index(2).Child("zone"), "its parent was last applied by kubectl-client-side-apply"},
		{"set item", "found by value, not by index",
			spec.Child("zones").Index(0), "last applied by kubectl-client-side-apply"},
		{"new set item", "nobody owned it; the list is owned",
			spec.Child("zones").Index(2), "its parent was last applied by kubectl-client-side-apply"},
		{"number in a set", "80 matches v:80", spec.Child("ports").Index(0), "last applied by kubectl-client-side-apply"},
		{"index element", "i:1 is the second item", spec.Child("indexed").Index(1), "last applied by kubectl-client-side-apply"},
		{"below an atomic list", "a list owned as a whole owns its items",
			spec.Child("steps").Index(0).Child("run"), "last applied by kubectl-client-side-apply"},
		{"unset field", "the nearest parent: network, not spec",
			spec.Child("network", "ipv6"), "its parent was last applied by kubectl-client-side-apply"},
		{"map key", "brackets and dots in one key",
			spec.Child("labels").Key("a.b/c"), "last applied by kubectl-client-side-apply"},
		{"property with a dot", "the text of the path is the same as of two steps",
			spec.Child("dotted.name"), "last applied by kubectl-client-side-apply"},
		{"name that only begins alike", "classes is not class",
			spec.Child("classes"), "its parent was last applied by kubectl-client-side-apply"},
		{"another version", "the field may have another meaning there, so the version is named, and a name with a comma is quoted",
			spec.Child("legacy"), `last updated by "old, tool" (in example.dev/v1beta1)`},
		{"status", "written through the subresource",
			field.NewPath("status", "phase"), "last updated by class-controller (through status)"},
		{"unowned", "nothing to say", field.NewPath("data"), ""},
		{"index past the end", "a path of another object is no reason to fail",
			spec.Child("nodes").Index(99).Child("zone"), "its parent was last applied by kubectl-client-side-apply"},
		{"nil path", "no field, no owner", nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := ownership.Text(managers.Owners(row.path)); got != row.want {
				t.Errorf("Owners(%v): %q, want %q: %s", row.path, got, row.want, row.reason)
			}
			if got := ownership.Text(encoded.Owners(row.path)); got != row.want {
				t.Errorf("Owners(%v), encoded: %q, want %q: %s", row.path, got, row.want, row.reason)
			}
		})
	}
}

// TestSteps: each row has the fields of two managers, a and then b.
func TestSteps(t *testing.T) {
	spec := field.NewPath("spec")
	for _, row := range []struct {
		name, reason, a, b, object string
		path                       *field.Path
		want                       string
	}{
		{"nearer", "who owns the field is asked, not who owns its parent", `{"f:spec":{"f:class":{}}}`, `{"f:spec":{".":{},"f:other":{}}}`, `{}`, spec.Child("class"), "last applied by a"},
		{"nearer, later", "in whatever order they come", `{"f:spec":{".":{},"f:other":{}}}`, `{"f:spec":{"f:class":{}}}`, `{}`, spec.Child("class"), "last applied by b"},
		{"as a whole and in part", "both own the field", `{"f:spec":{"f:net":{}}}`, `{"f:spec":{"f:net":{"f:cidr":{}}}}`, `{}`, spec.Child("net"), "last applied by a, also owned by b"},
		{"another index", "i:1 is not the first item", `{"f:spec":{"f:list":{"i:1":{}}}}`, `{"f:spec":{"f:list":{".":{},"f:other":{}}}}`, `{"spec":{"list":["x","y"]}}`, spec.Child("list").Index(0), "its parent was last applied by b"},
		{"an index past the end", "the object has no such item", `{"f:spec":{"f:list":{"i:5":{}}}}`, `{"f:spec":{"f:list":{".":{},"f:other":{}}}}`, `{"spec":{"list":["x","y"]}}`, spec.Child("list").Index(5), "its parent was last applied by b"},
		{"a negative index", "no list has it", `{"f:spec":{"f:list":{"i:1":{}}}}`, `{"f:spec":{"f:list":{".":{},"f:other":{}}}}`, `{"spec":{"list":["x","y"]}}`, spec.Child("list").Key("-1"), "its parent was last applied by b"},
		{"an index that is not closed", "it is a name", `{"f:spec":{"f:list":{"i:1":{}}}}`, `{"f:spec":{".":{},"f:other":{}}}`, `{"spec":{"list":["x","y"]}}`, spec.Child("list[1"), "its parent was last applied by b"},
		{"a key field that is missing", "missing is not null", `{"f:spec":{"f:list":{"k:{\"k\":null}":{}}}}`, `{"f:spec":{"f:list":{".":{},"f:other":{}}}}`, `{"spec":{"list":[{"x":1}]}}`, spec.Child("list").Index(0), "its parent was last applied by b"},
		{"a key field that is null", "null is null", `{"f:spec":{"f:list":{"k:{\"k\":null}":{}}}}`, `{"f:spec":{"f:list":{".":{},"f:other":{}}}}`, `{"spec":{"list":[{"k":null}]}}`, spec.Child("list").Index(0), "last applied by a"},
		{"the second of two key fields", "the tuple counts as a whole", `{"f:spec":{"f:list":{"k:{\"k\":1,\"l\":2}":{}}}}`, `{"f:spec":{"f:list":{".":{},"f:other":{}}}}`, `{"spec":{"list":[{"k":1,"l":3}]}}`, spec.Child("list").Index(0), "its parent was last applied by b"},
		{"below an item found by index", "the item is looked into", `{"f:spec":{"f:list":{"i:1":{"f:sub":{"k:{\"k\":1}":{"f:x":{}}}}}}}`, `{"f:spec":{".":{},"f:other":{}}}`, `{"spec":{"list":[{},{"sub":[{"k":1}]}]}}`, spec.Child("list").Index(1).Child("sub").Index(0).Child("x"), "last applied by a"},
		{"an item of a map", "a map has no items", `{"f:spec":{"f:list":{"i:0":{}}}}`, `{"f:spec":{"f:list":{".":{},"f:other":{}}}}`, `{"spec":{"list":{"0":1}}}`, spec.Child("list").Index(0), "its parent was last applied by b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			managed := `[{"manager":"a","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":` + row.a + `},{"manager":"b","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":` + row.b + `}]`
			stored := managedBy(managed, "") // without a version there is none to name
			if got := ownership.Text(mustRead(t, []byte(row.object), stored).Owners(row.path)); got != row.want {
				t.Errorf("encoded: %q, want %q: %s", got, row.want, row.reason)
			}
			var newObj, oldObj map[string]any
			if err := errors.Join(utiljson.Unmarshal([]byte(row.object), &newObj), utiljson.Unmarshal(stored, &oldObj)); err != nil {
				t.Fatal(err)
			}
			if got := ownership.Text(mustRead(t, newObj, oldObj).Owners(row.path)); got != row.want {
				t.Errorf("decoded: %q, want %q: %s", got, row.want, row.reason)
			}
		})
	}
}

// TestNames: a manager's name is quoted where it could be taken for more than a name.
func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"helm": "helm", "a!b": "a!b", "Go-http-client/1.1": "Go-http-client/1.1", "": "an unnamed manager",
		"a b": `"a b"`, "a,b": `"a,b"`, `a"b`: `"a\"b"`, "a\nb": `"a\nb"`, "a\u202eb": `"a\u202eb"`, "é": "é",
	} {
		if got := ownership.Text([]ownership.Owner{{Manager: name, Operation: "Apply"}}); got != "last applied by "+want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

// TestReadErrors: what cannot be read is an error, with managers that own nothing.
func TestReadErrors(t *testing.T) {
	broken := map[string]any{"metadata": map[string]any{"managedFields": func() {}}}
	checkUnread := func(name string, managers *ownership.Managers, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "metadata.managedFields cannot be read") || managers == nil || managers.Owners(field.NewPath("spec")) != nil {
			t.Errorf("%s: %v, %v", name, managers, err)
		}
	}
	managers, err := ownership.Read(broken, broken)
	checkUnread("a value that is no JSON", managers, err)
	for name, text := range map[string]string{
		"a list that is cut":       `{"apiVersion":"v1","metadata":{"managedFields":[`,
		"something after the list": string(managedBy("[] x", "v1")),
		"an object":                string(managedBy("{}", "v1")),
		"no object":                `[]`,
	} {
		managers, err := ownership.Read(nil, []byte(text))
		checkUnread(name, managers, err)
	}
	for _, nothing := range []string{"", "null", "{}", `{"metadata":null}`, `{"metadata":[]}`, string(managedBy("null", "v1")), string(managedBy("[]", "v1"))} {
		if managers, err := ownership.Read(nil, []byte(nothing)); err != nil || managers == nil || managers.Owners(field.NewPath("spec")) != nil {
			t.Errorf("%q: %v, %v; want no managers", nothing, managers, err)
		}
	}
}

func TestOwnersOfKey(t *testing.T) {
	obj, managers := readCluster(t)
	encoded := mustRead(t, encode(t, obj), encode(t, obj))
	spec := field.NewPath("spec")
	for _, row := range []struct {
		name, reason string
		path         *field.Path
		key          any
		want         string
	}{
		{"map key", "the manager of the removed key", spec.Child("labels"), "app", "last applied by kubectl-client-side-apply"},
		{"tuple", "the manager of the removed item", spec.Child("nodes"), map[string]any{"name": "two", "port": int64(80)}, "last applied by flux"},
		{"set item", "found by value", spec.Child("zones"), "a", "last applied by kubectl-client-side-apply"},
		{"a key that is no text", "no name is meant", spec.Child("labels"), int64(5), "its parent was last applied by kubectl-client-side-apply"},
		{"unowned key", "the owner of the map", spec.Child("labels"), "nobody", "its parent was last applied by kubectl-client-side-apply"},
		{"item of an atomic list", "owned as a whole", spec.Child("steps"), map[string]any{"run": "a"}, "last applied by kubectl-client-side-apply"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := ownership.Text(managers.OwnersOfKey(row.path, row.key)); got != row.want {
				t.Errorf("OwnersOfKey(%v, %v): %q, want %q: %s", row.path, row.key, got, row.want, row.reason)
			}
			if got := ownership.Text(encoded.OwnersOfKey(row.path, row.key)); got != row.want {
				t.Errorf("OwnersOfKey(%v, %v), encoded: %q, want %q: %s", row.path, row.key, got, row.want, row.reason)
			}
		})
	}
}

func TestReadNamesWhatItCannotRead(t *testing.T) {
	entry := func(set map[string]any) map[string]any {
		e := map[string]any{"manager": "m", "operation": "Apply", "fieldsType": "FieldsV1",
			"fieldsV1": map[string]any{"f:spec": map[string]any{"f:class": map[string]any{}}}}
		maps.Copy(e, set)
		return e
	}
	for _, row := range []struct {
		name, reason string
		managed      any
		wantError    string
		wantText     string
	}{
		{"readable", "the row that the others differ from", []any{entry(nil)}, "", "last applied by m"},
		{"unknown type beside a readable one", "what can be read is kept", []any{entry(map[string]any{"fieldsType": "FieldsV9", "manager": "x"}), entry(nil)}, `metadata.managedFields[0].fieldsType is "FieldsV9"`, "last applied by m"},
		{"no set", "fields must be a set", []any{entry(map[string]any{"fieldsV1": map[string]any{"k:oops": map[string]any{}}})}, "metadata.managedFields[0].fieldsV1", ""},
		{"no list", "managedFields is a list", "x", "metadata.managedFields cannot be read", ""},
		{"null", "as absent", nil, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			managers, err := ownership.Read(nil, map[string]any{"metadata": map[string]any{"managedFields": row.managed}})
			if (err != nil) != (row.wantError != "") || err != nil && !strings.Contains(err.Error(), row.wantError) {
				t.Errorf("error %v, want %q: %s", err, row.wantError, row.reason)
			}
			if got := ownership.Text(managers.Owners(field.NewPath("spec", "class"))); got != row.wantText {
				t.Errorf("%q, want %q: %s", got, row.wantText, row.reason)
			}
		})
	}
}

func TestNoManagers(t *testing.T) {
	for _, obj := range []map[string]any{nil, {}, {"metadata": "scalar"}, {"metadata": map[string]any{}}} {
		managers, err := ownership.Read(obj, obj)
		if err != nil || len(managers.Owners(field.NewPath("spec"))) != 0 {
			t.Errorf("Read(%v): %v, want no managers and no error", obj, err)
		}
	}
	var none *ownership.Managers
	if owners := none.Owners(field.NewPath("spec")); owners != nil {
		t.Errorf("nil managers own %v", owners)
	}
}

// FuzzOwners: no managed fields and no path, however odd, make the package panic or answer differently twice.
func FuzzOwners(f *testing.F) {
	f.Add(`[{"manager":"m","operation":"Apply","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"k:{\"a\":1}":{".":{}},"v:null":{},"i:0":{}}}}]`, "spec", `{"spec":[{"a":1}]}`)
	f.Add(`[{"fieldsType":"FieldsV1","fieldsV1":{"f:a":{"f:":{},"f:a.b":{}},"f:a.b":{}}}]`, "a.b", `{}`)
	f.Fuzz(func(t *testing.T, managed, path, object string) {
		managers, err := ownership.Read([]byte(object), managedBy(managed, "v1"))
		if err != nil && managers == nil {
			t.Fatal("an error without managers")
		}
		where := field.NewPath(path).Index(0)
		first, second := ownership.Text(managers.Owners(where)), ownership.Text(managers.Owners(where))
		if first != second {
			t.Errorf("%q, then %q", first, second)
		}
		for _, key := range []any{path, 1.0, map[string]any{"a": 1.0}} {
			managers.OwnersOfKey(field.NewPath(path), key)
		}
	})
}

func ExampleManagers_Owners() {
	obj := map[string]any{
		"apiVersion": "example.dev/v1",
		"metadata": map[string]any{"managedFields": []any{map[string]any{
			"manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": "example.dev/v1",
			"time": "2026-03-01T10:00:00Z", "fieldsType": "FieldsV1",
			"fieldsV1": map[string]any{"f:spec": map[string]any{"f:class": map[string]any{}}},
		}}},
		"spec": map[string]any{"class": "gold"},
	}
	managers, err := ownership.Read(obj, obj)
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(ownership.Text(managers.Owners(field.NewPath("spec", "class"))))
	// Output: last applied by kubectl-client-side-apply
}
