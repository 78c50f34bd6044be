package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// liveNamespace is where the objects of TestLive are.
const liveNamespace = "live"

// liveCase is an object of the cluster, a manifest that is about to be applied, and what check --live says.
type liveCase struct {
	Name, Reason, By string
	Old, New, Others map[string]any
	Refused, Server  []string
	Unenforced       bool
	Quiet            bool
}

// liveReport is what the test needs of check -o json.
type liveReport struct {
	Allowed    bool
	Checked    int
	Violations []struct{ Object, Path, Lock, Message string }
	Unknown    []struct{ Object, Path, Message string }
	Notes      []struct{ Object, Path, Message string }
	Warnings   []string
	Errors     []struct{ Message string }
}

// TestLive runs check --live on a real API server: as a user who may make dry runs, and as one who may only read. The
// objects are those of testdata/live.yaml. Nothing is written, and what check says is what the server then does.
func TestLive(t *testing.T) {
	l := newLive(t)
	cases := readCases[liveCase](t, "live.yaml")
	dir := t.TempDir()
	for i := range cases {
		l.prepare(&cases[i])
		if err := os.WriteFile(filepath.Join(dir, cases[i].Name+".json"), mustJSON(cases[i].New), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := l.versions()
	for _, user := range []struct {
		name    string
		dryRuns bool
	}{{"admin", true}, {"viewer", false}} {
		t.Run(user.name, func(t *testing.T) {
			report := l.check(t, user.name, dir)
			if report.Checked != len(cases) || len(report.Errors) > 0 || report.Allowed {
				t.Errorf("got %d checked, allowed %t, errors %v; want %d checked and refusals", report.Checked, report.Allowed, report.Errors, len(cases))
			}
			if warned := strings.Contains(strings.Join(report.Warnings, "\n"), "no dry run was possible"); warned == user.dryRuns {
				t.Errorf("got the warnings %q", report.Warnings)
			}
			for _, u := range report.Unknown {
				t.Errorf("%s: %s is unknown, though the cluster is at hand: %s", u.Object, u.Path, u.Message)
			}
			for _, c := range cases {
				c.verify(t, report, user.dryRuns)
			}
		})
	}
	if after := l.versions(); !slices.Equal(before, after) {
		t.Errorf("something was written:\nbefore %q\nafter  %q", before, after)
	}
	for _, c := range cases {
		if c.By == "server" {
			l.apply(c)
		}
	}
}

// verify compares the violations of the case's object. Only a dry run tells what the server alone refuses.
func (c *liveCase) verify(t *testing.T, report *liveReport, dryRuns bool) {
	t.Helper()
	var refused, server, unenforced []string
	for _, n := range report.Notes {
		if n.Object == liveNamespace+"/"+c.Name && strings.HasPrefix(n.Message, "not enforced there: ") {
			unenforced = append(unenforced, n.Path+" immutable")
		}
	}
	for _, v := range report.Violations {
		switch {
		case v.Object != liveNamespace+"/"+c.Name:
		case v.Lock == "server":
			server = append(server, v.Message)
		default:
			refused = append(refused, v.Path+" "+v.Lock)
		}
	}
	want := c.Server
	if !dryRuns {
		want = nil
	}
	if c.Unenforced && dryRuns {
		refused, unenforced = unenforced, refused
	}
	if len(unenforced) > 0 {
		t.Errorf("%s: got %q instead: %s", c.Name, unenforced, c.Reason)
	}
	sameServer := slices.EqualFunc(server, want, strings.Contains)
	if !slices.Equal(refused, c.Refused) || !sameServer {
		t.Errorf("%s: got %q and by the server %q, want %q and %q: %s", c.Name, refused, server, c.Refused, want, c.Reason)
	}
}

// live is the world of TestLive.
type live struct {
	*world
	command string
	objects []dynamic.ResourceInterface // of each case that the cluster has
	names   []string
}

func newLive(t *testing.T) *live {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	t.Cleanup(cancel)
	l := &live{world: newWorld(t, "live-crd.yaml"), command: filepath.Join(t.TempDir(), "fieldlock")}
	l.ctx = ctx
	build := exec.CommandContext(ctx, "go", "build", "-o", l.command, "./cmd/fieldlock")
	build.Dir, build.Env = "../..", commandEnv()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the command: %v\n%s", err, out)
	}
	for _, object := range l.readAll("live-cluster.yaml") {
		l.install(object)
	}
	l.eventually("the policy is enforced", func() error {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": l.group + "/v1", "kind": "Widget",
			"metadata": map[string]any{"name": "probe", "namespace": liveNamespace, "labels": map[string]any{"forbidden": "yes"}},
		}}
		_, err := l.resourceOf(object.Object).Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), "under a policy") {
			return fmt.Errorf("the probe was answered with: %v", err)
		}
		return nil
	})
	return l
}

// readAll returns the objects of a file of testdata.
func (l *live) readAll(file string) []map[string]any {
	l.t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		l.t.Fatal(err)
	}
	var objects []map[string]any
	for _, document := range bytes.Split(bytes.ReplaceAll(data, []byte("GROUP"), []byte(l.group)), []byte("\n---\n")) {
		var object map[string]any
		if err := yaml.Unmarshal(document, &object); err != nil {
			l.t.Fatal(err)
		}
		objects = append(objects, numbers(object).(map[string]any))
	}
	return objects
}

// install creates an object and removes it at the end of the test.
func (l *live) install(object map[string]any) {
	l.t.Helper()
	u := &unstructured.Unstructured{Object: object}
	client := l.resourceOf(object)
	if _, err := client.Create(l.ctx, u, metav1.CreateOptions{}); err != nil {
		l.t.Fatalf("creating %s %s: %v", u.GetKind(), u.GetName(), err)
	}
	l.t.Cleanup(func() { _ = client.Delete(context.Background(), u.GetName(), metav1.DeleteOptions{}) })
}

// resourceOf returns the client of an object's kind, in the object's namespace.
func (l *live) resourceOf(object map[string]any) dynamic.ResourceInterface {
	u := &unstructured.Unstructured{Object: object}
	gvk := u.GroupVersionKind()
	plural := strings.ToLower(gvk.Kind) + "s"
	if strings.HasSuffix(plural, "ys") {
		plural = strings.TrimSuffix(plural, "ys") + "ies"
	}
	resource := cluster.client.Resource(schema.GroupVersionResource{Group: gvk.Group, Version: gvk.Version, Resource: plural})
	if u.GetNamespace() == "" {
		return resource
	}
	return resource.Namespace(u.GetNamespace())
}

// prepare names the manifests of a case and makes its object in the cluster.
func (l *live) prepare(c *liveCase) {
	l.t.Helper()
	for _, object := range []*map[string]any{&c.Old, &c.New, &c.Others} {
		if *object == nil {
			continue
		}
		data := bytes.ReplaceAll(mustJSON(*object), []byte("GROUP"), []byte(l.group)) // aliases share their maps
		var own map[string]any
		if err := json.Unmarshal(data, &own); err != nil {
			l.t.Fatal(err)
		}
		u := &unstructured.Unstructured{Object: numbers(own).(map[string]any)}
		u.SetName(c.Name)
		u.SetNamespace(liveNamespace)
		*object = u.Object
	}
	if c.Old == nil {
		return
	}
	client := l.resourceOf(c.Old)
	old := &unstructured.Unstructured{Object: c.Old}
	var err error
	switch c.By {
	case "server":
		_, err = client.Apply(l.ctx, c.Name, old, metav1.ApplyOptions{FieldManager: "deployer"})
	case "client":
		old = old.DeepCopy()
		old.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": string(mustJSON(c.Old))})
		_, err = client.Create(l.ctx, old, metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"})
	case "helm":
		_, err = client.Create(l.ctx, old, metav1.CreateOptions{FieldManager: "helm"})
	default:
		_, err = client.Create(l.ctx, old, metav1.CreateOptions{FieldManager: "somebody"})
	}
	if err == nil && c.Others != nil {
		_, err = client.Apply(l.ctx, c.Name, &unstructured.Unstructured{Object: c.Others}, metav1.ApplyOptions{FieldManager: "other"})
	}
	if err != nil {
		l.t.Fatalf("%s: %v", c.Name, err)
	}
	l.objects, l.names = append(l.objects, client), append(l.names, c.Name)
	l.t.Cleanup(func() { _ = client.Delete(context.Background(), c.Name, metav1.DeleteOptions{}) })
}

// versions lists the resource versions of the objects.
func (l *live) versions() []string {
	l.t.Helper()
	var list []string
	for i, client := range l.objects {
		object, err := client.Get(l.ctx, l.names[i], metav1.GetOptions{})
		if err != nil {
			l.t.Fatal(err)
		}
		list = append(list, l.names[i]+" "+object.GetResourceVersion())
	}
	return list
}

// check runs check --live as a user.
func (l *live) check(t *testing.T, user, dir string) *liveReport {
	t.Helper()
	config := filepath.Join(t.TempDir(), "kubeconfig")
	identity := map[string]any{"token": cluster.config.BearerToken}
	if user != "admin" {
		identity["as"] = user
	}
	err := os.WriteFile(config, mustJSON(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "e2e",
		"clusters": []any{map[string]any{"name": "e2e", "cluster": map[string]any{
			"server": cluster.config.Host, "certificate-authority": cluster.config.CAFile}}},
		"users":    []any{map[string]any{"name": "e2e", "user": identity}},
		"contexts": []any{map[string]any{"name": "e2e", "context": map[string]any{"cluster": "e2e", "user": "e2e"}}},
	}), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	sarif := filepath.Join(t.TempDir(), "report.sarif")
	command := exec.CommandContext(l.ctx, l.command, "check", "--live", "--kubeconfig", config, "-o", "json", "-o", "sarif="+sarif, dir)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, _ := command.Output() // the report says whether something was refused
	var report liveReport
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v\n%s%s", err, out, stderr.String())
	}
	if text, err := os.ReadFile(sarif); err != nil || !bytes.Contains(text, []byte("spec.class")) || bytes.Contains(text, []byte(`"uri": "the cluster"`)) {
		t.Errorf("the SARIF report names the cluster as a file, or has no result: %v\n%s", err, text)
	}
	return &report
}

// apply applies the manifest of a case: the server refuses it where check said so, and accepts it otherwise.
func (l *live) apply(c liveCase) {
	l.t.Helper()
	force := true
	_, err := l.resourceOf(c.New).Patch(l.ctx, c.Name, types.ApplyPatchType, mustJSON(c.New), metav1.PatchOptions{FieldManager: "deployer", Force: &force})
	wantRefused := len(c.Refused) > 0 && !c.Quiet || len(c.Server) > 0
	if (err != nil) != wantRefused {
		l.t.Errorf("%s: the apply was answered with %v, want a refusal: %t", c.Name, err, wantRefused)
	}
}
