package compare

import (
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/crd/prepare"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/apply"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/kind"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/storageversion"
)

// CRDs, compiled, and objects as a server stores them by a version of a CRD. With {mode: {default: fast}} in the schema
// of v1,
//
//	{apiVersion: example.com/v1, kind: Widget, spec: {size: 3, typo: x}}   the manifest
//	{apiVersion: example.com/v1, kind: Widget, spec: {size: 3, mode: fast}}   what is stored
//
// An object of v1beta1 goes through that version first.

// customKind is a CRD of one side, with each of its versions compiled.
type customKind struct {
	crd        manifest.CRD
	versions   map[*crd.Version]*customVersion
	inOld      bool        // OLD has this CRD
	onlyOld    bool        // NEW has no such CRD, or another one of its name
	before     *customKind // the CRD that this one replaces, nil if both sides have this one, or only one side has any
	replaced   bool        // NEW has another CRD of its name
	noDefaults bool
	asWritten  string      // ends the error about an object that cannot be prepared
	merging    *apply.Kind // how objects merge
}

// customVersion is one version of a CRD. Parts that most versions never need are made at their first use.
type customVersion struct {
	*kind.Definition
	converted    func() *prepare.Preparer // of objects that were in another version
	descriptions func() *described
	layered      func() bool          // whether a value can be set within a default
	validity     func() validityCheck // the mistakes that the server finds
}

// newCustomKind compiles every version of a CRD. Each error names file and line.
func newCustomKind(c manifest.CRD, onlyOld bool, o Options) (*customKind, []error) {
	d := &customKind{
		crd: c, versions: map[*crd.Version]*customVersion{}, inOld: onlyOld, onlyOld: onlyOld, noDefaults: o.NoDefaults,
		merging: newMerging(c.CRD),
	}
	if o.Advice.AsWritten != "" {
		d.asWritten = "; " + o.Advice.AsWritten
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
			validity:     sync.OnceValue(func() validityCheck { return newValidity(v.Schema) }),
		}
	}
	return d, errs
}

func (d *customKind) covers(apiVersion string) bool { return d.version(apiVersion) != nil }

// version returns the version that an apiVersion of the CRD's group names, or nil.
func (d *customKind) version(apiVersion string) *crd.Version {
	_, name, _ := strings.Cut(apiVersion, "/")
	v, _ := d.crd.Version(name)
	return v
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
func (d *customKind) prepareThrough(versions []*crd.Version, o *manifest.Object,
	others ...*customKind) (map[string]any, error) {
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
			return nil, o.Mistake(nil, "%v%s", err, d.asWritten)
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
		bare.AdditionalProperties = &spec.SchemaOrBool{Allows: s.AdditionalProperties.Allows,
			Schema: withoutDefaults(s.AdditionalProperties.Schema)}
	}
	return &bare
}

// CostAnnotation is the annotation of a CRD that tells what replacing one of its objects costs.
const CostAnnotation = "fieldlock.dev/replacement-cost"

// replacement returns the cost of replacing a refused object: the cost that the CRD names, or unknown.
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

// newMerging returns how the objects of a CRD merge, in each of its versions.
func newMerging(c *crd.CRD) *apply.Kind {
	models := map[string]*spec.Schema{}
	for _, v := range c.Versions {
		models[v.Name] = apply.Model(apischema.GroupVersionKind{Group: c.Group, Version: v.Name, Kind: c.Kind},
			v.Schema)
	}
	return &apply.Kind{Types: apply.NewTypes(models)}
}

// withoutStatus returns a manifest without the status, if only the subresource writes it.
func withoutStatus(version *crd.Version, manifest map[string]any) map[string]any {
	if version.HasStatus {
		manifest = maps.Clone(manifest)
		delete(manifest, "status")
	}
	return manifest
}

// defaultsAContainer reports whether a default is an object or list that is not empty. What an apply sets in it is
// merged into it.
func defaultsAContainer(s *spec.Schema) bool {
	for _, node := range schema.Nodes(s) {
		switch value := node.Default.(type) {
		case map[string]any:
			if len(value) > 0 {
				return true
			}
		case []any:
			if len(value) > 0 {
				return true
			}
		}
	}
	return false
}
