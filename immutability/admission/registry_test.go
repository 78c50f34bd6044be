package admission_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/admission"
)

// locking returns a validator with a lock on each of the fields of spec.
func locking(t testing.TB, fields ...string) *immutability.Validator {
	t.Helper()
	s := spec.MapProperty(nil)
	s.AdditionalProperties = nil
	inner := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Properties: map[string]spec.Schema{}}}
	for _, f := range fields {
		p := *spec.StringProperty()
		p.Extensions = spec.Extensions{"x-kubernetes-immutable": true}
		inner.Properties[f] = p
	}
	s.Properties = map[string]spec.Schema{"spec": inner}
	v, err := immutability.Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var (
	clusterKind = schema.GroupKind{Group: "example.dev", Kind: "Cluster"}
	clusterV1   = clusterKind.WithVersion("v1")
	clustersV1  = schema.GroupVersionResource{Group: "example.dev", Version: "v1", Resource: "clusters"}
)

func clusterWith(v *immutability.Validator) admission.Kind {
	return admission.Kind{GroupKind: clusterKind, Resource: "clusters", Versions: map[string]admission.Version{"v1": {Validator: v}}}
}

func TestRegistry(t *testing.T) {
	locked, other := locking(t, "class"), locking(t, "other")
	for _, row := range []struct {
		name, reason string
		fill         func(*admission.Registry)
		want         string // the field that is locked, "" for none, or the text of an error
	}{
		{"zero", "an empty registry knows nothing, not even that nothing is locked", func(*admission.Registry) {}, "not all kinds are loaded"},
		{"complete", "now it does", func(r *admission.Registry) { r.SetComplete() }, ""},
		{"put", "no need to be complete for a kind that is in", func(r *admission.Registry) { r.Put(clusterWith(locked)) }, "class"},
		{"replaced", "the last one counts", func(r *admission.Registry) { r.Put(clusterWith(locked)); r.Put(clusterWith(other)) }, "other"},
		{"deleted", "the kind is gone, and its locks", func(r *admission.Registry) { r.Put(clusterWith(locked)); r.Delete(clusterKind); r.SetComplete() }, ""},
		{"deleted before complete", "it may be the kind that is not loaded yet", func(r *admission.Registry) { r.Put(clusterWith(locked)); r.Delete(clusterKind) }, "not all kinds are loaded"},
		{"fault", "there are locks, and nobody can tell which", func(r *admission.Registry) {
			r.SetComplete()
			r.PutFault(clusterKind, "clusters", errors.New("bad annotation"))
		}, "bad annotation"},
		{"fault without resource", "the kind alone is enough", func(r *admission.Registry) {
			r.SetComplete()
			r.PutFault(clusterKind, "", errors.New("bad annotation"))
		}, "bad annotation"},
		{"fault after locks", "the last good locks stay in force", func(r *admission.Registry) {
			r.Put(clusterWith(locked))
			r.PutFault(clusterKind, "clusters", errors.New("bad annotation"))
		}, "class"},
		{"fault repaired", "the fault is over", func(r *admission.Registry) {
			r.PutFault(clusterKind, "clusters", errors.New("bad annotation"))
			r.Put(clusterWith(other))
		}, "other"},
		{"fault of a kind that goes", "the fault goes with it", func(r *admission.Registry) {
			r.SetComplete()
			r.PutFault(clusterKind, "clusters", errors.New("bad annotation"))
			r.Delete(clusterKind)
		}, ""},
		{"version without validator", "nil is not the same as no locks", func(r *admission.Registry) { r.Put(clusterWith(nil)) }, "without version v1"},
		{"empty validator", "a schema without locks", func(r *admission.Registry) { r.Put(clusterWith(locking(t))) }, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			registry := &admission.Registry{}
			row.fill(registry)
			target, ok, err := registry.Find(clusterV1, clustersV1, "")
			if ok != (target != nil) || ok && err != nil {
				t.Errorf("target %v, %t, %v: a target comes with true and without an error", target, ok, err)
			}
			got := ""
			switch {
			case err != nil:
				got = err.Error()
			case ok:
				got = lockedField(t, target)
			}
			if row.want == "" && got != "" || !strings.Contains(got, row.want) {
				t.Errorf("%q, want %q: %s", got, row.want, row.reason)
			}
		})
	}
}

// lockedField tells which of the two fields of the tests a target locks.
func lockedField(t *testing.T, target *admission.Target) string {
	t.Helper()
	object := func(v string) map[string]any {
		return map[string]any{"apiVersion": "example.dev/v1", "kind": "Cluster", "spec": map[string]any{"class": v, "other": v}}
	}
	report, err := target.Check(object("new"), object("old"))
	if err != nil || len(report.Violations) != 1 {
		t.Fatalf("%v, %v: one violation is expected", report, err)
	}
	return strings.TrimPrefix(report.Violations[0].Path.String(), "spec.")
}

// TestTargetValidator: a Scale has another shape than the objects of the kind, so their validator does not check it.
func TestTargetValidator(t *testing.T) {
	registry := newRegistry(t)
	resource := schema.GroupVersionResource{Group: "example.dev", Version: "v1", Resource: "clusters"}
	cluster := schema.GroupVersionKind{Group: "example.dev", Version: "v1", Kind: "Cluster"}
	for _, row := range []struct {
		kind        schema.GroupVersionKind
		subresource string
		whole       bool
	}{
		{cluster, "", true},
		{cluster, "status", true},
		{schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}, "scale", false},
	} {
		target, _, err := registry.Find(row.kind, resource, row.subresource)
		if err != nil {
			t.Fatal(err)
		}
		if got := target.Validator; (got != nil) != row.whole || row.whole && got.Empty() {
			t.Errorf("%s: the validator is %v", row.subresource, got)
		}
		if got := target.Kind; got != cluster {
			t.Errorf("%s: the kind is %v", row.subresource, got)
		}
	}
}

// TestScaleByWord: a Scale writes 0 and unset alike, so an update from 0 has to be allowed from both.
func TestScaleByWord(t *testing.T) {
	for _, row := range []struct {
		word, reason             string
		newReplicas, oldReplicas int64
		allowed                  bool
	}{
		{"NoModify", "0 may be the value", 5, 0, false},
		{"NoModify", "nothing changes, from neither", 0, 0, true},
		{"NoSet", "it may be unset", 5, 0, false},
		{"NoSet", "it may be unset, and a Scale sets it", 0, 0, false},
		{"NoSet", "it is set", 5, 3, true},
		{"NoUnset", "a Scale unsets nothing", 5, 0, true},
		{"NoUnset", "a Scale unsets nothing", 0, 3, true},
		{"NoModify", "another value", 5, 3, false},
	} {
		var s spec.Schema
		if err := s.UnmarshalJSON([]byte(`{"type":"object","properties":{"spec":{"type":"object","properties":{"size":{"type":"integer","x-fieldlock-update":["` + row.word + `"]}}}}}`)); err != nil {
			t.Fatal(err)
		}
		registry := &admission.Registry{}
		registry.Put(admission.Kind{GroupKind: clusterKind, Resource: "clusters", Versions: map[string]admission.Version{"v1": {Validator: immutability.MustCompile(&s), Replicas: []string{"spec", "size"}}}})
		target, _, err := registry.Find(schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}, clustersV1, "scale")
		if err != nil {
			t.Fatal(err)
		}
		scale := func(n int64) map[string]any {
			return map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": map[string]any{"replicas": n}}
		}
		encoded := func(n int64) []byte {
			data, err := json.Marshal(scale(n))
			if err != nil {
				t.Fatal(err)
			}
			return data
		}
		if report, err := target.CheckJSON(encoded(row.newReplicas), encoded(row.oldReplicas)); err != nil || report.Allowed() != row.allowed {
			t.Errorf("%s from %d to %d, encoded: %v, %v, want allowed %t: %s", row.word, row.oldReplicas, row.newReplicas, report.ErrorList(), err, row.allowed, row.reason)
		}
		report, err := target.Check(scale(row.newReplicas), scale(row.oldReplicas))
		if err != nil || report.Allowed() != row.allowed {
			t.Errorf("%s from %d to %d: %v, %v, want allowed %t: %s", row.word, row.oldReplicas, row.newReplicas, report.ErrorList(), err, row.allowed, row.reason)
		}
	}
}

// TestTargetRefusesOtherKinds: objects have to be what the request says that they are, decoded ones too.
func TestTargetRefusesOtherKinds(t *testing.T) {
	registry := &admission.Registry{}
	registry.Put(clusterWith(locking(t, "class")))
	target, _, err := registry.Find(clusterV1, clustersV1, "")
	if err != nil {
		t.Fatal(err)
	}
	object := func(apiVersion, kind string) map[string]any {
		return map[string]any{"apiVersion": apiVersion, "kind": kind}
	}
	cluster := object("example.dev/v1", "Cluster")
	for _, row := range []struct {
		reason   string
		new, old map[string]any
		want     string
	}{
		{"both are clusters", cluster, cluster, ""},
		{"no new object", nil, cluster, "no object"},
		{"no stored object", cluster, nil, "no oldObject"},
		{"another kind", object("example.dev/v1", "Note"), cluster, "the object says that it is"},
		{"another stored kind", cluster, object("example.dev/v1", "Note"), "the oldObject says that it is"},
		{"another version", object("example.dev/v2", "Cluster"), cluster, "the object says that it is"},
		{"no kind", object("example.dev/v1", ""), cluster, "the object says that it is"},
	} {
		_, err := target.Check(row.new, row.old)
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", row.reason, err, row.want)
		}
	}
}

// TestFindErrors: a caller can wait for a registry that is not filled yet, which does not help against another kind of
// error.
func TestFindErrors(t *testing.T) {
	v2 := clusterKind.WithVersion("v2")
	clustersV2 := clustersV1.GroupResource().WithVersion("v2")
	known, broken := &admission.Registry{}, &admission.Registry{}
	known.Put(clusterWith(locking(t, "class")))
	broken.PutFault(clusterKind, "clusters", errors.New("bad annotation"))
	unexplained, uncompiled := &admission.Registry{}, &admission.Registry{}
	unexplained.PutFault(clusterKind, "", nil)
	unexplained.SetComplete()
	uncompiled.Put(clusterWith(nil))
	uncompiled.SetComplete()
	for _, row := range []struct {
		name                 string
		registry             *admission.Registry
		kind                 schema.GroupVersionKind
		resource             schema.GroupVersionResource
		notLoaded, notServed bool
	}{
		{"nothing is loaded", &admission.Registry{}, clusterV1, clustersV1, true, false},
		{"another version", known, v2, clustersV2, false, true},
		{"another kind, not loaded yet", known, schema.GroupVersionKind{Group: "other.dev", Version: "v1", Kind: "Note"}, schema.GroupVersionResource{Group: "other.dev", Version: "v1", Resource: "notes"}, true, false},
		{"a fault", broken, clusterV1, clustersV1, false, false},
		{"a fault without a reason", unexplained, clusterV1, clustersV1, false, false},
		{"a version without a validator", uncompiled, clusterV1, clustersV1, false, true},
		{"kind and resource do not match", known, clusterV1, schema.GroupVersionResource{Group: "other.dev", Version: "v1", Resource: "notes"}, false, false},
	} {
		_, ok, err := row.registry.Find(row.kind, row.resource, "")
		if ok || err == nil || errors.Is(err, admission.ErrNotLoaded) != row.notLoaded || errors.Is(err, admission.ErrNotServed) != row.notServed {
			t.Errorf("%s: %t, %v", row.name, ok, err)
		}
	}
	broken.SetComplete()
	if _, ok, err := broken.Find(schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}, clustersV1, "scale"); ok || err == nil || !strings.Contains(err.Error(), "bad annotation") {
		t.Errorf("a subresource of a kind with a fault: %t, %v", ok, err)
	}
	if err := known.Ready(); !errors.Is(err, admission.ErrNotLoaded) {
		t.Errorf("ready: %v", err)
	}
	if known.SetComplete(); known.Ready() != nil {
		t.Errorf("ready: %v", known.Ready())
	}
}

// TestFindSaysWhatDoesNotMatch: the error names the resource and the kind of the request.
func TestFindSaysWhatDoesNotMatch(t *testing.T) {
	registry := &admission.Registry{}
	registry.Put(clusterWith(locking(t, "class")))
	notes := schema.GroupVersionResource{Group: "other.dev", Version: "v2", Resource: "notes"}
	_, _, err := registry.Find(clusterV1, notes, "")
	if want := "the request is for the resource other.dev/v2 notes with objects of kind example.dev/v1 Cluster"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// TestKindsAreSorted: by group, and within one by kind.
func TestKindsAreSorted(t *testing.T) {
	registry := &admission.Registry{}
	want := []schema.GroupKind{{Group: "a.dev", Kind: "A"}, {Group: "a.dev", Kind: "Z"}, {Group: "b.dev", Kind: "A"}, {Group: "b.dev", Kind: "B"}, {Group: "c.dev", Kind: "A"}, {Group: "c.dev", Kind: "C"}}
	for _, i := range []int{3, 0, 5, 2, 4, 1} {
		registry.Put(admission.Kind{GroupKind: want[i]})
	}
	for i, kind := range registry.Kinds() {
		if kind.GroupKind != want[i] {
			t.Errorf("%d is %v, want %v", i, kind.GroupKind, want[i])
		}
	}
}

func TestRegistryKeepsNoMap(t *testing.T) {
	registry := &admission.Registry{}
	kind := clusterWith(locking(t, "class"))
	registry.Put(kind)
	delete(kind.Versions, "v1")
	if target, ok, err := registry.Find(clusterV1, clustersV1, ""); !ok || err != nil {
		t.Errorf("the registry changed with the map it was given: %v, %v", target, err)
	}
	faults := registry.Faults()
	if len(faults) != 0 {
		t.Errorf("faults %v", faults)
	}
}

// TestReplacementUnderLoad replaces validators while requests run: every answer is that of one table or the other, and
// the kind is never unknown, nor half there.
func TestReplacementUnderLoad(t *testing.T) {
	registry := &admission.Registry{}
	first, second := clusterWith(locking(t, "class")), clusterWith(locking(t, "token"))
	registry.Put(first)
	handler, err := admission.NewHandler(registry)
	if err != nil {
		t.Fatal(err)
	}
	var c reviewCase
	c.Request = map[string]any{"object": map[string]any{"spec": map[string]any{"class": "silver", "token": "new"}}}
	body := c.body(t)

	stop := make(chan struct{})
	var writers, readers sync.WaitGroup
	for i := range 2 {
		writers.Add(1)
		go func() {
			defer writers.Done()
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				registry.Put([]admission.Kind{first, second}[n%2])
				noise := schema.GroupKind{Group: "noise.dev", Kind: fmt.Sprint("Noise", i)}
				registry.PutFault(noise, "noises", errors.New("noise"))
				registry.Delete(noise)
			}
		}()
	}
	seen := make([]map[string]int, 4)
	for i := range seen {
		seen[i] = map[string]int{}
		readers.Add(1)
		go func() {
			defer readers.Done()
			for range 300 {
				w := httptest.NewRecorder()
				r := httptest.NewRequest("POST", "/", strings.NewReader(string(body)))
				r.Header.Set("Content-Type", "application/json")
				handler.ServeHTTP(w, r)
				var review struct {
					Response struct {
						Allowed bool
						Status  struct {
							Details struct{ Causes []struct{ Field string } }
						}
					}
				}
				if err := json.Unmarshal(w.Body.Bytes(), &review); err != nil || review.Response.Allowed || len(review.Response.Status.Details.Causes) != 1 {
					t.Errorf("%v: %s: one cause is expected", err, w.Body)
					return
				}
				seen[i][review.Response.Status.Details.Causes[0].Field]++
			}
		}()
	}
	readers.Wait()
	close(stop)
	writers.Wait()
	for _, s := range seen {
		if s["spec.class"]+s["spec.token"] != 300 {
			t.Errorf("causes %v, want 300 of the two tables", s)
		}
	}
}
