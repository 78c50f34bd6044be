package kudo

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/internal/refuse"
)

// Install evaluates the installation of an Instance with the requested values; a null counts as not given. Defaults of
// immutable parameters are copied into the Instance, so that a later default cannot change them. An immutable or
// required parameter needs a value or a default (KEP-30, Installation).
func (v *OperatorVersion) Install(requested parameter.Values) Admission {
	e := newEvaluation(v, &OperatorVersion{}, requested, nil)
	e.install = true
	e.request()
	for i := range v.Parameters {
		p := &v.Parameters[i]
		if _, ok := e.next[p.Name]; p.Immutable && !ok && !p.Default.IsNull() {
			e.next[p.Name] = parameter.Text(p.Default.Text)
		}
	}
	return e.finish()
}

// Update evaluates new values for an Instance that stays at its OperatorVersion. Requested values replace current
// ones, and a null removes one. The whole update is refused when the effective text of an immutable parameter changes
// (KEP-30, Updates). A removal that would only remove the copy of the same default is ignored, since the copy protects
// the value from later defaults.
func (v *OperatorVersion) Update(requested, current parameter.Values) Admission {
	e := newEvaluation(v, v, requested, current)
	e.refuseUnknown()
	e.request()
	e.checkImmutable()
	return e.finish()
}

// Upgrade evaluates the upgrade of an Instance from old to v (KEP-30, Upgrades). A parameter that becomes immutable, and
// a new immutable one, needs a value among the requested ones. An immutable parameter keeps its value when only its
// default changes. Values of removed parameters are removed. A changed parameter may trigger only the plan deploy, as in
// the shipped KUDO, unless the upgrade makes it mutable. Without old the Instance stays at v.
func (v *OperatorVersion) Upgrade(requested parameter.Values, old *OperatorVersion, current parameter.Values) Admission {
	if old == nil {
		return v.Update(requested, current)
	}
	e := newEvaluation(v, old, requested, current)
	e.upgrade = true
	e.refuseUnknown()
	for name := range e.next {
		if e.index[name] == nil {
			delete(e.next, name)
		}
	}
	e.request()
	e.keepDefaults()
	e.checkImmutable()
	return e.finish()
}

// evaluation is one run of an evaluator.
type evaluation struct {
	install, upgrade   bool
	version, old       *OperatorVersion
	index, oldIndex    map[string]*Parameter
	requested, current parameter.Values
	next               parameter.Values // what would be stored, requested values as they came
	refusals           parameter.Refusals
}

func newEvaluation(version, old *OperatorVersion, requested, current parameter.Values) *evaluation {
	e := &evaluation{version: version, old: old, requested: requested, current: current, next: parameter.FromTexts(current.Texts())}
	e.index = version.index()
	if e.oldIndex = e.index; old != version {
		e.oldIndex = old.index()
	}
	e.refusals = version.validateParameters()
	return e
}

// refuseUnknown refuses current values that neither version defines.
func (e *evaluation) refuseUnknown() {
	for name := range e.current { // in any order: finish sorts the refusals
		if e.index[name] == nil && e.oldIndex[name] == nil {
			refuse.Add(&e.refusals, name, parameter.RuleUnknown, "has a current value and is not defined")
		}
	}
}

// request lays the requested values over the next ones.
func (e *evaluation) request() {
	for name, value := range e.requested { // in any order: finish sorts the refusals
		defined, wasDefined := e.index[name] != nil, e.oldIndex[name] != nil
		switch {
		case defined && value.IsNull():
			delete(e.next, name)
		case defined:
			e.next[name] = value
		case wasDefined && value.IsNull() && !e.current[name].IsNull(): // the upgrade removes it anyway
		case wasDefined:
			refuse.Add(&e.refusals, name, parameter.RuleUnknown, "is no longer defined: leave it out, and its value is removed")
		case !e.current[name].IsNull(): // refuseUnknown has refused it
		default:
			refuse.Add(&e.refusals, name, parameter.RuleUnknown, "is not defined")
		}
	}
}

// keepDefaults stores the old default of parameters that were immutable and had no stored copy of it, where the new
// definitions have another default: the value stays.
func (e *evaluation) keepDefaults() {
	for i := range e.old.Parameters {
		was := &e.old.Parameters[i]
		p := e.index[was.Name]
		if p == nil || !was.Immutable || was.Default.IsNull() {
			continue
		}
		_, requested := e.requested[was.Name]
		same := !p.Default.IsNull() && p.Default.Text == was.Default.Text
		if e.current[was.Name].IsNull() && !requested && !same {
			e.next[was.Name] = parameter.Text(was.Default.Text)
		}
	}
}

// checkImmutable refuses changes of immutable values, and upgrades that make a parameter immutable unasked.
func (e *evaluation) checkImmutable() {
	for i := range e.version.Parameters {
		p := &e.version.Parameters[i]
		if !p.Immutable {
			continue
		}
		was := e.oldIndex[p.Name]
		if was == nil || !was.Immutable {
			if e.requested[p.Name].IsNull() {
				how := "becomes immutable with this upgrade"
				if was == nil {
					how = "is new and immutable"
				}
				refuse.Add(&e.refusals, p.Name, parameter.RuleImmutable, "%s: set its value in the upgrade, for it cannot be changed afterwards%s", how, offer(p))
			}
			continue
		}
		before, had := was.effective(e.current)
		after, has := p.effective(e.next)
		if had != has || before.Text != after.Text {
			refuse.Add(&e.refusals, p.Name, parameter.RuleImmutable, "is immutable: it may not change from %s to %s", quoted(before, had), quoted(after, has))
			continue
		}
		if value := e.current[p.Name]; !value.IsNull() {
			e.next[p.Name] = parameter.Text(value.Text) // a removal asked for the same default: the copy stays
		}
	}
}

// offer shows the default of a parameter in a message.
func offer(p *Parameter) string {
	if p.Default.IsNull() {
		return ""
	}
	return " (the default is " + strconv.Quote(p.Default.Text) + ")"
}

// finish checks the next values and decides.
func (e *evaluation) finish() Admission {
	e.checkValues()
	changes, counted := e.changes()
	if !e.install { // which runs the plan deploy, whatever the triggers say
		checkTriggers(counted, e.oldIndex, e.upgrade, e.version.Plans, &e.refusals)
	}
	children := e.version.children(e.index, e.next, &e.refusals)
	refuse.Sort(e.refusals)

	admission := Admission{Decision: parameter.Decision{Refusals: e.refusals, Changes: changes}}
	if len(e.refusals) > 0 {
		admission.Resulting = parameter.FromTexts(e.current.Texts())
		return admission
	}
	admission.Resulting = parameter.FromTexts(e.next.Texts())
	admission.Children = children
	if !e.install {
		for _, p := range counted {
			if !p.NoRestart {
				admission.Restarts = append(admission.Restarts, p.Name)
			}
		}
		slices.Sort(admission.Restarts)
	}
	return admission
}

// checkValues refuses what is missing, and values that their type or enum does not allow. An empty text has no type,
// but is allowed where nothing requires a value, as in the shipped KUDO.
func (e *evaluation) checkValues() {
	for i := range e.version.Parameters {
		p := &e.version.Parameters[i]
		add := func(rule parameter.Rule, format string, args ...any) {
			refuse.Add(&e.refusals, p.Name, rule, format, args...)
		}
		value, ok := e.next[p.Name]
		switch {
		case ok && value.Text != "":
			if problem := p.check(value); problem != "" {
				add(parameter.RuleType, "cannot have the value %q: %s", value.Text, problem)
			}
		case !p.Default.IsNull():
		case !p.Optional && p.Immutable && e.install:
			add(parameter.RuleRequired, "is required and immutable and has neither a value nor a default: set it now, for it cannot be set later")
		case !p.Optional:
			add(parameter.RuleRequired, "is required and has neither a value nor a default: set it")
		case p.Immutable && !ok && e.install:
			add(parameter.RuleRequired, "is immutable and has neither a value nor a default: set it now, for it cannot be set later")
		}
	}
}

// changes returns the changed parameters, and the definitions of those that count for triggers and restarts: a
// parameter that an upgrade adds counts once it has a value of its own, one that an upgrade removes does not.
func (e *evaluation) changes() (changes []parameter.Change, counted []*Parameter) {
	for i := range e.version.Parameters {
		p := &e.version.Parameters[i]
		change := parameter.Change{Name: p.Name}
		change.New, change.HasNew = p.effective(e.next)
		was := e.oldIndex[p.Name]
		if was != nil {
			change.Old, change.HasOld = was.effective(e.current)
		}
		if change.HasOld == change.HasNew && change.Old.Text == change.New.Text {
			continue
		}
		changes = append(changes, change)
		if _, own := e.next[p.Name]; was != nil || own {
			counted = append(counted, p)
		}
	}
	for i := range e.old.Parameters {
		was := &e.old.Parameters[i]
		if e.index[was.Name] != nil {
			continue
		}
		if old, ok := was.effective(e.current); ok {
			changes = append(changes, parameter.Change{Name: was.Name, Old: old, HasOld: true})
		}
	}
	slices.SortFunc(changes, func(a, b parameter.Change) int { return strings.Compare(a.Name, b.Name) })
	return changes, counted
}
