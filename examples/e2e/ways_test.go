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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/fieldlock/fieldlock/examples/e2e/internal/ask"
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/apply"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// waysReport is what the tests of ways out need of check -o json.
type waysReport struct {
	Violations   []struct{ Object, Path, Lock string }
	Replacements []waysOfObject
	Deletions    []waysOfObject
}

type waysOfObject struct {
	Kind, Object string
	How          []string
}

// checked runs check and reads its report.
func checked(t *testing.T, program string, args ...string) (r waysReport) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, append([]string{"check", "-o", "json"}, args...)...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, _ := command.Output() // the report says whether something was refused
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%q: %v\n%s%s", args, err, out, stderr.String())
	}
	return r
}

// shell runs a command line as people paste it.
func (k kubectl) shell(ctx context.Context, line string) (string, error) {
	sh := exec.CommandContext(ctx, "sh", "-c", line)
	sh.Env = append(os.Environ(), "KUBECONFIG="+k.kubeconfig, "HOME="+k.home, "KUBECACHEDIR="+filepath.Join(k.home, "cache"),
		"PATH="+cluster.dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := sh.CombinedOutput()
	return string(out), err
}

// The commands that check prints get a refused change of each built-in kind through: run as they are printed, they
// replace the object, or make a replacement unnecessary, and the next apply has nothing left to do. hack/appliers tries
// those of other tools.
func TestKubectlWays(t *testing.T) {
	cases, err := kindcase.Read(filepath.Join(builtinData, "cases"))
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := builtin.For(builtinMinor)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	server, err := ask.New(ctx, cluster.config, "default")
	if err != nil {
		t.Fatal(err)
	}
	w := ways{t, ctx, newKubectl(t), buildProgram(t, "../..", "./cmd/fieldlock"), t.TempDir()}
	seen, commands := map[string]bool{}, 0
	for i, c := range cases {
		apiVersion, _ := c.Old["apiVersion"].(string)
		name, _ := c.Old["kind"].(string)
		kind, ok := kinds.Find(apiVersion, name)
		if !ok || seen[name] || c.Manual || c.Unknown || c.Note || c.ClientSide || c.Old["apiVersion"] != c.New["apiVersion"] || !server.Served(c.Old) {
			continue
		}
		refuses := func(by builtin.Applier) bool { return len(kind.CheckBy(by, c.New, c.Old).Violations) > 0 }
		if !refuses(builtin.ApplierServerSide) || !refuses(builtin.Applier(apply.Flux)) {
			continue // check does not know which of the two server-side applies it is
		}
		seen[name] = true
		commands += w.try(c, kind, i)
	}
	if kinds := len(seen); kinds < 25 || commands < 30 {
		t.Errorf("%d commands of %d kinds were tried", commands, kinds)
	}
}

// ways tries the ways out of refusals.
type ways struct {
	t       *testing.T
	ctx     context.Context
	kubectl kubectl
	program string
	dir     string
}

// fixed are the kinds whose names follow from their specs.
var fixed = []string{"CustomResourceDefinition", "APIService", "IPAddress", "FlowSchema", "PriorityLevelConfiguration"}

// try tries the ways out of one case, and returns how many commands it ran.
func (w ways) try(c kindcase.Case, kind *builtin.Kind, i int) (commands int) {
	for j := 0; ; j++ {
		newObj, oldObj := kindcase.Clone(c.New).(map[string]any), kindcase.Clone(c.Old).(map[string]any)
		for _, obj := range []map[string]any{newObj, oldObj} {
			metadata := obj["metadata"].(map[string]any)
			if kind.Namespaced {
				metadata["namespace"] = "default"
			}
			if !slices.Contains(fixed, kind.Kind) {
				metadata["name"] = fmt.Sprintf("%s-way-%d-%d", metadata["name"], i, j)
			}
		}
		oldFile := writeFile(w.t, filepath.Join(w.dir, "old.json"), mustJSON(oldObj))
		newFile := writeFile(w.t, filepath.Join(w.dir, "new.json"), mustJSON(newObj))
		r := checked(w.t, w.program, "--applier", "server-side", oldFile, newFile)
		if len(r.Replacements) != 1 || len(r.Replacements[0].How) == 0 {
			w.t.Errorf("%s: no way out: %+v", c.Name, r)
			return commands
		}
		if j >= len(r.Replacements[0].How) {
			return commands
		}
		command := commandOf(r.Replacements[0].How[j])
		if command == "" {
			continue // for people to think about, or between two changes
		}
		commands++
		w.run(c.Name, kind, command, oldObj, oldFile, newFile)
	}
}

// commandOf returns the commands of a way as one line; "" for a way that has none, or that needs controllers:
// TestClaims carries it out.
func commandOf(way string) string {
	for _, part := range []string{"claimRef", "--subresource=status", "--all-namespaces"} {
		if strings.Contains(way, part) {
			return ""
		}
	}
	_, steps := tool.Steps(way)
	var commands []string
	for _, step := range steps {
		command, _, _ := strings.Cut(step, tool.Comment)
		if strings.HasPrefix(command, "kubectl ") && !strings.HasPrefix(command, "kubectl patch pvc/") {
			commands = append(commands, command)
		}
	}
	return strings.Join(commands, " && ")
}

// run runs one command after the update was refused.
func (w ways) run(name string, kind *builtin.Kind, command string, oldObj map[string]any, oldFile, newFile string) {
	w.t.Helper()
	u := unstructured.Unstructured{Object: oldObj}
	gvk := u.GroupVersionKind()
	resource := dynamic.ResourceInterface(cluster.client.Resource(schema.GroupVersionResource{Group: gvk.Group, Version: gvk.Version, Resource: kind.Plural}))
	if kind.Namespaced {
		resource = cluster.client.Resource(schema.GroupVersionResource{Group: gvk.Group, Version: gvk.Version, Resource: kind.Plural}).Namespace("default")
	}
	uid := func() types.UID {
		stored, err := resource.Get(w.ctx, u.GetName(), metav1.GetOptions{})
		if err != nil || stored.GetDeletionTimestamp() != nil {
			w.t.Errorf("%s: %s: the object is gone: %v", name, command, err)
			return ""
		}
		return stored.GetUID()
	}
	controllers, stop := context.WithCancel(w.ctx)
	defer func() {
		_ = resource.Delete(w.ctx, u.GetName(), metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
		time.Sleep(100 * time.Millisecond)
		stop()
	}()
	go finalize(controllers, resource, u.GetName(), kind.Kind)
	if out, err := w.kubectl.run(w.ctx, "apply", "--server-side", "--force-conflicts", "-f", oldFile); err != nil {
		w.t.Errorf("%s: the old object: %v\n%s", name, err, out)
		return
	}
	before := uid()
	if out, err := w.kubectl.run(w.ctx, "apply", "--server-side", "--force-conflicts", "-f", newFile); err == nil {
		w.t.Errorf("%s: the update is accepted:\n%s", name, out)
		return
	}
	if out, err := w.kubectl.shell(w.ctx, command); err != nil {
		w.t.Errorf("%s: %s: %v\n%s", name, command, err, out)
		return
	}
	if out, err := w.kubectl.run(w.ctx, "apply", "--server-side", "--force-conflicts", "-f", newFile); err != nil {
		w.t.Errorf("%s: %s: the next apply: %v\n%s", name, command, err, out)
		return
	}
	if replaced, edits := before != uid(), strings.HasPrefix(command, "kubectl patch "); replaced == edits {
		w.t.Errorf("%s: %s: the object is replaced: %t", name, command, replaced)
	}
}

// finalize does what controllers do that the cluster does not have: the garbage collector orphans, others give an
// object free.
func finalize(ctx context.Context, resource dynamic.ResourceInterface, name, kind string) {
	for ctx.Err() == nil {
		stored, err := resource.Get(ctx, name, metav1.GetOptions{})
		if err == nil && stored.GetDeletionTimestamp() != nil && len(stored.GetFinalizers()) > 0 && kind != "CustomResourceDefinition" {
			patch := fmt.Sprintf(`{"metadata":{"finalizers":null,"uid":%q}}`, stored.GetUID())
			_, _ = resource.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// A version that a CRD has stored objects in goes in two changes, with the command between them that check prints.
func TestStoredVersionWay(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	k, program, dir := newKubectl(t), buildProgram(t, "../..", "./cmd/fieldlock"), t.TempDir()
	const head = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: relics.ways.fieldlock.dev}\n" +
		"spec: {group: ways.fieldlock.dev, scope: Namespaced, names: {plural: relics, kind: Relic}, versions: ["
	version := func(name string, stored bool) string {
		return fmt.Sprintf("{name: %s, served: true, storage: %t, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}", name, stored)
	}
	oldFile := writeFile(t, filepath.Join(dir, "old.yaml"), []byte(head+version("v1beta1", true)+", "+version("v1", false)+"]}\n"))
	between := writeFile(t, filepath.Join(dir, "between.yaml"), []byte(head+version("v1beta1", false)+", "+version("v1", true)+"]}\n"))
	newFile := writeFile(t, filepath.Join(dir, "new.yaml"), []byte(head+version("v1", true)+"]}\n"))
	relic := writeFile(t, filepath.Join(dir, "relic.yaml"), []byte("apiVersion: ways.fieldlock.dev/v1beta1\nkind: Relic\nmetadata: {name: old, namespace: default}\nspec: {age: 1}\n"))
	must := func(line string) {
		t.Helper()
		if out, err := k.shell(ctx, line); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	defer func() { _, _ = k.shell(context.WithoutCancel(ctx), "kubectl delete crd/relics.ways.fieldlock.dev") }()
	k.applyCRDs(ctx, t, oldFile)
	must("kubectl apply -f " + relic)
	r := checked(t, program, oldFile, newFile)
	way := slices.IndexFunc(r.Replacements[0].How, func(how string) bool { return strings.Contains(how, "--subresource=status") })
	if way < 0 {
		t.Fatalf("no way out: %+v", r)
	}
	_, steps := tool.Steps(r.Replacements[0].How[way])
	at := slices.IndexFunc(steps, func(step string) bool { return strings.Contains(step, "--subresource=status") })
	command, _, _ := strings.Cut(steps[at], tool.Comment)
	must("kubectl apply -f " + between)
	if out, err := k.shell(ctx, "kubectl apply -f "+newFile); err == nil || !strings.Contains(out, "storedVersions") {
		t.Fatalf("the version goes at once: %v\n%s", err, out)
	}
	must("sleep 2; " + command)
	must("kubectl apply -f " + newFile)
	must("kubectl get relics.ways.fieldlock.dev old -n default")
}

// check --live --applier predicts the request that it names: the server refuses what it says, and nothing else. Helm's
// requests are written out; hack/appliers asks Helm itself.
func TestLiveApplier(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 8*patience)
	defer cancel()
	k, program, dir := newKubectl(t), buildProgram(t, "../..", "./cmd/fieldlock"), t.TempDir()
	server := func(args ...string) error {
		out, err := k.run(ctx, args...)
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	}
	const (
		pod        = "template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: a}]}}"
		deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: NAMESPACE}\nspec: {STRATEGY, selector: {matchLabels: {app: a}}, " + pod + "}\n"
		job        = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: job, namespace: NAMESPACE}\nspec: {MORE, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}\n"
		budget     = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: pdb, namespace: NAMESPACE}\nspec: {minAvailable: 1, selector: {matchLabels: {app: a}}}\n"
	)
	olds := map[string]string{"web": strings.Replace(deployment, "STRATEGY, ", "", 1), "job": strings.Replace(job, "MORE, ", "completions: 2, ", 1), "pdb": budget}
	news := map[string]string{
		"web": strings.Replace(deployment, "STRATEGY", "strategy: {type: Recreate}", 1),
		"job": strings.Replace(job, "MORE", "completions: 2, backoffLimit: 3", 1),
		"pdb": strings.Replace(budget, "minAvailable: 1", "minAvailable: 2", 1), // a PUT must name its version
	}
	dropped := map[string]string{"web": olds["web"], "job": strings.Replace(job, "MORE, ", "", 1), "pdb": budget}
	for i, row := range []struct {
		name, applier   string
		create, request []string
		news            map[string]string
		patches         map[string]string // the request of each object
		refused         []string          // by the server
	}{
		{"server-side", "server-side", []string{"apply", "--server-side"}, []string{"apply", "--server-side", "--force-conflicts"}, news, nil, []string{"web"}},
		{"client-side", "client-side", []string{"apply", "--server-side"}, []string{"apply"}, news, nil, nil},
		{"replace", "replace", []string{"apply", "--server-side"}, []string{"replace"}, news, nil, []string{"job"}},
		{"Helm 3", "helm", []string{"create", "--field-manager=helm"}, []string{"patch", "--field-manager=helm"}, news,
			map[string]string{"web": `{"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}}`, "job": `{"spec":{"backoffLimit":3}}`, "pdb": `{"spec":{"minAvailable":2}}`}, nil},
		{"Helm 3, not named", "", []string{"create", "--field-manager=helm"}, []string{"patch", "--field-manager=helm"}, news,
			map[string]string{"web": `{"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}}`, "job": `{"spec":{"backoffLimit":3}}`, "pdb": `{"spec":{"minAvailable":2}}`}, nil},
		{"Helm 3 drops a field", "helm", []string{"create", "--field-manager=helm"}, []string{"patch", "--field-manager=helm"}, dropped,
			map[string]string{"web": `{}`, "job": `{"spec":{"completions":null}}`, "pdb": `{}`}, []string{"job"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			namespace := fmt.Sprintf("live-applier-%d", i)
			if _, err := ask.New(ctx, cluster.config, namespace); err != nil {
				t.Fatal(err)
			}
			folder := filepath.Join(dir, namespace)
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			for name, old := range olds {
				file := writeFile(t, filepath.Join(folder, name+".yaml"), []byte(strings.Replace(old, "NAMESPACE", namespace, 1)))
				if err := server(slices.Concat(row.create, []string{"-f", file})...); err != nil {
					t.Fatal(err)
				}
				writeFile(t, file, []byte(strings.Replace(row.news[name], "NAMESPACE", namespace, 1)))
			}
			flags := []string{"--live", "--kubeconfig", k.kubeconfig, folder}
			if row.applier != "" {
				flags = append(flags, "--applier", row.applier)
			}
			r := checked(t, program, flags...)
			for name := range olds {
				args := slices.Concat(row.request, []string{"--dry-run=server", "-f", filepath.Join(folder, name+".yaml")})
				if row.patches != nil {
					args = append(args, "--patch", row.patches[name])
				}
				err := server(args...)
				if refused := slices.Contains(row.refused, name); refused == (err == nil) {
					t.Errorf("%s: the server answers %v", name, err)
				}
				said := slices.ContainsFunc(r.Violations, func(v struct{ Object, Path, Lock string }) bool { return v.Object == namespace+"/"+name })
				if said != (err != nil) {
					t.Errorf("%s: check finds %+v, and the server answers %v", name, r.Violations, err)
				}
			}
		})
	}
}
