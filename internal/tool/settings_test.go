package tool

import "testing"

// TestBy: the settings name the tool only where nothing else tells.
func TestBy(t *testing.T) {
	chart := Applier{Tool: Helm, Lone: true, Apply: "helm upgrade RELEASE shop -n NAMESPACE"}
	for _, c := range []struct {
		name       string
		by         Applier
		tool, want Name
		apply      string
	}{
		{"nothing is named", Applier{}, "", "", ""},
		{"files, Argo CD", Applier{}, ArgoCD, ArgoCD, "argocd app sync APPLICATION"},
		{"files, Flux", Applier{}, Flux, Flux, "flux reconcile kustomization NAME -n NAMESPACE --with-source"},
		{"files, Helm", Applier{}, Helm, Helm, "helm upgrade RELEASE CHART -n NAMESPACE"},
		{"files, kubectl", Applier{}, Kubectl, Kubectl, ""},
		{"a kustomization, kubectl", Applier{Apply: "kubectl apply -k a"}, Kubectl, Kubectl, "kubectl apply -k a"},
		{"a unit that tells", Applier{Tool: Flux, Apply: "a"}, ArgoCD, Flux, "a"},
		{"a chart, Argo CD", chart, ArgoCD, ArgoCD, "argocd app sync APPLICATION"},
		{"a chart, Flux, which has Helm install it", chart, Flux, Helm, "flux reconcile helmrelease RELEASE -n NAMESPACE --with-source --force"},
		{"a chart, Helm", chart, Helm, Helm, chart.Apply},
		{"a chart, kubectl", chart, Kubectl, Kubectl, "helm template RELEASE shop -n NAMESPACE | kubectl apply -f -"},
	} {
		got := c.by.By(c.tool)
		if got.Tool != c.want || got.Apply != c.apply {
			t.Errorf("%s: got %s, %q", c.name, got.Tool, got.Apply)
		}
		if again := got.By(ArgoCD); got.Assumed && (again.Tool != got.Tool || again.Apply != got.Apply) {
			t.Errorf("%s: a second tool counts: %s, %q", c.name, again.Tool, again.Apply)
		}
	}
	binding := of("rbac.authorization.k8s.io/v1", "RoleBinding", map[string]any{"roleRef": map[string]any{"name": "view"}})
	if by := (Applier{}).By(Kubectl); by.Deletes() || by.Requested(binding, binding) || by.Requested(with(options, "Force=true,Replace=true"), with("a", "b")) {
		t.Error("kubectl deletes or replaces objects")
	}
}
