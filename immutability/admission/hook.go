package admission

import (
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
)

// NewReviewHandler returns a handler of AdmissionReviews that review answers: a validating webhook around one function,
// with the limits on bodies and time that a Handler has by default. The function gets what a Handler needs of a request;
// the options of the operation and the extra of the user are left out. It sets everything of the response but the uid. A
// nil response, and a panic, refuse the request.
func NewReviewHandler(review func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse) http.Handler {
	return &reviewHandler{call: review, transport: transport{maxBytes: defaultMaxBytes, readTimeout: defaultReadTimeout}}
}

type reviewHandler struct {
	call      func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse
	transport transport
}

var _ reviewer = (*reviewHandler)(nil)

func (h *reviewHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.transport.serve(w, r, h) }

func (h *reviewHandler) review(req *request) *answer {
	r := &req.AdmissionRequest
	response := h.call(r)
	if response == nil {
		return h.unchecked(r, http.StatusInternalServerError, fmt.Errorf("there is no response"))
	}
	a := &answer{response: *response, http: http.StatusOK, decision: Allowed}
	a.response.UID = r.UID
	return a
}

func (h *reviewHandler) unchecked(r *admissionv1.AdmissionRequest, status int, err error) *answer {
	return refuse(r.UID, failure(status, "the request cannot be checked: "+err.Error()))
}
