package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// A create sets what it likes; with its CRD gone, so are the locks.
func TestCreate(t *testing.T) {
	w := newWorld(t)
	w.install(w.object("widgets.yaml"))
	w.create("full")
	empty := w.object("widget.yaml")
	empty.SetName("empty")
	empty.Object["spec"] = map[string]any{}
	if _, err := w.widgets().Create(w.ctx, empty, metav1.CreateOptions{}); err != nil {
		t.Errorf("creating an object without any locked field: %v", err)
	}
	applied := w.object("widget.yaml")
	applied.SetName("applied")
	if _, err := w.widgets().Apply(w.ctx, "applied", applied, metav1.ApplyOptions{FieldManager: "test"}); err != nil {
		t.Errorf("creating by server-side apply: %v", err)
	}
}

// change is one edit of a widget, as JSON patch and as merge patch, and the locks that it breaks.
type change struct {
	Name, Reason string
	JSON, Merge  string
	Paths        []string
}

// Every change of the table as update, JSON patch and merge patch.
func TestUpdate(t *testing.T) {
	w := newWorld(t)
	w.install(w.object("widgets.yaml"))
	routes := []struct {
		name string
		send func(name string, c change) error
	}{
		{"put", func(name string, c change) error {
			patch, err := jsonpatch.DecodePatch([]byte(c.JSON))
			if err != nil {
				return err
			}
			changed, err := patch.Apply([]byte(encoded(w.get(name).Object)))
			if err != nil {
				return err
			}
			object := &unstructured.Unstructured{}
			if err := object.UnmarshalJSON(changed); err != nil {
				return err
			}
			updated, err := w.widgets().Update(w.ctx, object, metav1.UpdateOptions{})
			if err == nil && encoded(updated.Object["spec"]) != encoded(w.get(name).Object["spec"]) {
				return errors.New("what was accepted is not what is stored")
			}
			return err
		}},
		{"json-patch", func(name string, c change) error {
			_, err := w.widgets().Patch(w.ctx, name, types.JSONPatchType, []byte(c.JSON), metav1.PatchOptions{})
			return err
		}},
		{"merge-patch", func(name string, c change) error {
			_, err := w.widgets().Patch(w.ctx, name, types.MergePatchType, []byte(c.Merge), metav1.PatchOptions{})
			return err
		}},
	}
	for i, c := range readCases[change](t, "changes.yaml") {
		for _, route := range routes {
			t.Run(c.Name+"/"+route.name, func(t *testing.T) {
				name := fmt.Sprintf("%s-%d", route.name, i)
				before := w.create(name)
				checkVerdict(t, route.send(name, c), c.Paths)
				if len(c.Paths) > 0 && w.get(name).GetResourceVersion() != before.GetResourceVersion() {
					t.Errorf("a refused update was stored")
				}
				if t.Failed() {
					t.Logf("the reason of the case: %s", c.Reason)
				}
			})
		}
	}
}

// applied is one server-side apply, and what comes of it.
type applied struct {
	Name, Reason string
	Manager      string
	Force        bool
	Spec         json.RawMessage
	Conflict     bool
	Paths        []string
}

// Server-side apply with two managers, on plain fields and on every list type.
func TestServerSideApply(t *testing.T) {
	w := newWorld(t)
	w.install(w.object("widgets.yaml"))
	for _, file := range []string{"apply.yaml", "apply-lists.yaml"} {
		cases := readCases[applied](t, file)
		for i, c := range cases {
			t.Run(file+"/"+c.Name, func(t *testing.T) {
				name := fmt.Sprintf("%s-%d", strings.TrimSuffix(file, ".yaml"), i)
				apply := func(manager string, force bool, spec json.RawMessage) error {
					object := &unstructured.Unstructured{}
					body := fmt.Sprintf(`{"apiVersion": "%s/v1", "kind": "Widget", "metadata": {"name": %q}, "spec": %s}`, w.group, name, spec)
					if err := object.UnmarshalJSON([]byte(body)); err != nil {
						return err
					}
					_, err := w.widgets().Apply(w.ctx, name, object, metav1.ApplyOptions{FieldManager: manager, Force: force})
					return err
				}
				if err := apply("first", false, cases[0].Spec); err != nil {
					t.Fatalf("the first apply: %v", err)
				}
				before := w.get(name)
				err := apply(c.Manager, c.Force, c.Spec)
				if c.Conflict {
					if !apierrors.IsConflict(err) {
						t.Errorf("got %v, want a conflict", err)
					}
					return
				}
				checkVerdict(t, err, c.Paths)
				if len(c.Paths) > 0 && w.get(name).GetResourceVersion() != before.GetResourceVersion() {
					t.Errorf("a refused apply was stored")
				}
				if t.Failed() {
					t.Logf("the reason of the case: %s", c.Reason)
				}
			})
		}
	}
}

func TestSubresources(t *testing.T) {
	w := newWorld(t)
	w.install(w.object("widgets.yaml"))
	w.create("w")
	for _, c := range []struct {
		name, reason, subresource, patch string
		paths                            []string
	}{
		{"set once: set", "an absent value may be set", "status", `{"status": {"address": "10.0.0.1"}}`, nil},
		{"set once: changed", "NoModify", "status", `{"status": {"address": "10.0.0.2"}}`, []string{"status.address"}},
		{"set once: removed", "NoUnset", "status", `{"status": {"address": null}}`, []string{"status.address"}},
		{"free field", "nothing is locked there", "status", `{"status": {"phase": "Ready"}}`, nil},
		{"spec through status", "the stored spec is put back before the locks are asked", "status", `{"spec": {"class": "silver"}}`, nil},
		{"scale", "a Scale stands for the field that it sets", "scale", `{"spec": {"replicas": 5}}`, []string{"spec.replicas"}},
		{"same scale", "no change", "scale", `{"spec": {"replicas": 2}}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := w.widgets().Patch(w.ctx, "w", types.MergePatchType, []byte(c.patch), metav1.PatchOptions{}, c.subresource)
			checkVerdict(t, err, c.paths)
			if t.Failed() {
				t.Logf("the reason of the case: %s", c.reason)
			}
		})
	}
	stored := w.get("w")
	for _, want := range []struct {
		path  []string
		value any
	}{
		{[]string{"spec", "class"}, "gold"},
		{[]string{"spec", "replicas"}, int64(2)},
		{[]string{"status", "address"}, "10.0.0.1"},
		{[]string{"status", "phase"}, "Ready"},
	} {
		if got, _, _ := unstructured.NestedFieldNoCopy(stored.Object, want.path...); got != want.value {
			t.Errorf("%s is %v, want %v", strings.Join(want.path, "."), got, want.value)
		}
	}
}

// Each served version has the locks of its own schema.
func TestServedVersions(t *testing.T) {
	w := newWorld(t)
	w.install(w.object("versions.yaml"))
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": w.group + "/v1", "kind": "Thing", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"both": "b", "first": "f"},
	}}
	if _, err := w.resource("v1", "things").Create(w.ctx, object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	patch := func(version, p string) error {
		_, err := w.resource(version, "things").Patch(w.ctx, "a", types.MergePatchType, []byte(p), metav1.PatchOptions{})
		return err
	}
	checkVerdict(t, patch("v1", `{"spec": {"both": "x"}}`), []string{"spec.both"})
	checkVerdict(t, patch("v2", `{"spec": {"both": "x"}}`), []string{"spec.both"})
	checkVerdict(t, patch("v1", `{"spec": {"first": "x"}}`), []string{"spec.first"})
	checkVerdict(t, patch("v2", `{"spec": {"first": "x"}}`), nil)
}
