package parameter

import (
	"reflect"
	"slices"
	"strings"
)

// Mode is how the values of a stack update relate to the stored ones.
type Mode string

// The modes of a stack update.
const (
	Put   Mode = "put"   // the requested values replace the stored ones, and what is not given falls back to its default
	Patch Mode = "patch" // the requested values are laid over the stored ones
)

// Validate reports the parameters whose default is not of their type, or breaks a constraint. Nil is valid.
func (t *Template) Validate() Errors {
	e := stackEvaluation{template: t}
	e.checkDefaults()
	e.errs.sort()
	return e.errs
}

// Install evaluates the creation of a stack. A name that the template does not define is refused, and so is a
// parameter with neither value nor default. Nulls count as not given.
func (t *Template) Install(requested Values) Plan {
	e := stackEvaluation{operation: OperationInstall, template: t, old: &Template{}, requested: requested}
	e.refuseUnknown()
	return e.finish(func(string) bool { return false })
}

// Update evaluates a stack update from the old template to t. The new template decides which parameters are
// immutable, and those that both templates have are compared by effective value, converted to their type; one error,
// an *[ImmutableParameterModified], names all that change. With [Put] unknown names are refused. With [Patch] they
// are dropped, the stored values are kept but for those named in cleared, and a null clears too. Without an old template the stack stays at t.
func (t *Template) Update(old *Template, stored, requested Values, mode Mode, cleared ...string) Plan {
	if old == nil {
		old = t
	}
	e := stackEvaluation{operation: OperationUpdate, template: t, old: old, stored: stored, requested: requested}
	if mode != Patch {
		e.refuseUnknown()
		return e.finish(func(string) bool { return false })
	}
	return e.finish(func(name string) bool { return !slices.Contains(cleared, name) })
}

type stackEvaluation struct {
	operation         Operation
	template, old     *Template
	stored, requested Values
	errs              Errors
}

func (e *stackEvaluation) refuseUnknown() {
	for name := range e.requested { // in any order: the errors are sorted in the end
		if _, ok := e.template.Lookup(name); !ok {
			e.errs.refuse(name, RuleUnknown, "is not defined in the template")
		}
	}
}

func (e *stackEvaluation) checkDefaults() {
	for i := range e.template.list {
		if p := &e.template.list[i]; p.badDefault != "" {
			e.errs.refuse(p.Name, RuleDefinition, "cannot have %s as its default: %s", p.show(p.Default), p.badDefault)
		}
	}
}

// finish decides on the new values: the requested ones over the stored ones that are kept over the defaults.
func (e *stackEvaluation) finish(keeps func(name string) bool) Plan {
	e.checkDefaults()
	plan := Plan{Operation: e.operation, Resulting: make(Values, len(e.template.list))}
	var modified []string
	for i := range e.template.list {
		p := &e.template.list[i]
		value, own := e.requested[p.Name]
		if !own && keeps(p.Name) {
			value, own = e.stored[p.Name]
		}
		own = own && !value.none()
		if !own {
			value = p.Default
		}
		has := own || p.HasDefault()
		if !has {
			e.errs.refuse(p.Name, RuleRequired, "has neither a value nor a default: give it a value")
		} else {
			if own {
				if problem := p.check(value); problem != "" {
					e.errs.refuse(p.Name, RuleType, "cannot have %s: %s", p.show(value), problem)
				}
			}
			plan.Resulting[p.Name] = p.asGiven(value)
		}

		change := Change{Name: p.Name, New: value, HasNew: has, Hidden: p.Hidden}
		was, both := e.old.Lookup(p.Name)
		if both {
			change.Old, change.HasOld = stackValue(was, e.stored)
			change.Hidden = change.Hidden || was.Hidden
		}
		if change.HasOld == has && (!has || equalStackValues(was, change.Old, p, value)) {
			continue
		}
		plan.Changes = append(plan.Changes, change)
		if both && p.Immutable {
			modified = append(modified, p.Name)
		}
	}
	plan.Changes = append(plan.Changes, e.removed()...)
	slices.SortFunc(plan.Changes, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })

	if len(modified) > 0 {
		cause := &ImmutableParameterModified{Names: modified}
		for _, name := range modified {
			e.errs = append(e.errs, &Error{Parameter: name, Rule: RuleImmutable, Message: cause.Error(), cause: cause})
		}
	}
	e.errs.sort()
	if plan.Errors = e.errs; !plan.Allowed() {
		plan.Resulting = make(Values, len(e.stored))
		for name, value := range e.stored {
			plan.Resulting[name] = value
		}
	}
	return plan
}

// removed returns the parameters that the new template does not have.
func (e *stackEvaluation) removed() []Change {
	var out []Change
	for i := range e.old.list {
		was := &e.old.list[i]
		if _, ok := e.template.Lookup(was.Name); ok {
			continue
		}
		if value, ok := stackValue(was, e.stored); ok {
			out = append(out, Change{Name: was.Name, Old: value, HasOld: true, Hidden: was.Hidden})
		}
	}
	return out
}

// stackValue returns the effective value: the stored one, else the default.
func stackValue(p *StackParameter, stored Values) (Value, bool) {
	if value, ok := stored[p.Name]; ok && !value.none() {
		return value, true
	}
	return p.Default, p.HasDefault()
}

// equalStackValues compares two values, each in the type of its own template. One that is not of its type is equal to
// nothing but itself.
func equalStackValues(was *StackParameter, old Value, p *StackParameter, value Value) bool {
	if was.Type == p.Type && old.Kind == value.Kind && old.Text == value.Text {
		return true
	}
	a, problem := was.Type.convert(old)
	b, otherProblem := p.Type.convert(value)
	return problem == "" && otherProblem == "" && reflect.DeepEqual(a, b)
}

// asGiven returns the value as it was given; the text of a string parameter stays text, whatever YAML takes it for.
func (p *StackParameter) asGiven(value Value) Value {
	if p.Type == StackString && !value.structured() {
		return Text(value.Text)
	}
	return value
}
