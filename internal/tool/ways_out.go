package tool

import (
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/shell"
)

// Refused is an object whose update is refused.
type Refused struct {
	Group, Kind, Namespace, Name string
	File                         string // of its new manifest, as an argument of a command
	// Precious is set where deleting the object can lose data or other objects.
	Precious bool
	// Asked is set where the object asks the tool already to delete it and create it again.
	Asked bool
	// Unforced is set where the answer to the update may be another one than Invalid, such as that of a webhook: Flux replaces
	// nothing then.
	Unforced bool
}

// KubectlApply is the command that applies an object in ways out that are written for kubectl: the last one of a command line.
const KubectlApply = "kubectl apply -f FILE"

// Comment separates a command from what it means, in a way out.
const Comment = "   # "

// AfterMerge begins the comment of a command that comes after the merge of the change; what it means follows in brackets.
const AfterMerge = "after the merge"

// WaysOut returns the ways out of a refusal for whoever applies the object. The ways in how are written for kubectl: sentences, and
// commands with a Comment.
//
// Objects of Flux and Argo CD are deleted and created by the tool itself, if it is asked for that with the change. Where that
// is not possible, or not gentle enough, somebody deletes the object after the merge, and the tool creates it again. Read in:
//   - Flux: ssa/manager_apply.go: shouldForceApply, which replaces for answers of status 422 and those that say "is immutable";
//     of a HelmRelease: github.com/fluxcd/helm-controller at 0f61a8607a62, internal/action/upgrade.go: Upgrade, and
//     internal/reconcile/atomic_release.go: actionForState, which upgrades a failed release anew if that is forced.
//   - Argo CD: sync/sync_context.go: applyObject, which PUTs CRDs and Namespaces instead of replacing them.
//   - Helm: pkg/kube/client.go: Update, which creates what the cluster no longer has.
func (a Applier) WaysOut(how []string, r Refused) []string {
	var ways []string
	if keep := a.keepMark(); keep != "" && r.Precious && r.Kind != "CustomResourceDefinition" && r.Kind != "Namespace" {
		ways = append(ways, "add "+keep+" to the old object in a change of its own, before data moves: "+string(a.Tool)+" then keeps it when its manifest goes")
	}
	for _, one := range how {
		line, text, _ := strings.Cut(one, Comment)
		command, applies := strings.CutSuffix(line, KubectlApply)
		if !applies {
			ways = append(ways, one)
			continue
		}
		if strings.HasPrefix(command, "kubectl delete ") && !strings.Contains(command, "--cascade=orphan") {
			if r.Asked && !r.Precious && a.Tool != "" {
				continue
			}
			asked := a.replaceMarks(r, text)
			ways = append(ways, asked...)
			if len(asked) > 0 && a.Tool != Helm {
				continue
			}
		}
		if a.merges() {
			text = AfterMerge + parenthesis(text)
		}
		switch {
		case a.Apply != "":
			command += a.Apply
		case a.Deletes():
			command = strings.TrimSuffix(command, " && ")
		case slices.Equal(a.Methods, []Method{ServerSide}):
			command += "kubectl apply --server-side -f " + r.File
		default:
			command += "kubectl apply -f " + r.File
		}
		if text != "" {
			command += Comment + text
		}
		ways = append(ways, command)
	}
	if a.isRelease() && slices.Contains(a.Methods, Replace) {
		ways = append(ways, "spec.upgrade.force of the HelmRelease does not help: it makes Helm send a PUT, which is refused, too, "+
			"and nothing at all under server-side apply")
	}
	return ways
}

// merges reports whether a merge is what makes the tool apply a change.
func (a Applier) merges() bool {
	return a.Tool == Flux || a.Tool == ArgoCD || a.isRelease()
}

// isRelease reports whether Flux installs the release of Helm.
func (a Applier) isRelease() bool { return a.Tool == Helm && strings.HasPrefix(a.Apply, "flux ") }

// replaceMarks says how the tool is asked to delete and create an object; nil if it cannot be asked, or should not be. text is
// what that means for the object, "" if nothing more is to say.
func (a Applier) replaceMarks(r Refused, text string) []string {
	if r.Precious {
		return nil
	}
	text = parenthesis(text)
	begin := func(do string) string {
		return "add " + do + " with this change, and remove it with the next one: " + string(a.Tool) + " deletes the " + r.Kind + " and creates it again" + text
	}
	switch {
	case a.Tool == Flux && !r.Unforced:
		return []string{
			begin("the annotation kustomize.toolkit.fluxcd.io/force: enabled"),
			"set spec.force: true in the Kustomization with an earlier change: Flux then replaces every object that it cannot update",
		}
	case a.Tool == ArgoCD:
		object := r.Name
		if r.Namespace != "" {
			object = r.Namespace + "/" + object
		}
		ways := []string{begin("Force=true,Replace=true to the annotation " + syncOptions)}
		if a.Apply != "" {
			ways = append(ways, a.Apply+" --resource "+shell.Quote(r.Group+":"+r.Kind+":"+object)+" --force --replace"+
				Comment+"after the merge, without the annotation"+text)
		}
		return ways
	case a.Tool == Helm && r.Group == "batch" && r.Kind == "Job":
		return []string{"make the Job a hook, with the annotations helm.sh/hook: post-install,post-upgrade and " +
			"helm.sh/hook-delete-policy: before-hook-creation: Helm then deletes it and creates it again with each upgrade" + text}
	}
	return nil
}

// parenthesis returns a text in parentheses, after a space; "" if there is none.
func parenthesis(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}
