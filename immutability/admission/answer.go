package admission

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/ownership"
)

// answer is the answer to one request.
type answer struct {
	response admissionv1.AdmissionResponse
	http     int
	decision Decision
	observed Observation
}

// The limits of an answer. An API server cuts warnings at about these; the others keep one request with 10,000
// violations of large values from filling its logs and its client's screen.
const (
	maxWarnings = 10
	maxWarning  = 256
	maxNote     = 4 << 10
	maxCause    = 1 << 10
	maxMessage  = 8 << 10
	maxOwned    = 100 // violations whose owners are looked up
)

func (a *answer) warn(text string) {
	a.response.Warnings = append(a.response.Warnings, clip(text, maxWarning))
}

// note leaves a note in the audit log; the API server puts the name of the webhook before the key.
func (a *answer) note(key, text string) {
	if a.response.AuditAnnotations == nil {
		a.response.AuditAnnotations = map[string]string{}
	}
	a.response.AuditAnnotations[key] = clip(text, maxNote)
}

// violated answers an update that breaks locks.
func (h *Handler) violated(r *admissionv1.AdmissionRequest, target *Target, report immutability.Report) *answer {
	var a *answer
	switch h.mode {
	case Enforce:
		status := report.Status(target.kind.GroupKind(), r.Name, h.code)
		if len(target.replicas) == 0 {
			nameOwners(status, report, r)
		}
		for i := range status.Details.Causes {
			status.Details.Causes[i].Message = clip(status.Details.Causes[i].Message, maxCause)
		}
		status.Message = clip(status.Message, maxMessage)
		a = refuse(r.UID, status)
		a.observed = h.observe(r)
	case Warn:
		a = h.allow(r, Warned)
		for i := range report.Violations {
			if more := len(report.Violations) + report.More - i; i == maxWarnings-1 && more > 1 {
				a.warn(fmt.Sprintf("and %d more immutable fields", more))
				break
			}
			a.warn(report.Violations[i].Path.String() + ": field is immutable: this change is going to be refused")
		}
	case Audit:
		a = h.allow(r, Audited)
		var b strings.Builder
		for i := range report.Violations {
			if b.Len() > maxNote {
				break
			}
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%s (%s)", report.Violations[i].Path, report.Violations[i].Lock)
		}
		a.note("violations", b.String())
	}
	a.observed.Kind = target.kind
	a.observed.Violations = len(report.Violations) + report.More
	return a
}

// nameOwners adds to the causes of a refusal who owns the fields, as far as the stored object knows. The refusal stands
// whatever happens here: a fault in reading managed fields must not become an update that cannot be checked.
func nameOwners(status *metav1.Status, report immutability.Report, r *admissionv1.AdmissionRequest) {
	defer func() { _ = recover() }()
	managers, object := ownersOf(report, r)
	var named []string
	for i := range min(len(report.Violations), len(status.Details.Causes), maxOwned) {
		v := &report.Violations[i]
		owners := managers.Owners(v.Path, object)
		if v.HasKey {
			owners = managers.OwnersOfKey(v.Path, v.Key, object)
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

// ownersOf reads the managers of the stored object, and the new object that the indices of paths count in where there
// are any: only then is the whole of it decoded. What cannot be read has no say.
func ownersOf(report immutability.Report, r *admissionv1.AdmissionRequest) (*ownership.Managers, map[string]any) {
	metadata, err := metadataOf("oldObject", r.OldObject.Raw)
	if err != nil || len(metadata["managedFields"]) == 0 {
		return nil, nil
	}
	apiVersion, _ := json.Marshal(kindOf(r).GroupVersion().String())
	managers, _ := ownership.ReadJSON(slices.Concat([]byte(`{"apiVersion":`), apiVersion, []byte(`,"metadata":{"managedFields":`), metadata["managedFields"], []byte(`}}`)))
	var object map[string]any
	for i := range min(len(report.Violations), maxOwned) {
		if strings.ContainsRune(report.Violations[i].Path.String(), '[') {
			_ = utiljson.Unmarshal(r.Object.Raw, &object)
			break
		}
	}
	return managers, object
}

func refuse(uid types.UID, status *metav1.Status) *answer {
	return &answer{
		response: admissionv1.AdmissionResponse{UID: uid, Allowed: false, Result: status},
		http:     http.StatusOK, decision: Refused,
	}
}

func failure(code int, message string) *metav1.Status {
	reason := metav1.StatusReasonInternalError
	switch code {
	case http.StatusBadRequest:
		reason = metav1.StatusReasonBadRequest
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

// clip cuts the middle out of a text that is longer than limit bytes: the path stands at its front, and what is wrong
// at its end.
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

func kindOf(r *admissionv1.AdmissionRequest) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.Kind.Group, Version: r.Kind.Version, Kind: r.Kind.Kind}
}

func resourceOf(r *admissionv1.AdmissionRequest) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.Resource.Group, Version: r.Resource.Version, Resource: r.Resource.Resource}
}
