package builtin

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/kind"
	lockschema "github.com/fieldlock/fieldlock/internal/schema"
)

// An external lock on a built-in kind is compiled as in any other schema: that of the kind's Go type, with the keys of
// lists from the data. So its path is read in the same way, and a lock that cannot be there is the same mistake. It
// becomes one more row of the kind:
//
//	lock    Deployment, spec.template.spec.nodeSelector, immutable-keys
//	schema  {spec: {template: {spec: {nodeSelector: {additionalProperties: {}, x-kubernetes-immutable-keys: true}}}}}
//	row     {field: spec.template.spec.nodeSelector, says: "field is immutable: nothing may be added or removed"}

// WithLock returns the kinds with locks added to a field of one of them, in all its versions; k keeps what it has. The
// path is as in immutability.ExternalLock. It returns an error if the kind is nil or has no such field, if locks are
// empty, or if a lock cannot be on the field.
func (k *Kinds) WithLock(kind *Kind, path string, locks ...immutability.Lock) (*Kinds, error) {
	if k == nil || kind.undefined() {
		return nil, errors.New("there is no kind to lock: get one from Find")
	}
	row, err := kind.externalRow(immutability.ExternalLock{Path: path, Locks: locks})
	if err != nil {
		return nil, err
	}
	source := *kind.source
	source.Rows = append(slices.Clone(source.Rows), row)
	changed := map[*Kind]*Kind{}
	with := &Kinds{Minor: k.Minor, minor: k.minor}
	with.index = k.index.Map(func(old *Kind) *Kind {
		if old.Group != kind.Group || old.Kind != kind.Kind {
			return old
		}
		if changed[old] == nil {
			changed[old] = newKind(old.Group, &source, old.minor, old.types)
			changed[old].Versions, changed[old].APIVersion = old.Versions, old.APIVersion
		}
		return changed[old]
	})
	for _, is := range changed {
		if err := is.compile(); err != nil {
			return nil, err
		}
	}
	return with, nil
}

// externalRow returns the row of an external lock.
func (k *Kind) externalRow(lock immutability.ExternalLock) (kind.Row, error) {
	t := goType(schema.GroupVersionKind{Group: k.Group, Version: k.Versions[0], Kind: k.Kind})
	if t == nil {
		return kind.Row{}, fmt.Errorf("the fields of %s are not known here, so no lock can be added", k.Kind)
	}
	if err := k.compile(); err != nil {
		return kind.Row{}, err
	}
	d := describer{known: map[string]*spec.Schema{}}
	validator, err := immutability.Compile(d.describe(t, k.fields), immutability.WithLocks(lock),
		immutability.WithResolver(func(ref string) (*spec.Schema, error) { return d.known[ref], nil }))
	if mistakes := (*immutability.SchemaError)(nil); errors.As(err, &mistakes) {
		return kind.Row{}, errors.New(mistakes.Findings[0].Message)
	}
	if err != nil {
		return kind.Row{}, err
	}
	says := lockschema.Refused
	if len(lock.Locks) == 1 {
		says = lockschema.Lock(lock.Locks[0]).Refusal()
	}
	steps := lockschema.PathOf(validator.Locks()[0].SchemaPath).Steps()
	return kind.Row{Field: steps.String(), Compiled: validator, Says: says, Ordered: true}, nil
}

// describer makes the schema of a Go type, without the types of scalars.
type describer struct {
	types structTypes
	known map[string]*spec.Schema // by $ref: the structs of which the data says nothing, as some contain themselves
}

// describe returns the schema of a type; f is what the data says of the field, nil for nothing.
func (d *describer) describe(t reflect.Type, f *kind.Field) *spec.Schema {
	switch {
	case t.Kind() == reflect.Pointer:
		return d.describe(t.Elem(), f)
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		items := f.Items()
		if f != nil && items == nil {
			items = &kind.Field{}
		}
		list := &spec.Schema{}
		f.List(list, d.describe(t.Elem(), items))
		return list
	case t.Kind() == reflect.Map:
		return spec.MapProperty(d.describe(t.Elem(), nil))
	case t.Kind() != reflect.Struct:
		return &spec.Schema{}
	case f != nil:
		return d.members(t, f)
	}
	ref := "#/" + t.String()
	if d.known[ref] == nil {
		d.known[ref] = &spec.Schema{}
		*d.known[ref] = *d.members(t, nil)
	}
	return spec.RefSchema(ref)
}

// members returns the schema of a struct with the fields that the linked types have.
func (d *describer) members(t reflect.Type, f *kind.Field) *spec.Schema {
	s := &spec.Schema{}
	for name, member := range d.types.fields(t).types {
		if member != nil {
			s.SetProperty(name, *d.describe(member, f.Properties()[name]))
		}
	}
	return s
}
