package main

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/fieldlock/fieldlock/immutability/crd"
)

const classPath = "/properties/spec/properties/class"

// A client reads the keys where it wrote them: get, list, watch, and the answers to its writes.
func TestKeysComeBack(t *testing.T) {
	w := newWorld(t)
	document := w.object("widgets.yaml")
	stream, err := crds().Watch(w.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	w.install(document)

	want := encoded(nodes(schemas(document.Object)["v1"])[classPath])
	check := func(from string, object *unstructured.Unstructured) {
		t.Helper()
		if got := encoded(node(t, object, classPath)); got != want {
			t.Errorf("%s: the node is %s, want %s", from, got, want)
		}
		ports := node(t, object, "/properties/spec/properties/ports/items")
		if ports["x-kubernetes-immutable"] != true {
			t.Errorf("%s: the items of the ports have lost their lock: %s", from, encoded(ports))
		}
	}
	got, err := crds().Get(w.ctx, document.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	check("get", got)
	list, err := crds().List(w.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list.Items, func(u unstructured.Unstructured) bool { return u.GetName() == document.GetName() })
	if i < 0 {
		t.Fatal("the list has no such CRD")
	}
	check("list", &list.Items[i])
	for event := range stream.ResultChan() {
		object, ok := event.Object.(*unstructured.Unstructured)
		if ok && object.GetName() == document.GetName() {
			if event.Type != watch.Added {
				t.Errorf("the first event is %s, want ADDED", event.Type)
			}
			check("watch", object)
			break
		}
	}
	updated, err := crds().Update(w.ctx, got, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	check("update", updated)
	patched, err := crds().Patch(w.ctx, document.GetName(), types.MergePatchType, []byte(`{"metadata": {"labels": {"a": "b"}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	check("patch", patched)
}

// routes are the ways to change a mark of a CRD.
func (w *world) routes() map[string]func(name string, edit func(class map[string]any), jsonPatch string) error {
	path := `/spec/versions/0/schema/openAPIV3Schema` + classPath
	edited := func(name string, edit func(map[string]any)) (*unstructured.Unstructured, error) {
		object, err := crds().Get(w.ctx, name, metav1.GetOptions{})
		if err == nil {
			edit(node(w.t, object, classPath))
		}
		return object, err
	}
	return map[string]func(string, func(map[string]any), string) error{
		"update": func(name string, edit func(map[string]any), _ string) error {
			object, err := edited(name, edit)
			if err != nil {
				return err
			}
			_, err = crds().Update(w.ctx, object, metav1.UpdateOptions{})
			return err
		},
		"merge patch": func(name string, edit func(map[string]any), _ string) error {
			object, err := edited(name, edit)
			if err != nil {
				return err
			}
			patch := map[string]any{"spec": map[string]any{"versions": object.Object["spec"].(map[string]any)["versions"]}}
			_, err = crds().Patch(w.ctx, name, types.MergePatchType, []byte(encoded(patch)), metav1.PatchOptions{})
			return err
		},
		"JSON patch": func(name string, _ func(map[string]any), jsonPatch string) error {
			_, err := crds().Patch(w.ctx, name, types.JSONPatchType, []byte(strings.ReplaceAll(jsonPatch, "CLASS", path)), metav1.PatchOptions{})
			return err
		},
		"apply": func(name string, edit func(map[string]any), _ string) error {
			object := w.object("widgets.yaml")
			object.SetName(name)
			edit(node(w.t, object, classPath))
			_, err := crds().Apply(w.ctx, name, object, metav1.ApplyOptions{FieldManager: "test", Force: true})
			return err
		},
	}
}

// A CRD whose marks change, by every way of changing it: the next update of a custom resource follows the new ones.
func TestMarksChange(t *testing.T) {
	for route, change := range newWorld(t).routes() {
		t.Run(route, func(t *testing.T) {
			w := newWorld(t)
			w.group = "marks-" + strings.ReplaceAll(strings.ToLower(route), " ", "") + ".fieldlock.test"
			document := w.object("widgets.yaml")
			w.install(document)
			w.create("w")
			change = w.routes()[route]
			class := func(value string) error {
				_, err := w.widgets().Patch(w.ctx, "w", types.MergePatchType, []byte(`{"spec": {"class": "`+value+`"}}`), metav1.PatchOptions{})
				return err
			}
			checkVerdict(t, class("silver"), []string{"spec.class"})
			err := change(document.GetName(), func(class map[string]any) { delete(class, "x-kubernetes-immutable") },
				`[{"op": "remove", "path": "CLASS/x-kubernetes-immutable"}]`)
			if err != nil {
				t.Fatalf("removing the lock: %v", err)
			}
			w.eventually("the field is free", func() error { return class("silver") })

			err = change(document.GetName(), func(class map[string]any) {
				delete(class, "x-kubernetes-immutable")
				class["x-fieldlock-update"] = []any{"NoUnset"}
			}, `[{"op": "add", "path": "CLASS/x-fieldlock-update", "value": ["NoUnset"]}]`)
			if err != nil {
				t.Fatalf("adding a lock: %v", err)
			}
			w.eventually("the value cannot be removed", func() error {
				_, err := w.widgets().Patch(w.ctx, "w", types.MergePatchType, []byte(`{"spec": {"class": null}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
				if err == nil {
					return apierrors.NewConflict(crdResource.GroupResource(), "w", nil)
				}
				return nil
			})
			checkVerdict(t, class("bronze"), nil)
		})
	}
}

// What lint calls an error is refused, when a CRD is created and when it is updated; what it warns of is said.
func TestLint(t *testing.T) {
	w := newWorld(t)
	valid := w.object("widgets.yaml")
	w.install(valid)
	const specPath = "/properties/spec"
	for _, c := range []struct {
		name, reason string
		edit         func(document *unstructured.Unstructured)
		field        string
	}{
		{"root", "a lock on the whole object breaks API machinery", func(u *unstructured.Unstructured) {
			node(t, u, "")["x-kubernetes-immutable"] = true
		}, "spec.versions[0].schema.openAPIV3Schema"},
		{"metadata", "nor may metadata be locked", func(u *unstructured.Unstructured) {
			node(t, u, "")["properties"].(map[string]any)["metadata"] = map[string]any{"type": "object", "x-kubernetes-immutable": true}
		}, "metadata"},
		{"false", "a child cannot lift its parent's lock", func(u *unstructured.Unstructured) {
			node(t, u, classPath)["x-kubernetes-immutable"] = false
		}, "class"},
		{"two locks", "they exclude each other", func(u *unstructured.Unstructured) {
			node(t, u, specPath+"/properties/quota")["x-kubernetes-immutable"] = true
		}, "quota"},
		{"keys without keys", "an object with plain properties has none", func(u *unstructured.Unstructured) {
			node(t, u, specPath+"/properties/region")["x-kubernetes-immutable-keys"] = true
		}, "region"},
		{"keys of a set", "x-kubernetes-immutable says the same there", func(u *unstructured.Unstructured) {
			delete(node(t, u, specPath+"/properties/tags"), "x-kubernetes-addition-only")
			node(t, u, specPath+"/properties/tags")["x-kubernetes-immutable-keys"] = true
		}, "tags"},
		{"map key not locked", "the key properties have to be immutable themselves", func(u *unstructured.Unstructured) {
			delete(node(t, u, specPath+"/properties/nodes/items/properties/name"), "x-kubernetes-immutable")
		}, "nodes"},
		{"letter case", "the API types would drop the key without a trace", func(u *unstructured.Unstructured) {
			node(t, u, classPath)["X-Kubernetes-Immutable"] = true
		}, "X-Kubernetes-Immutable"},
		{"unknown word", "it is none of +k8s:update", func(u *unstructured.Unstructured) {
			node(t, u, specPath)["x-fieldlock-update"] = []any{"NoChange"}
		}, "NoChange"},
	} {
		t.Run(c.name, func(t *testing.T) {
			check := func(how string, err error) {
				t.Helper()
				var status metav1.Status
				if s, ok := err.(apierrors.APIStatus); ok {
					status = s.Status()
				}
				if status.Code != http.StatusUnprocessableEntity || !strings.Contains(status.Message, c.field) {
					t.Errorf("%s: got %v, want 422 that names %s: %s", how, err, c.field, c.reason)
				}
			}
			fresh := w.object("widgets.yaml")
			fresh.SetName("gadgets." + w.group)
			for _, step := range [][]string{{"plural", "gadgets"}, {"singular", "gadget"}, {"kind", "Gadget"}, {"listKind", "GadgetList"}} {
				_ = unstructured.SetNestedField(fresh.Object, step[1], "spec", "names", step[0])
			}
			c.edit(fresh)
			_, err := crds().Create(w.ctx, fresh, metav1.CreateOptions{})
			check("create", err)
			stored, err := crds().Get(w.ctx, valid.GetName(), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			c.edit(stored)
			_, err = crds().Update(w.ctx, stored, metav1.UpdateOptions{})
			check("update", err)
		})
	}

	t.Run("warnings", func(t *testing.T) {
		document := w.object("versions.yaml")
		warnings := &warningList{}
		config := clientConfig()
		config.WarningHandler = warnings
		if _, err := dynamic.NewForConfigOrDie(config).Resource(crdResource).Create(w.ctx, document, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(*warnings, "\n"), "spec.first") {
			t.Errorf("the warnings %q do not name the field that is free in one version", *warnings)
		}
	})
}

type warningList []string

var _ rest.WarningHandler = (*warningList)(nil)

func (l *warningList) HandleWarningHeader(_ int, _ string, text string) { *l = append(*l, text) }

// An update may keep the errors that a CRD has, and gain none.
func TestRatcheting(t *testing.T) {
	broken := func(annotation string) *apiextensions.CustomResourceDefinition {
		c := &apiextensions.CustomResourceDefinition{}
		c.Name = "things.example.com"
		c.Annotations = map[string]string{crd.AnnotationKey: annotation}
		c.Spec.Group = "example.com"
		c.Spec.Names = apiextensions.CustomResourceDefinitionNames{Kind: "Thing", Plural: "things"}
		object := apiextensions.JSONSchemaProps{Type: "object"}
		c.Spec.Versions = []apiextensions.CustomResourceDefinitionVersion{{
			Name: "v1", Served: true, Storage: true,
			Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{
				Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{"spec": object, "status": object},
			}},
		}}
		return c
	}
	const (
		good     = `{"v1": {"/properties/spec": {"x-kubernetes-immutable": true}}}`
		atRoot   = `{"v1": {"": {"x-kubernetes-immutable": true}}}`
		worse    = `{"v1": {"": {"x-kubernetes-immutable": true}, "/properties/spec": {"x-kubernetes-immutable-keys": true}}}`
		nonsense = `{"v1": {"/properties/nowhere": {"x-kubernetes-immutable": true}}}`
	)
	for _, c := range []struct {
		name, reason string
		before       string // "" for a create
		after        string
		refused      bool
	}{
		{"create, good", "nothing is wrong", "", good, false},
		{"create, broken", "a lock at the root", "", atRoot, true},
		{"create, unreadable", "the path leads nowhere", "", nonsense, true},
		{"breaks", "it gains an error", good, atRoot, true},
		{"stays broken", "it had the error before", atRoot, atRoot, false},
		{"breaks more", "one error is old, the other new", atRoot, worse, true},
		{"repaired", "it has less errors", worse, good, false},
		{"stays unreadable", "it was so before", nonsense, nonsense, false},
		{"becomes unreadable", "it was readable before", good, nonsense, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			operation := admission.Create
			var old *apiextensions.CustomResourceDefinition
			var attributes admission.Attributes
			resource := apiextensions.Resource("customresourcedefinitions").WithVersion("v1")
			kind := apiextensions.Kind("CustomResourceDefinition").WithVersion("v1")
			if c.before == "" {
				attributes = admission.NewAttributesRecord(broken(c.after), nil, kind, "", "things.example.com", resource, "", operation, nil, false, nil)
			} else {
				old, operation = broken(c.before), admission.Update
				attributes = admission.NewAttributesRecord(broken(c.after), old, kind, "", "things.example.com", resource, "", operation, nil, false, nil)
			}
			err := crdLint{}.Validate(context.Background(), attributes, nil)
			if (err != nil) != c.refused {
				t.Errorf("got %v; refused should be %v: %s", err, c.refused, c.reason)
			}
			if c.refused && !apierrors.IsInvalid(err) {
				t.Errorf("got %v, want Invalid", err)
			}
		})
	}
}

// A client with API types, which drop the keys when they read and write a CRD, does not lose them.
func TestTypedClientKeepsMarks(t *testing.T) {
	w := newWorld(t)
	document := w.object("widgets.yaml")
	w.install(document)
	w.create("w")
	stored, err := crds().Get(w.ctx, document.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range schemas(stored.Object) {
		for _, n := range nodes(s) {
			if _, err := take(n); err != nil {
				t.Fatal(err)
			}
		}
	}
	stored.SetLabels(map[string]string{"typed": "yes"})
	updated, err := crds().Update(w.ctx, stored, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if node(t, updated, classPath)["x-kubernetes-immutable"] != true {
		t.Errorf("the lock is gone")
	}
	_, err = w.widgets().Patch(w.ctx, "w", types.MergePatchType, []byte(`{"spec": {"class": "silver"}}`), metav1.PatchOptions{})
	checkVerdict(t, err, []string{"spec.class"})
}

// CRDs of v1beta1 are not served: neither through their own address nor as a document of v1.
func TestNonV1CRD(t *testing.T) {
	w := newWorld(t)
	document := w.object("widgets.yaml")
	document.SetAPIVersion("apiextensions.k8s.io/v1beta1")
	for _, c := range []struct {
		path string
		code int
	}{
		{"/apis/apiextensions.k8s.io/v1beta1/customresourcedefinitions", http.StatusNotFound},
		{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", http.StatusBadRequest},
	} {
		resp, body := w.do(http.MethodPost, c.path, "application/json", encoded(document.Object))
		if resp.StatusCode != c.code {
			t.Errorf("%s: %d, want %d: %s", c.path, resp.StatusCode, c.code, body)
		}
	}
	if _, err := crds().Get(w.ctx, document.GetName(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("reading the refused CRD: got %v, want NotFound", err)
	}
}

// What cannot be read, or is not served, is answered and not passed on.
func TestFilterRefusals(t *testing.T) {
	w := newWorld(t)
	document := w.object("widgets.yaml")
	w.install(document)
	path := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	for _, c := range []struct {
		name, method, path, media, body string
		code                            int
	}{
		{"no JSON", http.MethodPost, path, "application/json", "{", http.StatusBadRequest},
		{"duplicate key", http.MethodPost, path, "application/json", `{"spec": {}, "spec": {}}`, http.StatusBadRequest},
		{"duplicate key in YAML", http.MethodPost, path, "application/yaml", "spec: {}\nspec: {}\n", http.StatusBadRequest},
		{"a list", http.MethodPost, path, "application/json", "[]", http.StatusBadRequest},
		{"too large", http.MethodPost, path, "application/json", `"` + strings.Repeat("x", maxBody) + `"`, http.StatusRequestEntityTooLarge},
		{"no patch", http.MethodPatch, path + "/" + document.GetName(), "application/json-patch+json", "{}", http.StatusBadRequest},
		{"patch of nothing", http.MethodPatch, path + "/" + document.GetName(), "application/json-patch+json", `[{"op": "remove", "path": "/nowhere"}]`, http.StatusUnprocessableEntity},
		{"strategic merge patch", http.MethodPatch, path + "/" + document.GetName(), "application/strategic-merge-patch+json", "{}", http.StatusUnsupportedMediaType},
		{"unknown CRD", http.MethodPatch, path + "/none.example.com", "application/merge-patch+json", "{}", http.StatusNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, body := w.do(c.method, c.path, c.media, c.body)
			var status metav1.Status
			if err := json.Unmarshal([]byte(body), &status); err != nil || resp.StatusCode != c.code || status.Status != metav1.StatusFailure {
				t.Errorf("got %d, want %d and a Status: %s", resp.StatusCode, c.code, body)
			}
		})
	}
}
