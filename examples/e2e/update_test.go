package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
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
	name, reason string
	json, merge  string
	paths        []string // of the violations; none where the change is allowed
}

var changes = []change{
	{
		name: "free field", reason: "nothing is locked there",
		json:  `[{"op": "replace", "path": "/spec/size", "value": 4}]`,
		merge: `{"spec": {"size": 4}}`,
	},
	{
		name: "locked value", reason: "a locked value may not change",
		json:  `[{"op": "replace", "path": "/spec/class", "value": "silver"}]`,
		merge: `{"spec": {"class": "silver"}}`,
		paths: []string{"spec.class"},
	},
	{
		name: "same value", reason: "writing what is there is no change",
		json:  `[{"op": "replace", "path": "/spec/class", "value": "gold"}]`,
		merge: `{"spec": {"class": "gold"}}`,
	},
	{
		name: "locked value removed", reason: "its presence is locked too",
		json:  `[{"op": "remove", "path": "/spec/class"}]`,
		merge: `{"spec": {"class": null}}`,
		paths: []string{"spec.class"},
	},
	{
		name: "set once", reason: "NoUnset and NoModify keep a value that is there",
		json:  `[{"op": "replace", "path": "/spec/replicas", "value": 3}]`,
		merge: `{"spec": {"replicas": 3}}`,
		paths: []string{"spec.replicas"},
	},
	{
		name: "inside a locked object", reason: "the lock covers the subtree and is reported where it stands",
		json:  `[{"op": "add", "path": "/spec/region/zones/-", "value": "c"}]`,
		merge: `{"spec": {"region": {"zones": ["a", "b", "c"]}}}`,
		paths: []string{"spec.region"},
	},
	{
		name: "set below a lock in another order", reason: "the order of sets is free",
		json:  `[{"op": "replace", "path": "/spec/region/zones", "value": ["b", "a"]}]`,
		merge: `{"spec": {"region": {"zones": ["b", "a"]}}}`,
	},
	{
		name: "locked set in another order", reason: "the order of sets is free",
		json:  `[{"op": "replace", "path": "/spec/finalizers", "value": ["f2", "f1"]}]`,
		merge: `{"spec": {"finalizers": ["f2", "f1"]}}`,
	},
	{
		name: "locked set with another item", reason: "the items are locked",
		json:  `[{"op": "replace", "path": "/spec/finalizers/0", "value": "f3"}]`,
		merge: `{"spec": {"finalizers": ["f3", "f2"]}}`,
		paths: []string{"spec.finalizers"},
	},
	{
		name: "item of an atomic list", reason: "at an index that both sides have, the value is locked",
		json:  `[{"op": "replace", "path": "/spec/steps/1", "value": "test"}]`,
		merge: `{"spec": {"steps": ["build", "test"]}}`,
		paths: []string{"spec.steps[1]"},
	},
	{
		name: "longer atomic list", reason: "the list itself is free",
		json:  `[{"op": "add", "path": "/spec/steps/-", "value": "run"}]`,
		merge: `{"spec": {"steps": ["build", "ship", "run"]}}`,
	},
	{
		name: "addition-only set grows", reason: "items may be added",
		json:  `[{"op": "add", "path": "/spec/tags/0", "value": "t0"}]`,
		merge: `{"spec": {"tags": ["t0", "t1", "t2"]}}`,
	},
	{
		name: "addition-only set shrinks", reason: "items may not be removed",
		json:  `[{"op": "remove", "path": "/spec/tags/0"}]`,
		merge: `{"spec": {"tags": ["t2"]}}`,
		paths: []string{"spec.tags"},
	},
	{
		name: "value under a locked key", reason: "immutable-keys leaves the values free",
		json:  `[{"op": "replace", "path": "/spec/quota/cpu", "value": 6}]`,
		merge: `{"spec": {"quota": {"cpu": 6}}}`,
	},
	{
		name: "key renamed", reason: "immutable-keys: no key comes, none goes",
		json:  `[{"op": "move", "from": "/spec/quota/cpu", "path": "/spec/quota/disk"}]`,
		merge: `{"spec": {"quota": {"cpu": null, "disk": 4}}}`,
		paths: []string{"spec.quota", "spec.quota[disk]"},
	},
	{
		name: "deletion-only map loses a key", reason: "keys may go",
		json:  `[{"op": "remove", "path": "/spec/labels/tier"}]`,
		merge: `{"spec": {"labels": {"tier": null}}}`,
	},
	{
		name: "deletion-only map gains a key", reason: "keys may not come",
		json:  `[{"op": "add", "path": "/spec/labels/env", "value": "test"}]`,
		merge: `{"spec": {"labels": {"env": "test"}}}`,
		paths: []string{"spec.labels[env]"},
	},
	{
		name: "keyed list in another order, one free field changed", reason: "items are matched by key",
		json: `[{"op": "replace", "path": "/spec/nodes", "value": [
			{"name": "n2", "zone": "b", "weight": 9}, {"name": "n1", "zone": "a", "weight": 1}]}]`,
		merge: `{"spec": {"nodes": [{"name": "n2", "zone": "b", "weight": 9}, {"name": "n1", "zone": "a", "weight": 1}]}}`,
	},
	{
		name: "locked field of a keyed item", reason: "the item of the same key is compared, wherever it stands",
		json: `[{"op": "replace", "path": "/spec/nodes", "value": [
			{"name": "n2", "zone": "x", "weight": 2}, {"name": "n1", "zone": "a", "weight": 1}]}]`,
		merge: `{"spec": {"nodes": [{"name": "n2", "zone": "x", "weight": 2}, {"name": "n1", "zone": "a", "weight": 1}]}}`,
		paths: []string{"spec.nodes[0].zone"},
	},
	{
		name: "key of a keyed item renamed", reason: "that removes one key and adds another",
		json:  `[{"op": "replace", "path": "/spec/nodes/0/name", "value": "n3"}]`,
		merge: `{"spec": {"nodes": [{"name": "n3", "zone": "a", "weight": 1}, {"name": "n2", "zone": "b", "weight": 2}]}}`,
		paths: []string{"spec.nodes", "spec.nodes[0]"},
	},
	{
		name: "locked items may come and go", reason: "the list of ports is not locked",
		json:  `[{"op": "replace", "path": "/spec/ports", "value": [{"port": 80, "name": "http"}, {"port": 443, "name": "https"}]}]`,
		merge: `{"spec": {"ports": [{"port": 80, "name": "http"}, {"port": 443, "name": "https"}]}}`,
	},
	{
		name: "default of a key written out", reason: "TCP is what the default says already",
		json:  `[{"op": "add", "path": "/spec/ports/0/protocol", "value": "TCP"}]`,
		merge: `{"spec": {"ports": [{"port": 80, "protocol": "TCP", "name": "http"}, {"port": 53, "protocol": "UDP", "name": "dns"}]}}`,
	},
	{
		name: "locked item changed", reason: "the item is locked while its key stays",
		json:  `[{"op": "replace", "path": "/spec/ports/1/name", "value": "domain"}]`,
		merge: `{"spec": {"ports": [{"port": 80, "name": "http"}, {"port": 53, "protocol": "UDP", "name": "domain"}]}}`,
		paths: []string{"spec.ports[1]"},
	},
	{
		name: "addition-only list shrinks", reason: "no key may go",
		json:  `[{"op": "remove", "path": "/spec/disks/0"}]`,
		merge: `{"spec": {"disks": [{"name": "d2", "size": 20}]}}`,
		paths: []string{"spec.disks"},
	},
	{
		name: "several locks at once", reason: "every violation is reported, in the order of their paths",
		json: `[{"op": "replace", "path": "/spec/tags", "value": []}, {"op": "remove", "path": "/spec/class"},
			{"op": "replace", "path": "/spec/nodes/1/zone", "value": "x"}]`,
		merge: `{"spec": {"tags": [], "class": null, "nodes": [{"name": "n1", "zone": "a", "weight": 1}, {"name": "n2", "zone": "x", "weight": 2}]}}`,
		paths: []string{"spec.class", "spec.nodes[1].zone", "spec.tags", "spec.tags"},
	},
	{
		name: "spec removed", reason: "the spec has NoUnset; without it, removing and adding it would get around every lock",
		json:  `[{"op": "remove", "path": "/spec"}]`,
		merge: `{"spec": null}`,
		paths: []string{"spec"},
	},
}

// runChanges sends each change to an object of its own with send, and looks at the answer and at what is stored.
func (w *world) runChanges(prefix string, send func(ctx context.Context, name string, c change) error) {
	for i, c := range changes {
		w.t.Run(c.name, func(t *testing.T) {
			name := prefix + string(rune('a'+i))
			before := w.create(name)
			err := send(w.ctx, name, c)
			checkVerdict(t, err, c.paths)
			after := w.get(name)
			if refused := len(c.paths) > 0; refused && after.GetResourceVersion() != before.GetResourceVersion() {
				t.Errorf("a refused update was stored: %s", mustJSON(after))
			}
			if t.Failed() {
				t.Logf("the reason of the case: %s", c.reason)
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
		patch, err := jsonpatch.DecodePatch([]byte(c.json))
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
		_, err := w.widgets().Patch(ctx, name, types.JSONPatchType, []byte(c.json), metav1.PatchOptions{})
		return err
	})
}

func TestMergePatch(t *testing.T) {
	w := newWorld(t, "widgets.yaml")
	w.enforce()
	w.runChanges("merge-", func(ctx context.Context, name string, c change) error {
		_, err := w.widgets().Patch(ctx, name, types.MergePatchType, []byte(c.merge), metav1.PatchOptions{})
		return err
	})
}
