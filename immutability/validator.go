package immutability

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/check"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
)

// Validator checks updates against the locks of one schema. It is immutable and safe for concurrent use. The zero
// Validator and a nil one, which have no schema, refuse every update.
type Validator struct {
	checker *check.Checker // nil: no locks; package typed reads this field
	empty   bool           // the schema has no locks
	locks   []lockedField
	schema  *spec.Schema
}

// Compile reads the locks of s and of everything below it. It is meant to be called once for each schema. A nil s has
// no locks.
//
// The error is a *SchemaError with every error that Lint would find, sorted by path; warnings do not fail it. A
// recursive $ref compiles once, and a part of the schema without locks compiles to nothing.
func Compile(s *spec.Schema, opts ...Option) (*Validator, error) {
	// analyse reads the schema into a tree (internal/schema) and finds its mistakes; check.Compile turns the locations
	// with locks into the nodes that run (internal/check).
	a := analyse(s, opts)
	if err := a.err(); err != nil {
		return nil, err
	}
	checker := check.Compile(a.tree, a.presence, check.Options{
		OrderIgnored: a.config.order == MapListOrderIgnored,
		Redacted:     a.redacted,
	})
	return &Validator{checker: checker, empty: checker == nil, locks: locksOf(a.tree), schema: a.schema}, nil
}

// MustCompile is Compile for schemas that are known to be right, such as those in a program: it panics on an error.
func MustCompile(s *spec.Schema, opts ...Option) *Validator {
	v, err := Compile(s, opts...)
	if err != nil {
		panic(fmt.Sprintf("immutability: %v", err))
	}
	return v
}

// Schema returns the schema that was compiled, with the aliases translated and the external locks added. It is shared:
// change a copy. Nil for a schema that was nil.
func (v *Validator) Schema() *spec.Schema {
	if v == nil {
		return nil
	}
	return v.schema
}

// Empty reports whether the schema has no locks, so that callers can skip the check, and decoding the old object.
func (v *Validator) Empty() bool { return v != nil && v.empty }

// ValidateUpdate reports every locked field that differs between oldObj and newObj, as JSON decoded by
// k8s.io/apimachinery/pkg/util/json. Nil when the update is allowed. Objects are those that storage would hold:
// defaulted, pruned, and after mutating admission ("Where does this happen" of the proposal). A nil object is an empty
// one. Neither is changed or kept; the errors share values with newObj.
//
// Lists are []any and objects map[string]any: a []string or a map[string]string under a lock may not change at all, as
// what is in it cannot be seen. Package typed takes Go objects.
//
// Metadata cannot be locked, nor can apiVersion and kind: an API server guards them, and a caller that is none has to
// see to it that both objects have the same kind, name and namespace.
//
// Cost: what the locks cover is compared once, without allocation, while nothing is broken and sets and keyed lists
// are in the same order.
func (v *Validator) ValidateUpdate(newObj, oldObj map[string]any) field.ErrorList {
	if v.Empty() {
		return nil
	}
	return v.refusals(newObj, oldObj)
}

// ValidateUpdateAt is ValidateUpdate with the fields of the errors below fldPath, as Kubernetes' validation functions
// have it: for the spec of an object and the schema of that spec, fldPath is field.NewPath("spec"). A nil fldPath is
// the object itself.
func (v *Validator) ValidateUpdateAt(fldPath *field.Path, newObj, oldObj map[string]any) field.ErrorList {
	return fieldpath.Under(fldPath, v.ValidateUpdate(newObj, oldObj))
}

// refusals is ValidateUpdate for schemas with locks, apart so that the test for none is inlined.
func (v *Validator) refusals(newObj, oldObj map[string]any) field.ErrorList {
	return v.check(newObj, oldObj, forErrorList).ErrorList()
}

func (v *Validator) check(newObj, oldObj map[string]any, d detail) Report {
	if v.uncompiled() {
		return Report{}
	}
	return report(v.checker.Check(newObj, oldObj), d)
}

// uncompiled reports whether v is nil or the zero Validator.
func (v *Validator) uncompiled() bool { return v == nil || v.checker == nil && !v.empty }

// ValidateUpdateJSON is ValidateUpdate on encoded objects, such as the raw ones of an AdmissionReview; it reads only
// what the locks need and costs a small part of decoding both. It returns an error if either document is not a JSON
// object; empty input is an error too. The document null is an empty object, as in encoding/json: a caller that must
// tell a missing object from an empty one has to do so before. With an error the list is not empty either: its one
// internal error refuses the update.
func (v *Validator) ValidateUpdateJSON(newJSON, oldJSON []byte) (field.ErrorList, error) {
	r, err := v.checkJSON(newJSON, oldJSON, forErrorList)
	return r.ErrorList(), err
}

// Check is ValidateUpdate with old values, locks and schema paths.
func (v *Validator) Check(newObj, oldObj map[string]any) Report {
	return v.check(newObj, oldObj, withDifferences)
}

// CheckJSON is ValidateUpdateJSON with old values, locks and schema paths. With an error the Report is zero, which
// allows nothing.
func (v *Validator) CheckJSON(newJSON, oldJSON []byte) (Report, error) {
	return v.checkJSON(newJSON, oldJSON, withDifferences)
}

func (v *Validator) checkJSON(newJSON, oldJSON []byte, d detail) (Report, error) {
	if v.uncompiled() {
		return Report{}, errors.New("the validator has no schema: make it with Compile")
	}
	refused, err := v.checker.CheckJSON(newJSON, oldJSON)
	if err != nil {
		return Report{}, err
	}
	return report(refused, d), nil
}

// Locks lists the locked fields of the schema, sorted by path, without those below an immutable field. A definition
// that several fields refer to is listed for each of them, up to 10,000 fields more than for the first ones; one that
// refers to itself is listed once on each way to it.
func (v *Validator) Locks() []LockedField {
	if v == nil {
		return nil
	}
	fields := make([]LockedField, len(v.locks))
	for i, f := range v.locks {
		fields[i] = LockedField{Path: f.path.String(), SchemaPath: f.lockPath.Pointer()}
		for _, l := range f.locks {
			fields[i].Locks = append(fields[i].Locks, Lock(l))
		}
	}
	slices.SortFunc(fields, func(x, y LockedField) int {
		return cmp.Or(strings.Compare(x.Path, y.Path), strings.Compare(x.SchemaPath, y.SchemaPath))
	})
	return fields
}
