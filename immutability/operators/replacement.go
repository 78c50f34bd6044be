package operators

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/shell"
)

// Replacement returns how to get the violations of verdict through.
func (k *Kind) Replacement(newObj map[string]any, verdict builtin.Verdict) builtin.Replacement {
	r := builtin.Replacement{Cost: cmp.Or(k.source.Cost, "unknown"), Message: cmp.Or(k.source.Why, "what is lost depends on the operator")}
	add := func(how string) {
		if how != "" && !slices.Contains(r.How, how) {
			r.How = append(r.How, how)
		}
	}
	edits := 0
	for _, v := range verdict.Violations {
		if v.Row.Edit != "" {
			edits++
		}
		add(v.Row.Edit)
	}
	if edits > 0 && edits == len(verdict.Violations) {
		r.Message = "an edit is enough; if the object is replaced nevertheless: " + r.Message
	}
	for _, v := range verdict.Violations {
		add(v.Row.First)
	}
	target := shell.Quote(k.Plural + "." + k.Group + "/" + text(newObj, "metadata.name"))
	if namespace := text(newObj, "metadata.namespace"); namespace != "" {
		target += " -n " + shell.Quote(namespace)
	}
	fill := strings.NewReplacer("{delete}", "kubectl delete "+target, "{apply}", "kubectl apply -f FILE")
	for _, how := range k.source.How {
		add(fill.Replace(how))
	}
	if len(k.source.How) == 0 {
		add(fill.Replace("{delete} && {apply}"))
	}
	return r
}
