package compare

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/shell"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// The definitions of a kind know what replacing an object costs, and list the ways out for kubectl. Here they become those of the
// tool that applies the object.

// replacementOf completes the replacement of a refused object.
func (c *checker) replacementOf(p pair, v *verdict) *Replacement {
	re := *v.replacement
	if re.Cost == "" { // what refuses the update knows nothing of the kind
		re.Cost = c.worst(p).Cost
	}
	by := c.applier(p.new)
	refused := tool.Refused{
		Group: p.new.Group, Kind: p.new.Kind, Namespace: p.new.Namespace, Name: p.new.Name, File: manifest.Argument(p.new.Document.File),
		Precious:  re.Cost == CostData || re.Cost == CostCascade,
		ByWebhook: slices.ContainsFunc(v.violations, func(b Violation) bool { return b.EnforcedBy != "" }),
	}
	if p.old != nil {
		by.Keeps = by.Keeps || by.Kept(p.old.Value()) != ""
	}
	re.Subject, re.How = subject(p.new, ""), append([]string{}, by.WaysOut(re.How, refused)...)
	re.RequestedNew = re.Requested && p.old != nil && !c.applier(p.old).Requested(p.old.Value(), p.old.Value())
	return &re
}

// worst returns what replacing an object costs by the definition of its kind that costs most.
func (c *checker) worst(p pair) *Replacement {
	p.old = cmp.Or(p.old, p.new)
	worst := &Replacement{Cost: CostUnknown}
	for i, d := range c.kinds.of(p.new) {
		if r := d.replacement(p); i == 0 || r.worse(worst) {
			worst = r
		}
	}
	return worst
}

// harmless reports whether a replacement that the object asks for needs no acknowledgement.
func (r *Replacement) harmless() bool {
	return r.Cost == CostNone || r.Cost == CostRestart || r.Cost == CostDowntime
}

// worse reports whether a replacement costs more than another one.
func (r *Replacement) worse(other *Replacement) bool {
	costs := Costs()
	return slices.Index(costs, r.Cost) > slices.Index(costs, other.Cost)
}

// The ways out of a refusal by a schema.
const keepOldValues = "keep the old values of the locked fields"

// recreate returns the command that deletes an object of a kind and creates it as NEW has it.
func recreate(kind string, o *manifest.Object) string {
	return fmt.Sprintf("kubectl delete %s %s && %s", shell.Quote(kind), kubectlName(o), tool.KubectlApply)
}
