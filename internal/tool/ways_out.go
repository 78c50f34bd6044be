package tool

import (
	"maps"
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
	// Unforced is set where the answer to the update may be another one than Invalid, such as that of a webhook: Flux
	// replaces nothing then.
	Unforced bool
}

// KubectlApply is the command that applies an object in ways out that are written for kubectl: the last one of a
// command line.
const KubectlApply = "kubectl apply -f FILE"

// Comment separates a command from what it means, in a way out.
const Comment = "   # "

// AfterMerge begins the comment of a command that comes after the merge of the change; what it means follows in
// brackets. A tool that reports the refusal has fetched the merge: one that has not would create the object once more
// from the old manifest.
const AfterMerge = "after the merge, when the refusal is reported"

// Step ends each line of a way out that has several. A way is a step alone, or a heading that ends with a colon, if it
// needs one, and steps that are done in their order:
//
//	keep the volume with its data:
//	scale the pods that use the claim down to 0
//	kubectl delete persistentvolumeclaim/data
//	kubectl apply -f FILE   # the new claim binds to the volume
const Step = "\n"

// Steps returns the heading of a way out, "" for none, and its steps.
func Steps(way string) (heading string, steps []string) {
	steps = strings.Split(way, Step)
	if len(steps) > 1 && strings.HasSuffix(steps[0], ":") {
		return steps[0], steps[1:]
	}
	return "", steps
}

// InManifest begins a step that edits the manifest further, and a way that is no more than an edit.
const InManifest = "in its manifest, "

// WaysOut returns the ways out of a refusal for whoever applies the object. The steps of the ways in how are written
// for kubectl: sentences, and commands with a Comment.
//
// Objects of Flux and Argo CD are deleted and created by the tool itself, if it is asked for that with the change.
// Where that is not possible, or not gentle enough, somebody deletes the object after the merge, and the tool creates
// it again. A way with several steps that deletes what has data pauses the tool, which would create the object again
// between two of them. Read in:
//   - Flux: ssa/manager_apply.go: shouldForceApply, which replaces for answers of status 422 and those that say "is immutable";
//     of a HelmRelease: github.com/fluxcd/helm-controller at 0f61a8607a62, internal/action/upgrade.go: Upgrade, and
//     internal/reconcile/atomic_release.go: actionForState, which upgrades a failed release anew if that is forced.
//   - Argo CD: sync/sync_context.go: applyObject, which PUTs CRDs and Namespaces instead of replacing them.
//   - Helm: pkg/kube/client.go: Update, which creates what the cluster no longer has.
func (a Applier) WaysOut(how []string, r Refused) []string {
	var ways []string
	for _, way := range how {
		ways = append(ways, a.wayOut(way, r)...)
	}
	if a.isRelease() && slices.Contains(a.Methods, Replace) {
		ways = append(ways, "spec.upgrade.force of the HelmRelease does not help: it makes Helm send a PUT, which is "+
			"refused, too, "+
			"and nothing at all under server-side apply")
	}
	return ways
}

// wayOut returns what becomes of one way: none, or several where the tool has alternatives to the step that applies the
// object.
func (a Applier) wayOut(way string, r Refused) []string {
	heading, steps := Steps(way)
	join := func(parts ...[]string) string {
		lines := slices.Concat(parts...)
		if heading != "" {
			lines = append([]string{heading}, lines...)
		}
		return strings.Join(lines, Step)
	}
	applies := func(step string) bool {
		command, _, _ := strings.Cut(step, Comment)
		return strings.HasSuffix(command, KubectlApply)
	}
	at := slices.IndexFunc(steps, applies)
	if at < 0 {
		return []string{join(a.keepFirst(r, steps), steps)}
	}
	before, after := steps[:at], steps[at+1:]
	if pause, resumed, paused := a.pause(r); paused && len(steps) > 1 {
		edits := 0 // they are merged with the change
		for edits < len(before) && strings.HasPrefix(before[edits], InManifest) {
			edits++
		}
		goOn := []string{resumed.apply(steps[at], r)}
		if a.Apply == "" && !strings.HasPrefix(steps[at], KubectlApply) {
			goOn = append(goOn, "let "+string(a.merger())+" go on")
		}
		return []string{join(before[:edits], pause, before[edits:], goOn, after)}
	}
	var ways []string
	for _, step := range a.replacements(steps[at], r) {
		ways = append(ways, join(before, []string{step}, after))
	}
	return ways
}

// keepFirst is the step before a way that moves data to another object; none where no tool would delete the old one.
func (a Applier) keepFirst(r Refused, steps []string) []string {
	keep := a.keepMark()
	stays := slices.ContainsFunc([]string{"kubectl ", InManifest, "leave it "}, func(begin string) bool {
		return strings.HasPrefix(steps[0], begin)
	})
	if keep == "" || !r.Precious || stays || r.Kind == "CustomResourceDefinition" || r.Kind == "Namespace" {
		return nil
	}
	return []string{"add " + keep + " to the old object in a change of its own, before data moves: " + string(a.Tool) +
		" then keeps it when its manifest goes"}
}

// replacements returns the alternatives of the tool to a step that ends with KubectlApply.
func (a Applier) replacements(step string, r Refused) []string {
	command, text, _ := strings.Cut(step, Comment)
	var ways []string
	if strings.HasPrefix(command, "kubectl delete ") && !strings.Contains(command, "--cascade=orphan") {
		if r.Asked && !r.Precious && a.Tool != "" {
			return nil
		}
		ways = a.replaceMarks(r, text)
		if len(ways) > 0 && a.Tool != Helm {
			return ways
		}
	}
	if a.merges() {
		text = AfterMerge + parenthesis(text)
		step = command + Comment + text
	}
	return append(ways, a.apply(step, r))
}

// apply returns a step that ends with KubectlApply as a step that lets the tool apply the object.
func (a Applier) apply(step string, r Refused) string {
	command, text, _ := strings.Cut(step, Comment)
	command = strings.TrimSuffix(command, KubectlApply)
	switch {
	case a.Apply != "":
		command += a.Apply
	case a.Deletes():
		command = strings.TrimSuffix(command, " && ")
		if command == "" {
			return "let " + string(a.merger()) + " apply the change" + parenthesis(text)
		}
	case slices.Equal(a.Methods, []Method{ServerSide}):
		command += "kubectl apply --server-side -f " + r.File
	default:
		command += "kubectl apply -f " + r.File
	}
	if text != "" {
		command += Comment + text
	}
	return command
}

// pause returns the steps that pause a tool which applies what is merged, and the tool as it applies when it goes on.
// paused is false where nothing has to be paused: the tool waits for a command, or the object has no data.
//
// When it goes on, the tool has to know the merge, or it applies the old manifests once more. flux reconcile fetches
// nothing for what is suspended, so its source is reconciled. Argo CD resolves the revision again for a refresh that is
// asked for in the same patch; otherwise, if the claim is missing, it may sync the revision that it has compared last.
//
// Read in Argo CD: controller/appcontroller.go: canProcessApp and needRefreshAppStatus; the annotation is one of the
// Application in the cluster, which an Application around it leaves alone. In Flux: cmd/flux/resume.go and
// reconcile_with_source.go.
func (a Applier) pause(r Refused) (steps []string, resumed Applier, paused bool) {
	if !r.Precious || !a.merges() {
		return nil, a, false
	}
	const merge = "merge the change"
	who := string(a.merger())
	because := Comment + "pause " + who + ", which otherwise creates the object again before its data is safe"
	resumed = a
	command, isFlux := strings.CutPrefix(strings.TrimSuffix(strings.TrimSuffix(a.Apply, " --force"), " --with-source"),
		"flux reconcile ")
	if isFlux {
		resumed.Apply = "flux resume " + command
		fetch := "wait until Flux has fetched the merge"
		if a.Fetch != "" {
			fetch = a.Fetch + Comment + "let Flux fetch the merge: otherwise it may go on with the old manifests"
		}
		return []string{"flux suspend " + command + because, merge, fetch}, resumed, true
	}
	name, known := strings.CutPrefix(a.Apply, "argocd app sync ")
	if !known {
		return []string{"pause " + who + ", which otherwise creates the object again before its data is safe",
			merge}, resumed, true
	}
	namespace, app, elsewhere := strings.Cut(name, "/")
	if !elsewhere {
		namespace, app = "argocd", name
	}
	const skip, refresh = " argocd.argoproj.io/skip-reconcile", " argocd.argoproj.io/refresh=normal"
	annotate := "kubectl annotate application " + app + " -n " + namespace + " --overwrite"
	resumed.Apply = annotate + skip + "-" + refresh + " && " + a.Apply
	return []string{annotate + skip + "=true" + because, merge}, resumed, true
}

// merges reports whether a merge is what makes the tool apply a change.
func (a Applier) merges() bool {
	return a.Tool == Flux || a.Tool == ArgoCD || a.isRelease()
}

// isRelease reports whether Flux installs the release of Helm.
func (a Applier) isRelease() bool { return a.Tool == Helm && strings.HasPrefix(a.Apply, "flux ") }

// merger returns the tool that applies what is merged.
func (a Applier) merger() Name {
	if a.isRelease() {
		return Flux
	}
	return a.Tool
}

// replaceMarks says how the tool is asked to delete and create an object; nil if it cannot be asked, or should not be.
// text is what that means for the object, "" if nothing more is to say.
func (a Applier) replaceMarks(r Refused, text string) []string {
	if r.Precious {
		return nil
	}
	text = parenthesis(text)
	begin := func(do string) string {
		return "add " + do + " with this change, and remove it with the next one: " + string(a.Tool) + " deletes the " +
			r.Kind + " and creates it again" + text
	}
	switch {
	case a.Tool == Flux && !r.Unforced:
		return []string{
			begin("the annotation kustomize.toolkit.fluxcd.io/force: enabled"),
			"set spec.force: true in the Kustomization with an earlier change, and remove it with the next one: Flux " +
				"then deletes and " +
				"creates again every object of it whose update is refused, claims with their data too",
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
			"helm.sh/hook-delete-policy: before-hook-creation: Helm then deletes it and creates it again with each " +
			"upgrade" + text}
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

// A repository does not always tell who deploys it: the Applications or Kustomizations may be in another one. Then the
// settings can name the tool, as in "tool: argo-cd". A unit that tells knows better.

// byWord has the tools that the settings can name.
var byWord = map[string]Name{"argo-cd": ArgoCD, "flux": Flux, "helm": Helm, "kubectl": Kubectl}

// Words returns the words for tools in the settings.
func Words() []string { return slices.Sorted(maps.Keys(byWord)) }

// Named returns the tool of a word, "" if there is none.
func Named(word string) Name { return byWord[word] }

// FluxReconcile is the command for a Kustomization of Flux that is not known.
const FluxReconcile = "flux reconcile kustomization NAME -n NAMESPACE --with-source"

// By returns the applier of objects if the settings name a tool; the first tool that they name counts. Flux has Helm
// install charts. The settings do not say which Application or release holds the objects, so the commands have
// placeholders.
func (a Applier) By(t Name) Applier {
	switch {
	case t == "" || a.Assumed || a.Tool != "" && !a.Lone:
		return a
	case a.Lone && t == Flux:
		a.Apply = "flux reconcile helmrelease RELEASE -n NAMESPACE --with-source --force"
		a.Fetch = FluxReconcile
	case a.Lone && t == Kubectl:
		namespace := "NAMESPACE" // Helm writes none into objects that name none
		if a.Namespace != "" {
			namespace = shell.Quote(a.Namespace)
		}
		a.Tool, a.Apply = t, strings.Replace(a.Apply, "helm upgrade", "helm template", 1)+
			" | kubectl apply -n "+namespace+" -f -"
	case t == Kubectl, a.Lone && t == Helm:
		a.Tool = t
	default:
		a.Tool, a.Apply = t, map[Name]string{
			ArgoCD: "argocd app sync APPLICATION",
			Flux:   FluxReconcile,
			Helm:   "helm upgrade RELEASE CHART -n NAMESPACE",
		}[t]
		if t == Flux {
			a.Fetch = "flux reconcile source git SOURCE -n NAMESPACE"
		}
	}
	a.Assumed = true
	return a
}

// Deletes reports whether a tool is known that deletes what is gone.
func (a Applier) Deletes() bool { return a.Tool != "" && a.Tool != Kubectl }
