package tool

import (
	"strings"
	"testing"
)

// TestWaysToKeep: each way, taken, is one that Kept, Outlives or Defines knows; what nobody deletes has none.
func TestWaysToKeep(t *testing.T) {
	definer := func(apiVersion, kind string, spec, metadata map[string]any) map[string]any {
		metadata["name"] = "shop"
		return map[string]any{"apiVersion": apiVersion, "kind": kind, "spec": spec, "metadata": metadata}
	}
	for _, row := range []struct {
		name string
		by   Applier
		unit string
		obj  map[string]any
		want string // in the last way
		take func(obj map[string]any)
	}{
		{name: "Flux", by: Applier{Tool: Flux}, want: "prune: disabled"},
		{name: "Argo CD", by: Applier{Tool: ArgoCD}, want: "Prune=false"},
		{name: "Helm", by: Applier{Tool: Helm}, want: "resource-policy: keep"},
		{name: "a Kustomization that goes", by: Applier{Tool: Flux, Keeps: true}, unit: "Flux Kustomization shop", want: "prune: disabled"},
		{name: "an Application that goes", by: Applier{Tool: ArgoCD}, unit: "Application shop", want: "Delete=false"},
		{
			name: "Kustomization", by: Applier{Tool: Flux}, want: "spec.deletionPolicy: Orphan",
			obj:  definer("kustomize.toolkit.fluxcd.io/v1", "Kustomization", map[string]any{"prune": true}, map[string]any{}),
			take: func(obj map[string]any) { object(obj, "spec")["deletionPolicy"] = "Orphan" },
		},
		{
			name: "HelmRelease", by: Applier{Tool: Flux}, want: "spec.suspend: true",
			obj:  definer("helm.toolkit.fluxcd.io/v2", "HelmRelease", map[string]any{}, map[string]any{}),
			take: func(obj map[string]any) { object(obj, "spec")["suspend"] = true },
		},
		{
			name: "Application", by: Applier{Tool: ArgoCD}, want: "remove the finalizer",
			obj:  definer("argoproj.io/v1alpha1", "Application", map[string]any{}, map[string]any{"finalizers": []any{resourcesFinalizer}}),
			take: func(obj map[string]any) { delete(object(obj, "metadata"), "finalizers") },
		},
		{
			name: "ApplicationSet", by: Applier{Tool: ArgoCD}, want: "applicationsSync: create-update",
			obj: definer("argoproj.io/v1alpha1", "ApplicationSet", map[string]any{}, map[string]any{}),
			take: func(obj map[string]any) {
				object(obj, "spec")["syncPolicy"] = map[string]any{"applicationsSync": "create-update"}
			},
		},
	} {
		ways := row.by.WaysToKeep(Gone{Object: row.obj, WithUnit: row.unit})
		if len(ways) != 2 || !strings.HasPrefix(ways[0], "to keep it, restore ") || !strings.Contains(ways[0], row.unit) || !strings.Contains(ways[1], row.want) {
			t.Errorf("%s: got %q, want %q in the last of two ways", row.name, ways, row.want)
			continue
		}
		if row.take != nil {
			row.take(row.obj)
			if d, _ := Defines(row.obj); d.Stays == "" {
				t.Errorf("%s: its objects go, although %s", row.name, ways[1])
			}
			continue
		}
		_, mark, _ := strings.Cut(ways[1], "the annotation ")
		mark, _, _ = strings.Cut(mark, " with an earlier change")
		key, value, _ := strings.Cut(mark, ": ")
		kept := row.by.Kept
		if row.unit != "" {
			kept = row.by.Outlives
		}
		if kept(with(key, value)) == "" {
			t.Errorf("%s: %s keeps nothing", row.name, mark)
		}
	}
	if ways := (Applier{Tool: Flux}).WaysToKeep(Gone{Unlisted: true}); !strings.HasPrefix(ways[0], "to keep it, list its manifest in its unit again") {
		t.Errorf("its manifest is still there: %q", ways)
	}
	for _, by := range []Applier{{}, {Tool: ArgoCD, Keeps: true}} {
		if ways := by.WaysToKeep(Gone{}); ways != nil {
			t.Errorf("%+v deletes nothing, got %q", by, ways)
		}
	}
}
