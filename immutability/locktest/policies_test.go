package locktest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability/locktest"
)

func ExampleKind_Policies() {
	databases := locktest.CRD(t, "testdata/databases.yaml")
	databases.Policies(t, "testdata/policies.yaml")
	databases.Run(t, []locktest.Update{
		{Name: "storage", Old: `spec: {engine: postgres, storage: {}}`, Patch: `spec: {storage: null}`, Refused: []string{""}},
		{Name: "replicas", Old: `spec: {engine: postgres}`, Patch: `spec: {replicas: 3}`},
		{Name: "many replicas", Old: `spec: {engine: postgres}`, Patch: `spec: {replicas: 4}`}, // a mistake
	})
	// Output:
	// FAIL: many replicas: want the update allowed, got it refused at the whole object
	//     the object: ValidatingAdmissionPolicy 'storage' with binding 'storage' denied request: too many replicas at once (rule: object.spec.replicas <= oldObject.spec.replicas + int(params.data.step))
}

// TestPolicyMistakes: what no policy of a test can decide, and files that hold none.
func TestPolicyMistakes(t *testing.T) {
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "policies.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	const form = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [example.com], apiVersions: [v1], operations: [UPDATE], resources: [databases]}]}
  validations: [{expression: %q}]
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: p}, spec: {policyName: p, validationActions: [Deny]}}
`
	for _, row := range []struct{ name, reason, file, want string }{
		{"the user decides", "no test knows the user", write(fmt.Sprintf(form, "request.userInfo.username == 'a' || object.spec == oldObject.spec")), "it depends on request.userInfo, which only the cluster knows"},
		{"the status", "a test writes whole objects", write(fmt.Sprintf(form, "has(object.status) || object.spec != oldObject.spec")), ""},
		{"no old object", "a policy that judges one object is another test's", write(fmt.Sprintf(form, "object.spec.replicas < 3")), "there is no ValidatingAdmissionPolicy in "},
		{"malformed", "it says where", write(strings.Replace(form, "[DENY]", "{", 1) + "---\n{"), "policies.yaml: "},
		{"another type", "the server refuses it too", write(strings.Replace(fmt.Sprintf(form, "oldObject == null"), "[{expression", "[{message: {}, expression", 1)), "cannot be read"},
		{"missing", "it is named", "testdata/nowhere.yaml", "nowhere.yaml"},
	} {
		r := &recorder{}
		databases := locktest.CRD(t, "testdata/databases.yaml")
		databases.Policies(r, row.file)
		if len(r.messages) == 0 {
			databases.Run(r, []locktest.Update{{Old: `spec: {engine: mysql}`, Patch: `spec: {replicas: 2}`}})
		}
		if got := strings.Join(r.messages, "\n"); row.want == "" && got != "" || !strings.Contains(got, row.want) {
			t.Errorf("%s: got %q, want %q (%s)", row.name, got, row.want, row.reason)
		}
	}
	var s spec.Schema
	if err := json.Unmarshal([]byte(`{"type": "object"}`), &s); err != nil {
		t.Fatal(err)
	}
	r := &recorder{}
	locktest.Schema(t, &s).Policies(r, "testdata/policies.yaml")
	if len(r.messages) != 1 || !strings.Contains(r.messages[0], "only a schema") {
		t.Errorf("%q", r.messages)
	}
}
