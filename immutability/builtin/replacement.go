package builtin

import (
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
	for _, v := range verdict.Violations {
		if v.row != nil && v.row.Edit != "" && !slices.Contains(r.How, v.row.Edit) {
			r.How = append(r.How, v.row.Edit)
		}
	}
	if k.Kind == "Service" && r.Cost == "downtime" && text(newObj, "spec", "clusterIP") != "" {
		r.Message = "the Service is gone for a moment; it keeps the address that its manifest names"
	}
	target := strings.ToLower(k.Kind) + "/" + text(newObj, "metadata", "name")
	if namespace := text(newObj, "metadata", "namespace"); namespace != "" {
		target += " -n " + namespace
	}
	fill := strings.NewReplacer("{delete}", "kubectl delete "+target, "{apply}", "kubectl apply -f FILE", "{file}", "FILE")
	for _, how := range k.source.How {
		r.How = append(r.How, fill.Replace(how))
	}
	return r
}
