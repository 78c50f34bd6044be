package e2e

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

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
	const first = `{class: gold, size: 3, replicas: 2}`
	for _, c := range []struct {
		name, reason string
		manager      string
		force        bool
		spec         string
		conflict     bool
		paths        []string
	}{
		{
			name: "another field", reason: "a free field that nobody owns",
			manager: "second", spec: `{labels: {}}`,
		},
		{
			name: "own field again", reason: "the same values, so nothing changes",
			manager: "first", spec: first,
		},
		{
			name: "own free field", reason: "size is not locked",
			manager: "first", spec: `{class: gold, size: 4, replicas: 2}`,
		},
		{
			name: "own locked field", reason: "owning a field does not unlock it",
			manager: "first", spec: `{class: silver, size: 3, replicas: 2}`, paths: []string{"spec.class"},
		},
		{
			name: "own locked field left out", reason: "its only owner drops it, so apply removes it",
			manager: "first", spec: `{size: 3, replicas: 2}`, paths: []string{"spec.class"},
		},
		{
			name: "own free field left out", reason: "it is removed, and may be",
			manager: "first", spec: `{class: gold, replicas: 2}`,
		},
		{
			name: "other's field", reason: "the server finds the conflict before any lock is asked",
			manager: "second", spec: `{class: silver}`, conflict: true,
		},
		{
			name: "other's locked field by force", reason: "force takes ownership, not the right to change",
			manager: "second", force: true, spec: `{class: silver}`, paths: []string{"spec.class"},
		},
		{
			name: "other's free field by force", reason: "size is not locked",
			manager: "second", force: true, spec: `{size: 5}`,
		},
		{
			name: "sharing a locked field", reason: "with the value that it has",
			manager: "second", spec: `{class: gold}`,
		},
		{
			name: "setting a locked field that is not there", reason: "a locked absence stays",
			manager: "second", spec: `{region: {name: north}}`, paths: []string{"spec.region"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := strings.ReplaceAll(strings.ReplaceAll(c.name, " ", "-"), "'", "")
			if err := w.apply(t, name, "first", false, first); err != nil {
				t.Fatalf("the first apply: %v", err)
			}
			before := w.get(name)
			err := w.apply(t, name, c.manager, c.force, c.spec)
			if c.conflict {
				if !apierrors.IsConflict(err) {
					t.Errorf("got %v, want a conflict", err)
				}
				return
			}
			checkVerdict(t, err, c.paths)
			if len(c.paths) > 0 && w.get(name).GetResourceVersion() != before.GetResourceVersion() {
				t.Errorf("a refused apply was stored")
			}
			if t.Failed() {
				t.Logf("the reason of the case: %s", c.reason)
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
	const first = `
      nodes: [{name: n1, zone: a, weight: 1}]
      ports: [{port: 80, name: http}, {port: 53, protocol: UDP, name: dns}]
      disks: [{name: d1, size: 10}]
      tags: [t1]
      finalizers: [f1, f2]
      labels: {app: web, tier: front}
      quota: {cpu: 4}`
	without := func(line string) string {
		var kept []string
		for _, l := range strings.Split(first, "\n") {
			if strings.TrimSpace(l) != line {
				kept = append(kept, l)
			}
		}
		return strings.Join(kept, "\n")
	}
	for _, c := range []struct {
		name, reason string
		manager      string
		force        bool
		spec         string
		paths        []string
	}{
		{
			name: "map-item-added-under-locked-keys", reason: "apply merges the item into the list, which adds a key",
			manager: "second", spec: `{nodes: [{name: n2, zone: b}]}`, paths: []string{"spec.nodes[1]"},
		},
		{
			name: "map-item-field-added", reason: "the item is matched by key; its zone is locked, as is its absence, but the weight is free",
			manager: "second", force: true, spec: `{nodes: [{name: n1, weight: 5}]}`,
		},
		{
			name: "map-item-locked-field-by-force", reason: "the item is matched by key and its zone is locked",
			manager: "second", force: true, spec: `{nodes: [{name: n1, zone: b}]}`, paths: []string{"spec.nodes[0].zone"},
		},
		{
			name: "map-item-dropped-under-locked-keys", reason: "leaving out an owned item removes its key",
			manager: "first", spec: without("nodes: [{name: n1, zone: a, weight: 1}]"), paths: []string{"spec.nodes"},
		},
		{
			name: "map-item-added-to-free-list", reason: "only the items of the ports are locked",
			manager: "second", spec: `{ports: [{port: 443, name: https}]}`,
		},
		{
			name: "map-item-with-defaulted-key", reason: "the protocol's default completes the key, so this is the item that is there",
			manager: "second", spec: `{ports: [{port: 80, protocol: TCP, name: http}]}`,
		},
		{
			name: "map-item-with-other-key", reason: "80/UDP is another item than 80/TCP and may come",
			manager: "second", spec: `{ports: [{port: 80, protocol: UDP, name: quic}]}`,
		},
		{
			name: "map-locked-item-by-force", reason: "the item of that key is locked",
			manager: "second", force: true, spec: `{ports: [{port: 80, name: web}]}`, paths: []string{"spec.ports[0]"},
		},
		{
			name: "map-items-dropped-from-free-list", reason: "items may go",
			manager: "first", spec: without("ports: [{port: 80, name: http}, {port: 53, protocol: UDP, name: dns}]"),
		},
		{
			name: "map-item-added-to-addition-only", reason: "keys may come",
			manager: "second", spec: `{disks: [{name: d2, size: 5}]}`,
		},
		{
			name: "map-item-dropped-from-addition-only", reason: "keys may not go",
			manager: "first", spec: without("disks: [{name: d1, size: 10}]"), paths: []string{"spec.disks"},
		},
		{
			name: "set-item-added-to-addition-only", reason: "apply makes the union of both managers' items",
			manager: "second", spec: `{tags: [t2]}`,
		},
		{
			name: "set-item-dropped-from-addition-only", reason: "leaving out an owned item removes it",
			manager: "first", spec: without("tags: [t1]"), paths: []string{"spec.tags"},
		},
		{
			name: "set-item-added-to-locked-set", reason: "the items of the set are locked",
			manager: "second", spec: `{finalizers: [f3]}`, paths: []string{"spec.finalizers"},
		},
		{
			name: "set-items-of-locked-set-shared", reason: "the union is what is there, in whatever order",
			manager: "second", spec: `{finalizers: [f2, f1]}`,
		},
		{
			name: "key-added-to-deletion-only", reason: "keys may not come",
			manager: "second", spec: `{labels: {env: test}}`, paths: []string{"spec.labels[env]"},
		},
		{
			name: "key-dropped-from-deletion-only", reason: "keys may go",
			manager: "first", spec: strings.ReplaceAll(first, ", tier: front", ""),
		},
		{
			name: "key-added-under-locked-keys", reason: "no key may come",
			manager: "second", spec: `{quota: {disk: 1}}`, paths: []string{"spec.quota[disk]"},
		},
		{
			name: "value-under-locked-keys-by-force", reason: "values are free",
			manager: "second", force: true, spec: `{quota: {cpu: 8}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := w.apply(t, c.name, "first", false, first); err != nil {
				t.Fatalf("the first apply: %v", err)
			}
			before := w.get(c.name)
			checkVerdict(t, w.apply(t, c.name, c.manager, c.force, c.spec), c.paths)
			if len(c.paths) > 0 && w.get(c.name).GetResourceVersion() != before.GetResourceVersion() {
				t.Errorf("a refused apply was stored")
			}
			if t.Failed() {
				t.Logf("the reason of the case: %s", c.reason)
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
