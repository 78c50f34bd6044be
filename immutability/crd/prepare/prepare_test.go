package prepare_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/crd/prepare"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

func TestPrepare(t *testing.T) {
	const (
		plain    = "class: {type: string, default: c}, size: {type: integer}, note: {type: string, nullable: true}, list: {type: array, items: {type: object, properties: {a: {type: integer, default: 1}}}}"
		embedded = "template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}"
	)
	v1 := func(properties string) string { return document("  versions:\n" + version("v1", spec(properties))) }
	for _, c := range []struct{ name, reason, crd, object, want string }{
		{"unknown fields", "pruned at every level", v1(plain), "{spec: {class: x, nope: 1, list: [{a: 2, b: 3}]}, status: {}}", "{spec: {class: x, list: [{a: 2}]}}"},
		{"type and metadata", "never pruned", v1(plain), "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, odd: 1}}", "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, odd: 1}}"},
		{"default", "set where absent", v1(plain), "{spec: {}}", "{spec: {class: c}}"},
		{"default below an absent parent", "nothing to default in", v1(plain), "{}", "{}"},
		{"default of an item", "items are objects too", v1(plain), "{spec: {class: x, list: [{}, {a: 5}]}}", "{spec: {class: x, list: [{a: 1}, {a: 5}]}}"},
		{"null with a default", "it becomes the default", v1(plain), "{spec: {class: null}}", "{spec: {class: c}}"},
		{"null without a default", "dropped", v1(plain), "{spec: {class: x, size: null}}", "{spec: {class: x}}"},
		{"null of a nullable field", "kept", v1(plain), "{spec: {class: x, note: null}}", "{spec: {class: x, note: null}}"},
		{"large default", "not rounded", v1("num: {type: integer, default: 9007199254740993}"), "{spec: {}}", "{spec: {num: 9007199254740993}}"},
		{"large value", "not rounded", v1("num: {type: integer}"), "{spec: {num: 9007199254740993}}", "{spec: {num: 9007199254740993}}"},
		{"preserved part", "its unknown fields stay", v1("free: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: object, properties: {b: {type: string}}}}}"),
			"{spec: {free: {x: 1, a: {b: c, y: 1}}}}", "{spec: {free: {x: 1, a: {b: c}}}}"},
		{"embedded metadata", "reduced to what object metadata has", v1(embedded),
			"{spec: {template: {metadata: {name: a, odd: 1, creationTimestamp: null}, apiVersion: v1, kind: Pod, x: 1}}}", "{spec: {template: {metadata: {name: a}, apiVersion: v1, kind: Pod, x: 1}}}"},
		{"default with unknown fields", "the default is pruned too", v1("o: {type: object, default: {a: 1, b: 2}, properties: {a: {type: integer}}}"), "{spec: {}}", "{spec: {o: {a: 1}}}"},
		{"marks", "they are no part of the structural schema", v1("class: {type: string, x-kubernetes-immutable: true, x-fieldlock-update: [NoSet], default: c}"), "{spec: {}}", "{spec: {class: c}}"},
		{"v1beta1", "preserves unknown fields and nulls unless told otherwise; defaults still apply", beta("  version: v1\n  validation: {openAPIV3Schema: " + spec(plain) + "}\n"),
			"{spec: {nope: 1, size: null}}", "{spec: {class: c, nope: 1, size: null}}"},
		{"v1beta1, pruning", "as v1", beta("  version: v1\n  preserveUnknownFields: false\n  validation: {openAPIV3Schema: " + spec(plain) + "}\n"),
			"{spec: {nope: 1, size: null}}", "{spec: {class: c}}"},
		{"v1beta1, not structural", "left as it is, without defaults", beta("  version: v1\n  validation: {openAPIV3Schema: {patternProperties: {a: {}}, properties: {a: {default: 1}}}}\n"),
			"{nope: 1, size: null}", "{nope: 1, size: null}"},
		{"v1beta1, version without schema", "left as it is", beta("  versions:\n  - {name: v1, served: true, storage: true}\n" + version("v2", spec(plain))),
			"{nope: 1, size: null}", "{nope: 1, size: null}"},
		{"v1 that preserves", "made from a v1beta1 that did", document("  preserveUnknownFields: true\n  versions:\n" + version("v1", spec(plain))), "{spec: {nope: 1}}", "{spec: {nope: 1, class: c}}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			object, want := objectOf(t, c.object), objectOf(t, c.want)
			got, err := prepare.New(read(t, c.crd).Versions[0]).Prepare(object)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(objectOf(t, c.object), object); diff != "" {
				t.Errorf("Prepare changed its input:\n%s", diff)
			}
		})
	}
}

func TestPrepareErrors(t *testing.T) {
	v1 := func(schema string) string { return document("  versions:\n" + version("v1", schema)) }
	const subject = "crds.yaml: CustomResourceDefinition widgets.example.com, version v1: "
	for _, c := range []struct{ name, crd, object, want string }{
		{"$ref", v1("{properties: {a: {$ref: '#/b'}}}"), "{}", subject + "/properties/a: the schema is not structural, so the API server could not prune and default by it: it has $ref; write the schema out"},
		{"patternProperties", v1("{patternProperties: {a: {}}}"), "{}", "it has patternProperties; use additionalProperties"},
		{"list of items", v1("{items: [{}]}"), "{}", "its items are a list of schemas"},
		{"false preservation", v1("{x-kubernetes-preserve-unknown-fields: false}"), "{}", "x-kubernetes-preserve-unknown-fields is false; it is true or left out"},
		{"below a combinator", v1("{anyOf: [{definitions: {a: {}}}]}"), "{}", subject + "/anyOf/0: the schema is not structural"},
		{"wrong form of a key of the API", v1("{x-kubernetes-list-map-keys: a}"), "{}", subject + "the schema is not structural"},
		{"embedded metadata", v1(spec("t: {type: object, x-kubernetes-embedded-resource: true}")), "{kind: Widget, metadata: {name: a}, spec: {t: {metadata: {name: 1}}}}",
			"Widget a: an embedded resource cannot be read: spec.t.metadata: Invalid value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := prepare.New(read(t, c.crd).Versions[0]).Prepare(objectOf(t, c.object))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is\n\t%v\nand does not say\n\t%s", err, c.want)
			}
		})
	}
}

// Of several malformed parts it is always the first by path that is reported.
func TestPrepareErrorIsDeterministic(t *testing.T) {
	v := prepare.New(read(t, document("  versions:\n"+version("v1", spec("list: {type: array, items: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}, "+
		"map: {type: object, additionalProperties: {type: object, x-kubernetes-embedded-resource: true}}")))).Versions[0])
	object := objectOf(t, "{spec: {list: [{metadata: {name: a}}, {metadata: 1}, {kind: 1}], map: {b.c: {metadata: []}, a: {apiVersion: 1}, d: {metadata: {labels: 1}}}}}")
	for range 50 {
		_, err := v.Prepare(object)
		if want := "an embedded resource cannot be read: spec.list[1].metadata: Invalid value"; err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("error %v, want %s", err, want)
		}
	}
}

// A caller's object may hold Go's other numbers; nil is an error.
func TestPrepareOddInput(t *testing.T) {
	v := prepare.New(read(t, document("  versions:\n"+version("v1", spec("num: {type: integer}")))).Versions[0])
	got, err := v.Prepare(map[string]any{"spec": map[string]any{"num": int32(1)}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"spec": map[string]any{"num": int32(1)}}, got); diff != "" {
		t.Error(diff)
	}
	if got, err := v.Prepare(nil); got != nil || err == nil {
		t.Errorf("nil becomes %v, %v; want an error", got, err)
	}
}

func TestPrepareConcurrently(t *testing.T) {
	v := prepare.New(read(t, document("  versions:\n"+version("v1", spec("o: {type: object, default: {a: 1}, properties: {a: {type: integer}}}")))).Versions[0])
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			got, err := v.Prepare(objectOf(t, "{spec: {}}"))
			if err != nil {
				t.Error(err)
				return
			}
			got["spec"].(map[string]any)["o"].(map[string]any)["a"] = "changed" // defaults are copied
		})
	}
	wait.Wait()
	got, _ := v.Prepare(objectOf(t, "{spec: {}}"))
	if diff := cmp.Diff(objectOf(t, "{spec: {o: {a: 1}}}"), got); diff != "" {
		t.Error(diff)
	}
}

// objectOf reads an object in YAML.
func objectOf(t testing.TB, text string) map[string]any {
	t.Helper()
	documents, err := yamldoc.Read("object", []byte(text))
	if err != nil || len(documents) != 1 {
		t.Fatalf("%d documents, error %v", len(documents), err)
	}
	return documents[0].Object
}

// document is a CRD of apiextensions.k8s.io/v1 with the given rest of its spec, indented by two spaces.
func document(rest string) string {
	return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\nspec:\n" +
		"  group: example.com\n  names: {kind: Widget, plural: widgets}\n" + rest
}

// beta is document in v1beta1.
func beta(rest string) string {
	return strings.Replace(document(rest), "apiextensions.k8s.io/v1\n", "apiextensions.k8s.io/v1beta1\n", 1)
}

// version is one item of spec.versions, with its schema in flow style.
func version(name, schema string) string {
	return fmt.Sprintf("  - {name: %s, served: true, storage: false, schema: {openAPIV3Schema: %s}}\n", name, schema)
}

// spec is a schema in flow style with the given properties of spec.
func spec(properties string) string {
	return "{type: object, required: [spec], properties: {spec: {type: object, properties: {" + properties + "}}}}"
}

// read reads the one CRD of a text.
func read(t testing.TB, text string) *crd.CRD {
	t.Helper()
	crds, err := crd.Read("crds.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(crds) != 1 {
		t.Fatalf("%d CRDs, want 1", len(crds))
	}
	return crds[0]
}

// Both sides are prepared before they are compared: an unknown field goes, and a default is set.
func ExamplePreparer_Prepare() {
	crds, err := crd.Read("widgets.yaml", []byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {class: {type: string, default: standard}}}}}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	obj, err := prepare.New(crds[0].Versions[0]).Prepare(map[string]any{"spec": map[string]any{"colour": "red"}})
	fmt.Println(obj, err)
	// Output: map[spec:map[class:standard]] <nil>
}
