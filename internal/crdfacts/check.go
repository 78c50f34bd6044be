package crdfacts

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/kind"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Check judges an update by the rows of the kind. Both objects are decoded manifests in a version of the kind, as
// written, and stay as they are. A change of a field that a rule reads which equals no lock is unknown: the CRD
// decides, and withSchema ends the advice to give it. The error is about the data, which is part of the program.
//
// Cost: O(object); the first call compiles the rows.
func (k *Kind) Check(newObj, oldObj map[string]any, withSchema string) (result.Verdict, error) {
	v := result.Verdict{Checked: true}
	if len(k.Rows) == 0 {
		return v, nil
	}
	k.once.Do(func() { k.compiled, k.err = compile(k) })
	if k.err != nil {
		return result.Verdict{}, k.err
	}
	locked, err := k.compiled.locks.find(newObj, oldObj)
	if err != nil {
		return result.Verdict{}, err
	}
	open, err := k.compiled.open.find(newObj, oldObj)
	if err != nil {
		return result.Verdict{}, err
	}
	for _, f := range locked {
		found := f.Violation
		found.Row, found.Says = k.row(k.compiled.locks, f.SchemaPath)
		found.SchemaPath, found.Source = "", k.Source()
		if found.Says != "" {
			found.Message += "; the rule says: " + found.Says
		}
		v.Violations = append(v.Violations, found)
	}
	for _, f := range open {
		row, says := k.row(k.compiled.open, f.SchemaPath)
		message := "refused unless a transition rule of " + k.Source() + " accepts it, which reads the field; give " +
			"the CRD " + withSchema
		if says != "" {
			message += ". The rule says: " + says
		}
		v.Unknown = append(v.Unknown, result.Remark{Path: f.Path, Message: message, Row: row})
	}
	return v, nil
}

// row returns the number of the row with the lock at a place in the schema, and the messages of its rules.
func (k *Kind) row(in *ruled, schemaPath string) (number int, says string) {
	row := in.row(schemaPath)
	for i := range k.Rows {
		if &k.Rows[i] == row {
			return i + 1, row.Says
		}
	}
	return 0, ""
}

func compile(k *Kind) (*compiled, error) {
	var locks, open []*Row
	for i := range k.Rows {
		if row := &k.Rows[i]; row.Unknown {
			open = append(open, row)
		} else {
			locks = append(locks, row)
		}
	}
	var c compiled
	var err error
	if c.locks, err = newRuled(k, locks); err == nil {
		c.open, err = newRuled(k, open)
	}
	return &c, err
}

func newRuled(k *Kind, rows []*Row) (*ruled, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	fields, err := kind.NewField(k.Fields, nil)
	if err != nil {
		return nil, err
	}
	var marks []kind.Mark
	for _, row := range rows {
		path := fieldpath.Parse(row.Path)
		if row.Unknown {
			hold(fields, path)
		}
		fields.At(path)
		marks = append(marks, kind.Mark{At: path, Keys: row.marks()})
	}
	for i, m := range marks {
		if rows[i].locksKeys() && fields.At(m.At).IsLeaf() { // the keys of a map
			fields.At(append(slices.Clip(m.At), fieldpath.EachValue))
		}
	}
	s := fields.Schema(marks...)
	locks, err := immutability.Compile(s)
	if err != nil {
		return nil, err
	}
	return &ruled{kind.FromSchema(s, locks, fields.Prepare), rows}, nil
}

// hold marks the objects on the way to a row that is unknown, except those that are lists or maps: rules above it see
// what an absent object loses.
func hold(fields *kind.Field, path fieldpath.Path) {
	for i := 1; i < len(path); i++ {
		if path[i] != fieldpath.EachItem && path[i] != fieldpath.EachValue {
			fields.At(path[:i]).Held = true
		}
	}
}

// find returns the changes of fields that have a row.
func (r *ruled) find(newObj, oldObj map[string]any) ([]kind.Objection, error) {
	if r == nil {
		return nil, nil
	}
	is, newErr := r.Stored(newObj, nil)
	was, oldErr := r.Stored(oldObj, nil)
	if err := cmp.Or(newErr, oldErr); err != nil {
		return nil, err
	}
	found, _, err := r.Find(kind.Update{New: is, Old: was})
	return found, err
}

// row returns the row with the lock at a place in the schema. Two values that cannot be compared are there above the
// locks that need them; the row is then the first of these.
func (r *ruled) row(schemaPath string) *Row {
	var below *Row
	for _, row := range r.rows {
		switch at := schemaPathOf(fieldpath.Parse(row.Path)); {
		case at == schemaPath:
			return row
		case below == nil && strings.HasPrefix(at, schemaPath+"/"):
			below = row
		}
	}
	return below
}

// schemaPathOf returns the JSON pointer of a path in the schema of the fields.
func schemaPathOf(path fieldpath.Path) string {
	var at *schema.Path
	for _, step := range path {
		switch step {
		case fieldpath.EachItem:
			at = at.Items()
		case fieldpath.EachValue:
			at = at.Values()
		default:
			at = at.Property(fieldpath.Name(step))
		}
	}
	return at.Pointer()
}

// locksKeys reports whether a row has a lock of the keys of a map or list.
func (r *Row) locksKeys() bool {
	return slices.ContainsFunc(r.Locks(), func(l immutability.Lock) bool { return schema.Lock(l).OnKeys() })
}

// marks returns the locks of a row as extension keys of a schema. An unknown row locks all, so that every change of the
// field is found.
func (r *Row) marks() map[string]any {
	marks := kind.Marks(r.Lock, r.Update)
	if r.Unknown {
		marks = kind.Marks(string(immutability.LockImmutable), nil)
	}
	if r.Normalize != "" {
		marks[schema.KeyNormalize] = r.Normalize
	}
	modify := r.Unknown || r.Lock == string(immutability.LockImmutable) ||
		slices.Contains(r.Update, string(immutability.LockNoModify))
	if modify && !r.Ordered {
		marks[schema.KeyMapListOrder] = schema.OrderIgnored
	}
	return marks
}
