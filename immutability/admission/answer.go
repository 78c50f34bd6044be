package admission

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/ownership"
	"github.com/fieldlock/fieldlock/internal/schema"
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

// violated answers an update that breaks locks.
func (v *Reviewer) violated(r *admissionv1.AdmissionRequest, target *Target, report immutability.Report) *answer {
	var a *answer
	switch v.mode {
	case ModeEnforce:
		a = refuse(r.UID, refusal(r, target, report, v.code))
		a.observed = v.observation(r)
		if v.logger != nil {
			a.refused = append(describe(r), "violations", brokenLocks(report))
		}
	case ModeWarn:
		a = v.allow(r, DecisionWarned)
		for i := range report.Violations {
			if more := len(report.Violations) + report.More - i; i == maxWarnings-1 && more > 1 {
				a.warn(fmt.Sprintf("and %d more immutable fields", more))
				break
			}
			a.warn(report.Violations[i].Path.String() + ": " + schema.Refused + ": the change was allowed, because " +
				"locks only warn here")
		}
	case ModeAudit:
		a = v.allow(r, DecisionAudited)
		a.note("violations", strings.Join(brokenLocks(report), ", "))
	}
	a.observed.Kind = target.Kind
	a.observed.Violations = len(report.Violations) + report.More
	a.observed.Locks = make(map[immutability.Lock]int, 1)
	for i := range report.Violations {
		a.observed.Locks[report.Violations[i].Lock]++
	}
	return a
}

// unchecked answers a request that cannot be checked.
func (v *Reviewer) unchecked(r *admissionv1.AdmissionRequest, status int, err error) *answer {
	if v.policy == admissionregistrationv1.Fail && v.mode == ModeEnforce {
		a := refuse(r.UID, failure(status, "this update cannot be checked for immutable fields: "+err.Error()))
		a.decision, a.observed = DecisionFailed, v.observation(r)
		if v.logger != nil {
			a.refused = append(describe(r), "error", clip(err.Error(), maxCause))
		}
		return a
	}
	a := v.allow(r, DecisionIgnored)
	a.warn("not checked for immutable fields: " + err.Error())
	a.note("unchecked", err.Error())
	return a
}

func (v *Reviewer) allow(r *admissionv1.AdmissionRequest, d Decision) *answer {
	return &answer{
		response: admissionv1.AdmissionResponse{UID: r.UID, Allowed: true},
		http:     http.StatusOK, decision: d, observed: v.observation(r),
	}
}

// refuse returns an answer that refuses with a status.
func refuse(uid types.UID, status *metav1.Status) *answer {
	return &answer{
		response: admissionv1.AdmissionResponse{UID: uid, Allowed: false, Result: status},
		http:     http.StatusOK, decision: DecisionRefused,
	}
}

// unread answers a request that could not be read. No client takes an answer without uid for the answer to its request,
// so the HTTP status says it too.
func unread(uid types.UID, status int, err error) *answer {
	a := refuse(uid, failure(status, "the request cannot be answered: "+err.Error()))
	a.decision = DecisionUnread
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
	return &metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Reason: reason,
		Message: clip(message, maxMessage)}
}

// clip cuts the middle out of a text that is longer than limit bytes: a message begins with a path, and ends with what
// is wrong with it.
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

// refusal returns the status of a refusal, with the owners of the fields where the stored object knows them.
func refusal(r *admissionv1.AdmissionRequest, target *Target, report immutability.Report, code int) *metav1.Status {
	status := report.Status(target.Kind.GroupKind(), r.Name, code)
	if len(target.replicas) == 0 {
		nameOwners(status, report, r)
	}
	for i := range status.Details.Causes {
		status.Details.Causes[i].Message = clip(status.Details.Causes[i].Message, maxCause)
	}
	status.Message = clip(status.Message, maxMessage)
	return status
}

// maxOwned is how many violations owners are looked up for.
const maxOwned = 100

// nameOwners adds the owners of the fields to the causes of a refusal. The update is refused whatever happens here: a
// panic while reading managed fields must not turn it into an update that cannot be checked.
func nameOwners(status *metav1.Status, report immutability.Report, r *admissionv1.AdmissionRequest) {
	defer func() { _ = recover() }()
	managers, _ := ownership.Read(r.Object.Raw, r.OldObject.Raw)
	var named []string
	for i := range min(len(report.Violations), len(status.Details.Causes), maxOwned) {
		v := &report.Violations[i]
		var owners []ownership.Owner
		if v.HasKey {
			owners = managers.OwnersOfKey(v.Path, v.Key)
		} else {
			owners = managers.Owners(v.Path)
		}
		text := ownership.Text(owners)
		if text == "" {
			continue
		}
		cause := &status.Details.Causes[i]
		cause.Message = clip(cause.Message, maxCause-len(text)-2) + "; " + text
		named = append(named, v.Path.String()+": "+text)
	}
	if len(named) > 0 {
		text := strings.Join(named[:min(len(named), 3)], "; ")
		status.Message = clip(status.Message, maxMessage-len(text)-3) + " (" + text + ")"
	}
}

// maxLogged is how many violations a log line or audit note names.
const maxLogged = 20

// brokenLocks names what an update breaks, without values: "spec.class (immutable)".
func brokenLocks(report immutability.Report) []string {
	n := len(report.Violations) + report.More
	list := make([]string, 0, min(n, maxLogged+1))
	for i := range report.Violations {
		if i == maxLogged {
			break
		}
		v := &report.Violations[i]
		list = append(list, fmt.Sprintf("%s (%s)", v.Path, v.Lock))
	}
	if n > len(list) {
		list = append(list, fmt.Sprintf("and %d more", n-len(list)))
	}
	return list
}
