package witness

import (
	"fmt"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/celrun"
)

// Version is one version of a kind: what an API server knows about its objects.
type Version struct {
	APIVersion string // group and version
	Kind       string
	Name       string // of the version
	Schema     *spec.Schema
	Served     bool
	Storage    bool

	// Prepare returns an object as the server has it when it validates: pruned, with defaults.
	Prepare func(obj map[string]any) (map[string]any, error)
	// Locks is the compiled schema.
	Locks *immutability.Validator

	once       sync.Once
	err        error
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
	rules      *celrun.Validator
	transition map[celrun.Rule]bool
	reads      map[string]*ruleReads
	memo       memo

	evaluations int // of objects and updates
	effort      *effort
}

// compile makes the server's validators; it takes as long as the server takes for a new CRD.
func (v *Version) compile() error {
	v.once.Do(func() {
		var internal *apiextensions.JSONSchemaProps
		if internal, v.err = celrun.Convert(v.Schema); v.err != nil {
			return
		}
		if v.structural, v.err = structuralschema.NewStructural(internal); v.err != nil {
			return
		}
		if v.validator, _, v.err = validation.NewSchemaValidator(internal); v.err != nil {
			return
		}
		v.rules = celrun.New(v.Schema, nil).Strict()
		v.transition, v.reads = map[celrun.Rule]bool{}, map[string]*ruleReads{}
		for _, r := range v.rules.Rules() {
			v.transition[r] = celrun.Transition(r)
			v.reads[r.Text] = readsOf(r.Text)
		}
	})
	return v.err
}

// errors returns what the server finds in a prepared object without its rules, were it a new one.
func (v *Version) errors(obj map[string]any) field.ErrorList {
	errs := validation.ValidateCustomResource(nil, obj, v.validator)
	errs = append(errs, embeddedErrors(obj, v.structural)...)
	return append(errs, listtype.ValidateListSetsAndMaps(nil, v.structural, obj)...)
}

// read returns a prepared object of version from as version v shows it, under the conversion strategy None: in the
// version that it is stored in, then in v.
func (v *Version) read(obj map[string]any, stored *Version) (map[string]any, error) {
	for _, version := range []*Version{stored, v} {
		if obj["apiVersion"] == version.APIVersion {
			continue
		}
		other, ok := set(obj, path{"apiVersion"}, version.APIVersion)
		if !ok {
			return nil, fmt.Errorf("an object of %s cannot be converted", v.APIVersion)
		}
		var err error
		if obj, err = version.prepare(other.(map[string]any)); err != nil {
			return nil, err
		}
	}
	return obj, nil
}

// schemaAt returns the schema at p; metadata.name is a string, although CRDs do not say so.
func (v *Version) schemaAt(p path) *spec.Schema {
	if len(p) == 2 && p[0] == "metadata" && p[1] == "name" {
		if s := schemaAt(v.Schema, p); s != nil && len(s.Type) > 0 {
			return s
		}
		return &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"string"}}}
	}
	return schemaAt(v.Schema, p)
}

// prepare is v.Prepare.
func (v *Version) prepare(obj map[string]any) (map[string]any, error) {
	id := v.memo.of(obj)
	if known, ok := v.memo.prepared[id]; ok {
		return known.obj, known.err
	}
	made, err := v.Prepare(obj)
	v.memo.keep(obj, made)
	v.memo.prepared[id] = prepared{made, err}
	return made, err
}

// Kind is a kind of objects under audit. It is not safe for concurrent use.
type Kind struct {
	Versions []*Version // the served ones and the one that objects are stored in

	effort *effort // nil until Allow
	wasted int     // evaluations for doubtful holes that gave no witness
	bases  map[*Version]map[string]any
	// containing are valid objects with a value at a pattern.
	containing map[baseID]map[string]any
	fields     map[*Version]map[string]string // schema paths by path for people
}

// stored is the version that objects are stored in.
func (k *Kind) stored(otherwise *Version) *Version {
	for _, v := range k.Versions {
		if v.Storage {
			return v
		}
	}
	return otherwise
}

// How many sequences are judged for one hole as they come, how many whose objects are valid each on its own, how many
// objects for the first valid one of a version, and how many updates to show that a rule which should be dead is not.
const (
	plainEffort  = 100
	stagedEffort = 160
	validEffort  = 700
	deadEffort   = 60
	manyStarts   = 4 // values with which a base is extended

	// manyWasted bounds the evaluations of a kind that give no witness, after which sequences are judged only as they come.
	manyWasted = 2000
)

// baseID is a version and a pattern.
type baseID struct {
	version *Version
	pattern string
}
