package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// A create sets what it likes: locks hold from then on.
func TestCreate(t *testing.T) {
	w := newWorld(t, "widgets.yaml")
	w.enforce()

	full := w.create("full")
	if got := at(full, "spec", "class"); got != "gold" {
		t.Errorf("the stored class is %v, want gold", got)
	}
	empty := w.widget("empty")
	empty.Object["spec"] = map[string]any{}
	if _, err := w.widgets().Create(w.ctx, empty, metav1.CreateOptions{}); err != nil {
		t.Errorf("creating an object without any locked field: %v", err)
	}
	applied := w.widget("applied")
	if _, err := w.widgets().Apply(w.ctx, "applied", applied, metav1.ApplyOptions{FieldManager: "e2e"}); err != nil {
		t.Errorf("creating by server-side apply: %v", err)
	}
	again := w.get("full")
	again.SetResourceVersion("")
	if _, err := w.widgets().Create(w.ctx, again, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("creating an object twice: got %v, want AlreadyExists", err)
	}

	// Deleting frees the name: a new object under it may have other values.
	if err := w.widgets().Delete(w.ctx, "full", metav1.DeleteOptions{}); err != nil {
		t.Fatalf("deleting: %v", err)
	}
	other := w.widget("full")
	_ = unstructured.SetNestedField(other.Object, "silver", "spec", "class")
	if _, err := w.widgets().Create(w.ctx, other, metav1.CreateOptions{}); err != nil {
		t.Errorf("creating under the name of a deleted object: %v", err)
	}
}

// change is one edit of the widget of testdata, as JSON patch and as merge patch, and the locks that it breaks.
type change struct {
	Name, Reason string
	JSON, Merge  string
	Paths        []string // of the violations; none where the change is allowed
}

// readCases reads a table of testdata.
func readCases[T any](t *testing.T, file string) []T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var cases []T
	if err := yaml.UnmarshalStrict(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatalf("%s has no cases", file)
	}
	return cases
}

// runChanges sends each change to an object of its own with send, and looks at the answer and at what is stored.
func (w *world) runChanges(prefix string, send func(ctx context.Context, name string, c change) error) {
	for i, c := range readCases[change](w.t, "changes.yaml") {
		w.t.Run(c.Name, func(t *testing.T) {
			name := prefix + string(rune('a'+i))
			before := w.create(name)
			err := send(w.ctx, name, c)
			checkVerdict(t, err, c.Paths)
			after := w.get(name)
			if refused := len(c.Paths) > 0; refused && after.GetResourceVersion() != before.GetResourceVersion() {
				t.Errorf("a refused update was stored: %s", mustJSON(after))
			}
			if t.Failed() {
				t.Logf("the reason of the case: %s", c.Reason)
			}
		})
	}
}

func TestUpdate(t *testing.T) {
	w := newWorld(t, "widgets.yaml")
	w.enforce()
	w.runChanges("put-", func(ctx context.Context, name string, c change) error {
		stored, err := json.Marshal(w.get(name))
		if err != nil {
			return err
		}
		patch, err := jsonpatch.DecodePatch([]byte(c.JSON))
		if err != nil {
			return err
		}
		if stored, err = patch.Apply(stored); err != nil {
			return err
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(stored); err != nil {
			return err
		}
		updated, err := w.widgets().Update(ctx, object, metav1.UpdateOptions{})
		if err == nil && string(mustJSON(updated.Object["spec"])) != string(mustJSON(w.get(name).Object["spec"])) {
			return errors.New("what was accepted is not what is stored")
		}
		return err
	})
}

func TestJSONPatch(t *testing.T) {
	w := newWorld(t, "widgets.yaml")
	w.enforce()
	w.runChanges("json-", func(ctx context.Context, name string, c change) error {
		_, err := w.widgets().Patch(ctx, name, types.JSONPatchType, []byte(c.JSON), metav1.PatchOptions{})
		return err
	})
}

func TestMergePatch(t *testing.T) {
	w := newWorld(t, "widgets.yaml")
	w.enforce()
	w.runChanges("merge-", func(ctx context.Context, name string, c change) error {
		_, err := w.widgets().Patch(ctx, name, types.MergePatchType, []byte(c.Merge), metav1.PatchOptions{})
		return err
	})
}
