package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
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
	updated, err := w.updateCRD(got)
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
			_, err = w.updateCRD(object)
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
		"strategic merge patch": func(name string, edit func(map[string]any), _ string) error {
			object, err := edited(name, edit)
			if err != nil {
				return err
			}
			patch := map[string]any{"spec": map[string]any{"versions": object.Object["spec"].(map[string]any)["versions"]}}
			_, err = crds().Patch(w.ctx, name, types.StrategicMergePatchType, []byte(encoded(patch)), metav1.PatchOptions{})
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
	updated, err := w.updateCRD(stored)
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
