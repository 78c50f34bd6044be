package validator_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/validation/spec"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/examples/validator"
	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/typed"
)

var _ ctrladmission.Validator[*appsv1.Deployment] = validator.Locks[appsv1.Deployment]{}

// TestOrder sends requests through controller-runtime: both locks refuse one direction and allow the other, so that swapped
// arguments would let one update through and refuse the other.
func TestOrder(t *testing.T) {
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
	updates, err := typed.Compile[appsv1.Deployment](immutability.MustCompile(&s))
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := appsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	webhook := ctrladmission.WithValidator(scheme, validator.Locks[appsv1.Deployment]{Updates: updates})
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
			answer := webhook.Handle(t.Context(), ctrladmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: admissionv1.Update, OldObject: object(row.oldSpec), Object: object(row.newSpec),
			}})
			text, err := json.Marshal(answer.Result)
			if err != nil {
				t.Fatal(err)
			}
			if answer.Allowed != (row.refused == "") || !strings.Contains(string(text), row.refused) {
				t.Errorf("allowed %t, %s; want it refused at %q", answer.Allowed, text, row.refused)
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
