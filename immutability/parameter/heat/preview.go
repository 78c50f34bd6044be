package heat

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/internal/document"
	"github.com/fieldlock/fieldlock/immutability/parameter/internal/refuse"
)

// Preview says what an operation on a stack would do.
type Preview struct {
	parameter.Decision // Resulting has every parameter of the template, as given; after a refusal the current values

	// Unchecked lists the constraints on the resulting values that only Heat can check. An allowed preview rests on
	// them.
	Unchecked []Unchecked
}

// Unchecked is a constraint that was not checked.
type Unchecked struct {
	Parameter  string `json:"parameter"`
	Constraint string `json:"constraint"` // its kind and its text, such as "custom_constraint: nova.keypair"
}

// ReadValues reads values by the name of their parameter from a YAML or JSON mapping. Data without a document has no
// values. The error is a *[parameter.ReadError].
func ReadValues(data []byte) (parameter.Values, error) {
	root, err := document.Load(data)
	if err != nil || root == nil {
		return parameter.Values{}, err
	}
	return document.Values(root)
}

// Validate reports parameters whose default is not of their type or breaks a constraint, and attributes that look
// misspelled. Every preview includes it. Nil means that all is well, but for what Unchecked lists.
func (t *Template) Validate() parameter.Refusals {
	e := evaluation{template: t.orUnread()}
	e.checkTemplate()
	refuse.Sort(e.refusals)
	return e.refusals
}

// Unchecked lists the constraints on defaults that only Heat can check.
func (t *Template) Unchecked() []Unchecked {
	e := evaluation{template: t.orUnread()}
	for i := range e.template.list {
		if p := &e.template.list[i]; !p.Default.IsNull() {
			e.noteUnchecked(p)
		}
	}
	return e.unchecked
}

// Create previews the creation of a stack. A name that the template does not define is refused, and so is a parameter
// with neither value nor default. A null counts as not given.
func (t *Template) Create(requested parameter.Values) Preview {
	e := evaluation{template: t.orUnread(), old: &Template{read: true}, requested: requested}
	e.refuseUnknown()
	return e.preview()
}

// Update previews a full update of a stack (Heat's PUT) from the old template to t: what is not requested falls back to
// its default, and a name that t does not define is refused. The new template decides which parameters may change;
// those that both templates have are compared by effective value, converted to their types. One error, an
// *[ImmutableParameterModified], names all that change. Without old the stack stays at t.
func (t *Template) Update(requested parameter.Values, old *Template, current parameter.Values) Preview {
	e := t.newUpdate(requested, old, current)
	e.refuseUnknown()
	return e.preview()
}

// Patch previews an update of a stack that keeps the current values (Heat's PATCH), except those named in cleared and
// those requested as null. Requested names that t does not define are dropped. Otherwise it is like [Template.Update].
func (t *Template) Patch(requested parameter.Values, old *Template, current parameter.Values,
	cleared ...string) Preview {
	e := t.newUpdate(requested, old, current)
	e.keeps = func(name string) bool { return !slices.Contains(cleared, name) }
	return e.preview()
}

func (t *Template) newUpdate(requested parameter.Values, old *Template, current parameter.Values) *evaluation {
	if t = t.orUnread(); old == nil {
		old = t
	}
	e := &evaluation{template: t, old: old, current: current, requested: requested}
	for name := range current { // in any order: preview sorts the refusals
		_, known := t.lookup(name)
		if _, wasKnown := old.lookup(name); !known && !wasKnown {
			refuse.Add(&e.refusals, name, refuse.Unknown, "has a current value and is not defined in either template")
		}
	}
	return e
}

// evaluation is one run of an evaluator.
type evaluation struct {
	template, old      *Template
	requested, current parameter.Values
	keeps              func(name string) bool // whether a current value stays; nil keeps none
	refusals           parameter.Refusals
	unchecked          []Unchecked
}

func (e *evaluation) refuseUnknown() {
	for name := range e.requested { // in any order: preview sorts the refusals
		if _, ok := e.template.lookup(name); !ok {
			refuse.Add(&e.refusals, name, refuse.Unknown, "is not defined in the template")
		}
	}
}

func (e *evaluation) checkTemplate() {
	if !e.template.read || e.old != nil && !e.old.read {
		refuse.Add(&e.refusals, "", refuse.Definition, "there is no template: read one with ReadTemplate")
	}
	e.refusals = append(e.refusals, e.template.mistakes...)
	for i := range e.template.list {
		p := &e.template.list[i]
		if p.Default.IsNull() {
			continue
		}
		if problem := p.check(p.Default); problem != "" {
			refuse.Add(&e.refusals, p.Name, refuse.Definition, "cannot have %s as its default: %s",
				p.show(p.Default), problem)
		}
	}
}

func (e *evaluation) noteUnchecked(p *Parameter) {
	for i := range p.constraints {
		if name, ok := p.constraints[i].unchecked(); ok {
			e.unchecked = append(e.unchecked, Unchecked{p.Name, name})
		}
	}
}

// preview decides on the new values: the requested ones over the current ones that are kept over the defaults.
func (e *evaluation) preview() Preview {
	e.checkTemplate()
	decision := parameter.Decision{Resulting: make(parameter.Values, len(e.template.list))}
	var modified []string
	for i := range e.template.list {
		p := &e.template.list[i]
		value, has := e.next(p)
		if has {
			decision.Resulting[p.Name] = p.asGiven(value)
		}
		change := parameter.Change{Name: p.Name, New: value, HasNew: has, Hidden: p.Hidden}
		was, both := e.old.lookup(p.Name)
		if both {
			change.Old, change.HasOld = was.effective(e.current)
			change.Hidden = change.Hidden || was.Hidden
		}
		if change.HasOld == has && (!has || equal(p, value, was, change.Old)) {
			continue
		}
		decision.Changes = append(decision.Changes, change)
		if both && p.Immutable {
			modified = append(modified, p.Name)
		}
	}
	decision.Changes = append(decision.Changes, e.removed()...)
	slices.SortFunc(decision.Changes, func(a, b parameter.Change) int { return strings.Compare(a.Name, b.Name) })

	if len(modified) > 0 {
		cause := &ImmutableParameterModified{Names: modified}
		for _, name := range modified {
			e.refusals = append(e.refusals,
				&parameter.Refusal{Parameter: name, Rule: refuse.Immutable, Message: cause.Error(), Cause: cause})
		}
	}
	refuse.Sort(e.refusals)
	if decision.Refusals = e.refusals; !decision.Allowed() {
		decision.Resulting = make(parameter.Values, len(e.current))
		for name, value := range e.current {
			decision.Resulting[name] = value
		}
	}
	return Preview{decision, e.unchecked}
}

// next returns the value of a parameter after the operation, and reports what is wrong with it.
func (e *evaluation) next(p *Parameter) (value parameter.Value, has bool) {
	value, own := e.requested[p.Name]
	if !own && e.keeps != nil && e.keeps(p.Name) {
		value = e.current[p.Name]
	}
	if own = !value.IsNull(); !own {
		value = p.Default
	}
	switch {
	case own:
		if problem := p.check(value); problem != "" {
			refuse.Add(&e.refusals, p.Name, refuse.Type, "cannot have %s: %s", p.show(value), problem)
		}
	case p.Default.IsNull():
		refuse.Add(&e.refusals, p.Name, refuse.Required, "has neither a value nor a default: give it a value")
		return value, false
	}
	e.noteUnchecked(p)
	return value, true
}

// removed returns the parameters that the new template does not have.
func (e *evaluation) removed() []parameter.Change {
	var out []parameter.Change
	for i := range e.old.list {
		was := &e.old.list[i]
		if _, ok := e.template.lookup(was.Name); ok {
			continue
		}
		if value, ok := was.effective(e.current); ok {
			out = append(out, parameter.Change{Name: was.Name, Old: value, HasOld: true, Hidden: was.Hidden})
		}
	}
	return out
}

// equal compares two values, each in the type of its own template. A value that is not of its type equals only itself.
func equal(p *Parameter, newVal parameter.Value, was *Parameter, oldVal parameter.Value) bool {
	if was.Type == p.Type && reflect.DeepEqual(oldVal, newVal) {
		return true
	}
	a, problem := was.Type.convert(oldVal)
	b, otherProblem := p.Type.convert(newVal)
	return problem == "" && otherProblem == "" && reflect.DeepEqual(a, b)
}

// effective returns the stored value, otherwise the default.
func (p *Parameter) effective(stored parameter.Values) (parameter.Value, bool) {
	if value := stored[p.Name]; !value.IsNull() {
		return value, true
	}
	return p.Default, !p.Default.IsNull()
}

// asGiven returns the value as it was given; the text of a string parameter stays text, whatever YAML takes it for.
func (p *Parameter) asGiven(value parameter.Value) parameter.Value {
	if p.Type == TypeString && !isStructured(value) {
		return parameter.Text(value.Text)
	}
	return value
}

// ImmutableParameterModified refuses a stack update that changes parameters which are not updatable. It is the cause of
// a refusal of each of them. The proposal's work items call it ParameterUpdateNotAllowed.
type ImmutableParameterModified struct {
	Names []string // sorted
}

// Error names the parameters, in the words of Heat.
func (e *ImmutableParameterModified) Error() string {
	if e == nil {
		e = &ImmutableParameterModified{}
	}
	return fmt.Sprintf("The following parameters are immutable and may not be updated: %s", strings.Join(e.Names, ", "))
}
