package builtin

import (
	"maps"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability"
)

// check is a row, compiled.
type check struct {
	row       Row
	steps     []step
	except    [][]step
	validator *immutability.Validator // nil unless the row is a word

	when, rule int // the numbers of its CEL rules, -1 for none
	unless     condition
	custom     condition
}

// newCheck compiles a row.
func newCheck(fields *field, row Row) (*check, error) {
	c := &check{row: row, when: -1, rule: -1}
	if name := row.source.Unless; name != "" {
		if c.unless = conditions()[name]; c.unless == nil {
			return nil, errorf("there is no condition %q", name)
		}
	}
	if name := row.source.Check; name != "" {
		if c.custom = conditions()[name]; c.custom == nil {
			return nil, errorf("there is no check %q", name)
		}
	}
	if row.annotation != "" {
		return c, nil
	}
	c.steps = stepsOf(row.Path)
	fields.at(c.steps)
	for _, path := range row.Except {
		c.except = append(c.except, stepsOf(path))
	}
	if row.Lock == lockRule {
		return c, nil
	}
	marks := map[string]any{}
	if len(row.source.Update) > 0 {
		words := make([]any, len(row.source.Update))
		for i, word := range row.source.Update {
			words[i] = word
		}
		marks[immutability.KeyUpdate] = words
	} else {
		marks["x-kubernetes-"+row.Lock] = true
	}
	var err error
	c.validator, err = immutability.Compile(fields.schema(c.steps, marks))
	return c, err
}

// run returns what breaks the row. failed has the numbers of the CEL rules that are false.
func (c *check) run(u *update, failed map[int]bool) []Violation {
	if c.when >= 0 && failed[c.when] {
		return nil
	}
	if c.unless != nil {
		if _, holds := c.unless(u); holds {
			return nil
		}
	}
	switch {
	case c.row.annotation != "":
		return c.annotations(u.applied, u.stored)
	case c.custom != nil:
		value, broken := c.custom(u)
		if !broken {
			return nil
		}
		v := c.at(u)
		v.Message = strings.ReplaceAll(v.Message, "{value}", value)
		return []Violation{v}
	case c.rule >= 0:
		if !failed[c.rule] {
			return nil
		}
		return []Violation{c.at(u)}
	}
	return c.words(u.applied, u.stored)
}

// words returns what breaks the word of the row.
func (c *check) words(newObj, oldObj map[string]any) []Violation {
	if len(c.except) > 0 {
		for _, steps := range c.except {
			newObj, _ = without(newObj, steps).(map[string]any)
			oldObj, _ = without(oldObj, steps).(map[string]any)
		}
	}
	report := c.validator.Check(newObj, oldObj)
	violations := make([]Violation, 0, len(report.Violations))
	for _, v := range report.Violations {
		if c.row.source.Each && len(v.Differences) > 0 {
			violations = append(violations, c.eachDifference(v)...)
			continue
		}
		violations = append(violations, c.violation(v))
	}
	return violations
}

func (c *check) violation(v immutability.Violation) Violation {
	return Violation{Violation: v, Path: v.Path.String(), Rule: c.row.Rule, Message: c.row.Message, Cause: c.row.Cause, row: &c.row}
}

// eachDifference makes a violation of each difference.
func (c *check) eachDifference(v immutability.Violation) []Violation {
	var all []Violation
	for _, d := range v.Differences {
		one := v
		one.Path, one.Old, one.New, one.HasOld, one.HasNew = d.Path, d.Old, d.New, d.HasOld, d.HasNew
		one.Differences = nil
		all = append(all, c.violation(one))
	}
	return all
}

// at makes the violation of a rule, with the values of the row's field.
func (c *check) at(u *update) Violation {
	var v immutability.Violation
	v.Lock = lockRule
	v.New, v.HasNew = lookup(u.applied, c.steps)
	v.Old, v.HasOld = lookup(u.stored, c.steps)
	return Violation{Violation: v, Path: c.row.Path, Rule: c.row.Rule, Message: c.row.Message, Cause: c.row.Cause, row: &c.row}
}

// annotations compares the annotations that the row locks.
func (c *check) annotations(newObj, oldObj map[string]any) []Violation {
	is, was := object(newObj, "metadata", "annotations"), object(oldObj, "metadata", "annotations")
	keys := slices.Collect(maps.Keys(is))
	for key := range was {
		if _, both := is[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	prefix, many := strings.CutSuffix(c.row.annotation, "*")
	var all []Violation
	for _, key := range keys {
		if key != prefix && !(many && strings.HasPrefix(key, prefix)) {
			continue
		}
		var v immutability.Violation
		v.Lock = immutability.Immutable
		v.New, v.HasNew = is[key]
		v.Old, v.HasOld = was[key]
		if text(is, key) == text(was, key) && (v.HasNew == v.HasOld || !c.row.source.Presence) {
			continue
		}
		change := "remove or update"
		if !v.HasOld {
			change = "add"
		}
		found := Violation{
			Violation: v, Path: "metadata.annotations[" + key + "]", Cause: c.row.source.Cause,
			Message: strings.ReplaceAll(c.row.Message, "{change}", change), row: &c.row,
		}
		if found.Cause == "" {
			found.Cause = found.Path
		}
		all = append(all, found)
	}
	return all
}
