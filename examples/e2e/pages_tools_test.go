package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fieldlock/fieldlock/immutability/operators"
)

const (
	argoModule = "github.com/argoproj/argo-cd/v3@v3.5.1"
	fluxModule = "github.com/fluxcd/flux2/v2@v2.9.5"
)

// argoObjects is the Application of the pages.
const argoObjects = `apiVersion: v1
kind: Namespace
metadata: {name: argocd}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
spec: {project: default, destination: {namespace: shop}, source: {repoURL: https://example.com/shop.git, path: deploy}}
`

// fluxObjects are the Kustomization and the HelmRelease of the pages, and their sources.
const fluxObjects = `apiVersion: v1
kind: Namespace
metadata: {name: flux-system}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: shop, namespace: flux-system}
spec: {interval: 1m, url: https://example.com/shop.git}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop, namespace: flux-system}
spec: {interval: 1m, prune: true, sourceRef: {kind: GitRepository, name: shop}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: orders, namespace: default}
spec: {interval: 1m, url: oci://example.com/orders}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: orders, namespace: default}
spec: {interval: 1m, chartRef: {kind: OCIRepository, name: orders}}
`

// fluxKinds are the kinds of fluxObjects, with what their controllers do: nothing for a source.
var fluxKinds = []struct {
	resource        schema.GroupVersionResource
	kind            string
	namespace, name string
	command         string
}{
	{schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"}, "GitRepository", "flux-system", "shop", ""},
	{schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "ocirepositories"}, "OCIRepository", "default", "orders", ""},
	{schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}, "Kustomization", "flux-system", "shop",
		"kubectl apply --server-side --force-conflicts -f orders.yaml"},
	{schema.GroupVersionResource{Group: "helm.toolkit.fluxcd.io", Version: "v2", Resource: "helmreleases"}, "HelmRelease", "default", "orders", "helm upgrade orders ./chart"},
}

// addArgoCD gives the cluster Argo CD's own CRD of Applications, so that it knows the fields that the pages patch.
func (p *pageCluster) addArgoCD(t *testing.T) {
	t.Helper()
	newKubectl(t).applyCRDs(p.ctx, t, filepath.Join(moduleDir(t, argoModule), "manifests/crds/application-crd.yaml"))
	p.must(t, p.folder, "kubectl apply --server-side -f "+writeFile(t, filepath.Join(t.TempDir(), "argo.yaml"), []byte(argoObjects)))
}

// addFlux builds Flux's command into bin, and gives the cluster CRDs of its kinds that take any object. playFlux is
// what Flux's controllers do when the command asks them.
func (p *pageCluster) addFlux(t *testing.T, bin string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(moduleDir(t, fluxModule))); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "cmd/flux/manifests/none.yaml"), nil) // the manifests that releases embed are not in the module
	if err := os.Symlink(buildProgram(t, dir, "./cmd/flux"), filepath.Join(bin, "flux")); err != nil {
		t.Fatal(err)
	}
	var kinds []*operators.Kind
	for _, k := range fluxKinds {
		kinds = append(kinds, &operators.Kind{Group: k.resource.Group, Kind: k.kind, Plural: k.resource.Resource, Versions: []string{k.resource.Version}})
	}
	addCRDs(p.ctx, t, newKubectl(t), kinds)
	p.must(t, p.folder, "kubectl apply --server-side -f "+writeFile(t, filepath.Join(t.TempDir(), "flux.yaml"), []byte(fluxObjects)))
}

// playFlux answers requests to reconcile until ctx ends: it applies or upgrades what dir has, then writes the request
// into the status. Like helm-controller after a failed upgrade, it upgrades a HelmRelease only by force.
func (p *pageCluster) playFlux(ctx context.Context, dir string) {
	for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		for _, k := range fluxKinds {
			objects := cluster.client.Resource(k.resource).Namespace(k.namespace)
			object, err := objects.Get(ctx, k.name, metav1.GetOptions{})
			if err != nil {
				continue
			}
			asked := object.GetAnnotations()["reconcile.fluxcd.io/requestedAt"]
			handled, _, _ := unstructured.NestedString(object.Object, "status", "lastHandledReconcileAt")
			if asked == handled {
				continue
			}
			ready, message := "True", ""
			if k.command != "" && (k.kind != "HelmRelease" || object.GetAnnotations()["reconcile.fluxcd.io/forceAt"] == asked) {
				if out, status := p.shell(dir, k.command); status != 0 {
					ready, message = "False", out
				}
			}
			patch := mustJSON(map[string]any{"status": map[string]any{"lastHandledReconcileAt": asked, "observedGeneration": object.GetGeneration(),
				"artifact":   map[string]any{"revision": "main@sha1:1"}, // of a source
				"conditions": []any{map[string]any{"type": "Ready", "status": ready, "reason": "Played", "message": message, "lastTransitionTime": metav1.Now()}}}})
			_, _ = objects.Patch(ctx, k.name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		}
	}
}

// moduleDir downloads a module and returns its directory.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	download.Dir = t.TempDir()
	out, err := download.Output()
	var m struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &m); err != nil || jsonErr != nil {
		t.Fatalf("%s: %v, %v %s", module, err, jsonErr, m.Error)
	}
	return m.Dir
}
