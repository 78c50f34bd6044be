package admission

import (
	"encoding/json"
	"net/http"
	"unicode/utf8"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// answer is the answer to one request.
type answer struct {
	response admissionv1.AdmissionResponse
	http     int
	decision Decision
	observed Observation
	refused  []any // attributes of the log line; nil where nothing is refused
}

// The limits of an answer. An API server cuts warnings at about these; the others keep one request with 10,000
// violations of large values from filling its logs and its client's screen.
const (
	maxWarnings = 10
	maxWarning  = 256
	maxNote     = 4 << 10
	maxCause    = 1 << 10
	maxMessage  = 8 << 10
)

// warn adds a warning for the client.
func (a *answer) warn(text string) {
	a.response.Warnings = append(a.response.Warnings, clip(text, maxWarning))
}

// note adds a note to the audit log. The API server puts the name of the webhook before the key.
func (a *answer) note(key, text string) {
	if a.response.AuditAnnotations == nil {
		a.response.AuditAnnotations = map[string]string{}
	}
	a.response.AuditAnnotations[key] = clip(text, maxNote)
}

// refuse returns an answer that refuses with a status.
func refuse(uid types.UID, status *metav1.Status) *answer {
	return &answer{
		response: admissionv1.AdmissionResponse{UID: uid, Allowed: false, Result: status},
		http:     http.StatusOK, decision: Refused,
	}
}

// unread answers a request that could not be read. No client takes an answer without uid for the answer to its request,
// so the HTTP status says it too.
func unread(uid types.UID, status int, err error) *answer {
	a := refuse(uid, failure(status, "the request cannot be answered: "+err.Error()))
	a.decision = Unread
	if uid == "" {
		a.http = status
	}
	return a
}

// write sends the answer. An error means that the client is gone, so that nobody is left to tell.
func (a *answer) write(w http.ResponseWriter) {
	review := admissionv1.AdmissionReview{Response: &a.response}
	review.APIVersion, review.Kind = reviewVersion, reviewKind
	data, _ := json.Marshal(&review) // no value of a review can fail
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.http)
	_, _ = w.Write(data)
}

// failure returns the status of a request that cannot be answered or checked.
func failure(code int, message string) *metav1.Status {
	reason := metav1.StatusReasonInternalError
	switch code {
	case http.StatusBadRequest:
		reason = metav1.StatusReasonBadRequest
	case http.StatusForbidden:
		reason = metav1.StatusReasonForbidden
	case http.StatusMethodNotAllowed:
		reason = metav1.StatusReasonMethodNotAllowed
	case http.StatusUnsupportedMediaType:
		reason = metav1.StatusReasonUnsupportedMediaType
	case http.StatusRequestEntityTooLarge:
		reason = metav1.StatusReasonRequestEntityTooLarge
	case http.StatusRequestTimeout:
		reason = metav1.StatusReasonTimeout
	}
	return &metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: clip(message, maxMessage)}
}

// clip cuts the middle out of a text that is longer than limit bytes: a message begins with a path, and ends with what is
// wrong with it.
func clip(text string, limit int) string {
	const gap = " … "
	if len(text) <= limit {
		return text
	}
	half := max(0, limit-len(gap)) / 2
	head, tail := half, len(text)-half
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + gap + text[tail:]
}
