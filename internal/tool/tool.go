// Package tool reads the marks by which an object tells its deployment tool what to do with it.
package tool

import "strings"

// Requested reports whether an object asks its tool to replace it where an update is refused:
//   - Argo CD: the sync options Force=true and Replace=true together; Replace=true alone is a PUT, which is refused too;
//   - Flux: the label or annotation kustomize.toolkit.fluxcd.io/force: enabled;
//   - kapp: kapp.k14s.io/update-strategy: fallback-on-replace or always-replace.
//
// It works for objects of any kind. The sources are in docs/replacements.md.
func Requested(obj map[string]any) bool {
	annotations := object(object(obj, "metadata"), "annotations")
	options := text(annotations, "argocd.argoproj.io/sync-options")
	if has(options, "Force=true") && has(options, "Replace=true") {
		return true
	}
	const force = "kustomize.toolkit.fluxcd.io/force"
	for _, marks := range []map[string]any{annotations, object(object(obj, "metadata"), "labels")} {
		if strings.EqualFold(text(marks, force), "enabled") {
			return true
		}
	}
	switch text(annotations, "kapp.k14s.io/update-strategy") {
	case "fallback-on-replace", "always-replace":
		return true
	}
	return false
}

// Recreated reports whether a tool creates the object anew each time, so that nothing is updated:
//   - an object without a name and with metadata.generateName;
//   - a hook of Helm, which Helm only ever creates;
//   - a hook of Argo CD that is deleted before the next one is made or after it succeeded.
//
// The sources are in docs/replacements.md.
func Recreated(obj map[string]any) bool {
	metadata := object(obj, "metadata")
	if text(metadata, "name") == "" && text(metadata, "generateName") != "" {
		return true
	}
	annotations := object(metadata, "annotations")
	if text(annotations, "helm.sh/hook") != "" {
		return true
	}
	if hook := text(annotations, "argocd.argoproj.io/hook"); hook != "" && !has(hook, "Skip") {
		policy := text(annotations, "argocd.argoproj.io/hook-delete-policy")
		return policy == "" || has(policy, "BeforeHookCreation") || has(policy, "HookSucceeded")
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
