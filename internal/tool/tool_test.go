package tool

import (
	"slices"
	"testing"
)

const (
	options = syncOptions
	policy  = "argocd.argoproj.io/hook-delete-policy"
	flux    = "kustomize.toolkit.fluxcd.io/"
	kapp    = "kapp.k14s.io/"
)

// with makes an object with an annotation.
func with(key, value string) map[string]any {
	return map[string]any{"metadata": map[string]any{"name": "x", "annotations": map[string]any{key: value}}}
}

// labelled makes an object with a label.
func labelled(key, value string) map[string]any {
	return map[string]any{"metadata": map[string]any{"name": "x", "labels": map[string]any{key: value}}}
}

// of gives an object a kind.
func of(apiVersion, kind string, obj map[string]any) map[string]any {
	obj["apiVersion"], obj["kind"] = apiVersion, kind
	return obj
}

func TestRequested(t *testing.T) {
	argo, argoPut := Applier{Tool: ArgoCD}, Applier{Tool: ArgoCD, Methods: []Method{Replace}}
	argoServer := Applier{Tool: ArgoCD, Methods: []Method{ServerSide}}
	plain := with("a", "b")
	const rbac = "rbac.authorization.k8s.io/v1"
	for _, c := range []struct {
		name, reason string
		by           Applier
		newObj, old  map[string]any
		want         bool
	}{
		{"nothing", "", Applier{}, plain, plain, false},
		{"both options", "kubectl replace --force", Applier{}, with(options, "Force=true,Replace=true"), plain, true},
		{"other order and spaces", "", Applier{}, with(options, "Prune=false, Replace=true, Force=true"), plain, true},
		{"both options, of the old object", "the live object's count", Applier{}, plain, with(options, "Force=true,Replace=true"), true},
		{"a PUT", "it is refused too", argo, with(options, "Replace=true"), plain, false},
		{"Force alone, client-side", "kubectl apply --force", argo, with(options, "Force=true"), plain, true},
		{"Force alone, server-side", "there it forces conflicts only", argoServer, with(options, "Force=true"), plain, false},
		{"Force alone, server-side by the object", "", argo, with(options, "Force=true,ServerSideApply=true"), plain, false},
		{"Force alone, client-side by the object", "", argoServer, with(options, "Force=true,ServerSideApply=false"), plain, true},
		{"Force alone, nobody knows how", "server-side apply would refuse", Applier{}, with(options, "Force=true"), plain, false},
		{"Force alone, some other tool's PUT", "the option is Argo CD's", Applier{Methods: []Method{Replace}}, with(options, "Force=true"), plain, false},
		{"Force, and the Application replaces", "", argoPut, with(options, "Force=true"), plain, true},
		{"both options on a CRD", "Argo CD PUTs it", argo, of("apiextensions.k8s.io/v1", "CustomResourceDefinition", with(options, "Force=true,Replace=true")), plain, false},
		{"both options on a Namespace", "Argo CD PUTs it", argo, of("v1", "Namespace", with(options, "Force=true,Replace=true")), plain, false},
		{"both options under Flux", "they are Argo CD's", Applier{Tool: Flux}, with(options, "Force=true,Replace=true"), plain, false},
		{"a binding", "kubectl auth reconcile replaces it", argo, of(rbac, "RoleBinding", with("a", "b")), plain, true},
		{"a binding, server-side", "", argoServer, of(rbac, "RoleBinding", with("a", "b")), plain, false},
		{"a binding under kubectl", "kubectl apply does not reconcile", Applier{Methods: []Method{ClientSide}}, of(rbac, "RoleBinding", with("a", "b")), plain, false},
		{"Flux, annotation", "", Applier{}, with(flux+"force", "enabled"), plain, true},
		{"Flux, label in another case", "", Applier{Tool: Flux}, labelled(flux+"force", "Enabled"), plain, true},
		{"Flux, the old object", "the live object's count", Applier{Tool: Flux}, plain, with(flux+"force", "enabled"), true},
		{"Flux, disabled", "", Applier{}, with(flux+"force", "disabled"), plain, false},
		{"Flux's under Argo CD", "", argo, with(flux+"force", "enabled"), plain, false},
		{"Flux, the Kustomization", "", Applier{Tool: Flux, Forced: true}, plain, plain, true},
		{"kapp, fallback", "", Applier{}, with(kapp+"update-strategy", "fallback-on-replace"), plain, true},
		{"kapp, always", "", Applier{}, with(kapp+"update-strategy", "always-replace"), plain, true},
		{"kapp, the old object", "kapp reads the manifest", Applier{}, plain, with(kapp+"update-strategy", "always-replace"), false},
		{"kapp, skip", "", Applier{}, with(kapp+"update-strategy", "skip"), plain, false},
	} {
		if got := c.by.Requested(c.newObj, c.old); got != c.want {
			t.Errorf("%s: got %t: %s", c.name, got, c.reason)
		}
	}
}

func TestRecreated(t *testing.T) {
	argo := Applier{Tool: ArgoCD}
	both := func(key, value, key2, value2 string) map[string]any {
		obj := with(key, value)
		annotations(obj)[key2] = value2
		return obj
	}
	for _, c := range []struct {
		name string
		by   Applier
		obj  map[string]any
		want bool
	}{
		{"nothing", Applier{}, with("a", "b"), false},
		{"a generated name", Applier{}, map[string]any{"metadata": map[string]any{"generateName": "job-"}}, true},
		{"a hook of Helm", Applier{}, with(helmHook, "pre-upgrade"), true},
		{"a hook that Helm does not know", Applier{Tool: Helm}, with(helmHook, ""), true},
		{"a hook of Helm under Flux", Applier{Tool: Flux}, with(helmHook, "pre-upgrade"), false},
		{"a hook of Helm under Argo CD", argo, with(helmHook, "pre-upgrade"), true},
		{"a hook that only Helm knows, under Argo CD", argo, with(helmHook, "test"), false},
		{"a CRD of Helm 2 under Argo CD", argo, with(helmHook, "crd-install"), false},
		{"a hook of Helm under Argo CD, deleted when it failed", argo, both(helmHook, "pre-upgrade", "helm.sh/hook-delete-policy", "hook-failed"), false},
		{"a hook of Argo CD", Applier{}, with(argoHook, "PreSync"), true},
		{"a hook of Argo CD under Helm", Applier{Tool: Helm}, with(argoHook, "PreSync"), false},
		{"a hook deleted on success", Applier{}, both(argoHook, "Sync", policy, "HookSucceeded"), true},
		{"a hook that stays on success", Applier{}, both(argoHook, "Sync", policy, "HookFailed"), false},
		{"an unknown hook", argo, with(argoHook, "Never"), false},
		{"skipped", Applier{}, with(argoHook, "Skip"), false},
		{"skipped and a hook", argo, with(argoHook, "Skip, Sync"), true},
	} {
		if got := c.by.Recreated(c.obj); got != c.want {
			t.Errorf("%s: got %t", c.name, got)
		}
	}
}

func TestFate(t *testing.T) {
	argo, helm, release := Applier{Tool: ArgoCD}, Applier{Tool: Helm}, Applier{Tool: Helm, Apply: "flux reconcile helmrelease x"}
	plain := with("a", "b")
	hook := func(key, value, policyKey, policies string) map[string]any {
		obj := with(key, value)
		if policies != "" {
			annotations(obj)[policyKey] = policies
		}
		return obj
	}
	helms := func(events, policies string) map[string]any { return hook(helmHook, events, helmPolicy, policies) }
	argos := func(types, policies string) map[string]any { return hook(argoHook, types, policy, policies) }
	kept := helms("post-upgrade", "hook-succeeded")
	annotations(kept)["helm.sh/resource-policy"] = "keep"
	for _, c := range []struct {
		name, reason string
		by           Applier
		newObj, old  map[string]any
		want         Fate
	}{
		{"no hook", "", helm, plain, plain, Updated},
		{"a hook on both sides", "Helm only ever creates it", helm, helms("post-upgrade", ""), helms("post-upgrade", ""), Created},
		{"Helm, becomes a hook", "the upgrade deletes it, since the manifest no longer has it", helm, helms("post-install,post-upgrade", ""), plain, Replaced},
		{"Helm, becomes a hook before the upgrade", "the default policy deletes it", helm, helms("pre-upgrade", ""), plain, Replaced},
		{"Helm, becomes a hook before the upgrade with another policy", "it is created while it is there", helm, helms("Pre-Upgrade", "hook-succeeded"), plain, Colliding},
		{"Helm, becomes a hook after the upgrade with another policy", "the upgrade deletes it before", helm, helms("post-upgrade", "hook-succeeded"), plain, Replaced},
		{"Helm, is kept and becomes a hook with another policy", "the upgrade does not delete it", helm, kept, with("helm.sh/resource-policy", "keep"), Colliding},
		{"Helm, becomes a test", "the upgrade deletes it, and the test makes it anew", helm, helms("test", ""), plain, Replaced},
		{"Helm, becomes a hook that it does not know", "Helm skips it", helm, helms("", ""), plain, Replaced},
		{"Helm, a CRD becomes a hook", "Helm does not delete it for the hook", helm, of("apiextensions.k8s.io/v1", "CustomResourceDefinition", helms("pre-upgrade", "")), plain, Uncertain},
		{"Helm, stops being a hook", "the hook is there, and not Helm's", helm, plain, helms("post-install,post-upgrade", ""), Colliding},
		{"Helm, stops being a hook that was deleted", "", helm, plain, helms("pre-upgrade", "before-hook-creation, Hook-Succeeded"), Created},
		{"Helm, stops being a test", "nobody knows whether it ran", helm, plain, helms("test", ""), Uncertain},
		{"a HelmRelease, stops being a hook", "it takes over what is there", release, plain, helms("post-upgrade", ""), Updated},
		{"a HelmRelease, becomes a hook", "", release, helms("post-upgrade", ""), plain, Replaced},
		{"Argo CD, becomes a hook", "the default policy deletes it", argo, argos("PostSync", ""), plain, Replaced},
		{"Argo CD, becomes a hook of Helm", "Argo CD takes it for its own", argo, helms("post-upgrade", "before-hook-creation"), plain, Replaced},
		{"Argo CD, becomes a hook with another policy", "it is applied, unless it was pruned before", argo, argos("Sync", "HookSucceeded"), plain, Uncertain},
		{"Argo CD, stops being a hook", "it is applied", argo, plain, argos("Sync", ""), Updated},
		{"Argo CD, stops being a hook that was deleted", "", argo, plain, argos("Sync", "HookSucceeded"), Created},
		{"nobody knows, becomes a hook", "kubectl updates it", Applier{}, argos("Sync", ""), plain, Uncertain},
		{"nobody knows, stops being a hook", "kubectl updates it", Applier{}, plain, argos("Sync", ""), Updated},
		{"Flux, becomes a hook of Helm", "which is none to Flux", Applier{Tool: Flux}, helms("post-upgrade", ""), plain, Updated},
	} {
		if got := c.by.Fate(c.newObj, c.old); got != c.want {
			t.Errorf("%s: got %q, want %q: %s", c.name, got, c.want, c.reason)
		}
	}
}

func TestLeftAloneAndKept(t *testing.T) {
	const local = "config.kubernetes.io/local-config"
	for _, c := range []struct {
		name      string
		by        Applier
		obj       map[string]any
		left, kep bool
	}{
		{"nothing", Applier{}, with("a", "b"), false, false},
		{"Flux, reconcile", Applier{}, with(flux+"reconcile", "disabled"), true, true},
		{"Flux, reconcile as a label", Applier{Tool: Flux}, labelled(flux+"reconcile", "Disabled"), true, true},
		{"Flux, reconcile enabled", Applier{}, with(flux+"reconcile", "enabled"), false, false},
		{"Flux, ignored", Applier{}, with(flux+"ssa", "Ignore"), true, true},
		{"Flux, only created", Applier{}, with(flux+"ssa", "IfNotPresent"), true, false},
		{"Flux, merged", Applier{}, with(flux+"ssa", "Merge"), false, false},
		{"Flux's under Argo CD", Applier{Tool: ArgoCD}, with(flux+"reconcile", "disabled"), false, false},
		{"Flux, not pruned", Applier{}, with(flux+"prune", "disabled"), false, true},
		{"Argo CD, skipped", Applier{}, with(argoHook, "Skip"), true, false},
		{"Argo CD, skipped and a hook", Applier{}, with(argoHook, "Skip,Sync"), false, false},
		{"Argo CD's under Flux", Applier{Tool: Flux}, with(argoHook, "Skip"), false, false},
		{"Argo CD, not pruned", Applier{}, with(options, "Replace=true, Prune=false"), false, true},
		{"Argo CD, the first option counts", Applier{}, with(options, "Prune=confirm,Prune=false"), false, false},
		{"local", Applier{}, with(local, "true"), true, false},
		{"local in any words", Applier{}, with(local, "yes"), true, false},
		{"not local", Applier{}, with(local, "false"), false, false},
		{"local under Argo CD", Applier{Tool: ArgoCD}, with(local, "true"), false, false},
		{"kapp, noop", Applier{}, with(kapp+"noop", ""), true, false},
		{"kapp, skip", Applier{}, with(kapp+"update-strategy", "skip"), true, false},
		{"kapp, orphan", Applier{}, with(kapp+"delete-strategy", "orphan"), false, true},
		{"Helm, keep", Applier{}, with("helm.sh/resource-policy", "keep"), false, true},
		{"Helm, in another case", Applier{Tool: Helm}, with("helm.sh/resource-policy", "Keep"), false, false},
		{"Helm's under Flux", Applier{Tool: Flux}, with("helm.sh/resource-policy", "keep"), false, false},
	} {
		if got := c.by.LeftAlone(c.obj); (got != "") != c.left {
			t.Errorf("%s: LeftAlone is %q", c.name, got)
		}
		if got := c.by.Kept(c.obj); (got != "") != c.kep {
			t.Errorf("%s: Kept is %q", c.name, got)
		}
	}
}

func TestFor(t *testing.T) {
	plain := with("a", "b")
	for _, c := range []struct {
		name        string
		by          Applier
		newObj, old map[string]any
		want        []Method
	}{
		{"nobody knows", Applier{}, plain, plain, []Method{ServerSide, ClientSide}},
		{"nobody knows, Argo CD would replace", Applier{}, with(options, "Replace=true"), plain, []Method{ServerSide, ClientSide, Replace}},
		{"Flux", Applier{Tool: Flux}, with(options, "Replace=true"), plain, []Method{ServerSide}},
		{"Argo CD", Applier{Tool: ArgoCD}, plain, plain, []Method{ClientSide}},
		{"Argo CD, Replace", Applier{Tool: ArgoCD}, with(options, "Replace=true,ServerSideApply=true"), plain, []Method{Replace}},
		{"Argo CD, Replace of the live object", Applier{Tool: ArgoCD}, plain, with(options, "Replace=true"), []Method{Replace}},
		{"Argo CD, server-side", Applier{Tool: ArgoCD}, with(options, "ServerSideApply=true"), plain, []Method{ServerSide}},
		{"Argo CD, no longer server-side", Applier{Tool: ArgoCD}, plain, with(options, "ServerSideApply=true"), []Method{ClientSide}},
		{"Argo CD, not server-side", Applier{Tool: ArgoCD, Methods: []Method{ServerSide}}, with(options, "ServerSideApply=false"), plain, []Method{ClientSide}},
		{"Argo CD, the Application replaces", Applier{Tool: ArgoCD, Methods: []Method{Replace}}, with(options, "ServerSideApply=true"), plain, []Method{Replace}},
		{"Helm", Applier{Tool: Helm}, plain, plain, []Method{ThreeWay, ServerSide}},
		{"Helm 3", Applier{Tool: Helm, Methods: []Method{ThreeWay}}, plain, plain, []Method{ThreeWay}},
	} {
		if got := c.by.For(c.newObj, c.old); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
