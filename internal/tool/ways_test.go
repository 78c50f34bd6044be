package tool

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestWaysOut: each tool gets the ways that it can take, and nobody who merges is told to apply.
func TestWaysOut(t *testing.T) {
	const (
		rename  = "add the new one under another name"
		orphan  = "kubectl delete deployment/web -n shop --cascade=orphan && " + KubectlApply + Comment + "the pods stay"
		replace = "kubectl delete deployment/web -n shop && " + KubectlApply + Comment + "all pods stop until the new ones run"
		patch   = "kubectl patch pvc/data -p x" + Comment + "first"
	)
	how := []string{rename, patch, orphan, replace}
	web := Refused{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web", File: "'a b.yaml'"}
	with := func(change func(r *Refused)) Refused {
		r := web
		change(&r)
		return r
	}
	precious := with(func(r *Refused) { r.Precious = true })
	kept := []string{rename, patch}
	flux := Applier{Tool: Flux, Apply: "flux reconcile kustomization shop -n flux-system --with-source"}
	argo := Applier{Tool: ArgoCD, Apply: "argocd app sync shop"}
	release := Applier{Tool: Helm, Apply: "flux reconcile helmrelease shop --with-source --force"}
	const afterMerge = Comment + AfterMerge + " ("
	for _, row := range []struct {
		name, reason string
		by           Applier
		refused      Refused
		want         []string // after those that are the same for all
	}{
		{"nobody knows", "", Applier{}, web, []string{
			"kubectl delete deployment/web -n shop --cascade=orphan && kubectl apply -f 'a b.yaml'   # the pods stay",
			"kubectl delete deployment/web -n shop && kubectl apply -f 'a b.yaml'   # all pods stop until the new ones run",
		}},
		{"server-side", "the new object is owned by the same manager", Applier{Methods: []Method{ServerSide}}, web, []string{
			"kubectl delete deployment/web -n shop --cascade=orphan && kubectl apply --server-side -f 'a b.yaml'   # the pods stay",
			"kubectl delete deployment/web -n shop && kubectl apply --server-side -f 'a b.yaml'   # all pods stop until the new ones run",
		}},
		{"a kustomization", "", Applier{Apply: "kubectl apply -k prod"}, web, []string{
			"kubectl delete deployment/web -n shop --cascade=orphan && kubectl apply -k prod   # the pods stay",
			"kubectl delete deployment/web -n shop && kubectl apply -k prod   # all pods stop until the new ones run",
		}},
		{"a chart", "", Applier{Tool: Helm, Apply: "helm upgrade RELEASE shop"}, web, []string{
			"kubectl delete deployment/web -n shop --cascade=orphan && helm upgrade RELEASE shop   # the pods stay",
			"kubectl delete deployment/web -n shop && helm upgrade RELEASE shop   # all pods stop until the new ones run",
		}},
		{"a release of Flux", "its controller applies what is merged", release, web, []string{
			"kubectl delete deployment/web -n shop --cascade=orphan && " + release.Apply + afterMerge + "the pods stay)",
			"kubectl delete deployment/web -n shop && " + release.Apply + afterMerge + "all pods stop until the new ones run)",
		}},
		{"a release of Flux that forces", "which is a PUT", Applier{Tool: Helm, Apply: release.Apply, Methods: []Method{ServerSide, Replace}}, web, []string{
			"kubectl delete deployment/web -n shop --cascade=orphan && " + release.Apply + afterMerge + "the pods stay)",
			"kubectl delete deployment/web -n shop && " + release.Apply + afterMerge + "all pods stop until the new ones run)",
			"spec.upgrade.force of the HelmRelease does not help: it makes Helm send a PUT, which is refused, too, and nothing at all under server-side apply",
		}},
		{"a Job of a chart", "", Applier{Tool: Helm, Apply: "helm upgrade RELEASE shop"}, with(func(r *Refused) { r.Group, r.Kind = "batch", "Job" }), []string{
			"kubectl delete deployment/web -n shop --cascade=orphan && helm upgrade RELEASE shop   # the pods stay",
			"make the Job a hook, with the annotations helm.sh/hook: post-install,post-upgrade and helm.sh/hook-delete-policy: before-hook-creation: " +
				"Helm then deletes it and creates it again with each upgrade (all pods stop until the new ones run)",
			"kubectl delete deployment/web -n shop && helm upgrade RELEASE shop   # all pods stop until the new ones run",
		}},
		{"Flux", "", flux, web, []string{
			"kubectl delete deployment/web -n shop --cascade=orphan && " + flux.Apply + afterMerge + "the pods stay)",
			"add the annotation kustomize.toolkit.fluxcd.io/force: enabled with this change, and remove it with the next one: " +
				"Flux deletes the Deployment and creates it again (all pods stop until the new ones run)",
			"set spec.force: true in the Kustomization with an earlier change, and remove it with the next one: Flux then deletes and " +
				"creates again every object of it whose update is refused, claims with their data too",
		}},
		{"Flux, refused by a webhook", "Flux replaces for some answers only", flux, with(func(r *Refused) { r.Unforced = true }), []string{
			"kubectl delete deployment/web -n shop --cascade=orphan && " + flux.Apply + afterMerge + "the pods stay)",
			"kubectl delete deployment/web -n shop && " + flux.Apply + afterMerge + "all pods stop until the new ones run)",
		}},
		{"Flux, asked already", "", flux, with(func(r *Refused) { r.Asked = true }), []string{
			"kubectl delete deployment/web -n shop --cascade=orphan && " + flux.Apply + afterMerge + "the pods stay)",
		}},
		{"Flux, data", "no tool deletes it on its own", flux, precious, []string{
			"kubectl delete deployment/web -n shop --cascade=orphan && " + flux.Apply + afterMerge + "the pods stay)",
			"kubectl delete deployment/web -n shop && " + flux.Apply + afterMerge + "all pods stop until the new ones run)",
		}},
		{"Argo CD", "", argo, web, []string{
			"kubectl delete deployment/web -n shop --cascade=orphan && argocd app sync shop" + afterMerge + "the pods stay)",
			"add Force=true,Replace=true to the annotation argocd.argoproj.io/sync-options with this change, and remove it with the next one: " +
				"Argo CD deletes the Deployment and creates it again (all pods stop until the new ones run)",
			"argocd app sync shop --resource apps:Deployment:shop/web --force --replace   # after the merge, without the annotation (all pods stop until the new ones run)",
		}},
		{"Argo CD, without a namespace", "", argo, with(func(r *Refused) { r.Group, r.Kind, r.Namespace = "", "Node", "" }), []string{
			"kubectl delete deployment/web -n shop --cascade=orphan && argocd app sync shop" + afterMerge + "the pods stay)",
			"add Force=true,Replace=true to the annotation argocd.argoproj.io/sync-options with this change, and remove it with the next one: " +
				"Argo CD deletes the Node and creates it again (all pods stop until the new ones run)",
			"argocd app sync shop --resource :Node:web --force --replace   # after the merge, without the annotation (all pods stop until the new ones run)",
		}},
		{"an ApplicationSet", "its controller needs no command", Applier{Tool: ArgoCD}, precious, []string{
			"kubectl delete deployment/web -n shop --cascade=orphan" + afterMerge + "the pods stay)",
			"kubectl delete deployment/web -n shop" + afterMerge + "all pods stop until the new ones run)",
		}},
	} {
		got := row.by.WaysOut(how, row.refused)
		if mark := row.by.keepMark(); row.refused.Precious && mark != "" { // a step before data moves
			keep, way, _ := strings.Cut(got[0], Step)
			if !strings.Contains(keep, mark) {
				t.Errorf("%s: got %q, want the mark %s", row.name, keep, mark)
			}
			got[0] = way
		}
		if want := slices.Concat(kept, row.want); !slices.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s\n%s", row.name, strings.Join(got, "\n"), strings.Join(want, "\n"), row.reason)
		}
		if all := strings.Join(got, "\n"); (row.by.Tool == Flux || row.by.Tool == ArgoCD) && strings.Contains(all, "kubectl apply") {
			t.Errorf("%s: who merges is told to apply:\n%s", row.name, all)
		}
	}
}

// TestSteps: the steps of a way stay in their order for each tool, which is paused where it would make the object again
// between them.
func TestSteps(t *testing.T) {
	const data = "keep the volume:\nscale down\nkubectl delete pvc/data\n" + KubectlApply + Comment + "it binds\nscale up"
	claim := Refused{Kind: "PersistentVolumeClaim", Name: "data", File: "new.yaml", Precious: true}
	paused := func(pause, fetch, resume string) string {
		if fetch != "" {
			fetch += "\n"
		}
		return "keep the volume:\n" + pause + "\nmerge the change\n" + fetch + "scale down\nkubectl delete pvc/data\n" + resume + "\nscale up"
	}
	const (
		because  = "pause %s, which otherwise creates the object again before its data is safe"
		fetched  = Comment + "let Flux fetch the merge: otherwise it may go on with the old manifests"
		annotate = "kubectl annotate application shop -n argocd --overwrite argocd.argoproj.io/skip-reconcile"
		refresh  = "- argocd.argoproj.io/refresh=normal && "
		source   = "flux reconcile source git home -n flux-system"
		outer    = "flux reconcile kustomization apps -n flux-system --with-source"
	)
	pause := func(tool Name) string { return Comment + fmt.Sprintf(because, tool) }
	kustomization := Applier{Tool: Flux, Apply: "flux reconcile kustomization shop -n flux-system --with-source", Fetch: source}
	unfetched := kustomization
	unfetched.Fetch = ""
	for _, row := range []struct {
		name string
		by   Applier
		want string
	}{
		{"kubectl", Applier{}, strings.Replace(data, "FILE", "new.yaml", 1)},
		{"Helm", Applier{Tool: Helm, Apply: "helm upgrade shop ./shop"}, strings.Replace(data, KubectlApply, "helm upgrade shop ./shop", 1)},
		{"Flux", kustomization,
			paused("flux suspend kustomization shop -n flux-system"+pause(Flux), source+fetched, "flux resume kustomization shop -n flux-system"+Comment+"it binds")},
		{"Flux, a source without a command", unfetched,
			paused("flux suspend kustomization shop -n flux-system"+pause(Flux), "wait until Flux has fetched the merge", "flux resume kustomization shop -n flux-system"+Comment+"it binds")},
		{"a release of Flux", Applier{Tool: Helm, Apply: "flux reconcile helmrelease shop --with-source --force", Fetch: outer},
			paused("flux suspend helmrelease shop"+pause(Flux), outer+fetched, "flux resume helmrelease shop"+Comment+"it binds")},
		{"Argo CD", Applier{Tool: ArgoCD, Apply: "argocd app sync shop"}, paused(annotate+"=true"+pause(ArgoCD), "", annotate+refresh+"argocd app sync shop"+Comment+"it binds")},
		{"an Application elsewhere", Applier{Tool: ArgoCD, Apply: "argocd app sync team/shop"}, strings.ReplaceAll(
			paused(annotate+"=true"+pause(ArgoCD), "", annotate+refresh+"argocd app sync team/shop"+Comment+"it binds"), "-n argocd", "-n team")},
		{"an ApplicationSet", Applier{Tool: ArgoCD}, paused(fmt.Sprintf(because, ArgoCD), "", "let Argo CD apply the change (it binds)")},
	} {
		if got := row.by.WaysOut([]string{data}, claim); len(got) != 1 || got[0] != row.want {
			t.Errorf("%s: got\n%s\nwant\n%s", row.name, strings.Join(got, "\n"), row.want)
		}
	}
	if got := (Applier{Tool: ArgoCD}).WaysOut([]string{"scale down\nkubectl delete pv/a && " + KubectlApply}, claim); len(got) != 1 ||
		!strings.HasSuffix(got[0], "\nkubectl delete pv/a\nlet Argo CD go on") {
		t.Errorf("a deletion by an ApplicationSet: got %q", got)
	}
	for _, stays := range []string{InManifest + "add a rack", "leave it to its owner"} {
		if got := kustomization.WaysOut([]string{stays}, claim); len(got) != 1 || got[0] != stays {
			t.Errorf("no manifest goes: got %q", got)
		}
	}
	const edited = "replace it:\nin its manifest, reserve it\nscale down\nkubectl delete pv/a && " + KubectlApply
	if got := (Applier{Tool: ArgoCD, Apply: "argocd app sync shop"}).WaysOut([]string{edited}, claim); len(got) != 1 ||
		!strings.HasPrefix(got[0], "replace it:\nin its manifest, reserve it\n"+annotate+"=true") || !strings.Contains(got[0], "\nmerge the change\nscale down\n") {
		t.Errorf("an edit comes before the merge: got %q", got)
	}
	const pods = "create the Service\nkubectl delete sts/a && " + KubectlApply + "\nrestart"
	got := Applier{Tool: ArgoCD, Apply: "argocd app sync shop"}.WaysOut([]string{pods}, Refused{Group: "apps", Kind: "StatefulSet", Name: "a"})
	if len(got) != 2 || !strings.HasPrefix(got[0], "create the Service\nadd Force=true") || !strings.HasSuffix(got[1], "\nrestart") {
		t.Errorf("alternatives to one step: got %q", got)
	}
}

// TestHostileWays: names and files that look like parts of a command stay within their quotes.
func TestHostileWays(t *testing.T) {
	const name = "'deployment/x && " + KubectlApply + "'"
	how := []string{"kubectl delete " + name + " && " + KubectlApply}
	got := Applier{}.WaysOut(how, Refused{File: "'$(reboot).yaml'"})
	if want := "kubectl delete " + name + " && kubectl apply -f '$(reboot).yaml'"; len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

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
		{"a chart, kubectl", chart, Kubectl, Kubectl, "helm template RELEASE shop -n NAMESPACE | kubectl apply -n NAMESPACE -f -"},
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
