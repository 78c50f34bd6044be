// Package kind defines which updates of a kind are refused, from all sources. Data (the rows of built-in
// kinds and of operators) and schemas (the locks and CEL rules of CRDs and OpenAPI documents) compile to one
// Definition, which stores objects and finds what an update breaks:
//
//	d, err := kind.FromData(fields, source.Rows)     // or kind.FromSchema(schema, locks, preparer)
//	is, err := d.Stored(newObj, oldObj)
//	was, err := d.Stored(oldObj, nil)
//	objections, more, err := d.Find(kind.Update{New: is, Old: was})
//
// The packages of the sources add the rest: the form of Go types and the requests of an apply before, texts after. The
// chapters are definition, then schema, names, status, digest and values for schemas, then data, rows, condition, field,
// gotype, merge and ways_out for data.
package kind

import (
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/check"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Definition defines which updates of a kind are refused: the parts that find refusals, and the schema, if any. A nil
// Definition refuses nothing. It is safe for concurrent use.
//
//	data    {field: spec.class, lock: immutable}                       one part for each row
//	schema  class: {x-kubernetes-immutable: true}                      one part for all locks and rules
//	        zone: {x-kubernetes-validations: [{rule: self == oldSelf}]}
type Definition struct {
	fields     *Field       // of data
	conditions []*condition // each text once: the rows of a kind share most of them

	schema    *spec.Schema
	redaction func() *check.Redaction // of the whole object

	stored Preparer
	parts  func() []part
}

// Preparer returns an object as the server or the operator stores it, and leaves it as it is. The object is applied
// over before, which is nil for one that is created. The error is about the object.
type Preparer func(obj, before map[string]any) (map[string]any, error)

// part is a part of a definition that finds refusals. More are those beyond the limit of a report. The error is that
// its rules cannot be run.
type part interface {
	find(u *update) (found []Objection, more int, err error)
}

// Stored returns an object as it is stored, when it is applied over before.
func (d *Definition) Stored(obj, before map[string]any) (map[string]any, error) {
	if d.stored == nil {
		return obj, nil
	}
	return d.stored(obj, before)
}

// Rewritten is Stored for an apply that writes lists anew. Only data says what they lose.
func (d *Definition) Rewritten(obj, before map[string]any) map[string]any {
	return d.fields.Rewritten(obj, before)
}

// Empty reports whether nothing can be refused.
func (d *Definition) Empty() bool { return d == nil || len(d.parts()) == 0 }

// Update is one update of an object, as the server or the operator stores it before and after.
type Update struct {
	New, Old map[string]any
	// Locked, unless nil, is the new object as the locks of a schema compare it: without fields that the server drops.
	Locked map[string]any
	// Named evaluates the functions of rows; nil where the rows have none.
	Named Named
}

// Named evaluates the function of a name in Go, which Row.Check and Row.Unless call; value is what {value} in the row's
// text stands for.
type Named func(name string) (value string, holds bool)

// Objection is a violation that a definition finds: the update of a field is refused or, with Open, may be refused. The
// sources complete the violation: where the field, the lock and the row are, and who refuses.
type Objection struct {
	result.Violation
	// By is the row of data that objects; nil for a schema.
	By *Row
	// Open is why it is not certain that the update is refused; "" where it is. Err is set for a rule that has no
	// value.
	Open string
	Err  error

	rules []celrun.Rule // of a schema that refuse the update for the same reason
}

// Find returns the objections of the definition to an update, in the order of the rows or, for a schema, of the paths:
// those of locks first. more is how many there are beyond the limit of a report. It fails if the rules of a schema
// cannot be run; rows of data do not fail.
func (d *Definition) Find(asked Update) (all []Objection, more int, err error) {
	if d.Empty() {
		return nil, 0, nil
	}
	u := &update{Update: asked, Definition: d, results: make([]evaluation, len(d.conditions))}
	for _, p := range d.parts() {
		found, beyond, err := p.find(u)
		if err != nil {
			return nil, 0, err
		}
		all, more = append(all, found...), more+beyond
	}
	return all, more, nil
}

// update is one update that the parts judge.
type update struct {
	Update
	*Definition
	results []evaluation // of the conditions
}

// evaluation is the value of a condition.
type evaluation struct {
	evaluated, holds bool
	err              error
}

// violation returns the violation of a lock that a validator found. at is its path in steps; nil where another package
// knows it.
func violation(v *immutability.Violation, at fieldpath.Path) result.Violation {
	found := result.Violation{
		Path: v.Path.String(), Steps: at, Lock: string(v.Lock), SchemaPath: v.SchemaPath, Message: v.Message(),
		Old:             result.Value{Data: v.Old, OK: v.HasOld},
		New:             result.Value{Data: v.New, OK: v.HasNew},
		Key:             result.Value{Data: v.Key, OK: v.HasKey},
		MoreDifferences: v.MoreDifferences,
	}
	if v.Lock == immutability.LockIncomparable {
		found.Reason = strings.TrimPrefix(found.Message, schema.Refused+": ")
	}
	for _, d := range v.Differences {
		found.Differences = append(found.Differences, result.Difference{
			Path: d.Path.String(),
			Old:  result.Value{Data: d.Old, OK: d.HasOld}, New: result.Value{Data: d.New, OK: d.HasNew},
		})
	}
	return found
}
