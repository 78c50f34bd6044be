package compare

import (
	"cmp"
	"slices"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// Replacements of refused objects. The definitions of a kind know what replacing an object costs, and list the ways out
// for kubectl. Here they become the ways of the tool that applies the object: for a Deployment of Flux,
//
//	kubectl delete deployment a --namespace dev && kubectl apply -f FILE
//
// becomes the same deletion, followed by flux reconcile.

// replacementOf completes the replacement of a refused object.
func (c *checker) replacementOf(p pair, v *verdict) *result.Replacement {
	re := *v.replacement
	if re.Cost == "" { // what refuses the update knows nothing of the kind
		re.Cost = c.worstReplacement(request{pair: p}).Cost
	}
	by := c.applierOf(p.new)
	refused := tool.Refused{
		Group: p.new.Group, Kind: p.new.Kind, Namespace: p.new.Place(), Name: p.new.Called(),
		File:     manifest.Argument(p.new.Document.File),
		Precious: re.Cost == result.CostData || re.Cost == result.CostCascade,
		Asked:    re.Requested,
		Unforced: slices.ContainsFunc(v.Violations, func(b result.Violation) bool {
			return b.Unforced || b.EnforcedBy != ""
		}),
	}
	if p.old != nil {
		by.Keeps = by.Keeps || by.Kept(p.old.Value()) != ""
	}
	re.Subject, re.How = subject(p.new, nil), append([]string{}, by.WaysOut(re.How, refused)...)
	if by.Forced && !c.requestOf(p).applier.Forced {
		re.Message += "; spec.force of the Kustomization does not count yet, since this change adds it"
	}
	re.RequestedNew = re.Requested && p.old != nil && !c.applierOf(p.old).Requested(p.old.Value(), p.old.Value())
	return &re
}

// worstReplacement returns what replacing an object costs by the definition of its kind that costs most.
func (c *checker) worstReplacement(p request) *result.Replacement {
	p.old = cmp.Or(p.old, p.new)
	worst := &result.Replacement{Cost: result.CostUnknown}
	for i, d := range c.kinds.definitionsOf(p.new) {
		if r := d.replacement(p); i == 0 || worse(r, worst) {
			worst = r
		}
	}
	return worst
}
