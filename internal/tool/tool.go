// Package tool knows how deployment tools make objects: by which requests they update them, and by which marks an
// object tells its tool to leave it alone, to replace it, or to keep it. Each rule names the source that it was read
// in:
//
//	Argo CD   github.com/argoproj/argo-cd at 37ee0097cf85, below gitops-engine/pkg
//	Flux      github.com/fluxcd/kustomize-controller at 186fb3b29138, github.com/fluxcd/pkg/ssa v0.76.2
//	Helm      helm.sh/helm v3.22.0 and v4.3.1
//	kapp      github.com/carvel-dev/kapp at 0594f67003fb
//	kustomize sigs.k8s.io/kustomize/api v0.21.1
package tool

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Name is a deployment tool, "" for one that is not known.
type Name string

// The tools.
const (
	ArgoCD Name = "Argo CD"
	Flux   Name = "Flux"
	Helm   Name = "Helm"
	Kapp   Name = "kapp"
	// Kubectl is whoever runs kubectl apply. It heeds the marks of no tool, and deletes nothing.
	Kubectl Name = "kubectl"
)

// Method is how a tool sends an update.
type Method string

// The methods, by the words of --applier.
const (
	ServerSide Method = "server-side" // server-side apply: Flux, Helm 4, kubectl apply --server-side
	ClientSide Method = "client-side" // a patch made of the last manifest, the new one and the stored object: kubectl apply, Argo CD
	ThreeWay   Method = "helm"        // Helm's own such patch: Helm 3, and Helm 4 for releases that Helm 3 has installed
	Replace    Method = "replace"     // a PUT: kubectl replace, helm upgrade --force
)

// InCRDs is the mark of the objects that Helm installs once: their place.
const InCRDs = "crds/"

// Methods returns all methods.
func Methods() []Method { return []Method{ServerSide, ClientSide, ThreeWay, Replace} }

// Applier is what is known about who applies an object. The zero value knows nothing: marks of all tools count then.
type Applier struct {
	Tool Name
	// Methods are those that are possible. Empty means what the tool does by default.
	Methods []Method
	// Forced is set where the tool replaces what it cannot update, for all objects of the unit.
	Forced bool
	// Keeps is set where the tool deletes no object that the unit no longer has.
	Keeps bool
	// Dropped is set for a kustomization that a unit of OLD included, and that no unit of NEW includes.
	Dropped bool
	// InstallsOnce is set for the objects of a chart's crds directory: Helm creates them once, and neither updates nor
	// deletes them.
	InstallsOnce bool
	// Uninstalls is why the tool deletes the objects of OLD before it applies those of NEW, "" where it updates them.
	Uninstalls string
	// Namespace is where the tool puts objects that name none, "" where that is not known.
	Namespace string
	// Apply is the command that makes the tool apply the unit, "" where there is none, or it is not known.
	Apply string
	// Fetch is the command with which Flux fetches a merge while the unit is suspended: it reconciles the source of a
	// Kustomization, or the Kustomization that applies a HelmRelease. It is "" where it is not known.
	Fetch string
	// Lone is set for a chart that no unit deploys: Helm installs it, unless the settings know better.
	Lone bool
	// Unplaced is set where the namespace of the release is not known: the chart is rendered for the namespace default.
	Unplaced bool
	// Assumed is set where the tool is the one that the settings name.
	Assumed bool
}

// is reports whether the tool is t, or may be.
func (a Applier) is(t Name) bool { return a.Tool == t || a.Tool == "" }

// For returns the methods by which an object can be updated. An Argo CD Application can leave the method to the object
// (sync/sync_context.go: applyObject, shouldUseServerSideApply); the live object's Replace=true counts too.
func (a Applier) For(newObj, oldObj map[string]any) []Method {
	methods := a.Methods
	if len(methods) == 0 {
		methods = map[Name][]Method{
			ArgoCD: {ClientSide}, Flux: {ServerSide}, Helm: {ThreeWay, ServerSide}, Kapp: {ServerSide, ClientSide},
			"":      {ServerSide, ClientSide},
			Kubectl: {ClientSide},
		}[a.Tool]
	}
	replaces := syncOption(newObj, "Replace=true") || syncOption(oldObj, "Replace=true")
	switch {
	case a.Tool == "" && replaces && !slices.Contains(methods, Replace):
		return append(slices.Clone(methods), Replace)
	case a.Tool != ArgoCD || slices.Contains(methods, Replace):
	case replaces:
		return []Method{Replace}
	case syncOption(newObj, "ServerSideApply=false"):
		return []Method{ClientSide}
	case syncOption(newObj, "ServerSideApply=true"):
		return []Method{ServerSide}
	}
	return methods
}

// Requested reports whether the tool deletes and creates an object that it cannot update:
//   - Argo CD: Force=true with Replace=true (kubectl replace --force), but not of CRDs and Namespaces, which it PUTs; Force=true
//     alone where it applies client-side (kubectl apply --force). Marks of the live object count as well (sync/sync_context.go:
//     applyObject). Under client-side apply, it also replaces a binding whose role changes, as kubectl auth reconcile does
//     (utils/kube/resource_ops.go: ApplyResource).
//   - Flux: force: enabled on the manifest or the live object (ssa/manager_apply.go: shouldForceApply).
//   - kapp: update-strategy fallback-on-replace or always-replace on the manifest (clusterapply/add_or_update_change.go).
func (a Applier) Requested(newObj, oldObj map[string]any) bool {
	if a.is(ArgoCD) && a.argoReplaces(newObj, oldObj) {
		return true
	}
	if a.fluxForces(newObj, oldObj) {
		return true
	}
	strategy := text(annotations(newObj), "kapp.k14s.io/update-strategy")
	return a.is(Kapp) && (strategy == "fallback-on-replace" || strategy == "always-replace")
}

func (a Applier) fluxForces(newObj, oldObj map[string]any) bool {
	const force = "kustomize.toolkit.fluxcd.io/force"
	return a.Forced || a.is(Flux) && (marked(newObj, force, "enabled") || marked(oldObj, force, "enabled"))
}

// Insists reports whether a requested replacement is made though the server's answer to the update is not Invalid: by
// kubectl replace --force, and with kapp's always-replace. Flux does it for what says "is immutable"
// (ssa/errors/immutable.go: IsImmutableError); kubectl apply --force and kapp's fallback-on-replace do nothing then.
// says is a webhook's text, "" for other answers.
func (a Applier) Insists(newObj, oldObj map[string]any, says string) bool {
	switch {
	case a.fluxForces(newObj, oldObj) && immutableText.MatchString(says):
		return true
	case a.is(Kapp) && text(annotations(newObj), "kapp.k14s.io/update-strategy") == "always-replace":
		return true
	}
	return a.is(ArgoCD) && a.argoReplaces(newObj, oldObj) && slices.Contains(a.For(newObj, oldObj), Replace)
}

var immutableText = regexp.MustCompile(`is immutable|immutable field`)

func (a Applier) argoReplaces(newObj, oldObj map[string]any) bool {
	methods := a.For(newObj, oldObj)
	clientSide := a.Tool == ArgoCD && slices.Equal(methods, []Method{ClientSide})
	force := syncOption(newObj, "Force=true") || syncOption(oldObj, "Force=true")
	kind := text(newObj, "kind")
	switch {
	case clientSide && text(newObj, "apiVersion") == "rbac.authorization.k8s.io/v1" &&
		(kind == "RoleBinding" || kind == "ClusterRoleBinding"):
		return text(object(newObj, "roleRef"), "name") != "" // without a role, kubectl panics
	case !force || kind == "CustomResourceDefinition" || kind == "Namespace":
		return force && clientSide
	}
	replaces := syncOption(newObj, "Replace=true") || syncOption(oldObj, "Replace=true") // the unit can say so, too
	return clientSide || slices.Contains(methods, Replace) && (replaces || a.Tool == ArgoCD)
}

// Recreated reports whether the tool creates the object anew each time, so that nothing is updated:
//   - an object without a name and with metadata.generateName;
//   - a hook of Helm, which Helm only ever creates (action/hooks.go: execHook);
//   - a hook of Argo CD that is deleted before the next one is made or after it succeeded, also one with Helm's annotation
//     (sync/hook/hook.go: IsHook, Types; sync/hook/delete_policy.go: DeletePolicies).
func (a Applier) Recreated(obj map[string]any) bool {
	metadata := object(obj, "metadata")
	if text(metadata, "name") == "" && text(metadata, "generateName") != "" {
		return true
	}
	_, isArgo := annotations(obj)[argoHook]
	switch {
	case a.is(Helm) && isHelmHook(obj):
		return true
	case a.is(ArgoCD) && len(hookTypes(obj)) > 0 && !skipped(obj) &&
		(isArgo || text(annotations(obj), helmHook) != "crd-install"):
		policies := argoPolicies(obj)
		return len(policies) == 0 || slices.ContainsFunc(policies, func(p string) bool { return p != hookFailed })
	}
	return false
}

// Fate is what a tool does with a stored object whose manifest changes.
type Fate string

// The fates.
const (
	Updated   Fate = "updated"
	Created   Fate = "created"   // nothing is in the cluster by then
	Replaced  Fate = "replaced"  // the tool deletes the object, whatever it is, and creates it again
	Colliding Fate = "colliding" // the tool fails, as it creates the object, or wants to take it over, and it is there already
	// MayCollide is a hook that Helm 3 fails to create, and that Helm 4 updates where it applies server-side.
	MayCollide Fate = "may collide"
	Uncertain  Fate = "uncertain"
)

// Fate returns what the tool does with an object that was a hook or is one now; all others are Updated.
//
// Helm deletes what is no longer in the manifest of a release, and hooks are not (kube/client.go: Update). Before that
// it runs the hooks of pre-upgrade, which it deletes first if their policy is before-hook-creation, the default;
// otherwise it finds the object there (action/hooks.go: execHook), and Helm 4 updates it then, if it applies
// server-side. A hook that becomes an ordinary object is still there, unless it was deleted when it succeeded, and Helm
// does not take over an object without its annotations (action/validate.go: existingResourceConflict); Flux's
// HelmRelease does (internal/action/upgrade.go: newUpgrade, TakeOwnership). Helm never deletes a CRD for a hook.
//
// Argo CD deletes what is there before it creates a hook if the policy is BeforeHookCreation, the default, and applies
// the hook otherwise (sync/sync_task.go: deleteBeforeCreation). An ordinary object that was a hook is applied, too.
func (a Applier) Fate(newObj, oldObj map[string]any) Fate {
	is, was := a.Recreated(newObj), a.Recreated(oldObj)
	switch {
	case is && was:
		return Created
	case !is && !was || !is && a.Tool == "":
		return Updated
	case a.Tool == Helm && text(newObj, "kind") != "CustomResourceDefinition" && isHelmHook(oldObj):
		return a.leavesHelmHook(oldObj)
	case a.Tool == Helm && text(newObj, "kind") != "CustomResourceDefinition" && isHelmHook(newObj):
		return a.becomesHelmHook(newObj, oldObj)
	case a.Tool == ArgoCD && was && slices.Contains(argoPolicies(oldObj), hookSucceeded):
		return Created
	case a.Tool == ArgoCD && was:
		return Updated
	case a.Tool == ArgoCD && (len(argoPolicies(newObj)) == 0 ||
		slices.Contains(argoPolicies(newObj), beforeHookCreation)):
		return Replaced
	}
	return Uncertain
}

func (a Applier) becomesHelmHook(newObj, oldObj map[string]any) Fate {
	deleted := len(helmPolicies(newObj)) == 0 || slices.Contains(helmPolicies(newObj), beforeHookCreation)
	events := helmEvents(newObj)
	switch {
	case deleted:
		return Replaced
	case !slices.Contains(events, "pre-upgrade") && (!slices.Contains(events, "post-upgrade") || a.Kept(oldObj) == ""):
		return Replaced
	case slices.Equal(a.Methods, []Method{ServerSide}):
		return Updated
	case len(a.Methods) == 0 || slices.Contains(a.Methods, ServerSide):
		return MayCollide
	}
	return Colliding
}

func (a Applier) leavesHelmHook(oldObj map[string]any) Fate {
	ran := slices.ContainsFunc(helmEvents(oldObj), func(e string) bool {
		return strings.HasSuffix(e, "-install") || strings.HasSuffix(e, "-upgrade")
	})
	switch {
	case slices.Contains(helmPolicies(oldObj), hookSucceeded):
		return Created
	case a.isRelease():
		return Updated
	case ran:
		return Colliding
	}
	return Uncertain
}

// The policies by which tools delete hooks, in Helm's words.
const (
	beforeHookCreation = "before-hook-creation"
	hookSucceeded      = "hook-succeeded"
	hookFailed         = "hook-failed"
)

// argoPolicies returns the policies of a hook that Argo CD knows, in Helm's words.
func argoPolicies(obj map[string]any) []string {
	names := map[string]string{"BeforeHookCreation": beforeHookCreation, "HookSucceeded": hookSucceeded,
		"HookFailed": hookFailed}
	var all []string
	for _, word := range words(text(annotations(obj), "argocd.argoproj.io/hook-delete-policy"),
		slices.Collect(maps.Keys(names))...) {
		all = append(all, names[word])
	}
	return append(all, words(text(annotations(obj), helmPolicy), beforeHookCreation, hookSucceeded, hookFailed)...)
}

// helmPolicies and helmEvents return words as Helm reads them, in any case (release/util/manifest_sorter.go).
func helmPolicies(obj map[string]any) []string {
	return words(strings.ToLower(text(annotations(obj), helmPolicy)), beforeHookCreation, hookSucceeded, hookFailed)
}

func helmEvents(obj map[string]any) []string {
	return list(strings.ToLower(text(annotations(obj), helmHook)))
}

// isHelmHook reports whether Helm takes an object for a hook, or skips it since it does not know such hooks.
func isHelmHook(obj map[string]any) bool {
	_, ok := annotations(obj)[helmHook]
	return ok
}

const (
	argoHook = "argocd.argoproj.io/hook"
	helmHook = "helm.sh/hook"

	helmPolicy = "helm.sh/hook-delete-policy"
)

// hookTypes returns the hooks that Argo CD takes an object for: Helm's count where it has none of Argo CD's.
func hookTypes(obj map[string]any) []string {
	types := words(text(annotations(obj), argoHook), "PreSync", "Sync", "PostSync", "SyncFail", "Skip",
		"PreDelete", "PostDelete")
	if len(types) == 0 {
		types = words(text(annotations(obj), helmHook), "pre-install", "pre-upgrade", "post-upgrade", "post-install")
	}
	return types
}

// skipped reports whether Argo CD skips an object: Skip is its only hook.
func skipped(obj map[string]any) bool {
	types := hookTypes(obj)
	return len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool { return t != "Skip" })
}

// LeftAlone returns the mark by which an object tells its tool not to update it, "" for none:
//   - Flux: reconcile: disabled, ssa: Ignore or ssa: IfNotPresent (controller/kustomization_controller.go: apply; ssa/manager_apply.go:
//     shouldSkipApply). The first two count on the live object, too.
//   - Argo CD: hook: Skip (sync/hook/hook.go: Skip).
//   - kustomize: config.kubernetes.io/local-config, unless it is "false" (resource/factory.go: DropLocalNodes). Only files that
//     no tool is known for can have it: what kustomize has rendered no longer does, and other tools apply it.
//   - kapp: noop, and update-strategy: skip (clusterapply/add_or_update_change.go).
//
// It returns InCRDs for what is installed once (action/install.go: installCRDs; an upgrade has nothing like it).
func (a Applier) LeftAlone(obj map[string]any) string {
	if a.InstallsOnce {
		return InCRDs
	}
	if a.is(Flux) {
		for _, m := range []struct{ key, value string }{{"reconcile", "disabled"}, {"ssa", "Ignore"},
			{"ssa", "IfNotPresent"}} {
			if marked(obj, "kustomize.toolkit.fluxcd.io/"+m.key, m.value) {
				return "kustomize.toolkit.fluxcd.io/" + m.key + ": " + m.value
			}
		}
	}
	if a.is(ArgoCD) && skipped(obj) {
		return argoHook + ": Skip"
	}
	const local = "config.kubernetes.io/local-config"
	if value, ok := annotations(obj)[local]; a.Tool == "" && ok && value != "false" {
		return local
	}
	if a.is(Kapp) {
		if _, ok := annotations(obj)["kapp.k14s.io/noop"]; ok {
			return "kapp.k14s.io/noop"
		}
		if text(annotations(obj), "kapp.k14s.io/update-strategy") == "skip" {
			return "kapp.k14s.io/update-strategy: skip"
		}
	}
	return ""
}

// Kept returns the mark by which a stored object tells its tool not to delete it when the manifest is gone, "" for
// none:
//   - Flux: prune: disabled, reconcile: disabled, ssa: Ignore (controller/kustomization_controller.go: DeleteOptions);
//   - Argo CD: Prune=false (sync/sync_context.go: isPruningDisabled);
//   - Helm: helm.sh/resource-policy: keep (kube/client.go: update);
//   - kapp: delete-strategy: orphan.
//
// It returns InCRDs for what is installed once.
func (a Applier) Kept(obj map[string]any) string {
	if a.InstallsOnce {
		return InCRDs
	}
	if a.is(Flux) {
		for _, m := range []struct{ key, value string }{{"prune", "disabled"}, {"reconcile", "disabled"},
			{"ssa", "Ignore"}} {
			if marked(obj, "kustomize.toolkit.fluxcd.io/"+m.key, m.value) {
				return "kustomize.toolkit.fluxcd.io/" + m.key + ": " + m.value
			}
		}
	}
	for _, m := range []struct {
		by         Name
		key, value string
	}{{Helm, "helm.sh/resource-policy", "keep"}, {Kapp, "kapp.k14s.io/delete-strategy", "orphan"}} {
		if a.is(m.by) && text(annotations(obj), m.key) == m.value {
			return m.key + ": " + m.value
		}
	}
	if a.is(ArgoCD) {
		for _, option := range list(text(annotations(obj), syncOptions)) {
			if value, ok := strings.CutPrefix(option, "Prune="); ok { // the first one counts
				if value == "false" {
					return syncOptions + ": Prune=false"
				}
				break
			}
		}
	}
	return ""
}

const syncOptions = "argocd.argoproj.io/sync-options"

// syncOption reports whether an object has a sync option of Argo CD.
func syncOption(obj map[string]any, option string) bool {
	return slices.Contains(list(text(annotations(obj), syncOptions)), option)
}

// marked reports whether a label or annotation has a value in any case (ssa/utils/meta.go: AnyInMetadata).
func marked(obj map[string]any, key, value string) bool {
	return strings.EqualFold(text(annotations(obj), key), value) ||
		strings.EqualFold(text(object(object(obj, "metadata"), "labels"), key), value)
}

// words returns the words of a list that are among the known ones.
func words(text string, known ...string) []string {
	return slices.DeleteFunc(list(text), func(w string) bool { return !slices.Contains(known, w) })
}

// list splits a list of words separated by commas.
func list(text string) []string {
	all := strings.Split(text, ",")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

func annotations(obj map[string]any) map[string]any {
	return object(object(obj, "metadata"), "annotations")
}

// object returns a member of an object as an object, nil if it is none.
func object(of map[string]any, name string) map[string]any {
	o, _ := of[name].(map[string]any)
	return o
}

// text returns a member of an object as a string, "" if it is none.
func text(of map[string]any, name string) string {
	t, _ := of[name].(string)
	return t
}
