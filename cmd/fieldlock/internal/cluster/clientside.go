package cluster

import (
	"cmp"
	"encoding/json"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fieldlock/fieldlock/internal/apply"
)

// clientSide is an apply as kubectl makes it without --server-side, and as Helm 3 makes it: a patch of what the
// manifest changes, and of what it has lost since the one before, original.
func (c *Cluster) clientSide(r *resource, live, manifest *unstructured.Unstructured, by applier) (request, error) {
	t, err := c.typesOf(r.kind.GroupVersion())
	if err != nil {
		return request{}, err
	}
	asked := apply.Request{By: apply.ClientSide, Stored: live.Object, Manifest: manifest.Object}
	if by.helm {
		asked.By = apply.ThreeWay
	}
	if len(by.original) > 0 {
		err = utiljson.Unmarshal(by.original, &asked.Last)
	}
	var patch *apply.Patch
	if err == nil {
		patch, err = t.merging(r.kind).Patch(asked)
	}
	if err != nil {
		return request{}, fmt.Errorf("the request of a client-side apply cannot be predicted: %w", err)
	}
	return request{
		kind: patch.Type, body: patch.Body,
		options: metav1.PatchOptions{FieldManager: cmp.Or(by.manager, "kubectl-client-side-apply")},
		merge:   func() (map[string]any, error) { return patch.Apply(live.Object) },
	}, nil
}

const (
	// newManager applies an object that nobody has applied yet.
	newManager = "fieldlock"
	// lastApplied is the annotation of client-side apply.
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// decoded returns an object of JSON; nil for a text that is something else.
func decoded(text []byte) map[string]any {
	var object map[string]any
	if json.Unmarshal(text, &object) != nil {
		return nil
	}
	return object
}

// common counts the members of object that set has under prefix and the name, at any depth but not below lists. What
// identifies an object does not count.
func common(set, object map[string]any, prefix string) int {
	n := 0
	for name, value := range object {
		if name == "apiVersion" || name == "kind" || name == "name" || name == "namespace" {
			continue
		}
		other, ok := set[prefix+name]
		if !ok {
			continue
		}
		n++
		otherObject, _ := other.(map[string]any)
		valueObject, _ := value.(map[string]any)
		n += common(otherObject, valueObject, prefix)
	}
	return n
}

// remembered keeps the results of calls that cost much, one for each key. Safe for concurrent use.
type remembered[K comparable, V any] struct {
	mu    sync.Mutex
	calls map[K]func() (V, error)
}

// of returns what call returned when it was called first for the key.
func (r *remembered[K, V]) of(key K, call func() (V, error)) (V, error) {
	r.mu.Lock()
	once, ok := r.calls[key]
	if !ok {
		if r.calls == nil {
			r.calls = map[K]func() (V, error){}
		}
		once = sync.OnceValues(call)
		r.calls[key] = once
	}
	r.mu.Unlock()
	return once()
}
