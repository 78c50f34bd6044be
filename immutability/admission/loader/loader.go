// Package loader fills a registry of locks from CustomResourceDefinitions. It takes documents with the marks in their
// schemas, and objects of a cluster, which have the annotation fieldlock.dev/locks. It also answers reviews of CRDs, so
// that nobody breaks their locks. CEL rules are not its business: the API server runs them itself.
//
// Answering other requests needs none of the apiextensions packages that reading CRDs takes, so package admission does
// not import this one.
package loader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/admission"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/finding"
)

// Loader makes kinds from CRDs. It reads the locks in the schemas and in the annotation fieldlock.dev/locks; an object
// of the API has only the annotation left. It is safe for concurrent use. The zero Loader is that of New without
// options; nil returns an error for every CRD.
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

// Load puts the kind of a CRD object into r. If its locks cannot be read, Load records the fault in r and returns it.
// Call it from a controller for every state of the CRD. An object without a kind changes nothing.
func (l *Loader) Load(r *admission.Registry, object *apiextensionsv1.CustomResourceDefinition) error {
	kind, err := l.Object(object)
	if err == nil {
		r.Put(kind)
		return nil
	}
	if object != nil && object.Spec.Names.Kind != "" {
		kind := schema.GroupKind{Group: object.Spec.Group, Kind: object.Spec.Names.Kind}
		r.PutFault(kind, object.Spec.Names.Plural, err)
	}
	return err
}

// kind compiles the served versions of c, which nobody else uses.
func (l *Loader) kind(c *crd.CRD) (admission.Kind, error) {
	if l == nil {
		return admission.Kind{}, errors.New("there is no Loader: make one with New")
	}
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
		if f.Rule != finding.VersionUnlocked {
			continue
		}
		v := k.Versions[f.Version]
		v.Gaps = append(v.Gaps, f.Fields...)
		k.Versions[f.Version] = v
	}
}

// Hook returns a validating webhook for CustomResourceDefinitions. It refuses a CRD whose locks cannot be read when it
// is written, instead of when the next process loads it. The answer warns of versions that leave free what others lock.
//
// An update may keep a mistake that the stored CRD has already, so that everybody can still label or delete it.
func (l *Loader) Hook() http.Handler { return admission.NewReviewHandler(l.review) }

func (l *Loader) review(_ context.Context, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	written := r.Operation == admissionv1.Create || r.Operation == admissionv1.Update
	if !written || r.Resource.Group != apiextensionsv1.GroupName ||
		r.Resource.Resource != "customresourcedefinitions" || r.SubResource != "" {
		return &admissionv1.AdmissionResponse{Allowed: true}
	}
	if r.Resource.Version != "v1" {
		return refused(r, http.StatusBadRequest,
			fmt.Errorf("the review has a CustomResourceDefinition of %s: register the webhook for v1, with "+
				"matchPolicy Equivalent", r.Resource.Version))
	}
	kind, fault := l.decode(r.Object.Raw)
	if fault == nil {
		return &admissionv1.AdmissionResponse{Allowed: true, Warnings: gapWarnings(kind)}
	}
	if r.Operation == admissionv1.Update {
		if _, before := l.decode(r.OldObject.Raw); before != nil && before.Error() == fault.Error() {
			return &admissionv1.AdmissionResponse{Allowed: true,
				Warnings: []string{"the locks of this CRD cannot be read, as before: " + fault.Error()}}
		}
	}
	return refused(r, http.StatusUnprocessableEntity, fault)
}

func (l *Loader) decode(object []byte) (admission.Kind, error) {
	var c apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(object, &c); err != nil {
		return admission.Kind{}, fmt.Errorf("the CustomResourceDefinition cannot be decoded: %w", err)
	}
	return l.Object(&c)
}

func refused(r *admissionv1.AdmissionRequest, code int32, fault error) *admissionv1.AdmissionResponse {
	status := &metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: metav1.StatusReasonInvalid,
		Message: fmt.Sprintf("the locks of CustomResourceDefinition %s cannot be read: %v", r.Name, fault),
		Details: &metav1.StatusDetails{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition", Name: r.Name,
			Causes: []metav1.StatusCause{{
				Type: metav1.CauseTypeFieldValueInvalid, Field: "metadata.annotations[" + crd.AnnotationKey + "]",
				Message: fault.Error(),
			}}},
	}
	if code == http.StatusBadRequest {
		status.Reason, status.Details.Causes = metav1.StatusReasonBadRequest, nil
	}
	return &admissionv1.AdmissionResponse{Result: status}
}

// gapWarnings names the versions that leave free what others lock.
func gapWarnings(kind admission.Kind) []string {
	var warnings []string
	for _, name := range slices.Sorted(maps.Keys(kind.Versions)) {
		if gaps := kind.Versions[name].Gaps; len(gaps) > 0 {
			warnings = append(warnings, fmt.Sprintf("version %s leaves free what other served versions lock: %s",
				name, strings.Join(gaps, ", ")))
		}
	}
	return warnings
}
