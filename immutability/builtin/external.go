package builtin

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/kind"
	lockschema "github.com/fieldlock/fieldlock/internal/schema"
)

// WithLock returns the kinds with locks added to a field of one of them, in all its versions; k keeps what it has. The
// path is as in immutability.ExternalLock. It returns an error if the kind is nil or has no such field, if locks are
// empty, or if a lock cannot be on the field.
func (k *Kinds) WithLock(kind *Kind, path string, locks ...immutability.Lock) (*Kinds, error) {
	if k == nil || kind.undefined() {
		return nil, errors.New("there is no kind to lock: get one from Find")
	}
	t := goType(schema.GroupVersionKind{Group: kind.Group, Version: kind.Versions[0], Kind: kind.Kind})
	if t == nil {
		return nil, fmt.Errorf("the fields of %s are not known here, so no lock can be added", kind.Kind)
	}
	if path == "metadata" || strings.HasPrefix(path, "metadata.") {
		return nil, fmt.Errorf("metadata cannot be locked, because API machinery changes it on every update")
	}
	steps, isMap, err := find(t, path)
	if err != nil {
		return nil, err
	}
	if len(locks) == 0 {
		return nil, fmt.Errorf("no lock is named for %s; name at least one, such as immutable", path)
	}
	for _, l := range locks {
		if err := lockschema.CheckLocks([]lockschema.Lock{lockschema.Lock(l)}); err != nil {
			return nil, err
		}
	}
	source := kind.source.with(steps, isMap, locks)
	changed := map[*Kind]*Kind{}
	with := &Kinds{Minor: k.Minor, minor: k.minor}
	with.index = k.index.Map(func(old *Kind) *Kind {
		if old.Group != kind.Group || old.Kind != kind.Kind {
			return old
		}
		if changed[old] == nil {
			changed[old] = newKind(old.Group, source, old.minor, old.types)
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

// with returns a copy of the source of a kind with rows for locks at the end of steps.
func (s *kindSource) with(steps fieldpath.Path, isMap bool, locks []immutability.Lock) *kindSource {
	out := *s
	out.Rows = slices.Clone(s.Rows)
	path := steps.String()
	if isMap {
		out.Fields = maps.Clone(s.Fields)
		if out.Fields == nil {
			out.Fields = map[string]kind.FieldData{}
		}
		if _, known := out.Fields[path+string(fieldpath.EachValue)]; !known {
			out.Fields[path+string(fieldpath.EachValue)] = kind.FieldData{}
		}
	}
	var words []string
	for _, l := range locks {
		if lock := lockschema.Lock(l); lock.Key() == lockschema.KeyUpdate {
			words = append(words, string(lock))
		} else {
			out.Rows = append(out.Rows, kind.Row{Field: path, Lock: string(lock), Says: lock.Refusal(), Ordered: true})
		}
	}
	if words != nil {
		says := lockschema.Refused
		if len(words) == 1 {
			says = lockschema.Lock(words[0]).Refusal()
		}
		out.Rows = append(out.Rows, kind.Row{Field: path, Update: words, Says: says, Ordered: true})
	}
	return &out
}

// find returns the steps that the path of an external lock takes through a Go type, and whether it leads to a map. The
// path is read as in a schema; the error is a *lockschema.NoPath.
func find(t reflect.Type, path string) (steps fieldpath.Path, isMap bool, err error) {
	if path == "" {
		return nil, false, &lockschema.NoPath{Nearest: "the root"}
	}
	var types structTypes
	known := map[string]*spec.Schema{}
	root := types.describe(t, known)
	external := lockschema.External{Path: path}
	located, at, err := external.Add(root, func(ref string) (*spec.Schema, error) { return known[ref], nil })
	if err != nil {
		return nil, false, err
	}
	steps = at.Steps()
	for _, step := range steps {
		switch step {
		case fieldpath.EachItem:
			located = located.Items.Schema
		case fieldpath.EachValue:
			located = located.AdditionalProperties.Schema
		default:
			located = lockschema.Below(located, step)
		}
	}
	return steps, located.AdditionalProperties != nil, nil
}

// describe returns the schema of a Go type, without the types of scalars. A struct is a $ref to known, which gets it:
// some contain themselves.
func (c *structTypes) describe(t reflect.Type, known map[string]*spec.Schema) *spec.Schema {
	switch {
	case t.Kind() == reflect.Pointer:
		return c.describe(t.Elem(), known)
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return spec.ArrayProperty(c.describe(t.Elem(), known))
	case t.Kind() == reflect.Map:
		return spec.MapProperty(c.describe(t.Elem(), known))
	case t.Kind() != reflect.Struct:
		return &spec.Schema{}
	}
	ref := "#/" + t.String()
	if known[ref] == nil {
		known[ref] = &spec.Schema{}
		for name, field := range c.fields(t).types {
			if field != nil { // the linked types have it
				known[ref].SetProperty(name, *c.describe(field, known))
			}
		}
	}
	return spec.RefSchema(ref)
}
