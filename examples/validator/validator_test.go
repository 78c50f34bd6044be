package validator_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/kube-openapi/pkg/validation/spec"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/examples/validator"
	"github.com/fieldlock/fieldlock/immutability"
)

// TestSetUp sends reviews to the webhook of a manager: both locks refuse one direction and allow the other, so that
// swapped arguments would let one update through and refuse the other. A refusal is 422 Invalid with its cause.
func TestSetUp(t *testing.T) {
	var s spec.Schema
	if err := yaml.Unmarshal([]byte(`
type: object
properties:
  spec:
    type: object
    properties:
      replicas: {type: integer, x-fieldlock-update: [NoUnset]}
      progressDeadlineSeconds: {type: integer, x-fieldlock-update: [NoSet]}
`), &s); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := appsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	server := webhook.NewServer(webhook.Options{})
	m, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{
		Scheme: scheme, WebhookServer: server, Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := validator.SetUp(m, immutability.MustCompile(&s)); err != nil {
		t.Fatal(err)
	}
	object := func(spec string) runtime.RawExtension {
		data, err := yaml.YAMLToJSON([]byte(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: ` + spec + `}`))
		if err != nil {
			t.Fatal(err)
		}
		return runtime.RawExtension{Raw: data}
	}
	for _, row := range []struct{ name, oldSpec, newSpec, refused string }{
		{"set", `{}`, `{replicas: 1}`, ""},
		{"unset", `{replicas: 1}`, `{}`, "spec.replicas"},
		{"set what may not be set", `{}`, `{progressDeadlineSeconds: 1}`, "spec.progressDeadlineSeconds"},
		{"unset what may be unset", `{progressDeadlineSeconds: 1}`, `{}`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			review := admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
				UID: "1", Operation: admissionv1.Update, Name: "a", OldObject: object(row.oldSpec), Object: object(row.newSpec),
				Kind:     metav1.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
				Resource: metav1.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
			}}
			review.APIVersion, review.Kind = "admission.k8s.io/v1", "AdmissionReview"
			data, err := json.Marshal(review)
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(http.MethodPost, "/validate-apps-v1-deployment", bytes.NewReader(data))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			server.WebhookMux().ServeHTTP(w, r)
			var answer admissionv1.AdmissionReview
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.Response == nil {
				t.Fatalf("%v: %s", err, w.Body)
			}
			if answer.Response.Allowed != (row.refused == "") {
				t.Fatalf("%s; want it refused at %q", w.Body, row.refused)
			}
			if row.refused == "" {
				return
			}
			result := answer.Response.Result
			if result.Code != http.StatusUnprocessableEntity || result.Reason != metav1.StatusReasonInvalid || result.Details == nil ||
				len(result.Details.Causes) != 1 || result.Details.Causes[0].Field != row.refused {
				t.Errorf("%s; want 422 Invalid with the cause %s", w.Body, row.refused)
			}
		})
	}
}

// The page for servers shows this package.
func TestPage(t *testing.T) {
	source, err := os.ReadFile("validator.go")
	if err != nil {
		t.Fatal(err)
	}
	shown, err := os.ReadFile("../../docs/servers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(source), "\npackage ")
	if !strings.Contains(string(shown), "```go\npackage "+code+"```") {
		t.Error("docs/servers.md does not show validator.go")
	}
}
