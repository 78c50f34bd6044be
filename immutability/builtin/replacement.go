package builtin

import (
	"encoding/json"
	"slices"
	"strings"
)

// Replacement is what it takes to get a refused change through.
type Replacement struct {
	// Cost is the worst effect of deleting the object with the default cascade and creating it again: "none",
	// "restart", "downtime", "data", "cascade" or "unknown".
	Cost string
	// Requested is true when the object asks its tool for a replacement, see Requested.
	Requested bool
	// Message is the reason for the cost.
	Message string
	// How lists commands or edits, the gentlest first. "FILE" stands for the file of the new manifest.
	How []string
}

// Replacement returns how to get the violations of verdict through.
func (k *Kind) Replacement(newObj, _ map[string]any, verdict Verdict) Replacement {
	r := Replacement{Cost: k.source.Cost, Requested: Requested(newObj), Message: k.source.Why}
	if r.Cost == "" {
		r.Cost = "unknown"
	}
	if k.Kind == "Service" && r.Cost == "downtime" && text(newObj, "spec", "clusterIP") != "" {
		r.Message = "the Service is gone for a moment; it keeps the address that its manifest names"
	}
	target := strings.ToLower(k.Kind) + "/" + text(newObj, "metadata", "name")
	if namespace := text(newObj, "metadata", "namespace"); namespace != "" {
		target += " -n " + namespace
	}
	fill := strings.NewReplacer("{delete}", "kubectl delete "+target, "{apply}", "kubectl apply -f FILE", "{file}", "FILE")
	for _, v := range verdict.Violations {
		if v.row == nil || v.row.Edit == "" {
			continue
		}
		null := "kubectl patch " + target + " --type merge -p '" + nullPatch(newObj, stepsOf(v.Path)) + "'"
		edit := strings.NewReplacer("{path}", v.Path, "{null}", null).Replace(v.row.Edit)
		if !slices.Contains(r.How, edit) {
			r.How = append(r.How, edit)
		}
	}
	for _, how := range k.source.How {
		r.How = append(r.How, fill.Replace(how))
	}
	return r
}

// nullPatch returns a merge patch that removes the field at the end of steps, and sets the type beside it.
func nullPatch(newObj map[string]any, steps []step) string {
	last := len(steps) - 1
	names := make([]string, last)
	for i := range names {
		names[i] = string(steps[i])
	}
	patch := map[string]any{string(steps[last]): nil}
	if kind := text(object(newObj, names...), "type"); kind != "" {
		patch["type"] = kind
	}
	for _, name := range slices.Backward(names) {
		patch = map[string]any{name: patch}
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return "{}" // it holds nothing but names
	}
	return string(data)
}
