// Package loader fills a registry of locks from CustomResourceDefinitions. It takes documents with the marks in their
// schemas, and objects of a cluster, which have the annotation fieldlock.dev/locks. It also answers reviews of CRDs, so that
// nobody breaks their locks. CEL rules are not its business: the API server runs them itself.
//
// Answering other requests needs none of the apiextensions packages that reading CRDs takes, so package admission does
// not import this one.
package loader

import (
	"errors"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/admission"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/rule"
)

// CRDs makes kinds from CRDs. The zero value reads the locks in the schemas and in the annotation fieldlock.dev/locks;
// an object of the API has only the annotation left.
type CRDs struct {
	// Options are for compiling each schema.
	Options []immutability.Option
}

// Read makes a kind from each CRD in a file of YAML or JSON with one document or many; errors begin with the name.
// Documents of other kinds are skipped. It stops at the first error.
func (l CRDs) Read(name string, data []byte) ([]admission.Kind, error) {
	documents, err := crd.ReadDocuments(name, data)
	if err != nil {
		return nil, err
	}
	var kinds []admission.Kind
	for _, d := range documents {
		c, err := crd.FromDocument(d)
		if err != nil {
			return nil, err
		}
		if c == nil {
			continue
		}
		kind, err := l.kind(c, d.Object)
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

// Object makes a kind from a CRD object. The error names every version that cannot be compiled.
func (l CRDs) Object(object *apiextensionsv1.CustomResourceDefinition) (admission.Kind, error) {
	if object == nil {
		return admission.Kind{}, errors.New("the CRD is nil")
	}
	c, err := crd.FromObject(object)
	if err != nil {
		return admission.Kind{}, err
	}
	kind, err := l.kind(c, nil)
	if err != nil {
		return admission.Kind{}, err
	}
	for _, v := range object.Spec.Versions {
		if v.Subresources != nil && v.Subresources.Scale != nil {
			setReplicas(kind, v.Name, v.Subresources.Scale.SpecReplicasPath)
		}
	}
	return kind, nil
}

// Load puts the kind of a CRD object into r. If its locks cannot be read, Load records the fault in r and returns it. Call
// it from a controller for every state of the CRD. An object without a kind changes nothing.
func (l CRDs) Load(r *admission.Registry, object *apiextensionsv1.CustomResourceDefinition) error {
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

// kind compiles the served versions of c, which nobody else uses. The document is nil for an object of the API.
func (l CRDs) kind(c *crd.CRD, document map[string]any) (admission.Kind, error) {
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
		validator, err := v.Compile(l.Options...)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		k.Versions[v.Name] = admission.Version{Validator: validator}
	}
	if err := errors.Join(errs...); err != nil {
		return admission.Kind{}, err
	}
	l.setGaps(k, c)
	fields, _ := document["spec"].(map[string]any)
	shared := replicasPath(fields) // v1beta1 may say it once for all versions
	for name := range k.Versions {
		setReplicas(k, name, shared)
	}
	versions, _ := fields["versions"].([]any)
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if name, ok := version["name"].(string); ok {
			setReplicas(k, name, replicasPath(version))
		}
	}
	return k, nil
}

// setGaps sets the gaps of the served versions: what lint warns about.
func (l CRDs) setGaps(k admission.Kind, c *crd.CRD) {
	if len(k.Versions) < 2 {
		return
	}
	for _, f := range crd.Lint(c, l.Options...) {
		if f.Rule != rule.VersionUnlocked {
			continue
		}
		v := k.Versions[f.Version]
		v.Gaps = append(v.Gaps, f.Fields...)
		k.Versions[f.Version] = v
	}
}

// replicasPath reads the path of the scale subresource where one is declared.
func replicasPath(declaring map[string]any) string {
	subresources, _ := declaring["subresources"].(map[string]any)
	scale, _ := subresources["scale"].(map[string]any)
	path, _ := scale["specReplicasPath"].(string)
	return path
}

// setReplicas sets the path of the scale subresource of a served version, such as ".spec.replicas".
func setReplicas(k admission.Kind, version, path string) {
	if v, ok := k.Versions[version]; ok && path != "" {
		v.Replicas = strings.Split(strings.TrimPrefix(path, "."), ".")
		k.Versions[version] = v
	}
}
