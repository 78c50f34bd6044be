package e2e

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

const writers = 6

// history is what a watch saw of one object: the spec by resource version, in order.
type history struct {
	order []string
	specs map[string]string
	class map[string]string
}

// record watches the object from a state on, until it sees the marker in its labels.
func (w *world) record(from *unstructured.Unstructured) func() history {
	w.t.Helper()
	stream, err := w.widgets().Watch(w.ctx, metav1.ListOptions{
		FieldSelector: "metadata.name=" + from.GetName(), ResourceVersion: from.GetResourceVersion(),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	h := history{specs: map[string]string{}, class: map[string]string{}}
	done := make(chan error, 1)
	go func() {
		defer stream.Stop()
		for event := range stream.ResultChan() {
			object, ok := event.Object.(*unstructured.Unstructured)
			if !ok || event.Type != watch.Modified {
				done <- fmt.Errorf("unexpected event %s: %s", event.Type, mustJSON(event.Object))
				return
			}
			version := object.GetResourceVersion()
			h.order = append(h.order, version)
			h.specs[version] = string(mustJSON(object.Object["spec"]))
			h.class[version], _ = at(object, "spec", "class").(string)
			if object.GetLabels()["end"] == "yes" {
				done <- nil
				return
			}
		}
		done <- fmt.Errorf("the watch ended early")
	}()
	return func() history {
		w.t.Helper()
		if _, err := w.widgets().Patch(w.ctx, from.GetName(), types.MergePatchType, []byte(`{"metadata": {"labels": {"end": "yes"}}}`), metav1.PatchOptions{}); err != nil {
			w.t.Fatal(err)
		}
		if err := <-done; err != nil {
			w.t.Fatal(err)
		}
		return h
	}
}

// ledger collects what the API server answered to the writers.
type ledger struct {
	mu       sync.Mutex
	accepted map[string]string // spec by resource version
	added    int               // accepted increments of the size
	refused  int               // updates that break a lock and were refused
	broken   int               // updates that break a lock and were accepted
	failed   int               // other errors
}

// write runs the writers on one object until each has done its rounds: they add one to spec.size, each from the state
// that it read, and in between try to change what is locked, by put, patch and apply.
func (w *world) write(name string, rounds int) *ledger {
	l := &ledger{accepted: map[string]string{}}
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			for round := range rounds {
				w.increment(w.ctx, l, name)
				w.attack(w.ctx, l, name, i+round)
			}
		})
	}
	all.Wait()
	return l
}

// increment adds one to spec.size: it reads, writes with the resource version that it read, and starts over when
// somebody else was faster or the webhook was away.
func (w *world) increment(ctx context.Context, l *ledger, name string) {
	for ctx.Err() == nil {
		object, err := w.widgets().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			continue
		}
		size := at(object, "spec", "size").(int64)
		_ = unstructured.SetNestedField(object.Object, size+1, "spec", "size")
		stored, err := w.widgets().Update(ctx, object, metav1.UpdateOptions{})
		l.note(stored, err, false)
		if err == nil {
			return
		}
	}
}

// attack tries once to change a locked field, in one of several ways.
func (w *world) attack(ctx context.Context, l *ledger, name string, way int) {
	var stored *unstructured.Unstructured
	var err error
	switch way % 4 {
	case 0:
		stored, err = w.widgets().Patch(ctx, name, types.MergePatchType, []byte(`{"spec": {"class": "silver"}}`), metav1.PatchOptions{})
	case 1:
		stored, err = w.widgets().Patch(ctx, name, types.JSONPatchType, []byte(`[{"op": "remove", "path": "/spec/class"}]`), metav1.PatchOptions{})
	case 2:
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": w.group + "/v1", "kind": "Widget", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"class": fmt.Sprintf("c%d", way)},
		}}
		stored, err = w.widgets().Apply(ctx, name, object, metav1.ApplyOptions{FieldManager: "attacker", Force: true})
	case 3:
		var object *unstructured.Unstructured
		if object, err = w.widgets().Get(ctx, name, metav1.GetOptions{}); err != nil {
			return
		}
		_ = unstructured.SetNestedField(object.Object, "bronze", "spec", "class")
		_ = unstructured.SetNestedField(object.Object, int64(-1), "spec", "size")
		stored, err = w.widgets().Update(ctx, object, metav1.UpdateOptions{})
	}
	l.note(stored, err, true)
}

func (l *ledger) note(stored *unstructured.Unstructured, err error, attack bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.accepted[stored.GetResourceVersion()] = string(mustJSON(stored.Object["spec"]))
		if attack {
			l.broken++
		} else {
			l.added++
		}
	case attack:
		l.refused++
	default:
		l.failed++
	}
}

// checkBooks holds what was answered against what was stored, one version after the other.
func (w *world) checkBooks(name string, l *ledger, h history, rounds int) {
	w.t.Helper()
	if l.broken > 0 {
		w.t.Errorf("%d updates that break a lock were accepted", l.broken)
	}
	if want := writers * rounds; l.added != want || l.refused != want {
		w.t.Errorf("%d increments were accepted and %d attacks refused, want %d of each", l.added, l.refused, want)
	}
	if got, want := at(w.get(name), "spec", "size"), int64(3+l.added); got != want {
		w.t.Errorf("the size is %v after %d accepted increments, want %d: an accepted update was lost, or one stored that was not accepted", got, l.added, want)
	}
	for version, class := range h.class {
		if class != "gold" {
			w.t.Errorf("version %s has the class %q", version, class)
		}
	}
	for version, spec := range l.accepted {
		if h.specs[version] != spec {
			w.t.Errorf("version %s was answered with %s and stored as %s", version, spec, h.specs[version])
		}
	}
	stored := maps.Clone(h.specs)
	delete(stored, h.order[len(h.order)-1]) // the label that ends the watch
	for version, spec := range stored {
		if _, ok := l.accepted[version]; !ok {
			w.t.Errorf("version %s was stored and never answered: %s", version, spec)
		}
	}
}

// Many writers on one object: what was accepted is what is stored, and nothing locked ever changes.
func TestConcurrentWriters(t *testing.T) {
	w := newWorld(t, "widgets.yaml")
	w.enforce()
	const rounds = 15
	end := w.record(w.create("w"))
	l := w.write("w", rounds)
	w.checkBooks("w", l, end(), rounds)
}

// The webhook's server restarts again and again while the writers work: some updates fail and are tried again, none
// gets around the locks, none is lost.
func TestWebhookRestartUnderLoad(t *testing.T) {
	w := newWorld(t, "widgets.yaml")
	h := w.enforce()
	const rounds = 15
	end := w.record(w.create("w"))
	var stop atomic.Bool
	var restarts sync.WaitGroup
	count := 0
	restarts.Go(func() {
		for calls := h.calls.Load(); !stop.Load(); {
			if h.calls.Load() < calls+5 {
				time.Sleep(time.Millisecond) // some requests between two restarts, so that the writers get on
				continue
			}
			h.stop()
			h.start()
			count++
			calls = h.calls.Load()
		}
	})
	l := w.write("w", rounds)
	stop.Store(true)
	restarts.Wait()
	if count == 0 {
		t.Errorf("the webhook was not restarted once")
	}
	t.Logf("%d restarts, %d updates accepted, %d refused, %d failed and tried again", count, l.added, l.refused, l.failed)
	w.checkBooks("w", l, end(), rounds)
}
