package compare

import (
	"maps"
	"strings"
	"sync"

	"github.com/fieldlock/fieldlock/immutability/openapi"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/schema"
)

var _ definition = (*openDefinition)(nil)

// openDefinition judges objects by a schema of an OpenAPI document, and documents without a kind by a JSON Schema.
type openDefinition struct {
	*openapi.Document
	amender          *manifest.Amender
	apiVersion, kind string // both are "" for a JSON Schema, apiVersion for a schema that has a name only
	ref              string
	onlyOld          bool
	defaults         *defaults

	once sync.Once // compiled at the first use: a document of an API server has hundreds of kinds
	laws *laws
	rest string // which rules are not run, and why; "" for none
	err  error
}

// defaults are the values that documents without a kind have on both sides unless they say otherwise.
type defaults struct{ new, old map[string]any }

func (d *openDefinition) covers(apiVersion string) bool { return d.apiVersion == apiVersion }

// isOf reports whether the schema is for an object. A document without an apiVersion may name the schema in its kind.
func (d *openDefinition) isOf(o *manifest.Object) bool {
	kind := o.Kind
	if kind == "" && d.kind != "" {
		kind, _ = o.Value()["kind"].(string)
	}
	return d.covers(o.APIVersion) && strings.EqualFold(d.kind, kind)
}

// load compiles the schema. The rules in it read the whole schema, so it is written out for them.
func (d *openDefinition) load() error {
	d.once.Do(func() {
		kind := openapi.Kind{APIVersion: d.apiVersion, Kind: d.kind, Ref: d.ref}
		if kind.Kind == "" {
			kind = manifest.RootOf(d.Document)
		}
		s, resolve, locks, err := d.amender.Compile(d.Document, kind)
		if err != nil {
			d.err = err
			return
		}
		s, d.rest = writeOut(schema.Read(s, resolve))
		d.laws = newLaws(s, locks)
	})
	return d.err
}

func (d *openDefinition) judge(p pair) (verdict, error) {
	var v verdict
	if err := d.load(); err != nil {
		return v, err
	}
	if d.laws.empty() {
		return v, nil
	}
	newObj, oldObj := p.new.Value(), p.old.Value()
	if p.new.Kind == "" {
		newObj, oldObj = mergeValues(newObj, d.defaults.new), mergeValues(oldObj, d.defaults.old)
	}
	if err := d.laws.check(&v, newObj, oldObj, newObj, d.place); err != nil {
		return v, p.new.Mistake("", "the CEL rules of its schema cannot be run: %v", err)
	}
	if len(v.violations)+v.more > 0 {
		v.replacement = d.replacement(p)
	}
	return v, nil
}

// place adds where the lock or rule of a violation is.
func (d *openDefinition) place(b *Violation) {
	b.LockFile, b.LockLine, b.OnlyOld = d.File, d.Position(d.ref, b.SchemaPath).Line, d.onlyOld
}

// replacement returns what replacing a refused object costs, which nobody knows.
func (d *openDefinition) replacement(p pair) *Replacement {
	r := &Replacement{Cost: CostUnknown, Message: costMessages[CostUnknown], How: []string{keepOldValues}}
	if p.new.Kind == "" {
		r.Message = "what is lost depends on what is deployed with these values"
		return r
	}
	r.Must, r.Requested = true, p.applier.Requested(p.new.Document.Object, p.old.Value())
	r.How = append(r.How, recreate(kindArgument(p.new), p.new))
	return r
}

// kindArgument names the kind of an object for kubectl.
func kindArgument(o *manifest.Object) string {
	if o.Group == "" {
		return strings.ToLower(o.Kind)
	}
	return strings.ToLower(o.Kind) + "." + o.Group
}

// mergeValues returns the values of a Helm chart as its templates see them: values over the defaults of values.yaml.
// Objects merge member by member, lists and scalars are replaced, and null removes a default, as helm does it. Neither
// argument is changed; the result shares what it does not merge.
func mergeValues(values, defaults map[string]any) map[string]any {
	merged := maps.Clone(defaults)
	if merged == nil {
		merged = map[string]any{}
	}
	for name, value := range values {
		object, isObject := value.(map[string]any)
		standard, hasDefault := merged[name].(map[string]any)
		switch {
		case value == nil:
			delete(merged, name)
		case isObject && hasDefault:
			merged[name] = mergeValues(object, standard)
		case isObject:
			merged[name] = mergeValues(object, nil)
		default:
			merged[name] = value
		}
	}
	return merged
}
