package admission_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/fieldlock/fieldlock/immutability/admission"
)

func TestOptionsRefuseNonsense(t *testing.T) {
	for _, row := range []struct {
		name, reason string
		option       admission.Option
	}{
		{"mode", "no such mode", admission.WithMode("Enforce")},
		{"policy", "no such policy", admission.WithFailurePolicy("fail")},
		{"code", "a refusal with 200 would be read as success", admission.WithStatusCode(200)},
		{"no mode", "the default is meant by leaving the option out", admission.WithMode("")},
		{"no policy", "the same", admission.WithFailurePolicy("")},
		{"no gaps", "the same", admission.WithVersionGaps("")},
		{"service accounts", "nearly everybody", admission.WithExemptions(admission.Exemptions{Groups: []string{"dev", "system:serviceaccounts"}})},
		{"anonymous", "everybody else", admission.WithExemptions(admission.Exemptions{Groups: []string{"system:unauthenticated"}})},
		{"annotation", "the empty name", admission.WithExemptions(admission.Exemptions{DryRunAnnotations: []string{""}})},
		{"user", "the empty name would be everyone without one", admission.WithExemptions(admission.Exemptions{Users: []string{"jane", ""}})},
		{"group", "the empty name", admission.WithExemptions(admission.Exemptions{Groups: []string{""}})},
		{"gaps", "no such way", admission.WithVersionGaps("off")},
		{"everybody", "no locks at all, by mistake", admission.WithExemptions(admission.Exemptions{Groups: []string{"system:authenticated"}})},
	} {
		if _, err := admission.NewHandler(&admission.Registry{}, row.option); err == nil {
			t.Errorf("%s is taken: %s", row.name, row.reason)
		}
	}
	if _, err := admission.NewHandler(nil); err == nil {
		t.Error("a nil registry is taken")
	}
}

func TestIncompleteRegistryRefuses(t *testing.T) {
	handler, err := admission.NewHandler(&admission.Registry{})
	if err != nil {
		t.Fatal(err)
	}
	got := serve(t, handler, reviewCase{})
	if got.review.Response.Allowed || !strings.Contains(got.text, "not all kinds are loaded") {
		t.Errorf("a handler that knows no kinds yet allows an update: %s", got.text)
	}
}

// TestPanicIsRefused: a fault of the program is an answer, and no connection that just ends.
func TestPanicIsRefused(t *testing.T) {
	handler, err := admission.NewHandler(newRegistry(t))
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/", faulty{strings.NewReader(`{"request":{"uid":"u"}}`)})
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if !strings.Contains(w.Body.String(), `"uid":"u","allowed":false`) || !strings.Contains(w.Body.String(), `"code":500`) || !strings.Contains(w.Body.String(), "the check failed: a fault") {
		t.Errorf("%d %s: a refusal with the uid is expected", w.Code, w.Body)
	}
}

// faulty is a reader that panics at its end.
type faulty struct{ io.Reader }

func (f faulty) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil {
		panic("a fault")
	}
	return n, nil
}

// TestBodyThatBreaksOff: a body that ends in an error is not read, although what arrived looks complete.
func TestBodyThatBreaksOff(t *testing.T) {
	handler, err := admission.NewHandler(newRegistry(t))
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/", io.MultiReader(bytes.NewReader((&reviewCase{}).body(t)), iotest.ErrReader(io.ErrUnexpectedEOF)))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if text := w.Body.String(); !strings.Contains(text, `"allowed":false`) || !strings.Contains(text, `"code":400`) || !strings.Contains(text, "the body cannot be read: unexpected EOF") {
		t.Errorf("%d %s: a refusal is expected", w.Code, text)
	}
}

// TestContentEncoding: a body that is encoded is not guessed at.
func TestContentEncoding(t *testing.T) {
	handler, err := admission.NewHandler(newRegistry(t))
	if err != nil {
		t.Fatal(err)
	}
	for coding, want := range map[string]int{"": http.StatusOK, "identity": http.StatusOK, "gzip": http.StatusUnsupportedMediaType} {
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader((&reviewCase{}).body(t)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Content-Encoding", coding)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("Content-Encoding %q: %d %s", coding, w.Code, w.Body)
		}
	}
}

func TestWarningsAreFew(t *testing.T) {
	for n, last := range map[int]string{10: "f09: field is immutable", 11: "and 2 more immutable fields", 40: "and 31 more immutable fields", 10_002: "and 9993 more immutable fields"} {
		registry := &admission.Registry{}
		var fields []string
		object := map[string]any{}
		for i := range n {
			name := fmt.Sprintf("f%02d", i)
			fields = append(fields, name)
			object[name] = "new"
		}
		registry.Put(clusterWith(locking(t, fields...)))
		var seen observations
		handler, err := admission.NewHandler(registry, admission.WithMode(admission.ModeWarn), admission.WithObserver(seen.add))
		if err != nil {
			t.Fatal(err)
		}
		got := serve(t, handler, reviewCase{Request: map[string]any{"object": map[string]any{"spec": object}}}).review.Response
		if seen[0].Violations != n {
			t.Errorf("%d violations are counted, want %d", seen[0].Violations, n)
		}
		if len(got.Warnings) != 10 || !strings.Contains(got.Warnings[9], last) {
			t.Errorf("%d violations: %d warnings, the last %q; want 10 that end in %q", n, len(got.Warnings), got.Warnings[len(got.Warnings)-1], last)
		}
	}
}

func TestHugeValuesMakeSmallAnswers(t *testing.T) {
	handler, err := admission.NewHandler(newRegistry(t))
	if err != nil {
		t.Fatal(err)
	}
	huge := strings.Repeat("ä", 500_000)
	for _, manager := range []string{"kubectl-client-side-apply", strings.Repeat("y", 900), ""} {
		c := reviewCase{Request: map[string]any{"object": map[string]any{"spec": map[string]any{"class": huge}}}}
		if manager == "" {
			c.Request["oldObject"] = map[string]any{"metadata": map[string]any{"managedFields": nil}}
		} else {
			c.Replace = [][2]string{{`"kubectl-client-side-apply"`, `"` + manager + `"`}}
		}
		got := serve(t, handler, c)
		result := got.review.Response.Result
		checkResult(t, result)
		if cause := result.Details.Causes[0].Message; !strings.Contains(cause, "field is immutable; last ") && manager != "" {
			t.Errorf("the cause %q does not end with what is wrong and the owner", cause)
		}
		if len(got.text) > 20_000 || !strings.Contains(result.Message, "field is immutable") || manager != "" && !strings.Contains(result.Message, "field is immutable (") {
			t.Errorf("an answer of %d bytes: a value of a megabyte should be cut, what is wrong with it should not", len(got.text))
		}
	}
}

func TestObservationsHoldNothingMadeUp(t *testing.T) {
	var seen observations
	handler, err := admission.NewHandler(newRegistry(t), admission.WithObserver(seen.add))
	if err != nil {
		t.Fatal(err)
	}
	serve(t, handler, reviewCase{Request: map[string]any{"kind": map[string]any{"group": "x", "version": "random", "kind": "MadeUp"},
		"resource": map[string]any{"group": "x", "version": "random", "resource": "madeups"}, "operation": "MADEUP"}})
	serve(t, handler, reviewCase{Request: map[string]any{"dryRun": true, "object": map[string]any{"spec": map[string]any{"class": "silver"}}}})
	serve(t, handler, reviewCase{})
	if o := seen[2]; o.Kind != clusterV1 || o.Operation != "UPDATE" || o.Decision != "allowed" || o.DryRun {
		t.Errorf("%+v: an allowed update of a cluster", o)
	}
	if o := seen[0]; !o.Kind.Empty() || o.Operation != "" || o.Decision != "failed" {
		t.Errorf("%+v: names that a client made up", o)
	}
	if o := seen[1]; o.Kind != clusterV1 || o.Operation != "UPDATE" || o.Decision != "refused" || !o.DryRun || o.Violations != 1 || o.Bytes == 0 {
		t.Errorf("%+v: a refused dry-run update of a cluster", o)
	}
}
