package tool

import (
	"slices"
	"strings"
)

// Definer is an object that defines a unit: what a tool applies because the object is there.
type Definer struct {
	// Unit is the unit, as reports name it.
	Unit string
	// Stays is why the objects of the unit stay when the definer is deleted; "" if they are deleted with it.
	Stays string
}

// Defines returns what an object defines, if it defines a unit. The rules are read in
//   - Flux: github.com/fluxcd/kustomize-controller at 186fb3b29138, internal/controller/kustomization_controller.go:
//     finalizerShouldDeleteResources; github.com/fluxcd/helm-controller at 0f61a8607a62,
//     internal/controller/helmrelease_controller.go: reconcileDelete;
//   - Argo CD: pkg/apis/application/v1alpha1/types.go: CascadedDeletion, controller/appcontroller.go: shouldBeDeleted,
//     applicationset/controllers/applicationset_controller.go, where a policy that does not allow to delete takes the
//     Applications out of the ApplicationSet's ownership.
func Defines(obj map[string]any) (d Definer, ok bool) {
	metadata, spec := object(obj, "metadata"), object(obj, "spec")
	group, _, _ := strings.Cut(text(obj, "apiVersion"), "/")
	name := text(metadata, "name")
	if namespace := text(metadata, "namespace"); namespace != "" {
		name = namespace + "/" + name
	}
	suspended := spec["suspend"] == true
	switch group + "/" + text(obj, "kind") {
	case "kustomize.toolkit.fluxcd.io/Kustomization":
		d.Unit = fluxKustomization + name
		policy := text(spec, "deletionPolicy")
		switch {
		case suspended:
			d.Stays = "it is suspended"
		case policy == "Delete" || policy == "WaitForTermination":
		case policy == "" || policy == "MirrorPrune":
			if spec["prune"] != true {
				d.Stays = "it does not prune"
			}
		default:
			d.Stays = "its deletionPolicy is " + policy
		}
	case "helm.toolkit.fluxcd.io/HelmRelease":
		if d.Unit = helmRelease + name; suspended {
			d.Stays = "it is suspended"
		}
	case "argoproj.io/Application":
		d.Unit = application + name
		finalizers, _ := metadata["finalizers"].([]any)
		cascades := func(f any) bool {
			return f == resourcesFinalizer || f == resourcesFinalizer+"/foreground" ||
				f == resourcesFinalizer+"/background"
		}
		options, _ := object(spec, "syncPolicy")["syncOptions"].([]any)
		switch {
		case !slices.ContainsFunc(finalizers, cascades):
			d.Stays = "it has no " + resourcesFinalizer
		case slices.Contains(options, any("Delete=false")):
			d.Stays = "its syncOptions have Delete=false"
		}
	case "argoproj.io/ApplicationSet":
		d.Unit = applicationSet + name
		if policy := text(object(spec, "syncPolicy"), "applicationsSync"); policy == "create-only" ||
			policy == "create-update" {
			d.Stays = "its applicationsSync is " + policy
		}
	}
	return d, d.Unit != ""
}

// How the names of units begin that objects define.
const (
	fluxKustomization = "Flux Kustomization "
	helmRelease       = "HelmRelease "
	application       = "Application "
	applicationSet    = "ApplicationSet "
)

// DefinedByObject reports whether a unit, by its name, is one that an object defines. Files define the others:
// kustomizations and charts.
func DefinedByObject(unit string) bool {
	for _, kind := range []string{fluxKustomization, helmRelease, application, applicationSet} {
		if strings.HasPrefix(unit, kind) {
			return true
		}
	}
	return false
}

const resourcesFinalizer = "resources-finalizer.argocd.argoproj.io"

// Outlives returns why a stored object stays when the unit that it is part of is deleted, "" if it does not. It is as
// Kept, except that Argo CD has another option for that, leaves all CRDs, and heeds Helm's annotation
// (controller/appcontroller.go: shouldBeDeleted).
func (a Applier) Outlives(obj map[string]any) string {
	if a.Tool != ArgoCD {
		return a.Kept(obj)
	}
	switch {
	case text(obj, "kind") == "CustomResourceDefinition":
		return "kind CustomResourceDefinition"
	case syncOption(obj, "Delete=false"):
		return syncOptions + ": Delete=false"
	case text(annotations(obj), "helm.sh/resource-policy") == "keep":
		return "helm.sh/resource-policy: keep"
	}
	return ""
}
