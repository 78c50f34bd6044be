package changes_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/changes"
	"github.com/fieldlock/fieldlock/immutability/result"
)

const manifest = `apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  selector: {matchLabels: {app: LABEL}}
  template: {metadata: {labels: {app: LABEL}}, spec: {containers: [{name: shop, image: shop}]}}
`

func deployment(label string) []byte { return []byte(strings.ReplaceAll(manifest, "LABEL", label)) }

func ExampleCheck() {
	result, err := changes.Check(context.Background(), deployment("cart"), deployment("shop"))
	if err == nil {
		err = result.Err()
	}
	fmt.Println(err)
	// Output:
	// the cluster will refuse the change:
	// Deployment shop: spec.selector: Invalid value: field is immutable
}

// TestTypedOptions: a plugin of a deployment tool knows who applies, to which cluster, and how it calls the sides.
func TestTypedOptions(t *testing.T) {
	recreate := []byte(strings.Replace(string(deployment("shop")), "selector:", "strategy: {type: Recreate}\n  selector:", 1))
	rolling := deployment("shop")
	verdicts := map[changes.Applier]string{}
	for _, by := range []changes.Applier{changes.ApplierServerSide, changes.ApplierReplace} {
		r, err := changes.Check(t.Context(), recreate, rolling, changes.WithApplier(by))
		if err != nil {
			t.Fatal(err)
		}
		verdicts[by] = fmt.Sprint(r.Allowed, len(r.Unknown))
	}
	if verdicts[changes.ApplierServerSide] == verdicts[changes.ApplierReplace] {
		t.Errorf("who applies makes no difference: %v", verdicts)
	}
	if _, err := changes.Check(t.Context(), recreate, rolling, changes.WithApplier("nobody")); err == nil {
		t.Error("an unknown applier is taken")
	}
	if _, err := changes.Check(t.Context(), recreate, rolling, changes.WithKubernetesVersion("1.2")); err == nil {
		t.Error("an unknown minor is taken")
	}
	r, err := changes.Check(t.Context(), deployment("cart"), deployment("shop"), changes.WithKubernetesVersion("1.36"), changes.WithNames("head", "base"))
	if err != nil || len(r.Violations) != 1 {
		t.Fatalf("%v, %+v", err, r)
	}
	v := r.Violations[0]
	if v.File != "head" || v.OldFile != "base" || v.Line == 0 || v.OldLine == 0 || len(v.Differences) != 1 || v.Differences[0].Path != "spec.selector.matchLabels.app" {
		t.Errorf("%+v", v)
	}
	if len(r.Replacements) != 1 || r.Replacements[0].Cost != result.CostDowntime {
		t.Errorf("%+v", r.Replacements)
	}
	gone, err := changes.Check(t.Context(), []byte{}, deployment("shop"))
	if err != nil || len(gone.Deletions) != 1 || gone.Deletions[0].Cost != result.CostDowntime || gone.Deletions[0].Kind != "Deployment" {
		t.Errorf("%v, %+v", err, gone.Deletions)
	}
}

// TestResult: what is allowed, what is not, and that nothing unread is.
func TestResult(t *testing.T) {
	ctx := context.Background()
	stopped, stop := context.WithCancel(ctx)
	stop()
	settings := func(text string) changes.Option { return changes.WithSettings(".fieldlock.yaml", []byte(text)) }
	const crd = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {group: example.com,
  scope: Namespaced, names: {kind: Widget, plural: widgets}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema:
  {type: object, properties: {spec: {type: object, properties: {class: {type: string, x-kubernetes-immutable: true}}}}}}}]}}`
	widget := func(class string) []byte {
		return []byte("{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {class: " + class + "}}")
	}
	recreate := []byte(strings.Replace(string(deployment("a")), "selector:", "strategy: {type: Recreate}\n  selector:", 1))
	for _, test := range []struct {
		name             string
		ctx              context.Context
		is, was          []byte
		opts             []changes.Option
		allowed, blocked bool // by Err
		failed           bool
		violations       int
	}{
		{name: "unchanged", is: deployment("a"), was: deployment("a"), allowed: true},
		{name: "refused", is: deployment("b"), was: deployment("a"), blocked: true, violations: 1},
		{name: "accepted", is: deployment("b"), was: deployment("a"), allowed: true, violations: 1,
			opts: []changes.Option{settings("accept: [{kind: Deployment, reason: a new shop}]")}},
		{name: "custom", is: widget("b"), was: widget("a"), blocked: true, violations: 1, opts: []changes.Option{changes.WithSchemas("crd.yaml", []byte(crd))}},
		{name: "external lock", is: []byte(strings.Replace(string(deployment("a")), "image: shop", "image: cart", 1)), was: deployment("a"), blocked: true, violations: 1,
			opts: []changes.Option{settings("locks: [{kind: Deployment, path: 'spec.template.spec.containers[*].image', lock: immutable}]")}},
		{name: "deletion", is: widget("a"), was: deployment("a"), allowed: true},
		{name: "refused deletion", is: widget("a"), was: deployment("a"), blocked: true, violations: 1, opts: []changes.Option{settings("refuse-deletions: [downtime]")}},
		{name: "applier", is: recreate, was: deployment("a"), allowed: true},
		{name: "applier of the settings", is: recreate, was: deployment("a"), blocked: true, violations: 1, opts: []changes.Option{settings("applier: server-side")}},
		{name: "minor of the settings", is: deployment("a"), was: deployment("a"), blocked: true, failed: true, opts: []changes.Option{settings("kubernetes-version: '1.1'")}},
		{name: "malformed", is: []byte("a: ["), was: deployment("a"), blocked: true, failed: true},
		{name: "malformed beside a refused change", is: append(deployment("b"), "---\na: [\n"...), was: deployment("a"), blocked: true, failed: true, violations: 1},
		{name: "nothing", blocked: true, failed: true},
		{name: "unknown setting", is: deployment("a"), was: deployment("a"), blocked: true, failed: true, opts: []changes.Option{settings("acept: []")}},
		{name: "no schema", is: deployment("a"), was: deployment("a"), blocked: true, failed: true, opts: []changes.Option{changes.WithSchemas("crd.yaml", []byte("a: b"))}},
		{name: "stopped", ctx: stopped, is: deployment("a"), was: deployment("a"), blocked: true, failed: true},
	} {
		if test.ctx == nil {
			test.ctx = ctx
		}
		r, err := changes.Check(test.ctx, test.is, test.was, test.opts...)
		if (err != nil) != test.failed || r.Allowed != test.allowed || (r.Err() != nil) != test.blocked || len(r.Violations) != test.violations {
			t.Errorf("%s: got %+v, the error %v and %v", test.name, r, err, r.Err())
		}
		if test.ctx == stopped && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the error is %v", test.name, err)
		}
	}
	var zero changes.Result
	if zero.Allowed || zero.Err() == nil {
		t.Error("the zero Result is allowed")
	}
}

// TestDecoded: decoded objects are compared as their text is, and stay as they are.
func TestDecoded(t *testing.T) {
	object := func(label string) map[string]any {
		return map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "shop"},
			"spec": map[string]any{"replicas": 1, "selector": map[string]any{"matchLabels": map[string]any{"app": label}}},
		}
	}
	is, was := []map[string]any{object("b")}, []map[string]any{object("a")}
	r, err := changes.Check(context.Background(), is, was)
	if err != nil || r.Allowed || len(r.Violations) != 1 || r.Violations[0].Path != "spec.selector" {
		t.Errorf("got %+v and %v", r, err)
	}
	if fmt.Sprint(is, was) != fmt.Sprint([]map[string]any{object("b")}, []map[string]any{object("a")}) {
		t.Errorf("the objects have changed to %v and %v", is, was)
	}
}

// TestOutside builds and runs a program outside this repository that embeds the check. It compiles the library once more, on the oldest
// Kubernetes minor, so it runs only where FIELDLOCK_INSTALL is set, as in .ci/run.
func TestOutside(t *testing.T) {
	if os.Getenv("FIELDLOCK_INSTALL") == "" {
		t.Skip("FIELDLOCK_INSTALL is not set")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	module := strings.Replace(string(mod), "module github.com/fieldlock/fieldlock", "module example.com/plugin", 1) +
		"\nrequire github.com/fieldlock/fieldlock v0.0.0\n\nreplace github.com/fieldlock/fieldlock => " + root + "\n"
	const program = `package main

import (
	"context"
	"fmt"
	"os"

	"github.com/fieldlock/fieldlock/immutability/changes"
)

func main() {
	newObjs, _ := os.ReadFile(os.Args[2])
	oldObjs, _ := os.ReadFile(os.Args[1])
	result, err := changes.Check(context.Background(), newObjs, oldObjs)
	if err == nil {
		err = result.Err()
	}
	fmt.Println(err)
}
`
	for name, text := range map[string]string{
		"go.mod": module, "go.sum": string(sums), "main.go": program, "old.yaml": string(deployment("shop")), "new.yaml": string(deployment("cart")),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command("go", "run", "-mod=mod", ".", "old.yaml", "new.yaml")
	command.Dir, command.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Deployment shop: spec.selector: Invalid value: field is immutable") {
		t.Errorf("got %v and\n%s", err, out)
	}
}

// TestCatalogues: what the command knows of operators and of CRDs that are not at hand counts here, too.
func TestCatalogues(t *testing.T) {
	for _, c := range []struct {
		reason, object    string
		allowed, complete bool
		unchecked         string
	}{
		{"an operator refuses the change", `{apiVersion: acme.cert-manager.io/v1, kind: Order, metadata: {name: a}, spec: {request: VALUE, issuerRef: {name: a}}}`, false, true, ""},
		{"a rule of a CRD that is not at hand", `{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: a}, spec: {template: {spec: {nodeClassRef: {group: g, kind: VALUE, name: a}}}}}`, false, true, ""},
		{"a CRD whose rules are not known", `{apiVersion: batch.volcano.sh/v1alpha1, kind: CronJob, metadata: {name: a}, spec: {schedule: VALUE}}`, true, false, "CronJob"},
		{"a kind that nobody knows", `{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, spec: {a: VALUE}}`, true, false, ""},
	} {
		side := func(value string) []byte { return []byte(strings.ReplaceAll(c.object, "VALUE", value)) }
		r, err := changes.Check(context.Background(), side("b"), side("a"))
		unchecked := ""
		for _, k := range r.UncheckedKinds {
			unchecked += k.Kind
		}
		if err != nil || r.Allowed != c.allowed || r.Complete != c.complete || unchecked != c.unchecked {
			t.Errorf("%s: allowed %t, complete %t, unchecked %q, %v", c.reason, r.Allowed, r.Complete, unchecked, err)
		}
	}
}

// TestKnown: kinds that nothing is known of are skipped, and the result is not complete.
func TestKnown(t *testing.T) {
	request := func(issuer string) []byte {
		return []byte("{apiVersion: cert-manager.io/v1, kind: CertificateRequest, metadata: {name: a}, spec: {request: Zm9v, issuerRef: {name: " + issuer + "}}}")
	}
	for _, row := range []struct {
		name                string
		new, old            []byte
		known               []changes.Knowledge
		complete            bool
		violations, skipped int
	}{
		{"everything", deployment("cart"), deployment("shop"), []changes.Knowledge{changes.KnowledgeBuiltin, changes.KnowledgeOperators}, true, 1, 0},
		{"built-in kinds", deployment("cart"), deployment("shop"), []changes.Knowledge{changes.KnowledgeBuiltin}, true, 1, 0},
		{"operators", deployment("cart"), deployment("shop"), []changes.Knowledge{changes.KnowledgeOperators}, false, 0, 1},
		{"an operator's kind", request("b"), request("a"), []changes.Knowledge{changes.KnowledgeOperators}, true, 1, 0},
		{"an operator's kind, not known", request("b"), request("a"), []changes.Knowledge{changes.KnowledgeBuiltin}, false, 0, 1},
		{"nothing", deployment("cart"), deployment("shop"), nil, false, 0, 1},
	} {
		r, err := changes.Check(t.Context(), row.new, row.old, changes.WithKnowledge(row.known...))
		if err != nil || r.Complete != row.complete || len(r.Violations) != row.violations || r.Skipped != row.skipped {
			t.Errorf("%s: %v, complete %t, %d violations, skipped %d", row.name, err, r.Complete, len(r.Violations), r.Skipped)
		}
	}
	if _, err := changes.Check(t.Context(), deployment("a"), deployment("a"), changes.WithKnowledge("much")); err == nil {
		t.Error("something unknown is known")
	}
}
