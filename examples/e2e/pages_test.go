package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/fieldlock/fieldlock/examples/e2e/internal/ask"
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
	"github.com/fieldlock/fieldlock/internal/testing/page"
)

// pagesNamespace is the namespace of the pages' objects.
const pagesNamespace = "shop"

// TestPageCommands runs the commands of the README and the pages in docs that need an API server, kubectl or Helm,
// block by block: with a StatefulSet in the cluster that the manifests of the folder cannot become by an update.
// cmd/fieldlock runs the other commands. Those of Flux run where -appliers is set.
func TestPageCommands(t *testing.T) {
	p := newPageCluster(t)
	blocks, err := page.Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]bool{}
	for _, b := range blocks {
		commands := slices.DeleteFunc(b.Commands(), func(command string) bool {
			place := page.PlaceOf(command)
			return place != page.PlaceCluster && (place != page.PlaceFlux || !*askAppliers)
		})
		key := strings.Join(commands, "\n")
		if len(commands) == 0 || strings.HasPrefix(b.File, "docs/fields/") || ran[key] {
			continue
		}
		ran[key] = true
		t.Run(b.File+" "+commands[0], func(t *testing.T) { p.try(t, commands) })
	}
	if len(ran) < 12 {
		t.Errorf("only %d blocks have commands for a cluster", len(ran))
	}
}

// pageCluster is where the commands of pages run.
type pageCluster struct {
	ctx    context.Context
	folder string // made by page.Folder
	env    []string
}

func newPageCluster(t *testing.T) *pageCluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout+10*patience) // it builds programs first
	t.Cleanup(cancel)
	if _, err := ask.New(ctx, cluster.config, pagesNamespace); err != nil { // makes the namespace
		t.Fatal(err)
	}
	p := &pageCluster{ctx: ctx, folder: t.TempDir()}
	if err := page.Folder("../..", p.folder); err != nil {
		t.Fatal(err)
	}
	home, bin := t.TempDir(), t.TempDir()
	for name, file := range map[string]string{
		"kubectl": filepath.Join(cluster.dir, "kubectl"), "helm": buildProgram(t, appliers, "helm.sh/helm/v4/cmd/helm"),
		"fieldlock": buildProgram(t, "../..", "./cmd/fieldlock"), "kubectl-fieldlock": "fieldlock",
	} {
		if err := os.Symlink(file, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	p.env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+home, "KUBECONFIG="+writeKubeconfig(t, cluster.config))
	p.must(t, p.folder, "kubectl config set-context --current --namespace "+pagesNamespace)
	p.addArgoCD(t)
	if *askAppliers {
		p.addFlux(t, bin)
	}
	go finalize(ctx, cluster.client.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}).Namespace(pagesNamespace), "orders", "StatefulSet")
	return p
}

// try runs the commands of one block in a copy of the folder. fieldlock may refuse, and nothing else may fail.
func (p *pageCluster) try(t *testing.T, commands []string) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(p.folder)); err != nil {
		t.Fatal(err)
	}
	has := func(text string) bool {
		return slices.ContainsFunc(commands, func(command string) bool { return strings.Contains(command, text) })
	}
	helm, flux := has("helm upgrade ") || has("flux reconcile helmrelease "), has("flux ")
	p.prepare(t, dir, helm)
	if flux {
		ctx, stop := context.WithCancel(p.ctx)
		defer stop()
		go p.playFlux(ctx, dir)
	}
	for _, command := range commands {
		out, status := p.shell(dir, command)
		if status != 0 && (status != 1 || !strings.Contains(command, "fieldlock check") && !strings.Contains(command, "fieldlock lint")) {
			t.Fatalf("%s: exit status %d\n%s", command, status, out)
		}
		if strings.Contains(out, "unknown field") {
			t.Errorf("%s:\n%s", command, out)
		}
	}
	if !has(" orders.yaml") && !helm && !flux {
		return
	}
	if got := p.must(t, dir, "kubectl get statefulset orders -o jsonpath={.spec.serviceName}"); got != "orders-headless" {
		t.Errorf("after %q, the serviceName is %q", commands, got)
	}
}

// prepare puts into the cluster what the pages begin with, and makes sure that the update alone is refused.
func (p *pageCluster) prepare(t *testing.T, dir string, helm bool) {
	t.Helper()
	p.must(t, dir, "helm uninstall orders --ignore-not-found --wait")
	p.must(t, dir, "kubectl delete statefulset,pvc,svc --all --wait=false --ignore-not-found && kubectl delete pv/orders-0 --ignore-not-found --wait=false")
	p.must(t, dir, "kubectl patch pv/orders-0 --type merge -p '{\"metadata\":{\"finalizers\":null}}' 2>&1 || true")
	p.must(t, dir, "kubectl patch pvc/data-orders-0 --type merge -p '{\"metadata\":{\"finalizers\":null}}' 2>&1 || true")
	p.must(t, dir, "kubectl wait --for=delete statefulset/orders pvc/data-orders-0 pv/orders-0 --timeout=60s && cp cluster/orders.yaml orders.yaml")
	update := "kubectl apply -f orders.yaml"
	if helm {
		p.must(t, dir, "cp -r chart released && sed -i s/orders-headless/orders/ released/values.yaml && helm install orders ./released")
		update = "helm upgrade orders ./chart"
	} else {
		p.must(t, dir, "kubectl apply -f cluster/before.yaml")
		p.must(t, dir, `kubectl patch pvc data-orders-0 --subresource=status --type merge -p '{"status":{"phase":"Bound","capacity":{"storage":"10Gi"}}}'`)
	}
	if out, status := p.shell(dir, update); status == 0 || !strings.Contains(out, "updates to statefulset spec for fields other than") {
		t.Fatalf("%s: exit status %d\n%s", update, status, out)
	}
}

func (p *pageCluster) must(t *testing.T, dir, command string) string {
	t.Helper()
	out, status := p.shell(dir, command)
	if status != 0 {
		t.Fatalf("%s: exit status %d\n%s", command, status, out)
	}
	return out
}

func (p *pageCluster) shell(dir, command string) (out string, status int) {
	sh := exec.CommandContext(p.ctx, "bash", "-o", "pipefail", "-c", command)
	sh.Dir, sh.Env = dir, p.env
	text, _ := sh.CombinedOutput()
	return string(text), sh.ProcessState.ExitCode()
}

// TestFieldPages runs the commands on the pages of kinds, with a name and a file in place of NAME and FILE. Kubernetes'
// own kinds have the objects of the cases; the kinds of operators get CRDs that take any object. TestStoredVersionWay
// runs the command that goes between two changes of a CRD.
func TestFieldPages(t *testing.T) {
	files, err := filepath.Glob("../../docs/fields/*.md")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	f := fieldPages{ctx, newKubectl(t), t.TempDir(), map[string][]pageObject{}}
	f.addBuiltin(t)
	f.addOperators(t)
	ran, skipped := 0, []string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range pageCommand.FindAllStringSubmatch(string(text), -1) {
			switch objects := f.objects[command[2]]; {
			case strings.Contains(command[1], "--subresource=status") || strings.Contains(command[1], "argocd ") || strings.Contains(command[1], "flux "):
			case len(objects) == 0:
				skipped = append(skipped, filepath.Base(file))
			default:
				ran++
				if err := f.run(command[1], objects); err != nil {
					t.Errorf("%s: %v", file, err)
				}
			}
		}
	}
	skipped = slices.Compact(skipped) // a page has a command once for each tool
	t.Logf("%d commands ran; the server does not serve the kinds of %v", ran, skipped)
	if ran < 115 || len(skipped) > 10 { // kinds in alpha or beta
		t.Errorf("%d commands ran; the kinds of %v have no object", ran, skipped)
	}
}

var pageCommand = regexp.MustCompile("`(kubectl (?:delete|patch) ([^/`]+)/NAME[^`]*)`")

// fieldPages has objects for the kinds of the pages, by the name that the commands have for the kind.
type fieldPages struct {
	ctx     context.Context
	kubectl kubectl
	dir     string
	objects map[string][]pageObject
}

type pageObject struct {
	object   map[string]any
	resource dynamic.ResourceInterface
}

func (f fieldPages) addBuiltin(t *testing.T) {
	t.Helper()
	cases, err := kindcase.Read(filepath.Join(builtinData, "cases"))
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := builtin.For(builtinMinor)
	if err != nil {
		t.Fatal(err)
	}
	server, err := ask.New(f.ctx, cluster.config, "default")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		u := unstructured.Unstructured{Object: c.Old}
		kind, ok := kinds.Find(u.GetAPIVersion(), u.GetKind())
		if !ok || c.Manual || !server.Served(c.Old) {
			continue
		}
		resource := dynamic.ResourceInterface(cluster.client.Resource(u.GroupVersionKind().GroupVersion().WithResource(kind.Plural)))
		if kind.Namespaced {
			u.SetNamespace("default")
			resource = cluster.client.Resource(u.GroupVersionKind().GroupVersion().WithResource(kind.Plural)).Namespace("default")
		}
		name := strings.ToLower(kind.Kind)
		f.objects[name] = append(f.objects[name], pageObject{c.Old, resource})
	}
}

// addOperators makes CRDs for the kinds of the catalogue.
func (f fieldPages) addOperators(t *testing.T) {
	t.Helper()
	catalogue, err := operators.Load()
	if err != nil {
		t.Fatal(err)
	}
	kinds := slices.DeleteFunc(catalogue.All(), func(k *operators.Kind) bool { return k.Nothing != "" })
	for _, k := range kinds {
		f.objects[k.Plural+"."+k.Group] = []pageObject{{
			map[string]any{"apiVersion": k.APIVersion, "kind": k.Kind, "metadata": map[string]any{"name": "page"}},
			cluster.client.Resource(schema.GroupVersionResource{Group: k.Group, Version: k.Versions[0], Resource: k.Plural}).Namespace("default"),
		}}
	}
	addCRDs(f.ctx, t, f.kubectl, kinds)
}

// addCRDs makes CRDs that take any object, with a status, and are gone after the test.
func addCRDs(ctx context.Context, t *testing.T, kubectl kubectl, kinds []*operators.Kind) {
	t.Helper()
	crds := map[string]map[string]any{}
	for _, k := range kinds {
		name := k.Plural + "." + k.Group
		spec := map[string]any{"group": k.Group, "scope": "Namespaced", "names": map[string]any{"plural": k.Plural, "kind": k.Kind}, "versions": []any{}}
		if crds[name] == nil {
			crds[name] = map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec,
				"metadata": map[string]any{"name": name, "annotations": map[string]any{"api-approved.kubernetes.io": "unapproved, for a test"}}}
		}
		spec = crds[name]["spec"].(map[string]any)
		spec["versions"] = append(spec["versions"].([]any), map[string]any{"name": k.Versions[0], "served": true, "storage": len(spec["versions"].([]any)) == 0,
			"subresources": map[string]any{"status": map[string]any{}},
			"schema":       map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
	}
	var text []byte
	for _, crd := range crds {
		text = append(append(text, mustJSON(crd)...), "\n---\n"...)
	}
	file := writeFile(t, filepath.Join(t.TempDir(), "crds.yaml"), text)
	t.Cleanup(func() { _, _ = kubectl.run(context.WithoutCancel(ctx), "delete", "--wait=false", "-f", file) })
	kubectl.applyCRDs(ctx, t, file)
}

// run makes the first object that the server takes, and runs a command on it: the object is then patched, replaced or
// gone.
func (f fieldPages) run(command string, objects []pageObject) error {
	var refused error
	for _, o := range objects {
		name := o.object["metadata"].(map[string]any)["name"].(string)
		file := filepath.Join(f.dir, "page.json")
		if err := os.WriteFile(file, mustJSON(o.object), 0o600); err != nil {
			return err
		}
		before, err := o.resource.Apply(f.ctx, name, &unstructured.Unstructured{Object: o.object}, metav1.ApplyOptions{FieldManager: "pages", Force: true})
		if err != nil {
			refused = fmt.Errorf("the server refuses the object: %w", err)
			continue
		}
		ctx, stop := context.WithCancel(f.ctx)
		defer stop()
		go finalize(ctx, o.resource, name, before.GetKind())
		defer o.remove(ctx, name)
		command = strings.NewReplacer("/NAME", "/"+name, "FILE", file, `"strategy":{"rollingUpdate":null,"type":"TYPE"}`, `"strategy":{"rollingUpdate":null,"type":"Recreate"}`,
			`"updateStrategy":{"rollingUpdate":null,"type":"TYPE"}`, `"updateStrategy":{"rollingUpdate":null,"type":"OnDelete"}`).Replace(command)
		if out, err := f.kubectl.shell(ctx, command); err != nil {
			return fmt.Errorf("%s: %w\n%s", command, err, out)
		}
		after, err := o.resource.Get(f.ctx, name, metav1.GetOptions{})
		patches := strings.HasPrefix(command, "kubectl patch ")
		gone := !patches && !strings.Contains(command, " && ")
		if gone != apierrors.IsNotFound(err) || !gone && patches != (before.GetUID() == after.GetUID()) {
			return fmt.Errorf("%s: %w; the object was %s and is %v", command, err, before.GetUID(), after)
		}
		return nil
	}
	return refused
}

// remove deletes the object and waits until it is gone, which finalize makes happen.
func (o pageObject) remove(ctx context.Context, name string) {
	background := metav1.DeletePropagationBackground
	for range 100 {
		err := o.resource.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64), PropagationPolicy: &background})
		if apierrors.IsNotFound(err) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
