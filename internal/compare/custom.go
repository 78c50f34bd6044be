package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/crd/prepare"
	"github.com/fieldlock/fieldlock/immutability/ownership"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/apply"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/kind"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/storageversion"
)

// customKind is a CRD of one side, with each of its versions compiled.
type customKind struct {
	crd        manifest.CRD
	versions   map[*crd.Version]*customVersion
	inOld      bool        // OLD has this CRD
	onlyOld    bool        // NEW has no such CRD, or another one of its name
	before     *customKind // the CRD that this one replaces, nil if both sides have this one, or only one side has any
	replaced   bool        // NEW has another CRD of its name
	noDefaults bool
	merging    *apply.Kind // how objects merge
}

// customVersion is one version of a CRD. What most versions never need is made at its first use.
type customVersion struct {
	*kind.Definition
	converted    func() *prepare.Preparer // of objects that were in another version
	descriptions func() *described
	layered      func() bool     // whether a value can be set within a default
	validity     func() validity // the mistakes that the server finds
}

// newCustomKind compiles every version of a CRD. Each error names file and line.
func newCustomKind(c manifest.CRD, onlyOld, noDefaults bool) (*customKind, []error) {
	d := &customKind{
		crd: c, versions: map[*crd.Version]*customVersion{}, inOld: onlyOld, onlyOld: onlyOld, noDefaults: noDefaults,
		merging: newMerging(c.CRD),
	}
	validators, errs := c.Compile()
	for v, locks := range validators {
		preparer := prepare.New(v)
		stored := func(obj, _ map[string]any) (map[string]any, error) { return preparer.Prepare(obj) }
		d.versions[v] = &customVersion{
			Definition:   kind.FromSchema(v.Schema, locks, stored),
			converted:    sync.OnceValue(func() *prepare.Preparer { return newConverted(v, preparer) }),
			layered:      sync.OnceValue(func() bool { return defaultsAContainer(v.Schema) }),
			descriptions: sync.OnceValue(func() *described { return describe(v.Schema) }),
			validity:     sync.OnceValue(func() validity { return newValidity(v.Schema) }),
		}
	}
	return d, errs
}

// definition judges custom resources by the CRD.
func (d *customKind) definition() *definition {
	return &definition{
		covers: d.covers, find: d.find,
		replace: func(r request, _ builtin.Verdict) *result.Replacement { return d.replacement(r) },
	}
}

func (d *customKind) covers(apiVersion string) bool { return d.version(apiVersion) != nil }

// version returns the version that an apiVersion of the CRD's group names, or nil.
func (d *customKind) version(apiVersion string) *crd.Version {
	_, name, _ := strings.Cut(apiVersion, "/")
	v, _ := d.crd.Version(name)
	return v
}

// find judges an object that both sides have.
//
// Two versions of one object are compared as an API server would that converts by changing the apiVersion only: each
// side is pruned and defaulted by the version it was written in, then by the other one. The server checks such an
// update by the version of the request. Here it is checked by both versions, so that a lock which only one of them has
// holds too. What a conversion webhook would do is unknown.
func (d *customKind) find(v *verdict, p request) error {
	var invalid verdict
	err := d.findInVersions(v, d.applied(&invalid, p), p)
	if d.replaced { // the other CRD decides what is valid
		return err
	}
	for i, b := range invalid.violations {
		v.addServerSide(b.at, b.Message, invalid.edits[i])
	}
	return err
}

// findInVersions judges a pair as its request stores it, and as it is written.
func (d *customKind) findInVersions(v *verdict, p, written request) error {
	newVersion, oldVersion := d.version(p.new.APIVersion), d.version(p.old.APIVersion)
	if newVersion == oldVersion {
		err := d.check(v, p, newVersion)
		d.serverSide(v, written, newVersion, oldVersion)
		return err
	}
	if !storageversion.Unconverted(d.crd.CRD) {
		v.unknown = append(v.unknown, result.Remark{Path: "apiVersion", Message: fmt.Sprintf(
			"the object is of version %s and the old one (%s:%d) of %s, which only the conversion webhook of the CRD can compare; give both in one version",
			newVersion.Name, p.old.Document.File, p.old.Document.Position().Line, oldVersion.Name)})
		return nil
	}
	if err := d.check(v, p, newVersion); err != nil {
		return err
	}
	if err := d.check(v, p, oldVersion); err != nil {
		return err
	}
	slices.SortStableFunc(v.violations, func(a, b violation) int { return celrun.ComparePaths(a.Path, b.Path) })
	d.serverSide(v, written, newVersion, oldVersion)
	return nil
}

// check adds what the pair breaks by the schema of one version.
func (d *customKind) check(v *verdict, p request, version *crd.Version) error {
	definition := d.versions[version].Definition
	if definition.Empty() {
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
	err = v.addFound(definition, kind.Update{New: newObj, Old: oldObj, Locked: locked}, func(b *violation, f *kind.Finding) {
		switch of := &f.Broken; {
		case of.Lock == kind.LockRule || unowned != nil: // the owners are an extra
		case of.HasKey:
			b.Owners = ownership.Text(managers.OwnersOfKey(of.Path, of.Key))
		default:
			b.Owners = ownership.Text(managers.Owners(of.Path))
		}
		d.place(b, p, version)
	})
	if err != nil {
		return p.new.Mistake(nil, "the CEL rules of its CRD cannot be run: %v", err)
	}
	return nil
}

// place adds where the lock or rule of a violation is, and which item of a list it is about.
func (d *customKind) place(b *violation, p request, version *crd.Version) {
	b.LockFile, b.LockLine, b.OnlyOld = d.crd.File, version.Position(b.SchemaPath).Line, d.onlyOld
	if p.new.APIVersion != p.old.APIVersion {
		b.Version = version.Name
	}
	b.Item = d.versions[version].ItemKeys(p.new.Value(), b.at)
}

// prepare returns the object as the API server holds it in a version, after it was in others.
func (d *customKind) prepare(version *crd.Version, o *manifest.Object, others ...*crd.Version) (map[string]any, error) {
	versions := slices.Compact(slices.Concat([]*crd.Version{d.version(o.APIVersion)}, others, []*crd.Version{version}))
	return d.prepareThrough(versions, o)
}

// stored returns the old object as the API server holds it in a version. If the CRD replaces another one, the object
// was stored by that one, with its defaults and without the fields that it does not have.
func (d *customKind) stored(version *crd.Version, o *manifest.Object) (map[string]any, error) {
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

// prepareThrough returns the object as an API server holds it after it went through versions, which may belong to other
// CRDs.
func (d *customKind) prepareThrough(versions []*crd.Version, o *manifest.Object, others ...*customKind) (map[string]any, error) {
	obj := o.Value()
	if d.noDefaults {
		return obj, nil
	}
	if versions[0].HasStatus {
		obj = maps.Clone(obj)
		delete(obj, "status") // which only the subresource writes
	}
	for i, v := range versions {
		of := d.versions[v]
		for _, other := range others {
			if of == nil {
				of = other.versions[v]
			}
		}
		var err error
		if i == 0 {
			obj, err = of.Stored(obj, nil)
		} else {
			obj, err = of.converted().Prepare(obj)
		}
		if err != nil {
			return nil, o.Mistake(nil, "%v; --no-defaults compares objects as they are written", err)
		}
	}
	return obj, nil
}

// newConverted returns the preparer of objects that the server converts to a version. The server adds the defaults of
// the version in which a client sends an object, and of the stored version when it reads one, but none after a
// conversion.
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
func (d *customKind) replacement(p request) *result.Replacement {
	metadata, _ := d.crd.Document.Object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	word, _ := annotations[CostAnnotation].(string)
	cost := result.Cost(word)
	if costMessages[cost] == "" {
		cost = result.CostUnknown
	}
	return customReplacement(cost, d.crd.Plural+"."+d.crd.Group, p)
}

// hides reports whether the value at a path is a password in a version.
func (d *customKind) hides(apiVersion string, at fieldpath.Path) bool {
	version := d.version(apiVersion)
	return version != nil && d.versions[version].RedactionAt(at) != nil
}
