// Package loader fills a registry of locks from CustomResourceDefinitions. It takes documents with the marks in their
// schemas, and objects of a cluster, which have the annotation fieldlock.dev/locks. It also answers reviews of CRDs, so that
// nobody breaks their locks. CEL rules are not its business: the API server runs them itself.
//
// Answering other requests needs none of the apiextensions packages that reading CRDs takes, so package admission does
// not import this one.
package loader

import (
	"errors"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/admission"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/rule"
)

// Loader makes kinds from CRDs. It reads the locks in the schemas and in the annotation fieldlock.dev/locks; an object of the
// API has only the annotation left. It is safe for concurrent use.
type Loader struct {
	options []immutability.Option
}

// New returns a Loader that compiles each schema with opts.
func New(opts ...immutability.Option) *Loader { return &Loader{options: opts} }

// Read makes a kind from each CRD in a file of YAML or JSON with one document or many; errors begin with the name.
// Documents of other kinds are skipped. If a CRD cannot be read or compiled it returns no kinds.
func (l *Loader) Read(name string, data []byte) ([]admission.Kind, error) {
	crds, err := crd.Read(name, data)
	if err != nil {
		return nil, err
	}
	var kinds []admission.Kind
	for _, c := range crds {
		kind, err := l.kind(c)
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

// Object makes a kind from a CRD object. The error names every version that cannot be compiled.
func (l *Loader) Object(object *apiextensionsv1.CustomResourceDefinition) (admission.Kind, error) {
	if object == nil {
		return admission.Kind{}, errors.New("the CRD is nil")
	}
	c, err := crd.FromObject(object)
	if err != nil {
		return admission.Kind{}, err
	}
	return l.kind(c)
}

// Load puts the kind of a CRD object into r. If its locks cannot be read, Load records the fault in r and returns it. Call
// it from a controller for every state of the CRD. An object without a kind changes nothing.
func (l *Loader) Load(r *admission.Registry, object *apiextensionsv1.CustomResourceDefinition) error {
	kind, err := l.Object(object)
	if err == nil {
		r.Put(kind)
		return nil
	}
	if object != nil && object.Spec.Names.Kind != "" {
		r.PutFault(KindOf(object), object.Spec.Names.Plural, err)
	}
	return err
}

// KindOf returns the group and kind of the objects that a CRD defines.
func KindOf(object *apiextensionsv1.CustomResourceDefinition) schema.GroupKind {
	return schema.GroupKind{Group: object.Spec.Group, Kind: object.Spec.Names.Kind}
}

// kind compiles the served versions of c, which nobody else uses.
func (l *Loader) kind(c *crd.CRD) (admission.Kind, error) {
	k := admission.Kind{
		GroupKind: schema.GroupKind{Group: c.Group, Kind: c.Kind},
		Resource:  c.Plural,
		Versions:  map[string]admission.Version{},
	}
	var errs []error
	for _, v := range c.Versions {
		if !v.Served {
			continue
		}
		validator, err := v.Compile(l.options...)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		k.Versions[v.Name] = admission.Version{Validator: validator, Replicas: v.Replicas}
	}
	if err := errors.Join(errs...); err != nil {
		return admission.Kind{}, err
	}
	l.setGaps(k, c)
	return k, nil
}

// setGaps sets the gaps of the served versions: what lint warns about.
func (l *Loader) setGaps(k admission.Kind, c *crd.CRD) {
	if len(k.Versions) < 2 {
		return
	}
	for _, f := range crd.Lint(c, nil, l.options...) {
		if f.Rule != rule.VersionUnlocked {
			continue
		}
		v := k.Versions[f.Version]
		v.Gaps = append(v.Gaps, f.Fields...)
		k.Versions[f.Version] = v
	}
}
