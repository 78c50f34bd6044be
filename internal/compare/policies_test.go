package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/accept"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

const sameClass = "object.spec.class == oldObject.spec.class"

// policyFor is a policy for some resources, with one expression.
func policyFor(name, apiGroup, resource, expression string) string {
	return fmt.Sprintf(`---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %s}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [%q], apiVersions: [v1], operations: [UPDATE], resources: [%s]}]}
  validations: [{expression: %q}]
`, name, apiGroup, resource, expression)
}

func bindingOf(name, action string) string {
	return fmt.Sprintf(`---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: bind-%s}
spec: {policyName: %s, validationActions: [%s]}
`, name, name, action)
}

// TestPolicies: what admission policies among the manifests refuse.
func TestPolicies(t *testing.T) {
	type dir = map[string]string
	known, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	crd := widgets("None", "class: {type: string}", "class: {type: string}")
	policy, binding := policyFor("p", "example.com", "widgets", sameClass), bindingOf("p", "Deny")
	a, b := widget("v1", "ns", "w", "{class: a}"), widget("v1", "ns", "w", "{class: b}")
	configMap := func(data string) string {
		return "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: ns}, data: " + data + "}\n"
	}
	deployment := func(version string, replicas int) string {
		return fmt.Sprintf("---\n{apiVersion: %s, kind: Deployment, metadata: {name: d, namespace: ns}, spec: {replicas: %d}}\n", version, replicas)
	}
	refusal := []string{"ns/w  rule [" + sameClass + "]"}
	onlyOld := []string{"ns/w  rule [" + sameClass + "] only in OLD"}
	limited := strings.Replace(policyFor("p", "example.com", "widgets", sameClass+" || object.spec.class == params.spec.class"), "spec:\n", "spec:\n  paramKind: {apiVersion: example.com/v1, kind: Limit}\n", 1) +
		strings.Replace(binding, "policyName: p", "policyName: p, paramRef: {name: l, parameterNotFoundAction: Deny}", 1) +
		"---\n{apiVersion: example.com/v1, kind: Limit, metadata: {name: l, namespace: odd}, spec: {class: b}}\n"
	limits := strings.NewReplacer("widgets", "limits", "Widget", "Limit", "scope: Namespaced", "scope: Cluster").Replace(classLocked)
	for _, row := range []struct {
		name, reason string
		new, old     dir // besides the CRD and the object
		newW, oldW   string
		want         []string
	}{
		{"on both sides", "the plainest case", dir{"p": policy + binding}, dir{"p": policy + binding}, b, a, refusal},
		{"another field", "the policy allows it", dir{"p": policy + binding}, dir{"p": policy + binding}, widget("v1", "ns", "w", "{class: a, free: x}"), a, nil},
		{"dropped and broken", "a change cannot drop a policy and break it", nil, dir{"p": policy + binding}, b, a, onlyOld},
		{"binding dropped", "nor its binding", dir{"p": policy}, dir{"p": policy + binding}, b, a, onlyOld},
		{"weakened", "the policy of OLD counts", dir{"p": policyFor("p", "example.com", "widgets", "oldObject != null") + binding}, dir{"p": policy + binding}, b, a, onlyOld},
		{"action weakened", "the binding of OLD counts, and that of NEW warns", dir{"p": policy + bindingOf("p", "Warn")}, dir{"p": policy + binding}, b, a, append(slices.Clone(onlyOld), "note ns/w")},
		{"moved to another file", "it is the same policy", dir{"q": policy + binding}, dir{"p": policy + binding}, b, a, refusal},
		{"reformatted", "it is the same policy", dir{"p": strings.ReplaceAll(policy, "spec:\n", "spec: # the class stays\n") + binding}, dir{"p": policy + binding}, b, a, refusal},
		{"not bound", "such a policy refuses nothing", dir{"p": policy}, dir{"p": policy}, b, a, nil},
		{"Warn", "the update is accepted", dir{"p": policy + bindingOf("p", "Warn")}, dir{"p": policy + bindingOf("p", "Warn")}, b, a, []string{"note ns/w"}},
		{"the user", "only the cluster knows who applies", dir{"p": policyFor("p", "example.com", "widgets", "request.userInfo.username == 'x' || "+sameClass) + binding}, nil, b, a, []string{"unknown ns/w "}},
		{"two policies", "each of them is reported", dir{"p": policy + binding + policyFor("q", "example.com", "widgets", sameClass) + bindingOf("q", "Deny")}, nil, b, a, append(slices.Clone(refusal), refusal...)},
		{"through another version", "the policy is Equivalent, and sees the objects in v1", dir{"p": policy + binding}, nil, widget("v2", "ns", "w", "{class: b}"), widget("v2", "ns", "w", "{class: a}"), refusal},
		{"to another version", "the request is of the version of NEW", dir{"p": policy + binding}, nil, widget("v2", "ns", "w", "{class: b}"), a, refusal},
		{"a ConfigMap", "a built-in kind without locks", dir{"p": policyFor("p", "", "configmaps", "object.data == oldObject.data") + binding, "c": configMap("{a: x}")},
			dir{"c": configMap("{a: z}")}, a, a, []string{"ns/c  rule [object.data == oldObject.data]"}},
		{"a built-in kind in another version", "only the server can convert the old object",
			dir{"p": policyFor("p", "apps", "deployments", "object.spec.replicas == oldObject.spec.replicas") + binding, "d": deployment("apps/v1", 1)},
			dir{"d": deployment("extensions/v1beta1", 2)}, a, a, []string{"unknown ns/d "}},
		{"malformed", "it is a warning, as the server refuses it", dir{"p": strings.Replace(policy, "validations: [", "validations: 1 #", 1) + binding}, nil, b, a, nil},
		{"a parameter with a namespace that does not count", "its CRD says that it has none", dir{"p": limited, "l": limits}, dir{"p": limited, "l": limits}, b, a, nil},
		{"a parameter of an unknown kind", "the namespace may count", dir{"p": limited}, dir{"p": limited}, b, a, []string{"unknown ns/w "}},
		{"syntax error", "nobody knows what such a policy does", dir{"p": policyFor("p", "example.com", "widgets", sameClass+".") + binding}, nil, b, a, []string{"unknown ns/w "}},
	} {
		news, olds := dir{"crd": crd, "w": row.newW}, dir{"crd": crd, "w": row.oldW}
		maps.Copy(news, row.new)
		maps.Copy(olds, row.old)
		r := check(t, news, olds, Options{Builtin: known})
		if got := found(r); !slices.Equal(got, row.want) || len(r.Errors) > 0 {
			t.Errorf("%s: got %q, %v, want %q: %s", row.name, got, r.Errors, row.want, row.reason)
		}
		if len(r.Violations) > 0 && (len(r.Replacements) == 0 || r.Violations[0].Policy != "p/bind-p") {
			t.Errorf("%s: no way out, or no name: %+v", row.name, r.Violations[0])
		}
		cost := map[bool]result.Cost{false: result.CostUnknown, true: result.CostNone}[row.name == "a ConfigMap"] // as the kind has it
		if len(r.Replacements) > 0 && r.Replacements[0].Cost != cost {
			t.Errorf("%s: a replacement costs %q, want %q", row.name, r.Replacements[0].Cost, cost)
		}
		if warned := row.name == "malformed"; warned != slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "cannot be read") }) {
			t.Errorf("%s: warnings %q", row.name, r.Warnings)
		}
		olds["crd"] = strings.ReplaceAll(crd, "class: {type: string}", "class: {type: string, description: a class}") // only CRDs that change are warned about
		if olds["crd"] == crd {
			t.Fatal("the CRD has no class")
		}
		r = check(t, news, olds, Options{Builtin: known})
		free := slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "may change freely") })
		if guarded := row.name != "not bound" && row.name != "malformed" && row.name != "a ConfigMap"; free == guarded && row.newW != row.oldW {
			t.Errorf("%s: warnings %q", row.name, r.Warnings)
		}
	}
}

// TestPolicyReport: the text and the JSON of a refusal, by a policy of a schema, and how it is accepted.
func TestPolicyReport(t *testing.T) {
	crd := widgets("None", "class: {type: string}", "")
	policies := files(map[string]string{"policies.yaml": policyFor("p", "example.com", "widgets", sameClass) + bindingOf("p", "Deny")})
	schemas, errs, err := manifest.SchemasOf("policies.yaml", policies)
	if err != nil || errs != nil {
		t.Fatal(err, errs)
	}
	in := Input{
		New: files(map[string]string{"crd": crd, "w": widget("v1", "ns", "w", "{class: b}")}), NewSchemas: schemas,
		Old: files(map[string]string{"crd": crd, "w": widget("v1", "ns", "w", "{class: a}")}), OldSchemas: schemas,
	}
	r, err := Check(in, Options{})
	if err != nil || len(r.Violations) != 1 || r.Allowed {
		t.Fatalf("%v, %+v", err, r)
	}
	data, err := json.Marshal(r.Violations[0])
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"policy": "p/bind-p", "lock": "rule", "rule": sameClass, "path": "", "object": "ns/w",
		"message": "ValidatingAdmissionPolicy 'p' with binding 'bind-p' denied request: failed expression: " + sameClass,
	} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
	for _, row := range []struct {
		change string
		want   bool
	}{{r.Violations[0].Change, true}, {"another", false}} {
		entry := fmt.Sprintf("accept: [{object: ns/w, kind: Widget, rule: %q, change: %q, reason: planned}]", sameClass, row.change)
		if in.Accepted, err = accept.Parse("f", []byte(entry)); err != nil {
			t.Fatal(err)
		}
		if r, err = Check(in, Options{}); err != nil || r.Allowed != row.want || r.Violations[0].Accepted != row.want {
			t.Errorf("change %s: %v, %+v", row.change, err, r.Violations)
		}
	}
}

// TestPolicyOfASecret: no text of the report has a value of it.
func TestPolicyOfASecret(t *testing.T) {
	known, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	policy := strings.Replace(policyFor("p", "", "secrets", "oldObject.data['a'] == object.data['a'] || int(oldObject.data['a']) == 0"), "}]\n", ", messageExpression: \"'it was ' + oldObject.data['a']\"}]\n", 1)
	for _, action := range []string{"Deny", "Warn"} {
		secret := func(value string) map[string]string {
			return map[string]string{"p": policy + bindingOf("p", action), "s": "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: ns}, data: {a: " + value + "}}"}
		}
		r := check(t, secret("bmV3"), secret("c2VjcmV0"), Options{Builtin: known})
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Violations)+len(r.Notes) != 1 || strings.Contains(string(data), "c2VjcmV0") {
			t.Errorf("%s: %s", action, data)
		}
	}
}
