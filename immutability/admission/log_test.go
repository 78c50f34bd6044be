package admission_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/admission"
)

// TestLogger: a refusal is one line that names the object, the user and the locks, and holds no value.
func TestLogger(t *testing.T) {
	for _, row := range []struct {
		name, reason string
		options      handlerOptions
		request      map[string]any
		want         []string // nil: no line
		omits        string
	}{
		{"allowed", "nothing is refused", handlerOptions{}, nil, nil, ""},
		{"refused", "who, what and which locks", handlerOptions{}, map[string]any{"object": map[string]any{"spec": map[string]any{"class": "very-private"}}},
			[]string{"level=INFO", `kind="example.dev/v1 Cluster"`, "namespace=prod", "name=main", "subresource=\"\"", "user=jane", "uid=6f1c2a4e-6d0e-4a53-9a53-0b7d1a9c2f11", "dryRun=false", "spec.class (immutable)"}, "very-private"},
		{"dry run", "nothing would have been stored", handlerOptions{}, map[string]any{"dryRun": true, "object": map[string]any{"spec": map[string]any{"class": "x"}}}, []string{"dryRun=true"}, ""},
		{"not checked", "the reason", handlerOptions{}, map[string]any{"oldObject": nil}, []string{"level=WARN", "the update has no oldObject"}, ""},
		{"warn mode", "nothing is refused", handlerOptions{Mode: "warn"}, map[string]any{"object": map[string]any{"spec": map[string]any{"class": "x"}}}, nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var log bytes.Buffer
			handler, err := admission.NewHandler(newRegistry(t), append(row.options.list(), admission.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))...)
			if err != nil {
				t.Fatal(err)
			}
			serve(t, handler, reviewCase{Request: row.request})
			text := log.String()
			if lines := strings.Count(text, "\n"); lines != min(len(row.want), 1) {
				t.Errorf("%d lines: %s\n%s", lines, row.reason, text)
			}
			for _, want := range row.want {
				if !strings.Contains(text, want) {
					t.Errorf("the line lacks %q: %s\n%s", want, row.reason, text)
				}
			}
			if row.omits != "" && strings.Contains(text, row.omits) {
				t.Errorf("the line holds a value: %s", text)
			}
		})
	}
}

// TestLogIsShort: a line names the first 20 of many violations, and how many there are besides.
func TestLogIsShort(t *testing.T) {
	for n, want := range map[int]string{20: "", 21: "and 1 more", 40: "and 20 more"} {
		registry := &admission.Registry{}
		var fields []string
		object := map[string]any{}
		for i := range n {
			fields = append(fields, fmt.Sprintf("f%02d", i))
			object[fields[i]] = "x"
		}
		registry.Put(clusterWith(locking(t, fields...)))
		var log bytes.Buffer
		handler, err := admission.NewHandler(registry, admission.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		if err != nil {
			t.Fatal(err)
		}
		serve(t, handler, reviewCase{Request: map[string]any{"object": map[string]any{"spec": object}}})
		if text := log.String(); !strings.Contains(text, want) || strings.Contains(text, "more") != (want != "") || strings.Count(text, "(immutable)") != 20 {
			t.Errorf("%d violations, want 20 of them and %q: %s", n, want, text)
		}
	}
}

func TestObservationCountsLocks(t *testing.T) {
	var seen observations
	handler, err := admission.NewHandler(newRegistry(t), admission.WithObserver(seen.add))
	if err != nil {
		t.Fatal(err)
	}
	serve(t, handler, reviewCase{Request: map[string]any{"object": map[string]any{"spec": map[string]any{"class": "silver", "token": "x", "labels": map[string]any{"new": "x"}}}}})
	total := 0
	for _, n := range seen[0].Locks {
		total += n
	}
	if seen[0].Violations != total || seen[0].Locks[immutability.LockImmutable] != 2 || len(seen[0].Locks) < 2 {
		t.Errorf("%+v: the violations are counted by lock", seen[0])
	}
}

// TestVersionGaps: a version that leaves free what another one locks is a way around the lock.
func TestVersionGaps(t *testing.T) {
	for _, row := range []struct {
		name, reason string
		gaps         admission.Mode
		fields       []string // locked in the version of the request
		allowed      bool
		want         []string // texts in the answer
		omits        string
	}{
		{"warn", "the update is checked with the locks that there are, and the client is warned", admission.ModeWarn, []string{"other"}, true, []string{"was not checked for all immutable fields", "version v1 leaves free", "spec.class"}, ""},
		{"warn, without locks", "the usual gap", admission.ModeWarn, nil, true, []string{"spec.class"}, ""},
		{"warn, refused", "the locks of the version hold", admission.ModeWarn, []string{"note"}, false, []string{"field is immutable"}, "leaves free"},
		{"refuse", "no update through the version", admission.ModeEnforce, nil, false, []string{"cannot be checked", "spec.class", `"code":403`}, ""},
		{"audit", "the client is not warned, the audit log has it", admission.ModeAudit, []string{"other"}, true, []string{`"auditAnnotations":{"gaps":`, "spec.class"}, `"warnings"`},
		{"audit, refused", "the locks of the version hold", admission.ModeAudit, []string{"note"}, false, []string{"field is immutable"}, "leaves free"},
	} {
		t.Run(row.name, func(t *testing.T) {
			registry := &admission.Registry{}
			kind := clusterWith(locking(t, row.fields...))
			version := kind.Versions["v1"]
			version.Gaps = []string{"spec.class"}
			kind.Versions["v1"] = version
			registry.Put(kind)
			handler, err := admission.NewHandler(registry, admission.WithVersionGaps(row.gaps))
			if err != nil {
				t.Fatal(err)
			}
			got := serve(t, handler, reviewCase{Request: map[string]any{"object": map[string]any{"spec": map[string]any{"note": "other"}}}})
			if got.review.Response.Allowed != row.allowed {
				t.Errorf("allowed %v: %s\n%s", got.review.Response.Allowed, row.reason, got.text)
			}
			for _, want := range row.want {
				if !strings.Contains(got.text, want) {
					t.Errorf("%q is missing: %s\n%s", want, row.reason, got.text)
				}
			}
			if row.omits != "" && strings.Contains(got.text, row.omits) {
				t.Errorf("%q is in the answer: %s\n%s", row.omits, row.reason, got.text)
			}
		})
	}
}

func TestReady(t *testing.T) {
	registry := &admission.Registry{}
	check := func(reason, want string) {
		t.Helper()
		err := registry.Ready()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("ready: %v, want %q: %s", err, want, reason)
		}
	}
	check("nothing is loaded", "not all kinds")
	registry.SetComplete()
	check("no kinds have locks", "")
	registry.Put(clusterWith(locking(t, "class")))
	registry.PutFault(clusterKind, "clusters", errors.New("bad annotation"))
	check("the last good locks are in force", "")
	registry.Delete(clusterKind)
	registry.PutFault(clusterKind, "clusters", errors.New("bad annotation"))
	check("updates of the kind cannot be checked", "the locks of Cluster.example.dev are not known: bad annotation")
	if kinds := registry.Kinds(); len(kinds) != 0 {
		t.Errorf("%v: a kind with a fault alone has no locks", kinds)
	}
	registry.Put(clusterWith(locking(t, "class")))
	check("the fault is repaired", "")
	kinds := registry.Kinds()
	if len(kinds) != 1 || kinds[0].GroupKind != clusterKind || len(kinds[0].Versions["v1"].Validator.Locks()) != 1 {
		t.Errorf("kinds %v", kinds)
	}
	delete(kinds[0].Versions, "v1")
	if again := registry.Kinds(); len(again[0].Versions) != 1 {
		t.Error("the registry changed with the map that it returned")
	}
}

// TestContexts: callbacks get the context of the HTTP request, with the values that the server put into it.
func TestContexts(t *testing.T) {
	type key struct{}
	var got []any
	reviewing := admission.NewReviewHandler(func(ctx context.Context, _ *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		got = append(got, ctx.Value(key{}))
		return &admissionv1.AdmissionResponse{Allowed: true}
	})
	observed, err := admission.NewHandler(newRegistry(t), admission.WithObserver(func(ctx context.Context, _ admission.Observation) {
		got = append(got, ctx.Value(key{}))
	}))
	if err != nil {
		t.Fatal(err)
	}
	for i, handler := range []http.Handler{reviewing, observed} {
		serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), key{}, i)))
		}), reviewCase{})
	}
	if !slices.Equal(got, []any{0, 1}) {
		t.Errorf("the contexts hold %v, want 0 and 1", got)
	}
}

func TestReviewHandler(t *testing.T) {
	var seen *admissionv1.AdmissionRequest
	for _, row := range []struct {
		name, reason string
		review       func(context.Context, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse
		allowed      bool
		want         string
	}{
		{"allowed", "the answer of the function", func(_ context.Context, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			seen = r
			return &admissionv1.AdmissionResponse{Allowed: true, Warnings: []string{"careful"}}
		}, true, "careful"},
		{"nil", "no answer is not permission", func(context.Context, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse { return nil }, false, "no response"},
		{"panic", "a fault is not permission", func(context.Context, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse { panic("a fault") }, false, "a fault"},
	} {
		got := serve(t, admission.NewReviewHandler(row.review), reviewCase{})
		if got.review.Response.Allowed != row.allowed || !strings.Contains(got.text, row.want) || got.review.Response.UID == "" {
			t.Errorf("%s: %s: %s", row.name, row.reason, got.text)
		}
	}
	if seen == nil || seen.Name != "main" || !maps.Equal(map[string]bool{"object": len(seen.Object.Raw) > 0}, map[string]bool{"object": true}) {
		t.Errorf("the function got %+v", seen)
	}
	w := httptest.NewRecorder()
	admission.NewReviewHandler(nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", w.Code)
	}
}
