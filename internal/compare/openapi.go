package compare

import (
	"fmt"
	"maps"
	"strings"
	"sync"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/kind"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/schemadoc"
)

// writeOut returns a schema with every reference replaced by what it leads to, which CEL rules need. A schema that
// contains itself ends where it begins again, or cannot be written out at all: nil. rest says which of the transition
// rules are not run because of that, "" for none. Locks need no such schema.
func writeOut(t *schema.Tree) (s *spec.Schema, rest string) {
	ruled := t.Holding(func(l *schema.Location) bool { return hasTransition(l.Schema) || hasTransition(l.Body.Schema) })
	s, err := t.Inline()
	switch {
	case err != nil && len(ruled) > 0:
		return nil, fmt.Sprintf("its CEL transition rules are not run, as they need the schema with every $ref "+
			"written out: %v", err)
	case err != nil:
		return nil, ""
	}
	if l := recurring(t, ruled); l != nil {
		return s, fmt.Sprintf("its CEL transition rules are not run below the first %s, as the schema contains "+
			"itself there", l.Path)
	}
	return s, ""
}

// hasTransition reports whether a node of a schema has a transition rule.
func hasTransition(s *spec.Schema) bool {
	validations, ok := s.Extensions[schema.KeyValidations]
	if !ok {
		return false
	}
	node := &spec.Schema{}
	node.AddExtension(schema.KeyValidations, validations)
	for _, r := range celrun.Rules(node) {
		if celrun.Transition(r) {
			return true
		}
	}
	return false
}

// recurring returns a location that is inside of itself, among those in ruled, which have a rule at or below them; nil
// for none. Each part of the schema is looked at once: every circle of references is closed by some location that leads
// back to a part that is still being looked at.
func recurring(t *schema.Tree, ruled map[*schema.Location]bool) *schema.Location {
	const inside, done = 1, 2
	state := map[*schema.Body]int{}
	var visit func(l *schema.Location) *schema.Location
	visit = func(l *schema.Location) *schema.Location {
		switch {
		case !ruled[l] || state[l.Body] == done:
			return nil
		case state[l.Body] == inside:
			return l
		}
		state[l.Body] = inside
		for child := range l.Children {
			if found := visit(child); found != nil {
				return found
			}
		}
		state[l.Body] = done
		return nil
	}
	return visit(t.Root)
}

// openKind is a schema of an OpenAPI document, or a JSON Schema for documents without a kind.
type openKind struct {
	*schemadoc.Document
	amender          *manifest.Amender
	apiVersion, kind string // both are "" for a JSON Schema, apiVersion for a schema that has a name only
	ref              string
	onlyOld          bool
	defaults         *defaults

	once     sync.Once // compiled at the first use: a document of an API server has hundreds of kinds
	compiled *kind.Definition
	rest     string // which rules are not run, and why; "" for none
	err      error
}

// defaults are the values that documents without a kind have on both sides unless they say otherwise.
type defaults struct{ new, old map[string]any }

func (d *openKind) covers(apiVersion string) bool { return d.apiVersion == apiVersion }

// isOf reports whether the schema is for an object. A document without an apiVersion may name the schema in its kind.
func (d *openKind) isOf(o *manifest.Object) bool {
	kind := o.Kind
	if kind == "" && d.kind != "" {
		kind, _ = o.Value()["kind"].(string)
	}
	return d.covers(o.APIVersion) && strings.EqualFold(d.kind, kind)
}

// load compiles the schema. The rules in it read the whole schema, so it is written out for them.
func (d *openKind) load() error {
	d.once.Do(func() {
		of := schemadoc.Kind{APIVersion: d.apiVersion, Kind: d.kind, Ref: d.ref}
		if of.Kind == "" {
			of = manifest.RootOf(d.Document)
		}
		s, resolve, locks, err := d.amender.Compile(d.Document, of)
		if err != nil {
			d.err = err
			return
		}
		s, d.rest = writeOut(schema.Read(s, resolve))
		d.compiled = kind.FromSchema(s, locks, nil)
	})
	return d.err
}

// definition judges objects by the schema.
func (d *openKind) definition() *definition {
	return &definition{
		covers: d.covers, find: d.find,
		replace: func(r request, _ result.Verdict) *result.Replacement { return d.replacement(r) },
	}
}

func (d *openKind) find(v *verdict, p request) error {
	if err := d.load(); err != nil {
		return err
	}
	newObj, oldObj := p.new.Value(), p.old.Value()
	if p.new.Kind == "" {
		newObj, oldObj = mergeValues(newObj, d.defaults.new), mergeValues(oldObj, d.defaults.old)
	}
	if err := v.addFound(p, d.compiled, kind.Update{New: newObj, Old: oldObj}, d.place); err != nil {
		return p.new.Mistake(nil, "the CEL rules of its schema cannot be run: %v", err)
	}
	return nil
}

// place adds where the lock or rule of a violation is.
func (d *openKind) place(b *result.Violation) {
	b.LockFile, b.LockLine, b.OnlyOld = d.File, d.Position(d.ref, b.SchemaPath).Line, d.onlyOld
}

// replacement returns the replacement of a refused object. Its cost is unknown.
func (d *openKind) replacement(p request) *result.Replacement {
	if p.new.Kind == "" {
		message := "the loss depends on the objects that are deployed with these values"
		return &result.Replacement{Cost: result.CostUnknown, Message: message, How: []string{keepOldValues}}
	}
	return customReplacement(result.CostUnknown, kindArgument(p.new), p)
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
