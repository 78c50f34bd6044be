package parameter

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Validate reports what is wrong with the definitions themselves and with tasks that refer to them: an immutable
// parameter that is neither required nor has a default (KEP-30, Installation), a default or an enum value that is not
// of its type, a default outside its enum, an enabling parameter that is undefined or cannot be a boolean (KEP-36,
// Validation). Nil is valid.
func (d *Definitions) Validate(tasks ...Task) Errors {
	e := evaluation{defs: d}
	e.checkDefaults()
	for i := range d.list {
		definition := &d.list[i]
		if definition.Immutable && !definition.Required && !definition.HasDefault() {
			e.errs.refuse(definition.Name, RuleDefinition, "is immutable and has neither a default nor required: true: it needs one of them")
		}
		for _, text := range definition.Enum {
			if problem := definition.Type.check(Text(text)); problem != "" {
				e.errs.refuse(definition.Name, RuleDefinition, "has the enum value %q: %s", text, problem)
			}
		}
	}
	for _, task := range tasks {
		if definition, ok := e.enabling(task); ok && definition.HasDefault() && definition.badDefault == "" {
			e.toggle(task, definition, definition.Default, true)
		}
	}
	e.errs.sort()
	return e.errs
}

// Install evaluates the installation of an instance with the requested values; a null counts as not given. The
// defaults of immutable parameters are copied into the instance, so that a later default cannot move them. A
// parameter that is immutable or required needs a value or a default (KEP-30, Installation).
func (d *Definitions) Install(requested Values, tasks ...Task) Plan {
	e := evaluation{operation: OperationInstall, defs: d, old: &Definitions{}, requested: requested, next: make(Values, len(requested))}
	e.request()
	for i := range d.list {
		definition := &d.list[i]
		if _, ok := e.next[definition.Name]; definition.Immutable && !ok && definition.HasDefault() {
			e.next[definition.Name] = Text(definition.Default.Text)
		}
	}
	return e.finish(tasks)
}

// Update evaluates new values for an instance that stays at its definitions. Requested values are laid over the
// stored ones, and a null removes a stored one. The whole update is refused when the effective text of an immutable
// parameter changes (KEP-30, Updates); where only its stored copy would go, the copy stays.
func (d *Definitions) Update(stored, requested Values, tasks ...Task) Plan {
	e := evaluation{operation: OperationUpdate, defs: d, old: d, stored: stored, requested: requested, next: textsOf(stored)}
	e.request()
	e.checkImmutable()
	return e.finish(tasks)
}

// Upgrade evaluates the upgrade of an instance from the old definitions to d (KEP-30, Upgrades). A parameter that
// becomes immutable, and a new immutable one, needs a value among the requested ones. One that was immutable keeps
// its value when its default changes; while it stays immutable it may not change. Values of removed parameters go.
// Without old definitions the instance stays at d.
func (d *Definitions) Upgrade(old *Definitions, stored, requested Values, tasks ...Task) Plan {
	if old == nil {
		old = d
	}
	e := evaluation{operation: OperationUpgrade, defs: d, old: old, stored: stored, requested: requested, next: textsOf(stored)}
	for name := range e.next {
		if _, ok := d.Lookup(name); !ok {
			delete(e.next, name)
		}
	}
	e.request()
	e.keepDefaults()
	e.checkImmutable()
	return e.finish(tasks)
}

// evaluation is one run of an evaluator.
type evaluation struct {
	operation         Operation
	defs, old         *Definitions
	stored, requested Values
	next              Values // what would be stored, requested values as they came
	errs              Errors
}

// request lays the requested values over the next ones.
func (e *evaluation) request() {
	for name, value := range e.requested { // in any order: the errors are sorted in the end
		if _, ok := e.defs.Lookup(name); !ok {
			if value.none() && !e.stored[name].none() { // a value that a removed definition left behind may go
				delete(e.next, name)
				continue
			}
			if _, removed := e.old.Lookup(name); removed {
				e.errs.refuse(name, RuleUnknown, "is not defined any more: leave it out, and its value is removed")
			} else {
				e.errs.refuse(name, RuleUnknown, "is not defined")
			}
			continue
		}
		if value.none() {
			delete(e.next, name)
			continue
		}
		e.next[name] = value
	}
}

// given returns the value that this operation asks for.
func (e *evaluation) given(name string) (Value, bool) {
	value, ok := e.requested[name]
	return value, ok && !value.none()
}

// keepDefaults stores the old default of parameters that were immutable and had no stored copy of it, where the new
// definitions have another default: the value stays.
func (e *evaluation) keepDefaults() {
	for i := range e.old.list {
		was := &e.old.list[i]
		definition, ok := e.defs.Lookup(was.Name)
		if !ok || !was.Immutable || !was.HasDefault() {
			continue
		}
		_, requested := e.requested[was.Name]
		same := definition.HasDefault() && definition.Default.Text == was.Default.Text
		if e.stored[was.Name].none() && !requested && !same {
			e.next[was.Name] = Text(was.Default.Text)
		}
	}
}

// checkImmutable refuses changes of immutable values, and upgrades that make a parameter immutable unasked.
func (e *evaluation) checkImmutable() {
	for i := range e.defs.list {
		definition := &e.defs.list[i]
		if !definition.Immutable {
			continue
		}
		name := definition.Name
		was, known := e.old.Lookup(name)
		if !known || !was.Immutable {
			if _, ok := e.given(name); !ok {
				how := "becomes immutable with this upgrade"
				if !known {
					how = "is new and immutable"
				}
				e.errs.refuse(name, RuleImmutable, "%s: set its value in the upgrade, for it cannot be changed afterwards%s", how, offer(definition))
			}
			continue
		}
		before, had := effective(was, e.stored)
		after, has := effective(definition, e.next)
		if had != has || before.Text != after.Text {
			e.errs.refuse(name, RuleImmutable, "is immutable: it may not change from %s to %s", valueText(before, had), valueText(after, has))
			continue
		}
		if value, ok := e.stored[name]; ok && !value.none() {
			e.next[name] = Text(value.Text) // asked to remove the copy of what the default says: the copy stays
		}
	}
}

// offer shows the default of a definition in a message.
func offer(definition *Definition) string {
	if !definition.HasDefault() {
		return ""
	}
	return " (the default is " + strconv.Quote(definition.Default.Text) + ")"
}

// effective returns the value that templates see: the stored one, else the default.
func effective(definition *Definition, stored Values) (Value, bool) {
	if value, ok := stored[definition.Name]; ok && !value.none() {
		return value, true
	}
	return definition.Default, definition.HasDefault()
}

// finish admits the next values and sums up.
func (e *evaluation) finish(tasks []Task) Plan {
	e.checkDefaults()
	e.checkValues()
	changes, counted := e.changes()
	e.checkTriggers(counted)
	children := e.children(tasks)
	e.errs.sort()

	plan := Plan{Operation: e.operation, Errors: e.errs, Changes: changes}
	if !plan.Allowed() {
		plan.Resulting = textsOf(e.stored)
		return plan
	}
	plan.Resulting = e.next
	for name, value := range e.next {
		if value.Kind != String {
			e.next[name] = Text(value.Text)
		}
	}
	plan.Children = children
	if e.operation != OperationInstall {
		for _, definition := range counted {
			if definition.ForcePodRestart {
				plan.Restarts = append(plan.Restarts, definition.Name)
			}
		}
	}
	return plan
}

// checkDefaults refuses definitions whose default is not of its type or enum.
func (e *evaluation) checkDefaults() {
	for i := range e.defs.list {
		if definition := &e.defs.list[i]; definition.badDefault != "" {
			e.errs.refuse(definition.Name, RuleDefinition, "has the default %q: %s", definition.Default.Text, definition.badDefault)
		}
	}
}

// checkValues refuses what is missing, and values that are not of their type or enum. An empty text is no value of
// any type but is allowed where nothing needs one, as in the shipped KUDO.
func (e *evaluation) checkValues() {
	for i := range e.defs.list {
		definition := &e.defs.list[i]
		value, ok := e.next[definition.Name]
		switch {
		case ok && value.Text != "":
			if problem := definition.Type.check(value); problem != "" {
				e.errs.refuse(definition.Name, RuleType, "cannot have the value %q: %s", value.Text, problem)
			} else if problem := checkEnum(definition.Enum, value.Text); problem != "" {
				e.errs.refuse(definition.Name, RuleType, "cannot have the value %q: %s", value.Text, problem)
			}
		case definition.HasDefault():
		case definition.Required && definition.Immutable && e.operation == OperationInstall:
			e.errs.refuse(definition.Name, RuleRequired, "is required and immutable and has neither a value nor a default: set it now, for it cannot be set later")
		case definition.Required:
			e.errs.refuse(definition.Name, RuleRequired, "is required and has neither a value nor a default: set it")
		case definition.Immutable && !ok && e.operation == OperationInstall:
			e.errs.refuse(definition.Name, RuleRequired, "is immutable and has neither a value nor a default: set it now, for it cannot be set later")
		}
	}
}

// changes returns the changed parameters, and the definitions of those that count for triggers and restarts: a
// parameter that an upgrade adds counts once it has a value of its own, one that an upgrade removes does not.
func (e *evaluation) changes() (changes []Change, counted []*Definition) {
	if e.operation == OperationInstall {
		changes = make([]Change, 0, len(e.defs.list))
	}
	for i := range e.defs.list {
		definition := &e.defs.list[i]
		change := Change{Name: definition.Name}
		change.New, change.HasNew = effective(definition, e.next)
		was, known := e.old.Lookup(definition.Name)
		if known {
			change.Old, change.HasOld = effective(was, e.stored)
		}
		if change.HasOld == change.HasNew && change.Old.Text == change.New.Text {
			continue
		}
		changes = append(changes, change)
		if _, own := e.next[definition.Name]; known || own {
			counted = append(counted, definition)
		}
	}
	for i := range e.old.list {
		was := &e.old.list[i]
		if _, ok := e.defs.Lookup(was.Name); ok {
			continue
		}
		if old, ok := effective(was, e.stored); ok {
			changes = append(changes, Change{Name: was.Name, Old: old, HasOld: true})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	return changes, counted
}

// checkTriggers refuses changes that would start different plans at once. An install runs the deploy plan whatever
// the triggers say.
func (e *evaluation) checkTriggers(changed []*Definition) {
	if e.operation == OperationInstall {
		return
	}
	plans := map[string]bool{}
	for _, definition := range changed {
		if definition.Trigger != "" {
			plans[definition.Trigger] = true
		}
	}
	if len(plans) < 2 {
		return
	}
	names := strings.Join(slices.Sorted(maps.Keys(plans)), ", ")
	for _, definition := range changed {
		if definition.Trigger != "" {
			e.errs.refuse(definition.Name, RuleTrigger, "triggers the plan %s, and the changes together trigger %s: change them one after the other", definition.Trigger, names)
		}
	}
}

// textsOf returns a copy of the values as texts, without nulls.
func textsOf(values Values) Values {
	out := make(Values, len(values))
	for name, value := range values {
		if !value.none() {
			out[name] = Text(value.Text)
		}
	}
	return out
}
