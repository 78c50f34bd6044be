package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/compare"
)

const classPolicy = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: class}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [example.com], apiVersions: [v1], operations: [UPDATE], resources: [widgets]}]}
  validations: [{expression: object.spec.class == oldObject.spec.class, message: the class stays}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: all}
spec: {policyName: class, validationActions: [Deny]}
`

// TestCheckPolicies: a policy among the manifests, or given with --schema, refuses an update; text and JSON name it once.
func TestCheckPolicies(t *testing.T) {
	crd := widgets("None", "class: {type: string}", "")
	files := map[string]string{
		"old/crd.yaml": crd, "new/crd.yaml": crd, "old/w.yaml": widget("v1", "ns", "w", "{class: a}"), "new/w.yaml": widget("v1", "ns", "w", "{class: b}"),
		"policies.yaml": classPolicy,
	}
	const refusal = "ValidatingAdmissionPolicy 'class' with binding 'all' denied request: the class stays"
	for _, row := range []struct {
		name, policies string // the file that has them
		args           []string
		onlyOld        int
	}{
		{"given with --schema", "policies.yaml", []string{"--schema", "policies.yaml", "old", "new"}, 0},
		{"dropped by the change", "old/policies.yaml", []string{"old", "new"}, 1},
		{"added by the change", "new/policies.yaml", []string{"old", "new"}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			files[row.policies] = classPolicy
			defer delete(files, row.policies)
			t.Chdir(writeFiles(t, files))
			for _, format := range []string{"text", "markdown", "github", "sarif"} {
				got := runCommand("", append([]string{"check", "-o", format}, row.args...)...)
				text := strings.ReplaceAll(got.out, `\n`, " ")
				if got.status != 1 || strings.Count(text, "the class stays") != 1 || strings.Count(text, "only OLD has") != row.onlyOld {
					t.Errorf("%s: status %d, want %q once, %d times only in OLD:\n%s%s", format, got.status, refusal, row.onlyOld, got.out, got.err)
				}
			}
			got := runCommand("", append([]string{"check", "-o", "json"}, row.args...)...)
			var report compare.Report
			if err := json.Unmarshal([]byte(got.out), &report); err != nil {
				t.Fatal(err)
			}
			if len(report.Violations) != 1 || report.Violations[0].Policy != "class/all" || !strings.HasPrefix(report.Violations[0].Message, refusal) {
				t.Errorf("%+v", report.Violations)
			}
		})
	}
}
