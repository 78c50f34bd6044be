package builtin

import "strings"

// Requested reports whether an object asks its tool to replace it where an update is refused:
//   - Argo CD: the sync options Force=true and Replace=true together; Replace=true alone is a PUT, which is refused too;
//   - Flux: kustomize.toolkit.fluxcd.io/force: enabled;
//   - kapp: kapp.k14s.io/update-strategy: fallback-on-replace or always-replace.
//
// It works for objects of any kind. The sources are in docs/replacements.md.
func Requested(obj map[string]any) bool {
	annotations := object(obj, "metadata", "annotations")
	force, replace := false, false
	for _, option := range strings.Split(text(annotations, "argocd.argoproj.io/sync-options"), ",") {
		switch strings.TrimSpace(option) {
		case "Force=true":
			force = true
		case "Replace=true":
			replace = true
		}
	}
	if force && replace {
		return true
	}
	if strings.EqualFold(text(annotations, "kustomize.toolkit.fluxcd.io/force"), "enabled") {
		return true
	}
	switch text(annotations, "kapp.k14s.io/update-strategy") {
	case "fallback-on-replace", "always-replace":
		return true
	}
	return false
}

// Recreated reports whether a tool creates the object anew each time, so that nothing is updated:
//   - an object without a name and with metadata.generateName;
//   - a Helm hook: Helm deletes it before it makes it again, unless its deletion policy says otherwise;
//   - a hook of Argo CD, likewise.
func Recreated(obj map[string]any) bool {
	metadata := object(obj, "metadata")
	if text(metadata, "name") == "" && text(metadata, "generateName") != "" {
		return true
	}
	annotations := object(metadata, "annotations")
	const beforeCreation = "before-hook-creation"
	if text(annotations, "helm.sh/hook") != "" {
		policy := text(annotations, "helm.sh/hook-delete-policy")
		return policy == "" || has(policy, beforeCreation)
	}
	if hook := text(annotations, "argocd.argoproj.io/hook"); hook != "" && !has(hook, "Skip") {
		policy := text(annotations, "argocd.argoproj.io/hook-delete-policy")
		return policy == "" || has(policy, "BeforeHookCreation")
	}
	return false
}

// has reports whether a list of words separated by commas has a word.
func has(list, word string) bool {
	for _, w := range strings.Split(list, ",") {
		if strings.TrimSpace(w) == word {
			return true
		}
	}
	return false
}
