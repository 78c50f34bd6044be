package main

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/pointer"
)

// crdLint refuses CRDs with errors in their locks and sends the warnings to the client. An update may keep the errors
// that the CRD had before (ratcheting): nobody has to repair a CRD in order to label it, or to delete it. An update may
// also drop a lock, with a warning: whoever may write CRDs decides what is locked, as in the proposal. The server
// itself judges CEL rules.
type crdLint struct{}

var _ admission.ValidationInterface = crdLint{}

// Handles reports whether operation writes a CRD.
func (crdLint) Handles(operation admission.Operation) bool {
	return operation == admission.Create || operation == admission.Update
}

// Validate refuses a CRD with new errors in its locks.
func (crdLint) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != apiextensions.Resource("customresourcedefinitions") ||
		a.GetSubresource() != "" {
		return nil
	}
	after, errAfter := read(a.GetObject())
	if errAfter != nil {
		if _, errBefore := read(a.GetOldObject()); errBefore != nil && errBefore.Error() == errAfter.Error() {
			return nil
		}
		return refuse(a, field.Invalid(field.NewPath("metadata", "annotations").Key(crd.AnnotationKey),
			field.OmitValueType{}, errAfter.Error()))
	}
	before, errBefore := read(a.GetOldObject())
	if errBefore != nil {
		before = nil // what cannot be read has no errors to keep
	}
	known := map[string]bool{}
	if before != nil {
		for _, f := range crd.Lint(before, nil) {
			known[identity(f)] = true
		}
	}
	var errs field.ErrorList
	for _, f := range crd.Lint(after, before) {
		switch {
		case f.Severity == immutability.SeverityError && f.Rule != finding.LockDropped && !known[identity(f)]:
			errs = append(errs, field.Invalid(schemaPath(after, f), field.OmitValueType{}, f.Message))
		case f.Severity == immutability.SeverityWarning && !known[identity(f)]:
			warning.AddWarning(ctx, "", warningText(f))
		}
	}
	return refuse(a, errs...)
}

// warningText names the version and the field that a finding is about.
func warningText(f crd.Finding) string {
	var parts []string
	for _, part := range []string{f.Version, f.Path, f.Message} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}

func refuse(a admission.Attributes, errs ...*field.Error) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(apiextensions.Kind("CustomResourceDefinition"), a.GetName(), errs)
}

// identity tells one finding from another, wherever it is in the text.
func identity(f crd.Finding) string { return f.Rule + " " + f.Version + " " + f.SchemaPath }

// read reads a CRD of the internal version; nil for no object.
func read(object runtime.Object) (*crd.CRD, error) {
	internal, ok := object.(*apiextensions.CustomResourceDefinition)
	if !ok || internal == nil {
		return nil, nil
	}
	v1 := &apiextensionsv1.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(internal,
		v1, nil); err != nil {
		return nil, fmt.Errorf("converting the CRD: %w", err)
	}
	return crd.FromObject(v1)
}

// schemaPath returns where in the CRD a finding is.
func schemaPath(c *crd.CRD, f crd.Finding) *field.Path {
	path := field.NewPath("spec", "versions")
	for i, v := range c.Versions {
		if v.Name == f.Version {
			path = path.Index(i).Child("schema", "openAPIV3Schema")
		}
	}
	for _, name := range pointer.Names(f.SchemaPath) {
		if name != "" {
			path = path.Child(name)
		}
	}
	return path
}
