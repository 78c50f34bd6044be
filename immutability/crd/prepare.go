package crd

import (
	"fmt"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Prepare returns obj as the API server sees it before it validates: unknown fields pruned, null dropped where the
// schema is not nullable, the metadata of embedded resources reduced to what object metadata has, defaults applied; by
// apiextensions-apiserver's own code and in its order. obj is a decoded object of this version and stays unchanged.
// The object's own metadata stays as it is: nothing in it can be locked.
//
// Under preserveUnknownFields, as on the API server, nothing is pruned and no null dropped, and with a schema that is
// not structural there are no defaults either. Without preserveUnknownFields such a schema is an error: no API server
// would serve it. It is an error too when the metadata of an embedded resource is malformed.
//
// Cost: O(object); the first call converts the schema, the time of a few decodings of it. Safe for concurrent use.
func (v *Version) Prepare(obj map[string]any) (map[string]any, error) {
	v.once.Do(func() { v.structural, v.err = v.toStructural() })
	if v.err != nil {
		return nil, v.err
	}
	prepared, ok := jsonvalue.Clone(obj).(map[string]any)
	if !ok {
		return nil, nil
	}
	if !v.crd.PreserveUnknownFields {
		pruning.Prune(prepared, v.structural, true)
		defaulting.PruneNonNullableNullsWithoutDefaults(prepared, v.structural)
	}
	if err := coerce(prepared, v.structural); err != nil {
		return nil, fmt.Errorf("%s: an embedded resource cannot be read: %w", yamldoc.NameOf(obj), err)
	}
	defaulting.Default(prepared, v.structural)
	return prepared, nil
}

// coerce reduces the metadata of embedded resources in object to what object metadata has. Of several that are malformed
// objectmeta.Coerce reports any one; coerce takes each out and goes on, and returns the first by path.
func coerce(object map[string]any, s *structuralschema.Structural) error {
	var first *field.Error
	for {
		err := objectmeta.Coerce(nil, object, s, false, false)
		switch {
		case err == nil && first == nil:
			return nil
		case err == nil:
			return first
		case first == nil || err.Field < first.Field:
			first = err
		}
		if !remove(object, yamldoc.Steps(object, err.Field)) {
			return first
		}
	}
}

// remove takes the member that steps lead to out of value, and reports whether it was there.
func remove(value any, steps []any) bool {
	if len(steps) == 0 {
		return false
	}
	last := len(steps) - 1
	object, _ := yamldoc.At(value, steps[:last]...).(map[string]any)
	name, _ := steps[last].(string)
	_, ok := object[name]
	delete(object, name)
	return ok
}
