package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// applied is one server-side apply, and what comes of it.
type applied struct {
	Name, Reason string
	Manager      string
	Force        bool
	Spec         json.RawMessage
	Conflict     bool     // with another manager, which the API server finds before any lock is asked
	Paths        []string // of the violations; none where the apply is allowed
}

// apply sends a spec by server-side apply.
func (w *world) apply(t *testing.T, name, manager string, force bool, spec string) error {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": w.group + "/v1", "kind": "Widget", "metadata": map[string]any{"name": name},
	}}
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(spec), &fields); err != nil {
		t.Fatal(err)
	}
	object.Object["spec"] = numbers(fields)
	_, err := w.widgets().Apply(w.ctx, name, object, metav1.ApplyOptions{FieldManager: manager, Force: force})
	return err
}

// Two managers share an object: each may change what it owns, and neither may change what is locked, be it by writing,
// by taking a field over, or by leaving out what it owned.
func TestServerSideApply(t *testing.T) {
	w := newWorld(t, "widgets.yaml")
	w.enforce()
	cases := readCases[applied](t, "apply.yaml")
	first := string(cases[0].Spec)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			name := strings.ReplaceAll(strings.ReplaceAll(c.Name, " ", "-"), "'", "")
			if err := w.apply(t, name, "first", false, first); err != nil {
				t.Fatalf("the first apply: %v", err)
			}
			before := w.get(name)
			err := w.apply(t, name, c.Manager, c.Force, string(c.Spec))
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

	t.Run("a shared locked field outlives one of its owners", func(t *testing.T) {
		const name = "shared"
		for _, manager := range []string{"first", "second"} {
			if err := w.apply(t, name, manager, false, `{class: gold, size: 1}`); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.apply(t, name, "first", false, `{size: 1}`); err != nil {
			t.Errorf("one of two owners lets go: %v", err)
		}
		if got := at(w.get(name), "spec", "class"); got != "gold" {
			t.Errorf("the class is %v, want gold", got)
		}
		checkVerdict(t, w.apply(t, name, "second", false, `{size: 1}`), []string{"spec.class"})
	})

	t.Run("the refusal names the owner", func(t *testing.T) {
		const name = "owned"
		if err := w.apply(t, name, "first-owner", false, first); err != nil {
			t.Fatal(err)
		}
		err := w.apply(t, name, "second", true, `{class: silver}`)
		if err == nil || !strings.Contains(err.Error(), "first-owner") {
			t.Errorf("got %v, want a refusal that says who applied the field last", err)
		}
	})
}

// The list type decides what apply merges, and the lock what of that may be stored.
func TestServerSideApplyListTypes(t *testing.T) {
	w := newWorld(t, "widgets.yaml")
	w.enforce()
	cases := readCases[applied](t, "apply-lists.yaml")
	first := string(cases[0].Spec)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			if err := w.apply(t, c.Name, "first", false, first); err != nil {
				t.Fatalf("the first apply: %v", err)
			}
			before := w.get(c.Name)
			checkVerdict(t, w.apply(t, c.Name, c.Manager, c.Force, string(c.Spec)), c.Paths)
			if len(c.Paths) > 0 && w.get(c.Name).GetResourceVersion() != before.GetResourceVersion() {
				t.Errorf("a refused apply was stored")
			}
			if t.Failed() {
				t.Logf("the reason of the case: %s", c.Reason)
			}
		})
	}

	t.Run("both-managers-items-are-stored", func(t *testing.T) {
		const name = "merged"
		if err := w.apply(t, name, "first", false, first); err != nil {
			t.Fatal(err)
		}
		if err := w.apply(t, name, "second", false, `{tags: [t2], ports: [{port: 443, name: https}]}`); err != nil {
			t.Fatal(err)
		}
		stored := w.get(name)
		if got, want := string(mustJSON(at(stored, "spec", "tags"))), `["t1","t2"]`; got != want {
			t.Errorf("tags are %s, want %s", got, want)
		}
		if got := at(stored, "spec", "ports", 2, "name"); got != "https" {
			t.Errorf("the third port is %v, want that of the second manager", got)
		}
	})
}
