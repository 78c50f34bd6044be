package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/crd/prepare"
	"github.com/fieldlock/fieldlock/immutability/openapi"
	"github.com/fieldlock/fieldlock/immutability/ownership"
	"github.com/fieldlock/fieldlock/internal/apply"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/storageversion"
)

var _ definition = (*crdDefinition)(nil)

// crdDefinition judges custom resources by a CRD.
type crdDefinition struct {
	crd          manifest.CRD
	laws         map[*crd.Version]*laws
	preparers    map[*crd.Version]*prepare.Preparer
	converted    map[*crd.Version]func() *prepare.Preparer // of objects that were in another version
	descriptions map[*crd.Version]func() *described
	inOld        bool           // OLD has this CRD
	onlyOld      bool           // NEW has no such CRD, or another one of its name
	before       *crdDefinition // the CRD that this one replaces, nil if both sides have this one, or only one side has any
	replaced     bool           // NEW has another CRD of its name
	noDefaults   bool
	layered      map[*crd.Version]func() bool // whether a value can be set within a default
	merging      *apply.Kind                  // how objects merge
}

// newCRDDefinition compiles every version of a CRD. Each error names file and line.
func newCRDDefinition(c manifest.CRD, onlyOld, noDefaults bool) (*crdDefinition, []error) {
	d := &crdDefinition{
		crd: c, laws: map[*crd.Version]*laws{}, preparers: map[*crd.Version]*prepare.Preparer{},
		converted: map[*crd.Version]func() *prepare.Preparer{}, descriptions: map[*crd.Version]func() *described{},
		inOld: onlyOld, onlyOld: onlyOld, noDefaults: noDefaults,
		layered: map[*crd.Version]func() bool{}, merging: newMerging(c.CRD),
	}
	validators, errs := c.Compile()
	for v, locks := range validators {
		d.laws[v], d.preparers[v] = newLaws(v.Schema, locks), prepare.New(v)
		d.converted[v] = sync.OnceValue(func() *prepare.Preparer { return newConverted(v, d.preparers[v]) })
		d.layered[v] = sync.OnceValue(func() bool { return defaultsAContainer(v.Schema) })
		d.descriptions[v] = sync.OnceValue(func() *described { return describe(v.Schema) })
	}
	return d, errs
}

func (d *crdDefinition) covers(apiVersion string) bool { return d.version(apiVersion) != nil }

// version returns the version that an apiVersion of the CRD's group names, or nil.
func (d *crdDefinition) version(apiVersion string) *crd.Version {
	_, name, _ := strings.Cut(apiVersion, "/")
	v, _ := d.crd.Version(name)
	return v
}

// judge checks an object that both sides have.
//
// Two versions of one object are compared as an API server would that converts by changing the apiVersion only: each
// side is pruned and defaulted by the version it was written in, then by the other one. The server checks such an
// update by the version of the request. Here it is checked by both versions, so that a lock which only one of them has
// holds too. What a conversion webhook would do is unknown.
func (d *crdDefinition) judge(p request) (verdict, error) {
	var invalid verdict
	v, err := d.judgeVersions(d.applied(&invalid, p), p)
	if d.replaced { // the other CRD decides what is valid
		invalid = verdict{}
	}
	for i, b := range invalid.violations {
		v.addServerSide(b.at, b.Message, invalid.edits[i])
	}
	switch {
	case len(v.violations)+v.more == 0:
	case len(v.violations) == len(v.edits):
		v.replacement = &Replacement{Cost: CostNone, Message: "an edit is enough", How: v.edits}
	default:
		v.replacement = d.replacement(p)
		v.replacement.How = append(v.edits, v.replacement.How...)
	}
	return v, err
}

// judgeVersions judges a pair as its request stores it, and as it is written.
func (d *crdDefinition) judgeVersions(p, written request) (verdict, error) {
	newVersion, oldVersion := d.version(p.new.APIVersion), d.version(p.old.APIVersion)
	var v verdict
	if newVersion == oldVersion {
		err := d.check(&v, p, newVersion)
		d.serverSide(&v, written, newVersion, oldVersion)
		return v, err
	}
	if !storageversion.Unconverted(d.crd.CRD) {
		v.unknown = append(v.unknown, Remark{Path: "apiVersion", Message: fmt.Sprintf(
			"the object is of version %s and the old one (%s:%d) of %s, which only the conversion webhook of the CRD can compare; give both in one version",
			newVersion.Name, p.old.Document.File, p.old.Document.Position().Line, oldVersion.Name)})
		return v, nil
	}
	if err := d.check(&v, p, newVersion); err != nil {
		return v, err
	}
	if err := d.check(&v, p, oldVersion); err != nil {
		return v, err
	}
	slices.SortStableFunc(v.violations, func(a, b Violation) int { return celrun.ComparePaths(a.Path, b.Path) })
	d.serverSide(&v, written, newVersion, oldVersion)
	return v, nil
}

// check adds what the pair breaks by the schema of one version.
func (d *crdDefinition) check(v *verdict, p request, version *crd.Version) error {
	laws := d.laws[version]
	if laws.empty() {
		return nil
	}
	newObj, err := d.prepare(version, p.new)
	if err != nil {
		return err
	}
	stored := storageversion.Through(d.crd.CRD, version)
	oldObj, err := d.stored(version, p.old)
	if err != nil {
		return err
	}
	locked := newObj // what locks compare
	if len(stored) > 0 {
		if locked, err = d.prepare(version, p.new, stored...); err != nil {
			return err
		}
	}
	managers, unowned := ownership.Read(p.new.Value(), p.old.Value())
	err = laws.check(v, newObj, oldObj, locked, func(v *Violation) {
		switch of := v.found; {
		case of == nil || unowned != nil: // the owners are an extra
		case of.HasKey:
			v.Owners = ownership.Text(managers.OwnersOfKey(of.Path, of.Key))
		default:
			v.Owners = ownership.Text(managers.Owners(of.Path))
		}
		d.place(v, p, version)
	})
	if err != nil {
		return p.new.Mistake(nil, "the CEL rules of its CRD cannot be run: %v", err)
	}
	return nil
}

// place adds where the lock or rule of a violation is, and which item of a list it is about.
func (d *crdDefinition) place(b *Violation, p request, version *crd.Version) {
	b.LockFile, b.LockLine, b.OnlyOld = d.crd.File, version.Position(b.SchemaPath).Line, d.onlyOld
	if p.new.APIVersion != p.old.APIVersion {
		b.Version = version.Name
	}
	b.Item = d.laws[version].itemKeys(p.new.Value(), b.at)
}

// prepare returns the object as the API server holds it in a version, after it was in others.
func (d *crdDefinition) prepare(version *crd.Version, o *manifest.Object, others ...*crd.Version) (map[string]any, error) {
	versions := slices.Compact(slices.Concat([]*crd.Version{d.version(o.APIVersion)}, others, []*crd.Version{version}))
	return d.prepareThrough(versions, o)
}

// stored returns the old object as the API server holds it in a version. If the CRD replaces another one, the object was stored by that one, with its
// defaults and without the fields that it does not have.
func (d *crdDefinition) stored(version *crd.Version, o *manifest.Object) (map[string]any, error) {
	through := storageversion.Through(d.crd.CRD, version)
	if d.before == nil || !d.before.covers(o.APIVersion) {
		return d.prepare(version, o, through...)
	}
	written := d.before.version(o.APIVersion)
	kept := written
	if through := storageversion.Through(d.before.crd.CRD, written); len(through) > 0 {
		kept = through[0]
	}
	first, err := d.before.prepare(written, o)
	if err != nil {
		return nil, err
	}
	read, versions := *o, []*crd.Version{version}
	read.Stored = first
	if is, ok := d.crd.Version(kept.Name); ok && is != version {
		versions = []*crd.Version{is, version} // the server sets the defaults of the version that it reads
	}
	return d.prepareThrough(versions, &read)
}

// prepareThrough returns the object as an API server holds it after it went through versions, which may belong to other CRDs.
func (d *crdDefinition) prepareThrough(versions []*crd.Version, o *manifest.Object, others ...*crdDefinition) (map[string]any, error) {
	obj := o.Value()
	if d.noDefaults {
		return obj, nil
	}
	if versions[0].HasStatus {
		obj = maps.Clone(obj)
		delete(obj, "status") // which only the subresource writes
	}
	for i, v := range versions {
		of := d
		for _, other := range others {
			if of.preparers[v] == nil {
				of = other
			}
		}
		preparer := of.preparers[v]
		if i > 0 {
			preparer = of.converted[v]()
		}
		var err error
		if obj, err = preparer.Prepare(obj); err != nil {
			return nil, o.Mistake(nil, "%v; --no-defaults compares objects as they are written", err)
		}
	}
	return obj, nil
}

// newConverted returns the preparer of objects that the server converts to a version. The server adds the defaults of the version in
// which a client sends an object, and of the stored version when it reads one, but none after a conversion.
func newConverted(v *crd.Version, preparer *prepare.Preparer) *prepare.Preparer {
	if v.Storage || storageversion.Version(v.CRD()) == nil {
		return preparer
	}
	bare := *v
	bare.Schema = withoutDefaults(v.Schema)
	return prepare.New(&bare)
}

// withoutDefaults returns a copy of a structural schema without its defaults.
func withoutDefaults(s *spec.Schema) *spec.Schema {
	bare := *s
	bare.Default, bare.Properties = nil, maps.Clone(s.Properties)
	for name, property := range bare.Properties {
		bare.Properties[name] = *withoutDefaults(&property)
	}
	if s.Items != nil && s.Items.Schema != nil {
		bare.Items = &spec.SchemaOrArray{Schema: withoutDefaults(s.Items.Schema)}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		bare.AdditionalProperties = &spec.SchemaOrBool{Allows: s.AdditionalProperties.Allows, Schema: withoutDefaults(s.AdditionalProperties.Schema)}
	}
	return &bare
}

// CostAnnotation is the annotation of a CRD that tells what replacing one of its objects costs.
const CostAnnotation = "fieldlock.dev/replacement-cost"

// replacement returns what replacing a refused object costs: what the CRD says, or unknown.
func (d *crdDefinition) replacement(p request) *Replacement {
	metadata, _ := d.crd.Document.Object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	cost, _ := annotations[CostAnnotation].(string)
	message := costMessages[cost]
	if message == "" {
		cost, message = CostUnknown, costMessages[CostUnknown]
	}
	return &Replacement{Cost: cost, Message: message, Must: true, Requested: p.applier.Requested(p.new.Document.Object, p.old.Value()), How: []string{
		keepOldValues, recreate(d.crd.Plural+"."+d.crd.Group, p.new),
	}}
}

// costMessages say what the costs mean.
var costMessages = map[string]string{
	CostNone:     "nothing is lost when the object is deleted and created again",
	CostRestart:  "its work starts again when the object is deleted and created again",
	CostDowntime: "the object is missing until it is created again",
	CostData:     "deleting the object can lose data",
	CostCascade:  "deleting the object deletes other objects with it",
	CostUnknown:  "its controller decides what is lost when the object is deleted and created again",
}

// writeOut returns a schema with every reference replaced by what it leads to, which CEL rules need. A schema that
// contains itself ends where it begins again, or cannot be written out at all: nil. rest says which of the transition rules
// are not run because of that, "" for none. Locks need no such schema.
func writeOut(t *schema.Tree) (s *spec.Schema, rest string) {
	ruled := t.Holding(func(l *schema.Location) bool { return hasTransition(l.Schema) || hasTransition(l.Body.Schema) })
	s, err := t.Inline()
	switch {
	case err != nil && len(ruled) > 0:
		return nil, fmt.Sprintf("its CEL transition rules are not run, as they need the schema with every $ref written out: %v", err)
	case err != nil:
		return nil, ""
	}
	if l := recurring(t, ruled); l != nil {
		return s, fmt.Sprintf("its CEL transition rules are not run below the first %s, as the schema contains itself there", l.Path)
	}
	return s, ""
}

// hasTransition reports whether a node of a schema has a transition rule.
func hasTransition(s *spec.Schema) bool {
	validations, ok := s.Extensions[schema.KeyValidations]
	if !ok {
		return false
	}
	node := &spec.Schema{VendorExtensible: spec.VendorExtensible{Extensions: spec.Extensions{schema.KeyValidations: validations}}}
	for _, r := range celrun.Rules(node) {
		if celrun.Transition(r) {
			return true
		}
	}
	return false
}

// recurring returns a location that is inside of itself, among those in ruled, which have a rule at or below them; nil for
// none. Each part of the schema is looked at once: every circle of references is closed by some location that leads back to
// a part that is still being looked at.
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

func (d *openDefinition) judge(p request) (verdict, error) {
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
		return v, p.new.Mistake(nil, "the CEL rules of its schema cannot be run: %v", err)
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
func (d *openDefinition) replacement(p request) *Replacement {
	r := &Replacement{Cost: CostUnknown, Message: costMessages[CostUnknown], How: []string{keepOldValues}}
	if p.new.Kind == "" {
		r.Message = "the loss depends on the objects that are deployed with these values"
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
