package kind

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// lockedRow is a row for one of its fields, compiled. It is broken by a word, by a rule in CEL, by a function in Go, by
// an annotation, or by a path that is not allowed.
type lockedRow struct {
	*Row
	number     int // among the rows, from 1
	path       string
	steps      fieldpath.Path
	when, rule int                     // the numbers of its conditions, or none
	validator  *immutability.Validator // of a word
}

// none is the number of no condition.
const none = -1

func (d *Definition) compile(row *Row, path string) (*lockedRow, error) {
	c := &lockedRow{Row: row, path: path, steps: fieldpath.Parse(path), when: none, rule: none}
	if len(row.Locks()) == 0 {
		return nil, errors.New("the row has no lock")
	}
	var err error
	if c.when, err = d.condition(row.When); err != nil {
		return nil, err
	}
	if c.rule, err = d.condition(row.Rule); err != nil {
		return nil, err
	}
	if c.validator = row.Compiled; c.validator != nil || row.Annotation != "" {
		return c, nil
	}
	if c.rule != none || row.Check != "" || len(row.Allow) > 0 {
		return c, nil
	}
	for _, lock := range row.Locks() {
		if err := schema.CheckLocks([]schema.Lock{schema.Lock(lock)}); err != nil {
			return nil, err
		}
	}
	marks := Marks(row.Lock, row.Update)
	if row.Lock == string(immutability.LockImmutable) && !row.Ordered {
		marks[schema.KeyMapListOrder] = schema.OrderIgnored
	}
	c.validator, err = immutability.Compile(d.fields.Schema(Mark{c.steps, marks}))
	return c, err
}

// condition returns the number of a condition, and compiles it unless it is known. "" has none.
func (d *Definition) condition(text string) (int, error) {
	if text == "" {
		return none, nil
	}
	if i := slices.IndexFunc(d.conditions, func(c *condition) bool { return c.text == text }); i >= 0 {
		return i, nil
	}
	c, err := newCondition(text)
	if err != nil {
		return none, err
	}
	d.conditions = append(d.conditions, c)
	return len(d.conditions) - 1, nil
}

// holds evaluates a condition once. No condition holds always.
func (u *update) holds(i int) (bool, error) {
	if i == none {
		return true, nil
	}
	r := &u.results[i]
	if !r.evaluated {
		r.evaluated = true
		r.holds, r.err = u.conditions[i].holds(u.New, u.Old)
	}
	return r.holds, r.err
}

var _ part = (*lockedRow)(nil)

// find returns the objection of the row to an update.
func (c *lockedRow) find(u *update) (found []Objection, more int, err error) { return u.run(c), 0, nil }

func (u *update) run(c *lockedRow) []Objection {
	applies, err := u.applies(c)
	switch {
	case err != nil:
		found := u.at(c)
		found.Open = "refused if a condition holds that could not be evaluated: " + err.Error()
		return []Objection{found}
	case !applies:
		return nil
	case c.Annotation != "":
		return u.annotations(c)
	case c.Check != "":
		value, broken := u.Named(c.Check)
		if !broken {
			return nil
		}
		found := u.at(c)
		found.Message = strings.ReplaceAll(found.Message, "{value}", value)
		return []Objection{found}
	case c.rule != none:
		holds, err := u.holds(c.rule)
		if holds {
			return nil
		}
		found := u.at(c)
		found.Err = err
		return []Objection{found}
	case len(c.Allow) > 0:
		return u.outside(c)
	}
	return u.words(c)
}

// applies reports whether a row is about the update.
func (u *update) applies(c *lockedRow) (bool, error) {
	if len(c.Row.Named) > 0 {
		name, _ := fieldpath.Get(u.New, "metadata", "name")
		if text, _ := name.(string); !slices.Contains(c.Row.Named, text) {
			return false, nil
		}
	}
	if holds, err := u.holds(c.when); !holds || err != nil {
		return false, err
	}
	if c.Unless == "" {
		return true, nil
	}
	_, holds := u.Named(c.Unless)
	return !holds, nil
}

// objection returns the objection of a row, in the words of the row.
func (c *lockedRow) objection(v result.Violation) Objection {
	v.Row, v.WaysOut = c.number, c.WaysOut
	v.Rule, v.Message, v.Cause = cmp.Or(c.Row.Rule, c.Means), c.Says, cmp.Or(c.Cause, c.path)
	return Objection{Violation: v, By: c.Row, Open: c.Unknown}
}

// at makes the objection of a rule, with the values of the row's field.
func (u *update) at(c *lockedRow) Objection {
	return c.objection(result.Violation{Path: c.path, Lock: string(LockRule), New: in(u.New, c.steps),
		Old: in(u.Old, c.steps)})
}

// in returns the value at a path of an object.
func in(obj map[string]any, at fieldpath.Path) result.Value {
	value, ok := at.In(obj)
	return result.Value{Data: value, OK: ok}
}

// words returns what breaks the word of a row.
func (u *update) words(c *lockedRow) []Objection {
	newObj, oldObj := u.New, u.Old
	for _, path := range c.Except {
		except := fieldpath.Parse(path)
		newObj, _ = u.fields.without(except, newObj).(map[string]any)
		oldObj, _ = u.fields.without(except, oldObj).(map[string]any)
	}
	var all []Objection
	found := c.validator.Check(newObj, oldObj).Violations
	for i := range found {
		v := violation(&found[i], nil)
		if !c.Each || len(v.Differences) == 0 {
			all = append(all, u.word(c, v))
			continue
		}
		for _, d := range v.Differences {
			one := v
			one.Path, one.Old, one.New, one.Differences = d.Path, d.Old, d.New, nil
			all = append(all, u.word(c, one))
		}
	}
	return all
}

// word is the objection of a word. It is open where the values differ only in what may count as absent.
func (u *update) word(c *lockedRow, v result.Violation) Objection {
	found := c.objection(v)
	if !v.Key.OK {
		found.Open = cmp.Or(found.Open, u.open(&v))
	}
	return found
}

// open returns why it is not certain that a change of a value is one.
func (u *update) open(v *result.Violation) string {
	if !u.fields.leavesOpen(fieldpath.Parse(v.Path), v.New.Data, v.Old.Data) {
		return ""
	}
	return "refused unless the operator's types take an empty value or false, which one of the two sets, for the " +
		"absent value of the other one"
}

// outside returns the changes that a row does not allow.
func (u *update) outside(c *lockedRow) []Objection {
	newVal, _ := c.steps.In(u.New)
	oldVal, _ := c.steps.In(u.Old)
	if jsonvalue.Equal(newVal, oldVal) {
		return nil
	}
	var all []Objection
	for _, path := range changes(newVal, oldVal, c.steps) {
		if allows(c.Allow, path) {
			continue
		}
		var at *field.Path
		for _, name := range path {
			at = at.Child(fieldpath.Name(name))
		}
		all = append(all, u.word(c, result.Violation{Path: at.String(), Lock: string(immutability.LockImmutable),
			New: in(u.New, path), Old: in(u.Old, path)}))
	}
	return all
}

// changes returns the paths that a JSON merge patch from oldVal to newVal would name: those of values that were set,
// changed or removed. A list is one value.
func changes(newVal, oldVal any, path fieldpath.Path) []fieldpath.Path {
	newObj, isObj := newVal.(map[string]any)
	if !isObj {
		return []fieldpath.Path{path}
	}
	oldObj, _ := oldVal.(map[string]any)
	var all []fieldpath.Path
	for name, member := range newObj {
		if was, had := oldObj[name]; !had || !jsonvalue.Equal(member, was) {
			all = append(all, changes(member, was, append(slices.Clip(path), name))...)
		}
	}
	for name := range oldObj {
		if _, kept := newObj[name]; !kept {
			all = append(all, append(slices.Clip(path), name))
		}
	}
	return all
}

// allows reports whether a path is one of a list in which "a.*" is what is below a.
func allows(list []string, path fieldpath.Path) bool {
	return slices.ContainsFunc(list, func(allowed string) bool {
		parent, below := strings.CutSuffix(allowed, ".*")
		steps := fieldpath.Parse(parent)
		return path.Within(steps) && below == (len(path) > len(steps))
	})
}

// annotations compares the annotations that a row locks.
func (u *update) annotations(c *lockedRow) []Objection {
	newMap, oldMap := annotationsOf(u.New), annotationsOf(u.Old)
	keys := slices.AppendSeq(slices.Collect(maps.Keys(newMap)), maps.Keys(oldMap))
	slices.Sort(keys)
	prefix, many := strings.CutSuffix(c.Annotation, "*")
	var all []Objection
	for _, key := range slices.Compact(keys) {
		if key != prefix && !(many && strings.HasPrefix(key, prefix)) {
			continue
		}
		was, had := oldMap[key]
		is, has := newMap[key]
		v := result.Violation{Path: annotations.Key(key).String(), Lock: string(immutability.LockImmutable),
			New: result.Value{Data: is, OK: has}, Old: result.Value{Data: was, OK: had}}
		if !c.breaks(&v) {
			continue
		}
		change := "remove or update"
		if !had {
			change = "add"
		}
		found := c.objection(v)
		found.Message = strings.ReplaceAll(found.Message, "{change}", change)
		found.Cause = cmp.Or(c.Cause, v.Path)
		all = append(all, found)
	}
	return all
}

func annotationsOf(obj map[string]any) map[string]any {
	value, _ := fieldpath.Get(obj, "metadata", "annotations")
	members, _ := value.(map[string]any)
	return members
}

// breaks reports whether the values of an annotation differ: without Presence, only as texts, and an absent one is an
// empty one.
func (r *Row) breaks(v *result.Violation) bool {
	if r.Presence {
		return !equal(v.New, v.Old)
	}
	newText, _ := v.New.Data.(string)
	oldText, _ := v.Old.Data.(string)
	return newText != oldText
}

// FromData compiles the rows of a kind whose fields are known. The error names the row.
func FromData(fields *Field, rows []Row) (*Definition, error) {
	d := &Definition{fields: fields, stored: fields.Prepare}
	var parts []part
	for i := range rows {
		for _, path := range rows[i].Paths() {
			c, err := d.compile(&rows[i], path)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			parts = append(parts, c)
			c.number = len(parts)
		}
	}
	d.parts = func() []part { return parts }
	return d, nil
}
