package admission_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/admission"
	"github.com/fieldlock/fieldlock/immutability/admission/loader"
)

const suite = "../../testdata/admission/"

// reviewCase is a row of cases.yaml, which says what each key means.
type reviewCase struct {
	Name, Reason    string
	Options         handlerOptions
	Method          string
	ContentType     string
	Request, Review map[string]any
	Replace         [][2]string
	Body            *string
	Want            struct {
		Allowed  bool
		Code     int32
		HTTP     int
		Decision admission.Decision
		Causes   []string
		Warnings []string
		Audit    map[string]string
		Contains []string
		Omits    []string
	}
}

type handlerOptions struct {
	Mode, Policy  string
	Code          int
	MaxBytes      int64
	Deleting      bool
	Annotation    string
	Users, Groups []string
}

func (o handlerOptions) list() []admission.Option {
	opts := []admission.Option{
		admission.WithMode(map[string]admission.Mode{"": admission.ModeEnforce, "warn": admission.ModeWarn, "audit": admission.ModeAudit}[o.Mode]),
		admission.WithFailurePolicy(map[string]admissionregistrationv1.FailurePolicyType{"": admissionregistrationv1.Fail, "ignore": admissionregistrationv1.Ignore}[o.Policy]),
	}
	exempt := admission.Exemptions{Users: o.Users, Groups: o.Groups, Deleting: o.Deleting}
	if o.Annotation != "" {
		exempt.DryRunAnnotations = []string{o.Annotation}
	}
	opts = append(opts, admission.WithExemptions(exempt))
	if o.Code != 0 {
		opts = append(opts, admission.WithStatusCode(o.Code))
	}
	if o.MaxBytes != 0 {
		opts = append(opts, admission.WithMaxBytes(o.MaxBytes))
	}
	return opts
}

func TestReviews(t *testing.T) {
	var cases []reviewCase
	if err := yaml.UnmarshalStrict(readSuite(t, "cases.yaml"), &cases); err != nil {
		t.Fatal(err)
	}
	registry := newRegistry(t)
	names := map[string]bool{}
	for _, c := range cases {
		if names[c.Name] || c.Reason == "" {
			t.Errorf("the case %q is there twice, or has no reason", c.Name)
		}
		names[c.Name] = true
		t.Run(c.Name, func(t *testing.T) {
			var observed observations
			handler, err := admission.NewHandler(registry, append(c.Options.list(), admission.WithObserver(observed.add))...)
			if err != nil {
				t.Fatal(err)
			}
			got := serve(t, handler, c)
			c.judge(t, got)
			if len(observed) != 1 || observed[0].Decision != c.Want.Decision {
				t.Errorf("observed %+v, want one %s", observed, c.Want.Decision)
			}
		})
	}
}

func (c *reviewCase) judge(t *testing.T, got answer) {
	t.Helper()
	response := got.review.Response
	if response == nil {
		t.Fatalf("no response in %s", got.text)
	}
	wantHTTP := max(c.Want.HTTP, http.StatusOK)
	if got.http != wantHTTP || response.Allowed != c.Want.Allowed {
		t.Errorf("HTTP %d, allowed %v; want %d, %v: %s\n%s", got.http, response.Allowed, wantHTTP, c.Want.Allowed, c.Reason, got.text)
	}
	if wantHTTP == http.StatusOK && response.UID != "6f1c2a4e-6d0e-4a53-9a53-0b7d1a9c2f11" {
		t.Errorf("uid %q is not that of the request", response.UID)
	}
	if got.review.APIVersion != "admission.k8s.io/v1" || got.review.Kind != "AdmissionReview" {
		t.Errorf("the answer is a %q of %q", got.review.Kind, got.review.APIVersion)
	}
	if !response.Allowed {
		if response.Result == nil || response.Result.Code != c.Want.Code || response.Result.Message == "" || response.Result.Reason == "" || response.Result.Status != "Failure" {
			t.Fatalf("result %+v, want code %d and a message: %s", response.Result, c.Want.Code, c.Reason)
		}
		checkResult(t, response.Result)
	}
	if c.Want.Causes != nil {
		var causes []string
		for _, cause := range response.Result.Details.Causes {
			causes = append(causes, cause.Field)
			if !strings.Contains(cause.Message, "field is immutable") {
				t.Errorf("the cause %q does not say that the field is immutable", cause.Message)
			}
		}
		if !slices.Equal(causes, c.Want.Causes) {
			t.Errorf("causes %q, want %q: %s", causes, c.Want.Causes, c.Reason)
		}
	}
	if c.Want.Warnings != nil && !slices.Equal(response.Warnings, c.Want.Warnings) {
		t.Errorf("warnings %q, want %q: %s", response.Warnings, c.Want.Warnings, c.Reason)
	}
	if c.Want.Audit != nil && !maps.Equal(response.AuditAnnotations, c.Want.Audit) {
		t.Errorf("audit annotations %q, want %q: %s", response.AuditAnnotations, c.Want.Audit, c.Reason)
	}
	for _, text := range c.Want.Contains {
		if !strings.Contains(got.text, text) {
			t.Errorf("%q is missing in the answer: %s\n%s", text, c.Reason, got.text)
		}
	}
	for _, text := range c.Want.Omits {
		if strings.Contains(got.text, text) {
			t.Errorf("%q is in the answer: %s\n%s", text, c.Reason, got.text)
		}
	}
}

// reasons are those that the API's own errors have for a code.
var reasons = map[int32]metav1.StatusReason{
	http.StatusBadRequest:            metav1.StatusReasonBadRequest,
	http.StatusForbidden:             metav1.StatusReasonForbidden,
	http.StatusMethodNotAllowed:      metav1.StatusReasonMethodNotAllowed,
	http.StatusRequestEntityTooLarge: metav1.StatusReasonRequestEntityTooLarge,
	http.StatusUnsupportedMediaType:  metav1.StatusReasonUnsupportedMediaType,
	http.StatusUnprocessableEntity:   metav1.StatusReasonInvalid,
	http.StatusInternalServerError:   metav1.StatusReasonInternalError,
}

// checkResult checks what every refusal has: the reason of its code, bounded texts, and no empty parentheses.
func checkResult(t *testing.T, s *metav1.Status) {
	t.Helper()
	if s.Reason != reasons[s.Code] {
		t.Errorf("the reason of %d is %s", s.Code, s.Reason)
	}
	if len(s.Message) > 8<<10 || strings.Contains(s.Message, "()") {
		t.Errorf("the message has %d bytes: %s", len(s.Message), s.Message)
	}
	if s.Details == nil {
		return
	}
	for _, cause := range s.Details.Causes {
		if len(cause.Message) > 1<<10 {
			t.Errorf("the message of the cause %s has %d bytes", cause.Field, len(cause.Message))
		}
	}
}

type answer struct {
	http   int
	text   string
	review admissionv1.AdmissionReview
}

func serve(t *testing.T, handler http.Handler, c reviewCase) answer {
	t.Helper()
	method, contentType := c.Method, c.ContentType
	if method == "" {
		method = http.MethodPost
	}
	if contentType == "" {
		contentType = "application/json"
	}
	r := httptest.NewRequest(method, "/", bytes.NewReader(c.body(t)))
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	a := answer{http: w.Code, text: w.Body.String()}
	if err := json.Unmarshal(w.Body.Bytes(), &a.review); err != nil {
		t.Fatalf("the answer %q is no AdmissionReview: %v", a.text, err)
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("the Content-Type of the answer is %q", got)
	}
	return a
}

func (c *reviewCase) body(t testing.TB) []byte {
	t.Helper()
	if c.Body != nil {
		return []byte(*c.Body)
	}
	var review map[string]any
	if err := json.Unmarshal(readSuite(t, "review.json"), &review); err != nil {
		t.Fatal(err)
	}
	merge(review, map[string]any{"request": c.Request})
	merge(review, c.Review)
	body, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range c.Replace {
		if !bytes.Contains(body, []byte(r[0])) {
			t.Fatalf("there is no %q to replace", r[0])
		}
		body = bytes.Replace(body, []byte(r[0]), []byte(r[1]), 1)
	}
	return body
}

// merge applies a JSON merge patch.
func merge(into, patch map[string]any) {
	for key, value := range patch {
		below, isObject := value.(map[string]any)
		there, wasObject := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isObject && wasObject:
			merge(there, below)
		default:
			into[key] = value
		}
	}
}

func readSuite(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(suite + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func newRegistry(t testing.TB) *admission.Registry {
	t.Helper()
	kinds, err := loader.New().Read("crds.yaml", readSuite(t, "crds.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	registry := &admission.Registry{}
	registry.Put(kinds...)
	registry.SetComplete()
	return registry
}

type observations []admission.Observation

func (o *observations) add(_ context.Context, one admission.Observation) { *o = append(*o, one) }

func decodeAnswer(body io.Reader) *admissionv1.AdmissionResponse {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(body).Decode(&review); err != nil || review.Response == nil {
		return &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: "no answer"}}
	}
	return review.Response
}
