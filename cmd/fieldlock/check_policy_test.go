package main

import (
	"encoding/json"
	"maps"
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

// TestCheckPolicies: a policy among the manifests, or given with --schema, refuses an update; text and JSON name it
// once.
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

// TestPoliciesOfUnchangedFiles: a policy that the change does not touch finds its parameters, the CRD of these and the
// namespace where they are, in files and units that the change does not touch either.
func TestPoliciesOfUnchangedFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	policy := func(kind, expression string) string {
		return strings.NewReplacer("spec:\n  match", "spec:\n"+kind+"  match", "object.spec.class == oldObject.spec.class", expression).Replace(classPolicy)
	}
	const (
		inMaps   = "  paramKind: {apiVersion: v1, kind: ConfigMap}\n"
		inLimits = "  paramKind: {apiVersion: example.com/v1, kind: Limit}\n"
		frozen   = "object.spec.class == oldObject.spec.class || !(oldObject.spec.class in params.data)"
	)
	bound := func(text, ref string) string { return strings.Replace(text, "[Deny]}", "[Deny], "+ref+"}", 1) }
	byName := "paramRef: {name: frozen, namespace: rules, parameterNotFoundAction: Allow}"
	bySelector := "paramRef: {selector: {matchLabels: {use: class}}, namespace: rules, parameterNotFoundAction: Allow}"
	param := func(name, key string) string {
		return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: rules, labels: {use: class}}\ndata: {" + key + ": 'true'}\n"
	}
	limit := "apiVersion: example.com/v1\nkind: Limit\nmetadata: {name: frozen}\nspec: {class: a}\n"
	limitCRD := strings.NewReplacer("Widget", "Limit", "widget", "limit", "scope: Namespaced", "scope: Cluster").Replace(widgets("None", "class: {type: string}", ""))
	namespace := "apiVersion: v1\nkind: Namespace\nmetadata: {name: ns, labels: {tier: frozen}}\n"
	for _, row := range []struct {
		name   string
		files  map[string]string
		change map[string]string // besides the widget
		args   []string
	}{
		{name: "parameters in another file", files: map[string]string{"p.yaml": bound(policy(inMaps, frozen), byName), "map.yaml": param("frozen", "a")}},
		{name: "parameters, a policy that changes", files: map[string]string{"map.yaml": param("frozen", "a")}, change: map[string]string{"p.yaml": bound(policy(inMaps, frozen), byName)}},
		{name: "parameters, a policy of --schema", files: map[string]string{"map.yaml": param("frozen", "a")}, args: []string{"--schema", "../p.yaml"},
			change: map[string]string{"../p.yaml": bound(policy(inMaps, frozen), byName)}},
		{name: "some parameters beside the policy, and others elsewhere", files: map[string]string{"p.yaml": bound(policy(inMaps, frozen), bySelector) + param("free", "z"), "map.yaml": param("frozen", "a")}},
		{name: "the binding elsewhere", files: map[string]string{"p.yaml": strings.Split(policy(inMaps, frozen), "---")[0], "b.yaml": strings.Split(bound(policy(inMaps, frozen), byName), "---")[1], "map.yaml": param("frozen", "a")}},
		{name: "parameters of a custom kind, whose CRD is elsewhere", files: map[string]string{"limit.yaml": limit, "crds/limit.yaml": limitCRD,
			"p.yaml": bound(policy(inLimits, "object.spec.class == oldObject.spec.class || oldObject.spec.class != params.spec.class"), "paramRef: {name: frozen, parameterNotFoundAction: Allow}")}},
		{name: "parameters that a unit prints", files: map[string]string{"p.yaml": bound(policy(inMaps, frozen), byName),
			"maps/kustomization.yaml": "namespace: rules\ngeneratorOptions: {disableNameSuffixHash: true}\nconfigMapGenerator: [{name: frozen, literals: [a=true]}]\n"}},
		{name: "a policy that a unit prints", files: map[string]string{"map.yaml": param("frozen", "a"),
			"policies/kustomization.yaml": "resources: [p.yaml]\n", "policies/p.yaml": bound(policy(inMaps, frozen), byName)}},
		{name: "a policy that a unit prints from a file of any name", files: map[string]string{"map.yaml": param("frozen", "a"),
			"policies/kustomization.yaml": "resources: [p.txt]\n", "policies/p.txt": bound(policy(inMaps, frozen), byName)}},
		{name: "a policy of a kustomization with a remote base", files: map[string]string{"map.yaml": param("frozen", "a"),
			"policies/kustomization.yaml": "resources: ['https://github.com/a/b//c?ref=v1', p.yaml]\n", "policies/p.yaml": bound(policy(inMaps, frozen), byName)}},
		{name: "a policy of a kustomization that patches the missing part", files: map[string]string{"map.yaml": param("frozen", "a"), "policies/p.yaml": bound(policy(inMaps, frozen), byName),
			"policies/kustomization.yaml": "resources: ['https://github.com/a/b//c?ref=v1', p.yaml]\npatches: [{patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: remote}, spec: {replicas: 2}}'}]\n"}},
		{name: "a policy in a template of a chart that cannot be read", files: map[string]string{"map.yaml": param("frozen", "a"),
			"policies/Chart.yaml": "apiVersion: v2\nname: [\n", "policies/templates/p.yaml": bound(policy(inMaps, frozen), byName)}},
		{name: "the namespace for a selector", files: map[string]string{"namespace.yaml": namespace,
			"p.yaml": strings.Replace(classPolicy, "matchConstraints: {", "matchConstraints: {namespaceSelector: {matchLabels: {tier: frozen}}, ", 1)}},
		{name: "the namespace for an expression", files: map[string]string{"namespace.yaml": namespace,
			"p.yaml": policy("", "object.spec.class == oldObject.spec.class || namespaceObject.metadata.labels.tier != 'frozen'")}},
		{name: "a policy in a list", files: map[string]string{"p.yaml": "apiVersion: v1\nkind: List\nitems:\n" + asItems(classPolicy)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			base := map[string]string{"crd.yaml": widgets("None", "class: {type: string}", ""), "w.yaml": widget("v1", "ns", "w", "{class: a}")}
			maps.Copy(base, row.files)
			changed := map[string]string{"w.yaml": widget("v1", "ns", "w", "{class: b}")}
			maps.Copy(changed, row.change)
			repositoryOf(t, base, changed)
			got := runCommand("", append([]string{"check", "--git", "HEAD"}, row.args...)...)
			if got.status != exitRefused || !strings.Contains(got.out, "the class stays") {
				t.Errorf("status %d\n%s%s", got.status, got.out, got.err)
			}
		})
	}
}

// asItems makes the documents of a stream the items of a list.
func asItems(stream string) string {
	var out strings.Builder
	for document := range strings.SplitSeq(stream, "---\n") {
		out.WriteString("- " + strings.ReplaceAll(strings.TrimSpace(document), "\n", "\n  ") + "\n")
	}
	return out.String()
}
