package e2e

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Through the status subresource the status can change, as far as its own locks go, and the spec cannot.
func TestStatus(t *testing.T) {
	w := newWorld(t, "widgets.yaml")
	w.enforce()
	w.create("w")
	status := func(patch string) error {
		_, err := w.widgets().Patch(w.ctx, "w", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
		return err
	}
	steps := []struct {
		name, reason, patch string
		paths               []string
	}{
		{"free field", "nothing is locked there", `{"status": {"phase": "Pending"}}`, nil},
		{"set once: set", "an absent value may be set", `{"status": {"address": "10.0.0.1"}}`, nil},
		{"set once: the same", "no change", `{"status": {"address": "10.0.0.1", "phase": "Ready"}}`, nil},
		{"set once: changed", "NoModify", `{"status": {"address": "10.0.0.2"}}`, []string{"status.address"}},
		{"set once: removed", "NoUnset", `{"status": {"address": null}}`, []string{"status.address"}},
		{"locked spec", "the API server puts the stored spec back, so nothing is refused and nothing changes", `{"spec": {"class": "silver"}, "status": {"phase": "Busy"}}`, nil},
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			checkVerdict(t, status(s.patch), s.paths)
			if t.Failed() {
				t.Logf("the reason of the case: %s", s.reason)
			}
		})
	}
	stored := w.get("w")
	for _, want := range []struct{ path, value string }{{"address", "10.0.0.1"}, {"phase", "Busy"}} {
		if got := at(stored, "status", want.path); got != want.value {
			t.Errorf("status.%s is %v, want %v", want.path, got, want.value)
		}
	}
	if got := at(stored, "spec", "class"); got != "gold" {
		t.Errorf("spec.class is %v after an update of the status, want gold", got)
	}

	t.Run("the main resource does not reach the status", func(t *testing.T) {
		object := w.get("w")
		_ = unstructured.SetNestedField(object.Object, "10.9.9.9", "status", "address")
		if _, err := w.widgets().Update(w.ctx, object, metav1.UpdateOptions{}); err != nil {
			t.Errorf("the API server ignores the status here, and so should the locks: %v", err)
		}
		if got := at(w.get("w"), "status", "address"); got != "10.0.0.1" {
			t.Errorf("the address is %v, want 10.0.0.1", got)
		}
	})
}

// A Scale stands for the one field that it sets: where that is locked, scaling is refused.
func TestScale(t *testing.T) {
	w := newWorld(t, "widgets.yaml")
	w.enforce()
	w.create("w")
	scale := func(name string, replicas int) error {
		_, err := w.widgets().Patch(w.ctx, name, types.MergePatchType, fmt.Appendf(nil, `{"spec": {"replicas": %d}}`, replicas), metav1.PatchOptions{}, "scale")
		return err
	}
	t.Run("locked", func(t *testing.T) { checkVerdict(t, scale("w", 5), []string{"spec.replicas"}) })
	t.Run("same number", func(t *testing.T) { checkVerdict(t, scale("w", 2), nil) })
	t.Run("set where there was none", func(t *testing.T) {
		object := w.widget("unset")
		unstructured.RemoveNestedField(object.Object, "spec", "replicas")
		if _, err := w.widgets().Create(w.ctx, object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		// A Scale shows no difference between 0 and unset. NoModify allows setting what was unset, but not changing
		// what was 0; the webhook cannot tell which it is, so it refuses.
		checkVerdict(t, scale("unset", 5), []string{"spec.replicas"})
	})
	if got := at(w.get("w"), "spec", "replicas"); got != int64(2) {
		t.Errorf("replicas are %v, want 2", got)
	}

	t.Run("free", func(t *testing.T) {
		document := w.read("widgets.yaml")
		spec := at(&unstructured.Unstructured{Object: document}, "spec", "versions", 0, "schema", "openAPIV3Schema", "properties", "spec", "properties").(map[string]any)
		delete(spec["replicas"].(map[string]any), "x-fieldlock-update")
		w.replaceCRD(document)
		if err := scale("w", 5); err != nil {
			t.Errorf("scaling without a lock on the replicas: %v", err)
		}
		if got := at(w.get("w"), "spec", "replicas"); got != int64(5) {
			t.Errorf("replicas are %v, want 5", got)
		}
	})
}
