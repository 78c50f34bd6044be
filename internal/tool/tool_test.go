package tool

import "testing"

func TestTools(t *testing.T) {
	const argo, hook, policy = "argocd.argoproj.io/sync-options", "argocd.argoproj.io/hook", "argocd.argoproj.io/hook-delete-policy"
	const flux, kapp, helm = "kustomize.toolkit.fluxcd.io/force", "kapp.k14s.io/update-strategy", "helm.sh/hook"
	for _, c := range []struct {
		name                 string
		annotations, labels  map[string]any
		requested, recreated bool
	}{
		{name: "nothing"},
		{name: "Argo CD, both options", annotations: map[string]any{argo: "Force=true,Replace=true"}, requested: true},
		{name: "Argo CD, other order and spaces", annotations: map[string]any{argo: "Prune=false, Replace=true, Force=true"}, requested: true},
		{name: "Argo CD, a PUT alone is refused", annotations: map[string]any{argo: "Replace=true"}},
		{name: "Argo CD, force alone", annotations: map[string]any{argo: "Force=true"}},
		{name: "Flux, annotation", annotations: map[string]any{flux: "enabled"}, requested: true},
		{name: "Flux, label", labels: map[string]any{flux: "Enabled"}, requested: true},
		{name: "Flux, disabled", annotations: map[string]any{flux: "disabled"}},
		{name: "kapp, fallback", annotations: map[string]any{kapp: "fallback-on-replace"}, requested: true},
		{name: "kapp, always", annotations: map[string]any{kapp: "always-replace"}, requested: true},
		{name: "kapp, skip", annotations: map[string]any{kapp: "skip"}},
		{name: "Helm hook", annotations: map[string]any{helm: "pre-upgrade"}, recreated: true},
		{name: "Argo CD hook", annotations: map[string]any{hook: "PreSync"}, recreated: true},
		{name: "Argo CD hook deleted on success", annotations: map[string]any{hook: "Sync", policy: "HookSucceeded"}, recreated: true},
		{name: "Argo CD hook that stays on success", annotations: map[string]any{hook: "Sync", policy: "HookFailed"}},
		{name: "Argo CD, skipped", annotations: map[string]any{hook: "Skip"}},
	} {
		obj := map[string]any{"metadata": map[string]any{"name": "x", "annotations": c.annotations, "labels": c.labels}}
		if got := Requested(obj); got != c.requested {
			t.Errorf("%s: Requested is %t", c.name, got)
		}
		if got := Recreated(obj); got != c.recreated {
			t.Errorf("%s: Recreated is %t", c.name, got)
		}
	}
	if !Recreated(map[string]any{"metadata": map[string]any{"generateName": "job-"}}) {
		t.Error("an object with generateName is recreated")
	}
}
