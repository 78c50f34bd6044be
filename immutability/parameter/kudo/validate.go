package kudo

import (
	"maps"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/internal/refuse"
)

// Validate reports what is wrong with the definitions and with the tasks that refer to them:
//
//   - an immutable parameter that is neither required nor has a default (KEP-30, Installation);
//   - an enablingParameter that is undefined, or that cannot be a boolean (KEP-36, Validation);
//   - what KUDO's verifier reports of parameters: names that differ in letter case only, names with "," or ";", a
//     default or an enum value that its type does not allow, an enum without values, an unknown group, an advanced
//     parameter that has to be set, a trigger without a plan, an apiVersion other than KUDO's;
//   - attributes that look misspelled, since KUDO ignores them.
//
// Every evaluation includes it. Nil means that all is well.
func (v *OperatorVersion) Validate() parameter.Refusals {
	v = v.orZero()
	refusals := v.validateParameters()
	index := v.index()
	for _, task := range v.Tasks {
		p, ok := task.enabling(index, &refusals)
		if ok && !p.Default.IsNull() && p.check(p.Default) == "" {
			task.reads(p, p.Default, true, &refusals)
		}
	}
	refuse.Sort(refusals)
	return refusals
}

// noOperator refuses evaluations of the zero OperatorVersion.
const noOperator = "there is no OperatorVersion: read one, or give it a name"

// validateParameters is Validate without the tasks, which evaluations check with the values of an Instance.
func (v *OperatorVersion) validateParameters() parameter.Refusals {
	refusals := slices.Clone(v.mistakes)
	if v.undefined() {
		refuse.Add(&refusals, "", refuse.Definition, "%s", noOperator)
	}
	v.validateNames(&refusals)
	v.validateGroups(&refusals)
	v.validatePlans(&refusals)
	for i := range v.Parameters {
		v.Parameters[i].validate(&refusals)
	}
	return refusals
}

func (p *Parameter) validate(refusals *parameter.Refusals) {
	add := func(format string, args ...any) {
		refuse.Add(refusals, p.Name, refuse.Definition, format, args...)
	}
	if !slices.Contains(types, p.Type) {
		add("has the unknown type %q: %s", p.Type, typesAre)
		return
	}
	if p.Immutable && p.Optional && p.Default.IsNull() {
		add("is immutable and has neither a default nor required: true: it needs one of them")
	}
	if p.Advanced && !p.Optional && p.Default.IsNull() {
		add("is advanced, required and without a default: an advanced parameter is optional or has a default")
	}
	if p.Enum != nil && len(p.Enum) == 0 {
		add("has an enum without values, which allows nothing")
		return
	}
	for _, text := range p.Enum {
		if problem := p.Type.check(parameter.Text(text)); problem != "" {
			add("has the enum value %q: %s", text, problem)
		}
	}
	if !p.Default.IsNull() {
		if problem := p.check(p.Default); problem != "" {
			add("has the default %q: %s", p.Default.Text, problem)
		}
	}
}

func (v *OperatorVersion) validateNames(refusals *parameter.Refusals) {
	first := map[string]*Parameter{}
	for i := range v.Parameters {
		p := &v.Parameters[i]
		if p.Name == "" {
			refuse.Add(refusals, "", refuse.Definition, "a parameter has no name")
			continue
		}
		if i := strings.IndexAny(p.Name, ",;"); i >= 0 {
			refuse.Add(refusals, p.Name, refuse.Definition,
				"has a %q in its name, which KUDO does not allow", p.Name[i])
		}
		other, twice := first[strings.ToLower(p.Name)]
		switch {
		case !twice:
			first[strings.ToLower(p.Name)] = p
		case other.Line > 0:
			refuse.Add(refusals, p.Name, refuse.Definition,
				"is defined a second time in line %d; the first definition is %q in line %d",
				p.Line, other.Name, other.Line)
		default:
			refuse.Add(refusals, p.Name, refuse.Definition,
				"is defined a second time; the first definition is %q", other.Name)
		}
	}
}

func (v *OperatorVersion) validateGroups(refusals *parameter.Refusals) {
	known := map[string]bool{}
	for _, name := range v.Groups {
		if strings.Contains(name, "/") {
			refuse.Add(refusals, "", refuse.Definition,
				"the group %q has a \"/\" in its name, which KUDO does not allow", name)
		}
		if known[name] {
			refuse.Add(refusals, "", refuse.Definition, "the group %q is defined twice", name)
		}
		known[name] = true
	}
	for i := range v.Parameters {
		p := &v.Parameters[i]
		switch {
		case p.Group == "":
		case strings.Contains(p.Group, "/"):
			refuse.Add(refusals, p.Name, refuse.Definition,
				"is in the group %q: KUDO allows no \"/\" in its name", p.Group)
		case v.Groups != nil && !known[p.Group]:
			refuse.Add(refusals, p.Name, refuse.Definition,
				"is in the group %q, which the groups do not define", p.Group)
		}
	}
}

// validatePlans checks the triggers, where the plans are known.
func (v *OperatorVersion) validatePlans(refusals *parameter.Refusals) {
	if len(v.Plans) == 0 {
		return
	}
	if !slices.Contains(v.Plans, planDeploy) {
		refuse.Add(refusals, "", refuse.Definition, "there is no plan %s: every operator needs one", planDeploy)
	}
	for i := range v.Parameters {
		if p := &v.Parameters[i]; p.Trigger != "" && !slices.Contains(v.Plans, p.Trigger) {
			refuse.Add(refusals, p.Name, refuse.Definition,
				"triggers the plan %q, which the operator does not have", p.Trigger)
		}
	}
}

// checkTriggers refuses changes that would start different plans at once, and changes in an upgrade that would start
// another plan than deploy. The proposals are silent about triggers, so this is what the shipped KUDO does; KEP-30 only
// says that a parameter which becomes mutable may be changed in the same upgrade.
//
// Changed are the changed parameters, oldIndex the definitions before, and plans those of the operator, nil where they
// are not known.
func checkTriggers(changed []*Parameter, oldIndex map[string]*Parameter, upgrade bool, plans []string,
	refusals *parameter.Refusals) {
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
			refuse.Add(refusals, p.Name, refuse.Trigger,
				"triggers the plan %s, and the changes together trigger %s: change them one after the other",
				p.Trigger, names)
		case len(started) == 1 && upgrade && names != planDeploy && p.Trigger != "":
			refuse.Add(refusals, p.Name, refuse.Trigger,
				"triggers the plan %s, which cannot run in an upgrade: change it before or afterwards", p.Trigger)
		case len(started) == 0 && upgrade && slices.Contains(plans, planUpdate):
			refuse.Add(refusals, p.Name, refuse.Trigger,
				"starts the plan %s, which cannot run in an upgrade: change it before or afterwards", planUpdate)
		}
	}
}
