package convert_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/celrule"
	"github.com/fieldlock/fieldlock/internal/convert"
)

// two are two CRDs, the first one with two versions, whose locks are CEL rules, locks that no rule says, and an
// annotation.
const two = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
  annotations:
    fieldlock.dev/locks: '{"v1":{"/properties/spec/properties/noted":{"x-kubernetes-immutable":true}}}'
    other: kept
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
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
            required: [class, noted]
            properties:
              class: {type: string, x-kubernetes-validations: [{rule: self == oldSelf, message: it stays}]}
              noted: {type: string, maxLength: 9}
  - name: v2
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [class]
            properties:
              class: {type: string, maxLength: 9, x-kubernetes-immutable: true}
              unknown: {type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-immutable: true}
              odd: {type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-immutable: true, properties: {a: {type: array, x-kubernetes-list-type: set, items: {type: string}}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: between}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  names: {kind: Gadget, plural: gadgets}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer, x-kubernetes-validations: [{rule: self >= oldSelf}, {rule: self == oldSelf}]}}}}
`

// TestReadErrors: a file without a CRD is an error that says what helps.
func TestReadErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "a: b\n", "f: there is no CustomResourceDefinition in it; give the file of a CRD"},
		{"malformed", "a: [\n", "f:"},
		{"a CRD without a name", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {}\n", "f:3: document 1, CustomResourceDefinition: spec.group: it is missing"},
		{"a JSON Schema", `{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}`, "f: it is a JSON Schema, not a CustomResourceDefinition; check, lint and locks take JSON Schemas"},
		{"an OpenAPI document without kinds", `{"openapi": "3.0.0", "components": {"schemas": {"A": {"type": "object"}}}}`, "f: it is an OpenAPI document without Kubernetes kinds"},
		{"an OpenAPI document", `{"openapi": "3.0.0", "components": {"schemas": {"A": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "apps", "version": "v1", "kind": "Aa"}]}, "B": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "b", "version": "v1", "kind": "B"}]}}}}`,
			"such as --kind apps/v1/Aa"},
	} {
		if _, err := convert.Read("f", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	old := strings.ReplaceAll(two, "apiextensions.k8s.io/v1\n", "apiextensions.k8s.io/v1beta1\n")
	for name, run := range map[string]func(*convert.File) error{
		"export": func(f *convert.File) error { _, err := convert.ToCEL(f, nil); return err },
		"import": func(f *convert.File) error { _, err := convert.FromCEL(f); return err },
	} {
		err := run(read(t, "f", []byte(old)))
		for _, crd := range []string{"widgets", "gadgets"} {
			if err == nil || !strings.Contains(err.Error(), "f: the CRD "+crd+".example.com is apiextensions.k8s.io/v1beta1, which has no CEL rules; convert it to apiextensions.k8s.io/v1") {
				t.Errorf("%s of v1beta1: %v does not name %s", name, err, crd)
			}
		}
	}
	for _, c := range []struct{ name, from, to, want string }{
		{"an annotation that is malformed", `'{"v1"`, `'{v1`, "fieldlock.dev/locks"},
		{"an annotation about a version that is not there", `'{"v1"`, `'{"v9"`, "v9"},
		{"an annotation about a field that is not there", "properties/noted\"", "properties/gone\"", "gone"},
		{"a mistaken lock", "x-kubernetes-immutable: true}\n              unknown", "x-fieldlock-update: [NoAddItem]}\n              unknown", "NoAddItem"},
	} {
		text := strings.Replace(two, c.from, c.to, 1)
		f, err := convert.Read("f", []byte(text))
		if err == nil {
			_, err = convert.ToCEL(f, nil)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: export: %v", c.name, err)
		}
	}
}

// specOf returns what a document has at spec of a version.
func specOf(t *testing.T, file *convert.File, document, version int) map[string]any {
	t.Helper()
	values, err := file.Objects()
	if err != nil {
		t.Fatal(err)
	}
	var object struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema struct {
						Properties struct {
							Spec struct{ Properties map[string]any }
						}
					}
				}
			}
		}
	}
	data, err := json.Marshal(values[document])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &object); err != nil {
		t.Fatal(err)
	}
	return object.Spec.Versions[version].Schema.OpenAPIV3Schema.Properties.Spec.Properties
}

func annotations(t *testing.T, file *convert.File, document int) any {
	t.Helper()
	values, err := file.Objects()
	if err != nil {
		t.Fatal(err)
	}
	return values[document].(map[string]any)["metadata"].(map[string]any)["annotations"]
}

// TestImportOfTwo: every version of every CRD is read; the locks of an annotation go to their place.
func TestImportOfTwo(t *testing.T) {
	file := read(t, "f", []byte(two))
	report, err := convert.FromCEL(file)
	if err != nil {
		t.Fatal(err)
	}
	want := &convert.Import{
		Recognized: []convert.ImportedRule{
			{CRD: "widgets.example.com", Version: "v1", Path: "spec.class", SchemaPath: "/properties/spec/properties/class", Rule: "self == oldSelf", Message: "it stays", Locks: []convert.ImportedLock{{Path: "spec.class", Lock: "immutable"}}},
			{CRD: "gadgets.example.com", Version: "v1", Path: "spec.size", SchemaPath: "/properties/spec/properties/size", Rule: "self == oldSelf", Locks: []convert.ImportedLock{{Path: "spec.size", Lock: "NoModify"}}},
		},
		Left: []convert.ImportedRule{{CRD: "gadgets.example.com", Version: "v1", Path: "spec.size", SchemaPath: "/properties/spec/properties/size", Rule: "self >= oldSelf"}},
	}
	for i := range report.Left {
		if report.Left[i].Reason == "" {
			t.Errorf("left without a reason: %+v", report.Left[i])
		}
		report.Left[i].Reason = ""
	}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{
		"class": map[string]any{"type": "string", "x-kubernetes-immutable": true}, "noted": map[string]any{"type": "string", "maxLength": 9.0, "x-kubernetes-immutable": true},
	}, specOf(t, file, 0, 0)); diff != "" {
		t.Errorf("the first CRD (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"size": map[string]any{"type": "integer", "x-fieldlock-update": []any{"NoModify"}, "x-kubernetes-validations": []any{map[string]any{"rule": "self >= oldSelf"}}}}, specOf(t, file, 2, 0)); diff != "" {
		t.Errorf("the second CRD (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"other": "kept"}, annotations(t, file, 0)); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if got := annotations(t, file, 2); got != nil {
		t.Errorf("the second CRD has the annotations %v", got)
	}
}

// TestExportOfTwo: the locks of every version become rules; those that do not are listed, and the webhook takes them.
func TestExportOfTwo(t *testing.T) {
	file := read(t, "f", []byte(two))
	webhook := &convert.Webhook{Namespace: "ns", Service: "svc", Path: "/validate"}
	report, err := convert.ToCEL(file, webhook)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range report.Exported {
		got = append(got, "exported "+strings.Join([]string{e.CRD, e.Version, e.Path, e.Lock, e.SchemaPath, e.Rule}, " "))
	}
	for _, r := range report.Rest {
		if r.Reason == "" {
			t.Errorf("not exported without a reason: %+v", r)
		}
		got = append(got, "rest "+strings.Join([]string{r.CRD, r.Version, r.Path, r.Lock}, " "))
	}
	if diff := cmp.Diff([]string{
		"exported widgets.example.com v1 spec.noted immutable /properties/spec/properties/noted self == oldSelf",
		"exported widgets.example.com v2 spec.class immutable /properties/spec/properties/class self == oldSelf",
		"rest widgets.example.com v2 spec.odd immutable", "rest widgets.example.com v2 spec.unknown immutable",
	}, got); diff != "" {
		t.Errorf("locks (-want +got):\n%s", diff)
	}
	if report.ByPolicy != 1 {
		t.Errorf("a policy takes %d of the rest, want the one on unknown fields", report.ByPolicy)
	}
	if len(report.Remaining) != 2 || !strings.Contains(report.Remaining[0], "run the webhook behind the Service ns/svc before you apply this") || !strings.Contains(report.Remaining[1], "say who signed") {
		t.Errorf("still to do: %q", report.Remaining)
	}
	text, err := yaml.Marshal(report.Documents)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingWebhookConfiguration
  metadata:
    name: fieldlock.widgets.example.com
  webhooks:
  - admissionReviewVersions:
    - v1
    clientConfig:
      service:
        name: svc
        namespace: ns
        path: /validate
    failurePolicy: Fail
    matchPolicy: Equivalent
    name: fieldlock.widgets.example.com
    rules:
    - apiGroups:
      - example.com
      apiVersions:
      - v2
      operations:
      - UPDATE
      resources:
      - widgets
      - widgets/*
      scope: '*'
    sideEffects: None
`, string(text)); diff != "" {
		t.Errorf("webhook (-want +got):\n%s", diff)
	}
	if a, _ := annotations(t, file, 0).(map[string]any); a["other"] != "kept" || !strings.Contains(a["fieldlock.dev/locks"].(string), `"v2"`) {
		t.Errorf("annotations %v", a)
	}
	for name, w := range map[string]*convert.Webhook{
		"let the Certificate ns/cert issue the webhook's certificate, for svc.ns.svc": {Namespace: "ns", Service: "svc", CertManager: "ns/cert"},
		"": {Namespace: "ns", Service: "svc", CABundle: []byte("a")},
	} {
		report, err := convert.ToCEL(read(t, "f", []byte(two)), w)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := yaml.Marshal(report.Documents)
		if name == "" && (len(report.Remaining) != 1 || !strings.Contains(string(text), "caBundle: YQ==")) || name != "" && (len(report.Remaining) != 2 || !strings.Contains(report.Remaining[1], name) || !strings.Contains(string(text), "cert-manager.io/inject-ca-from: ns/cert")) {
			t.Errorf("still to do: %q\n%s", report.Remaining, text)
		}
	}
	if report, err := convert.ToCEL(read(t, "f", []byte(two)), nil); err != nil || len(report.Documents)+len(report.Remaining) > 0 {
		t.Errorf("without a webhook: %+v, %v", report, err)
	}
}

// TestPolicies: each version with locks has a policy and a binding.
func TestPolicies(t *testing.T) {
	report, err := convert.ToPolicies(read(t, "f", []byte(two)), nil)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := convert.WriteYAML(&b, report.Documents); err != nil {
		t.Fatal(err)
	}
	policy := func(version, validations string) string {
		return `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: fieldlock.` + version + `.widgets.example.com
spec:
  failurePolicy: Fail
  matchConstraints:
    matchPolicy: Equivalent
    resourceRules:
    - apiGroups:
      - example.com
      apiVersions:
      - ` + version + `
      operations:
      - UPDATE
      resources:
      - widgets
      - widgets/status
  validations:
` + validations + `---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: fieldlock.` + version + `.widgets.example.com
spec:
  policyName: fieldlock.` + version + `.widgets.example.com
  validationActions:
  - Deny
`
	}
	validation := func(path, expression string) string {
		return "  - expression: " + expression + "\n    message: '" + path + ": field is immutable'\n    reason: Invalid\n"
	}
	want := policy("v1", validation("spec.noted", "object.spec.noted == oldObject.spec.noted")) + "---\n" +
		policy("v2", validation("spec.class", "object.spec.class == oldObject.spec.class")+validation("spec.unknown", "has(object.spec.unknown) == has(oldObject.spec.unknown) && (!has(object.spec.unknown) || object.spec.unknown == oldObject.spec.unknown)"))
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
	if len(report.Exported) != 3 || len(report.Rest) != 1 || report.Exported[2].Path != "spec.unknown" || report.Exported[2].Version != "v2" || report.Exported[2].CRD != "widgets.example.com" || report.Rest[0].Path != "spec.odd" {
		t.Errorf("exported %+v, rest %+v", report.Exported, report.Rest)
	}
	b.Reset()
	if err := convert.WriteYAML(&b, nil); err != nil || b.String() != "" {
		t.Errorf("no documents: %q, %v", b.String(), err)
	}
	if _, err := convert.ToPolicies(read(t, "f", []byte(strings.Replace(two, "maxLength: 9, x-kubernetes-immutable: true", "x-fieldlock-update: [NoAddItem]", 1))), nil); err == nil || !strings.Contains(err.Error(), "f:39: CustomResourceDefinition widgets.example.com, version v2: spec.class: ") {
		t.Errorf("a mistaken lock: %v", err)
	}
}

// TestKinds: which kind of an OpenAPI document a policy is for, and the name of its resource.
func TestKinds(t *testing.T) {
	const document = `{"openapi": "3.0.0", "components": {"schemas": {
		"A": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Box"}], "properties": {"a": {"type": "string", "x-kubernetes-immutable": true}}},
		"B": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Gadget"}], "properties": {"a": {"type": "string", "x-fieldlock-update": ["NoAddItem"]}}},
		"C": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Free"}]}}}}`
	for _, c := range []struct{ kind, resource, name, err string }{
		{"v1/Box", "", "fieldlock.v1.boxs", ""}, {"v1/Box", "boxes", "fieldlock.v1.boxes", ""}, {"/v1/Box", "", "fieldlock.v1.boxs", ""}, {"example.com/v1/Free", "", "", ""},
		{"Box", "", "", `--kind is "Box": it is GROUP/VERSION/KIND, such as apps/v1/Deployment, or VERSION/KIND`}, {"/Box", "", "", "--kind is"}, {"v1/", "", "", "--kind is"}, {"a/b/c/d", "", "", "--kind is"},
		{"v2/Box", "", "", "f: it has no schema of v2/Box"}, {"example.com/v1/Gadget", "", "", "NoAddItem"},
	} {
		report, err := convert.KindToPolicy("f", []byte(document), nil, c.kind, c.resource)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v", c.kind, err)
			continue
		}
		name := ""
		if err == nil && len(report.Documents) > 0 {
			name = report.Documents[0].(map[string]any)["metadata"].(map[string]any)["name"].(string)
		}
		if name != c.name {
			t.Errorf("%s: the policy %q, want %q", c.kind, name, c.name)
		}
	}
	if _, err := convert.KindToPolicy("f", []byte("{"), nil, "v1/Box", ""); err == nil {
		t.Error("a malformed document")
	}
}

// TestWrite: documents after the file have its format.
func TestWrite(t *testing.T) {
	more := []any{map[string]any{"kind": "A", "a": map[string]any{"b": 1}}, map[string]any{"kind": "B"}}
	asJSON := func(text string) string {
		data, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, c := range []struct{ name, text, want string }{
		{"YAML", widgets, widgets + "---\na:\n  b: 1\nkind: A\n---\nkind: B\n"},
		{"YAML without a new line at the end", strings.TrimSuffix(widgets, "\n"), widgets + "---\na:\n  b: 1\nkind: A\n---\nkind: B\n"},
		{"JSON", asJSON(widgets), asJSON(widgets) + "\n{\n  \"a\": {\n    \"b\": 1\n  },\n  \"kind\": \"A\"\n}\n{\n  \"kind\": \"B\"\n}\n"},
	} {
		var b strings.Builder
		if err := read(t, "f", []byte(c.text)).Write(&b, more...); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		b.Reset()
		if err := read(t, "f", []byte(c.text)).Write(&b); err != nil || b.String() != c.text {
			t.Errorf("%s alone: %q, %v", c.name, b.String(), err)
		}
	}
}

// TestFix: rules that are there already are not added again.
func TestFix(t *testing.T) {
	for _, c := range []struct {
		name, crd, version string
		fix                crd.Fix
		want               []any // the rules then
		err                string
	}{
		{"a new rule", "gadgets.example.com", "v1", crd.Fix{AddRules: []map[string]any{{"rule": "self != oldSelf"}}}, []any{"self >= oldSelf", "self == oldSelf", "self != oldSelf"}, ""},
		{"one of two is there", "gadgets.example.com", "v1", crd.Fix{AddRules: []map[string]any{{"rule": "self == oldSelf", "message": "m"}, {"rule": "self > 0"}}}, []any{"self >= oldSelf", "self == oldSelf", "self > 0"}, ""},
		{"in the version of the fix", "gadgets.example.com", "v7", crd.Fix{Version: "v1", AddRules: []map[string]any{{"rule": "self > 0"}}}, []any{"self >= oldSelf", "self == oldSelf", "self > 0"}, ""},
		{"another CRD", "boxes.example.com", "v1", crd.Fix{AddRules: []map[string]any{{"rule": "self > 0"}}}, nil, "there is no CRD boxes.example.com in the file"},
		{"another field", "gadgets.example.com", "v1", crd.Fix{SchemaPath: "/properties/none", AddRules: []map[string]any{{"rule": "self > 0"}}}, nil, "f: the CRD gadgets.example.com has no /properties/none in its version v1"},
	} {
		file := read(t, "f", []byte(two))
		if c.fix.SchemaPath == "" {
			c.fix.SchemaPath = "/properties/spec/properties/size"
		}
		err := file.Fix(c.crd, c.version, &c.fix)
		if (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.want == nil {
			continue
		}
		var rules []any
		for _, r := range specOf(t, file, 2, 0)["size"].(map[string]any)["x-kubernetes-validations"].([]any) {
			rules = append(rules, r.(map[string]any)["rule"])
		}
		if diff := cmp.Diff(c.want, rules); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	file := read(t, "f", []byte(two))
	changes := []celrule.Change{{SchemaPath: "/properties/spec/properties/class", DropKeys: []string{"x-kubernetes-immutable", "maxLength"}}, {SchemaPath: "/properties/spec/properties/unknown", DropKeys: []string{"x-kubernetes-immutable"}}}
	if err := file.Change("widgets.example.com", "v2", changes); err != nil {
		t.Fatal(err)
	}
	spec := specOf(t, file, 0, 1)
	if diff := cmp.Diff([]any{map[string]any{"type": "string"}, map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}, []any{spec["class"], spec["unknown"]}); diff != "" {
		t.Errorf("several keys of several fields (-want +got):\n%s", diff)
	}
}

// TestCABundle: certificates only, each of which can be read.
func TestCABundle(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)}, &x509.Certificate{SerialNumber: big.NewInt(1)}, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, data []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
	}
	good := block("CERTIFICATE", der)
	for _, c := range []struct{ name, text, want string }{
		{"one", good, ""}, {"two", good + good, ""}, {"none", "text", "it holds no certificate in PEM"}, {"a key", good + block("PRIVATE KEY", der), "it holds a PRIVATE KEY: give the certificates of the authority only"},
		{"a broken one", good + block("CERTIFICATE", []byte("a")), "certificate 2 cannot be read"},
	} {
		if err := convert.CheckCABundle([]byte(c.text)); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestAnnotationOfTwo: the locks of every version move into the annotation, and how many there are.
func TestAnnotationOfTwo(t *testing.T) {
	file := read(t, "f", []byte(two))
	moved, err := convert.ToAnnotation(file)
	if err != nil || moved != 3 {
		t.Errorf("%d keys moved, %v", moved, err)
	}
	a, _ := annotations(t, file, 0).(map[string]any)
	for _, part := range []string{`"v1"`, `"v2"`, "properties/noted", "properties/class", "properties/unknown", "properties/odd"} {
		if !strings.Contains(a["fieldlock.dev/locks"].(string), part) {
			t.Errorf("the annotation %s lacks %s", a["fieldlock.dev/locks"], part)
		}
	}
	if text := text(t, file); strings.Contains(text, "x-kubernetes-immutable: true") || strings.Contains(text, "annotations: {}") {
		t.Errorf("keys are left:\n%s", text)
	}
	old := strings.NewReplacer("apiextensions.k8s.io/v1\n", "apiextensions.k8s.io/v1beta1\n", "  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:", "  versions: [{name: v1, served: true, storage: true}]\n  validation:").
		Replace(two[strings.LastIndex(two, "---\n")+4:])
	file = read(t, "f", []byte(strings.Replace(strings.Replace(old, "\n      openAPIV3Schema:", "\n    openAPIV3Schema:", 1), "x-kubernetes-validations: [{rule: self >= oldSelf}, {rule: self == oldSelf}]", "x-kubernetes-immutable: true", 1)))
	if moved, err := convert.ToAnnotation(file); err != nil || moved != 1 {
		t.Errorf("v1beta1: %d keys moved, %v", moved, err)
	}
}
