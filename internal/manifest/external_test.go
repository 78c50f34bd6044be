package manifest_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/external"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/schemadoc"
)

// TestAmender: entries and aliases reach CRDs, the kinds of documents and the built-in kinds, each entry its own kind
// and group. An entry that finds no place in any schema of its kind is a mistake, and one without a kind a warning.
func TestAmender(t *testing.T) {
	const properties = `{"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}, "ab": {"type": "string"}, "b": {"type": "string", "x-other": true}}}}}`
	dir := tree(t, map[string]string{
		"crd.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\nspec: {group: example.com, names: {kind: Widget, plural: widgets}, scope: Namespaced, " +
			"versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: " + properties + "}}]}\n",
		"api.json": `{"openapi": "3.0.0", "components": {"schemas": {
			"Gadget": {"x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Gadget"}], ` + properties[1:] + `,
			"Box": {"x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Box"}], "type": "object", "properties": {"spec": {"$ref": "#/components/schemas/BoxSpec"}}},
			"BoxSpec": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string", "x-other": true}}}}}}`,
		"values.schema.json": `{"$schema": "http://json-schema.org/draft-07/schema#", ` + properties[1:],
	})
	schemas, errs, err := (&manifest.Reader{}).Schemas(filepath.Join(dir, "crd.yaml"), filepath.Join(dir, "api.json"), filepath.Join(dir, "values.schema.json"))
	if err != nil || len(errs) > 0 {
		t.Fatal(err, errs)
	}
	plain, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, locks string
		want        map[string]string // by kind: the places of its locks
		errs, warns []string
	}{
		{"no entries", "{}", nil, nil, nil},
		{"a CRD", "locks: [{kind: Widget, path: spec.a, lock: immutable}]", map[string]string{"Widget": "spec.a"}, nil, nil},
		{"a kind of a document", "locks: [{kind: Gadget.example.com, path: spec.a, update: [NoUnset]}]", map[string]string{"Gadget": "spec.a"}, nil, nil},
		{"a kind of the core group", "locks: [{kind: Box, path: spec.a, lock: immutable}]", map[string]string{"Box": "spec.a"}, nil, nil},
		{"a JSON Schema", "locks: [{kind: values, path: spec.a, lock: immutable}]", map[string]string{"values": "spec.a"}, nil, nil},
		{"a built-in kind", "locks: [{kind: Deployment, path: spec.paused, lock: immutable}]", map[string]string{"Deployment": "1 more"}, nil, nil},
		{"a kind of a version", "locks: [{kind: Gadget.v1.example.com, path: spec.a, lock: immutable}, {kind: Box.v1, path: spec.a, lock: immutable}]", map[string]string{"Gadget": "spec.a", "Box": "spec.a"}, nil, nil},
		{"another version", "locks: [{kind: Gadget.v2.example.com, path: spec.a, lock: immutable}]", nil, nil, []string{":1: Gadget.v2.example.com: spec.a: nothing defines the kind"}},
		{"another group", "locks: [{kind: Widget.example.org, path: spec.a, lock: immutable}]", nil, nil, []string{":1: Widget.example.org: spec.a: nothing defines the kind"}},
		{"two entries", "locks:\n- {kind: Widget, path: spec.a, lock: immutable}\n- {kind: Widget, path: spec.b, lock: immutable}", map[string]string{"Widget": "spec.a spec.b"}, nil, nil},
		{"an alias", "aliases: {x-other: [immutable]}", map[string]string{"Widget": "spec.b", "Gadget": "spec.b", "Box": "spec.b", "values": "spec.b"}, nil, nil},
		{"no such field", "locks: [{kind: Widget, path: spec.c, lock: immutable}]", nil, []string{":1: Widget: spec.c: the schema has no spec.c; the nearest path is spec.a"}, nil},
		{"no such field of a built-in kind", "locks: [{kind: Deployment, path: spec.pausd, lock: immutable}]", nil, []string{":1: Deployment: spec.pausd: the schema has no spec.pausd"}, nil},
		{"a place beside one without", "locks:\n- {kind: Gadget, path: spec.c, lock: immutable}\n- {kind: Widget, path: spec.a, lock: immutable}", map[string]string{"Widget": "spec.a"}, []string{":2: Gadget: spec.c"}, nil},
		{"a lock that cannot be there", "locks:\n- {kind: Widget, path: spec.a, lock: immutable-keys}\n- {kind: Widget, path: spec.b, lock: immutable}", nil, []string{":2: Widget: spec.a: x-kubernetes-immutable-keys is on a field without keys"}, nil},
		{"the second one cannot be there", "locks:\n- {kind: Box, path: spec.a, lock: immutable}\n- {kind: Box, path: spec, lock: immutable-keys}", nil, []string{":3: Box: spec: x-kubernetes-immutable-keys"}, nil},
		{"a lock that cannot be there, before one whose path begins with it", "locks:\n- {kind: Widget, path: spec.a, lock: immutable-keys}\n- {kind: Widget, path: spec.ab, lock: immutable}", nil, []string{":2: Widget: spec.a: x-kubernetes-immutable-keys"}, nil},
		{"two locks on one field", "locks:\n- {kind: Widget, path: spec.a, lock: immutable}\n- {kind: Widget, path: spec.a, update: [NoSet]}", nil, []string{":3: Widget: spec.a: one field has"}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			locks, err := external.ParseOnly("locks.yaml", []byte(row.locks+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			a := manifest.NewAmender(locks)
			if (a == nil) != (row.locks == "{}") {
				t.Fatalf("the amender is %v", a)
			}
			got := map[string]string{}
			add := func(kind string, v *immutability.Validator, err error) {
				t.Helper()
				if err != nil {
					t.Errorf("%s: %v", kind, err)
					return
				}
				var places []string
				for _, l := range v.Locks() {
					places = append(places, l.Path)
				}
				if len(places) > 0 {
					got[kind] = strings.Join(places, " ")
				}
			}
			for i, c := range a.CRDs(schemas.CRDs) {
				v, err := c.Versions[0].Compile()
				add(c.Kind, v, err)
				if v, err := schemas.CRDs[i].Versions[0].Compile(); err != nil || !v.Empty() {
					t.Errorf("the CRD itself is changed: %v", err)
				}
			}
			a.Documents(schemas.Documents)
			for _, d := range schemas.Documents {
				kinds := d.Kinds
				if d.Root != "" {
					kinds = []schemadoc.Kind{manifest.RootOf(d)}
				}
				for _, kind := range kinds {
					_, _, v, err := a.Compile(d, kind)
					add(kind.Kind, v, err)
				}
			}
			before, _ := plain.Find("apps/v1", "Deployment")
			after, _ := a.Builtin(plain).Find("apps/v1", "Deployment")
			if len(after.Rows()) == len(before.Rows())+1 {
				got["Deployment"] = "1 more"
			}
			if diff := cmp.Diff(row.want, got); diff != "" && len(row.want)+len(got) > 0 {
				t.Errorf("locks (-want +got):\n%s", diff)
			}
			var mistakes []string
			for _, err := range a.Errs() {
				mistakes = append(mistakes, err.Error())
			}
			holds := func(what string, got, want []string) {
				t.Helper()
				if len(got) != len(want) {
					t.Errorf("%s: %q, want %q", what, got, want)
					return
				}
				for i := range want {
					if !strings.Contains(got[i], "locks.yaml"+want[i]) {
						t.Errorf("%s: %s, want %s", what, got[i], want[i])
					}
				}
			}
			holds("mistakes", mistakes, row.errs)
			holds("warnings", a.Warnings(), row.warns)
		})
	}
	locks, err := external.ParseOnly("locks.yaml", []byte("locks: [{kind: None, path: spec.a, lock: immutable}]\naliases: {x-other: [immutable]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	locks.Stand(nil)
	a := manifest.NewAmender(locks)
	if warnings := a.Warnings(); warnings != nil {
		t.Errorf("the kind of a standing entry may be elsewhere: %q", warnings)
	}
	if a.Builtin(nil) != nil {
		t.Error("no kinds become some")
	}
	if _, _, v, err := a.Compile(schemas.Documents[0], schemadoc.Kind{Ref: "#/components/schemas/None"}); err == nil || v != nil {
		t.Errorf("a schema that is not there: %v, %v", v, err)
	}
}

// TestAmenderDefinitions: without a resolver, a schema is resolved by its own definitions, for entries and for aliases.
func TestAmenderDefinitions(t *testing.T) {
	locks, err := external.ParseOnly("locks.yaml", []byte("locks: [{kind: Box, path: spec.a, lock: immutable}]\naliases: {x-other: [immutable]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var s spec.Schema
	// The mistake at other is not the entry's.
	if err := json.Unmarshal([]byte(`{"type": "object", "properties": {"spec": {"$ref": "#/definitions/Spec"}, "other": {"type": "string", "x-kubernetes-immutable-keys": true}},
		"definitions": {"Spec": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string", "x-other": true}}}}}`), &s); err != nil {
		t.Fatal(err)
	}
	a := manifest.NewAmender(locks)
	amended, resolve, misread := a.Schema("", "v1", "Box", &s, nil)
	if len(misread) > 0 || len(a.Errs()) > 0 {
		t.Fatal(misread, a.Errs())
	}
	delete(amended.Properties, "other")
	v, err := immutability.Compile(amended, immutability.WithResolver(resolve))
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	for _, l := range v.Locks() {
		places = append(places, l.Path)
	}
	if got := strings.Join(places, " "); got != "spec.a spec.b" {
		t.Errorf("the locks are at %q", got)
	}
	mistaken := spec.MapProperty(nil).WithProperties(map[string]spec.Schema{"spec": *spec.MapProperty(nil)})
	mistaken.AddExtension("x-other", "perhaps")
	if _, _, misread := a.Schema("", "v1", "Box", mistaken, nil); len(misread) != 1 {
		t.Errorf("a key that cannot be read: %v", misread)
	}
}
