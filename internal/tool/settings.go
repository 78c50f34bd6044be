package tool

import (
	"maps"
	"slices"
	"strings"
)

// A repository does not always tell who deploys it: the Applications or Kustomizations may be in another one. Then the settings can
// name the tool, as in "tool: argo-cd". A unit that tells knows better.

// byWord has the tools that the settings can name.
var byWord = map[string]Name{"argo-cd": ArgoCD, "flux": Flux, "helm": Helm, "kubectl": Kubectl}

// Words returns the words for tools in the settings.
func Words() []string { return slices.Sorted(maps.Keys(byWord)) }

// Named returns the tool of a word, "" if there is none.
func Named(word string) Name { return byWord[word] }

// By returns what is known about who applies objects if the settings name a tool; the first that they name counts. Flux has Helm install charts. What the tool is asked
// to apply is not known, so the commands have placeholders.
func (a Applier) By(t Name) Applier {
	switch {
	case t == "" || a.Assumed || a.Tool != "" && !a.Lone:
		return a
	case a.Lone && t == Flux:
		a.Apply = "flux reconcile helmrelease RELEASE -n NAMESPACE --with-source --force"
	case a.Lone && t == Kubectl:
		a.Tool, a.Apply = t, strings.Replace(a.Apply, "helm upgrade", "helm template", 1)+" | "+strings.Replace(KubectlApply, "FILE", "-", 1)
	case t == Kubectl, a.Lone && t == Helm:
		a.Tool = t
	default:
		a.Tool, a.Apply = t, map[Name]string{
			ArgoCD: "argocd app sync APPLICATION",
			Flux:   "flux reconcile kustomization NAME -n NAMESPACE --with-source",
			Helm:   "helm upgrade RELEASE CHART -n NAMESPACE",
		}[t]
	}
	a.Assumed = true
	return a
}

// Deletes reports whether a tool is known that deletes what is gone.
func (a Applier) Deletes() bool { return a.Tool != "" && a.Tool != Kubectl }
