package kudo

import (
	"maps"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/parameter"
)

// checkTriggers refuses changes that would start different plans at once, and changes in an upgrade that would start
// another plan than deploy. The proposals are silent about triggers, so this is what the shipped KUDO does; KEP-30 only
// says that a parameter which becomes mutable may be changed in the same upgrade.
//
// Changed are the changed parameters, oldIndex the definitions before, and plans those of the operator, nil where they
// are not known.
func checkTriggers(changed []*Parameter, oldIndex map[string]*Parameter, upgrade bool, plans []string, refusals *parameter.Refusals) {
	started := map[string]bool{}
	var triggering []*Parameter
	for _, p := range changed {
		was := oldIndex[p.Name]
		if upgrade && (was == nil || was.Immutable) { // KUDO does not count new parameters
			continue
		}
		triggering = append(triggering, p)
		if p.Trigger != "" {
			started[p.Trigger] = true
		}
	}
	names := strings.Join(slices.Sorted(maps.Keys(started)), ", ")
	for _, p := range triggering {
		switch {
		case len(started) > 1 && p.Trigger != "":
			refusals.Add(p.Name, parameter.RuleTrigger, "triggers the plan %s, and the changes together trigger %s: change them one after the other", p.Trigger, names)
		case len(started) == 1 && upgrade && names != planDeploy && p.Trigger != "":
			refusals.Add(p.Name, parameter.RuleTrigger, "triggers the plan %s, which cannot run in an upgrade: change it before or afterwards", p.Trigger)
		case len(started) == 0 && upgrade && slices.Contains(plans, planUpdate):
			refusals.Add(p.Name, parameter.RuleTrigger, "starts the plan %s, which cannot run in an upgrade: change it before or afterwards", planUpdate)
		}
	}
}
