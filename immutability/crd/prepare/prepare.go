// Package prepare prepares custom resources for comparison as the API server does: pruned, with defaults.
//
//	preparer := prepare.New(version) // once
//	...
//	newObj, err = preparer.Prepare(newObj)
//	oldObj, err = preparer.Prepare(oldObj)
//	errs := validator.ValidateUpdate(newObj, oldObj)
//
// A webhook gets objects that the API server has prepared already and does not need this package. It links the API
// server's own code and with it CEL, which reading locks with package crd does not.
package prepare

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/rawschema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Preparer prepares objects of one version of a CRD. It is safe for concurrent use. The zero Preparer, a nil one and
// one of a nil version return errors.
type Preparer struct {
	version *crd.Version

	once       sync.Once
	structural *structuralschema.Structural // nil for a schema that is not structural, where that is allowed
	err        error
}

// New returns a Preparer for the objects of v. It costs nothing: the first call of Prepare converts the schema, which
// takes as long as decoding it a few times, and returns the error of a schema that cannot be converted.
func New(v *crd.Version) *Preparer { return &Preparer{version: v} }

// Prepare returns obj as the API server sees it before it validates: unknown fields pruned, null dropped where the
// schema is not nullable, the metadata of embedded resources reduced to what object metadata has, defaults applied; by
// apiextensions-apiserver's own code and in its order. obj is a decoded object of this version and stays unchanged; a
// nil obj is an error. The object's own metadata stays as it is: nothing in it can be locked.
//
// Under preserveUnknownFields, as on the API server, nothing is pruned and no null dropped, and with a schema that is
// not structural there are no defaults either. Without preserveUnknownFields such a schema is an error: no API server
// would serve it. It is an error too when the metadata of an embedded resource is malformed.
//
// Cost: O(object).
func (p *Preparer) Prepare(obj map[string]any) (map[string]any, error) {
	if p == nil || p.version.CRD() == nil {
		return nil, errors.New("there is no version to prepare objects of: get one from a CRD")
	}
	p.once.Do(func() { p.structural, p.err = toStructural(p.version) })
	if p.err != nil {
		return nil, p.err
	}
	prepared, ok := jsonvalue.Clone(obj).(map[string]any)
	if !ok {
		return nil, errors.New("there is no object to prepare")
	}
	if !p.version.CRD().PreserveUnknownFields {
		pruning.Prune(prepared, p.structural, true)
		defaulting.PruneNonNullableNullsWithoutDefaults(prepared, p.structural)
	}
	if err := coerce(prepared, p.structural); err != nil {
		return nil, fmt.Errorf("%s: an embedded resource cannot be read: %w", yamldoc.NameOf(obj), err)
	}
	defaulting.Default(prepared, p.structural)
	return prepared, nil
}

// coerce reduces the metadata of embedded resources in object to what object metadata has. Of several that are
// malformed objectmeta.Coerce reports any one; coerce takes each out and goes on, and returns the first by path.
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
		if !remove(object, fieldpath.Resolve(err.Field, object)) {
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
	object, _ := fieldpath.Value(value, steps[:last]...).(map[string]any)
	name, _ := steps[last].(string)
	_, ok := object[name]
	delete(object, name)
	return ok
}

// toStructural converts the schema as the API server does when it starts to serve a CRD. It returns nil for a schema
// that is not structural if preserveUnknownFields allows that.
func toStructural(v *crd.Version) (*structuralschema.Structural, error) {
	text, err := v.Schema.MarshalJSON()
	if err != nil {
		return nil, unusable(v, "", err)
	}
	var raw map[string]any
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, unusable(v, "", err)
	}
	if path, why := rawschema.NotStructural(raw); why != "" {
		if v.CRD().PreserveUnknownFields {
			return nil, nil
		}
		return nil, unusable(v, path, errors.New(why))
	}
	structural, err := convert(text, v.CRD().PreserveUnknownFields)
	if err != nil {
		return nil, unusable(v, "", err)
	}
	return structural, nil
}

// unusable returns the error about a schema that is not structural, with the schema path of the reason if it is known.
func unusable(v *crd.Version, path string, reason error) error {
	subject := "CustomResourceDefinition " + v.CRD().Name + ", version " + v.Name
	if file := v.CRD().File; file != "" {
		subject = file + ": " + subject
	}
	if path != "" {
		subject += ": " + path
	}
	return fmt.Errorf("%s: the schema is not structural, so the API server could not prune and default by it: %w",
		subject, reason)
}

// convert takes the text of a schema through the API server: decoded as JSONSchemaProps, which drops the keys that it
// does not know, converted, made structural, its defaults pruned.
func convert(text []byte, preserveUnknown bool) (*structuralschema.Structural, error) {
	var external apiextensionsv1.JSONSchemaProps
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &external); err != nil {
		return nil, err
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&external,
		&internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil || preserveUnknown {
		return structural, err
	}
	return structural, defaulting.PruneDefaults(structural)
}
