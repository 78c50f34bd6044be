package kudo

import (
	"maps"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/parameter"
)

// checkTriggers refuses changes that would start different plans at once, and changes in an upgrade that would start
// another plan than deploy. The proposals are silent about triggers, so this is what the shipped KUDO does; KEP-30 only
// says that a parameter which becomes mutable may be changed in the same upgrade. An installation runs the plan deploy,
// whatever the triggers say.
func (e *evaluation) checkTriggers(changed []*Parameter) {
	if e.install {
		return
	}
	started := map[string]bool{}
	var triggering []*Parameter
	for _, p := range changed {
		was := e.oldIndex[p.Name]
		if e.upgrade && (was == nil || was.Immutable) { // KUDO does not count new parameters
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
			e.refusals.Add(p.Name, parameter.RuleTrigger, "triggers the plan %s, and the changes together trigger %s: change them one after the other", p.Trigger, names)
		case len(started) == 1 && e.upgrade && names != planDeploy && p.Trigger != "":
			e.refusals.Add(p.Name, parameter.RuleTrigger, "triggers the plan %s, which cannot run in an upgrade: change it before or afterwards", p.Trigger)
		case len(started) == 0 && e.upgrade && slices.Contains(e.version.Plans, planUpdate):
			e.refusals.Add(p.Name, parameter.RuleTrigger, "starts the plan %s, which cannot run in an upgrade: change it before or afterwards", planUpdate)
		}
	}
}
