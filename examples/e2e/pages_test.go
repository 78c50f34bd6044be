package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fieldlock/fieldlock/examples/e2e/internal/ask"
	"github.com/fieldlock/fieldlock/internal/page"
)

// pagesNamespace is the namespace of the pages' objects.
const pagesNamespace = "shop"

// TestPageCommands runs the commands of the README and the pages in docs that need an API server, kubectl or Helm, block by
// block: with a StatefulSet in the cluster that the manifests of the folder cannot become by an update. cmd/fieldlock runs
// the other commands, and page.NotRun lists those that run nowhere.
func TestPageCommands(t *testing.T) {
	p := newPageCluster(t)
	blocks, err := page.Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]bool{}
	for _, b := range blocks {
		commands := slices.DeleteFunc(b.Commands(), func(command string) bool { return page.PlaceOf(command) != page.PlaceCluster })
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
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
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
	go finalize(ctx, cluster.client.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}).Namespace(pagesNamespace), "orders", "StatefulSet")
	return p
}

// try runs the commands of one block in a copy of the folder. fieldlock may refuse, and nothing else may fail.
func (p *pageCluster) try(t *testing.T, commands []string) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(p.folder)); err != nil {
		t.Fatal(err)
	}
	helm := slices.ContainsFunc(commands, func(command string) bool { return strings.HasPrefix(command, "helm upgrade ") })
	p.prepare(t, dir, helm)
	for _, command := range commands {
		out, status := p.shell(dir, command)
		if status != 0 && (status != 1 || !strings.Contains(command, "fieldlock check") && !strings.Contains(command, "fieldlock lint")) {
			t.Fatalf("%s: exit status %d\n%s", command, status, out)
		}
	}
	if !slices.ContainsFunc(commands, func(command string) bool { return strings.Contains(command, " orders.yaml") }) && !helm {
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
