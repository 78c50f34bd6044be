package loader

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fieldlock/fieldlock/immutability/admission"
	"github.com/fieldlock/fieldlock/immutability/crd"
)

// Hook returns a validating webhook for CustomResourceDefinitions. It refuses a CRD whose locks cannot be read when it is
// written, instead of when the next process loads it. The answer warns of versions that leave free what others lock.
//
// An update may keep a mistake that the stored CRD has already, so that everybody can still label or delete it.
func (l *Loader) Hook() http.Handler { return admission.NewReviewHandler(l.review) }

func (l *Loader) review(_ context.Context, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	written := r.Operation == admissionv1.Create || r.Operation == admissionv1.Update
	if !written || r.Resource.Group != apiextensionsv1.GroupName || r.Resource.Resource != "customresourcedefinitions" || r.SubResource != "" {
		return &admissionv1.AdmissionResponse{Allowed: true}
	}
	if r.Resource.Version != "v1" {
		return refused(r, http.StatusBadRequest, fmt.Errorf("the review has a CustomResourceDefinition of %s: register the webhook for v1, with matchPolicy Equivalent", r.Resource.Version))
	}
	kind, fault := l.decode(r.Object.Raw)
	if fault == nil {
		return &admissionv1.AdmissionResponse{Allowed: true, Warnings: gapWarnings(kind)}
	}
	if r.Operation == admissionv1.Update {
		if _, before := l.decode(r.OldObject.Raw); before != nil && before.Error() == fault.Error() {
			return &admissionv1.AdmissionResponse{Allowed: true, Warnings: []string{"the locks of this CRD cannot be read, as before: " + fault.Error()}}
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
		Details: &metav1.StatusDetails{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition", Name: r.Name, Causes: []metav1.StatusCause{{
			Type: metav1.CauseTypeFieldValueInvalid, Field: "metadata.annotations[" + crd.AnnotationKey + "]", Message: fault.Error(),
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
			warnings = append(warnings, fmt.Sprintf("version %s leaves free what other served versions lock: %s", name, strings.Join(gaps, ", ")))
		}
	}
	return warnings
}
