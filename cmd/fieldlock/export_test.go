package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/celrule"
)

// exportedWidgets is a CRD with a lock of each kind that export meets: on a required field, on an optional one, on the
// keys of a map, and two without a rule: on items without limits, which cost too much, and on unknown fields.
const exportedWidgets = `# widgets of example.com
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [class]
            properties:
              class: # never changes
                type: string
                x-kubernetes-immutable: true
              zone:
                type: string
                x-fieldlock-update: [NoUnset, NoModify]
              labels:
                type: object
                maxProperties: 32
                x-kubernetes-immutable-keys: true
                additionalProperties: {type: string}
              steps:
                type: array
                items: {type: string, x-kubernetes-immutable: true}
              free:
                type: object
                x-kubernetes-preserve-unknown-fields: true
                x-kubernetes-immutable: true
`

// onFile runs fieldlock with a file of the given text and returns what it printed.
func onFile(t *testing.T, want int, text string, args ...string) (out, report string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "crd.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if got := run(append(args, path), streams{strings.NewReader(""), &stdout, &stderr}); got != want {
		t.Fatalf("exit status %d, want %d: %s", got, want, stderr.String())
	}
	return stdout.String(), stderr.String()
}

func TestExportCEL(t *testing.T) {
	out, report := onFile(t, exitClean, exportedWidgets, "export", "cel")
	validCRD(t, out)
	for _, want := range []string{
		"# widgets of example.com", "# never changes", "rule: self == oldSelf", "fieldPath: .zone", "fieldlock.dev/locks",
		`"!has(oldSelf.zone) || (has(self.zone) && self.zone == oldSelf.zone)"`,
	} {
		if !strings.Contains(out, want) && !strings.Contains(out, strings.ReplaceAll(want, `"`, `'`)) {
			t.Errorf("the CRD lacks %s:\n%s", want, out)
		}
	}
	for _, want := range []string{
		"not exported widgets.example.com v1: immutable on spec.steps[*]", "not exported widgets.example.com v1: immutable on spec.free", "unknown keys",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
	if strings.Contains(strings.SplitAfter(out, "spec:")[1], "x-kubernetes-immutable") {
		t.Errorf("the CRD has extensions that a stock API server drops:\n%s", out)
	}
}

func TestExportCELWebhook(t *testing.T) {
	out, _ := onFile(t, exitClean, exportedWidgets, "export", "cel", "--webhook-for-rest", "--service", "ns/hook")
	_, webhook, ok := strings.Cut(out, "\n---\n")
	if !ok {
		t.Fatalf("no second document:\n%s", out)
	}
	for _, want := range []string{"kind: ValidatingWebhookConfiguration", "failurePolicy: Fail", "matchPolicy: Equivalent", "- widgets\n", "namespace: ns"} {
		if !strings.Contains(webhook, want) {
			t.Errorf("the webhook configuration lacks %q:\n%s", want, webhook)
		}
	}
	if _, report := onFile(t, exitUnread, exportedWidgets, "export", "cel", "--webhook-for-rest", "--service", "hook"); !strings.Contains(report, "NAMESPACE/NAME") {
		t.Errorf("a service without namespace: %s", report)
	}
}

func TestExportCELStrict(t *testing.T) {
	if out, _ := onFile(t, exitRefused, exportedWidgets, "export", "cel", "--strict"); !strings.Contains(out, "rule: self == oldSelf") {
		t.Errorf("the CRD is not printed:\n%s", out)
	}
	onFile(t, exitRefused, exportedWidgets, "export", "cel", "--strict", "-o", "json")
	onFile(t, exitClean, exportedWidgets, "export", "cel", "--strict", "--webhook-for-rest")
}

// TestWrongLocks: a conversion of locks that are wrong would only move the mistake.
func TestWrongLocks(t *testing.T) {
	wrong := strings.Replace(exportedWidgets, "x-kubernetes-immutable: true", "x-kubernetes-immutable: false", 1)
	for _, verb := range [][]string{{"export", "cel"}, {"export", "policy"}, {"export", "annotation"}, {"import", "cel"}} {
		if _, report := onFile(t, exitUnread, wrong, verb...); !strings.Contains(report, "crd.yaml:23: ") || !strings.Contains(report, "spec.class") {
			t.Errorf("%s does not name the line and the field: %s", verb, report)
		}
	}
	if _, report := onFile(t, exitUnread, "kind: ConfigMap\napiVersion: v1\n", "export", "cel"); !strings.Contains(report, "no CustomResourceDefinition") {
		t.Errorf("a file without CRD: %s", report)
	}
}

func TestExportPolicy(t *testing.T) {
	out, _ := onFile(t, exitClean, exportedWidgets, "export", "policy")
	for _, want := range []string{
		"kind: ValidatingAdmissionPolicy\n", "kind: ValidatingAdmissionPolicyBinding\n", "apiVersion: admissionregistration.k8s.io/v1",
		"expression: object.spec.class == oldObject.spec.class", "object.spec.free == oldObject.spec.free", "- widgets/status",
		"i >= size(oldObject.spec.steps) || v == oldObject.spec.steps[i]",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the policy lacks %q:\n%s", want, out)
		}
	}
	set := strings.Replace(exportedWidgets, "x-kubernetes-preserve-unknown-fields: true", "properties: {a: {type: array, x-kubernetes-list-type: set, items: {type: string}}}", 1)
	if _, report := onFile(t, exitClean, set, "export", "policy"); !strings.Contains(report, "not exported widgets.example.com v1: immutable on spec.free") {
		t.Errorf("the report does not name the set in a locked value: %s", report)
	}
}

// TestExportPolicyWithoutLocks: there is nothing to print, which is no mistake.
func TestExportPolicyWithoutLocks(t *testing.T) {
	out, report := onFile(t, exitClean, widgets("None", "class: {type: string}", ""), "export", "policy")
	if out != "" || report != "no locks to export; CEL rules are not locks, but fieldlock import cel can turn them into locks\n" {
		t.Errorf("got output %q and report %q", out, report)
	}
}

func TestExportPolicyOfABuiltInKind(t *testing.T) {
	document := `{"components": {"schemas": {
	"Deployment": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "apps", "version": "v1", "kind": "Deployment"}],
		"properties": {"spec": {"allOf": [{"$ref": "#/components/schemas/Spec"}]}}},
	"Spec": {"type": "object", "required": ["selector"], "properties": {"selector": {"type": "object", "x-kubernetes-immutable": true}}}}}}`
	out, _ := onFile(t, exitClean, document, "export", "policy", "--kind", "apps/v1/Deployment")
	for _, want := range []string{"- deployments\n", "!has(object.spec) || !has(oldObject.spec) || object.spec.selector == oldObject.spec.selector"} {
		if !strings.Contains(out, want) {
			t.Errorf("the policy lacks %q:\n%s", want, out)
		}
	}
	if _, report := onFile(t, exitUnread, document, "export", "policy", "--kind", "apps/v1/Nothing"); !strings.Contains(report, "no schema of apps/v1/Nothing") {
		t.Errorf("a kind that is not there: %s", report)
	}
}

// validCRD checks text as an API server does that is asked for strict field validation.
func validCRD(t *testing.T, text string) {
	t.Helper()
	text, _, _ = strings.Cut(text, "\n---\n")
	var v1 apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict([]byte(text), &v1, func(d *json.Decoder) *json.Decoder { return d }); err != nil {
		t.Fatalf("strict decoding: %v", err)
	}
	for _, mistake := range schemaMistakes(t, &v1) {
		t.Errorf("the API server would refuse the CRD: %v", mistake)
	}
}

// schemaMistakes returns what an API server refuses in the schemas of a CRD: what is not structural, and rules. The
// end-to-end tests ask a server about whole CRDs.
func schemaMistakes(t *testing.T, v1 *apiextensionsv1.CustomResourceDefinition) (mistakes []any) {
	t.Helper()
	for _, v := range v1.Spec.Versions {
		var s apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, &s, nil); err != nil {
			t.Fatal(err)
		}
		root, err := structural.NewStructural(&s)
		if err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		for _, err := range structural.ValidateStructural(nil, root) {
			mistakes = append(mistakes, err)
		}
		for _, refusal := range new(celrule.Refusals).Of(&s) {
			mistakes = append(mistakes, refusal)
		}
	}
	return mistakes
}
