package admission

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Handler answers AdmissionReviews of admission.k8s.io/v1 with the locks of a registry. Updates are compared from the
// raw bytes of both objects; create, delete and connect are allowed. Every answer is an AdmissionReview: a request that
// cannot be read is refused, with an HTTP status of 4xx where not even its uid could be read.
//
// A Handler is safe for concurrent use. It keeps no part of a request.
type Handler struct {
	settings
	transport transport
	registry  *Registry
}

var (
	_ http.Handler = (*Handler)(nil)
	_ reviewer     = (*Handler)(nil)
)

// NewHandler returns a handler with the locks of r, which may be filled and changed later. It returns an error if r is nil
// or an option has a value that makes no sense.
func NewHandler(r *Registry, opts ...Option) (*Handler, error) {
	if r == nil {
		return nil, errors.New("the handler has no registry: give one, it may be filled later")
	}
	h := &Handler{registry: r, settings: settings{code: immutability.Invalid, maxBytes: defaultMaxBytes, readTimeout: defaultReadTimeout}}
	for _, o := range opts {
		if err := o.apply(&h.settings); err != nil {
			return nil, err
		}
	}
	h.transport.maxBytes, h.transport.readTimeout = h.maxBytes, h.readTimeout
	return h, nil
}

// ServeHTTP answers one AdmissionReview.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	a, length := h.transport.serve(w, r, h)
	if h.logger != nil && a.refused != nil {
		h.logger.Log(context.Background(), a.level(), "update refused", a.refused...)
	}
	if h.observer != nil {
		a.observed.Decision = a.decision
		a.observed.Bytes = length
		a.observed.Duration = time.Since(start)
		h.observer.Observe(a.observed)
	}
}

// review answers a request that could be read.
func (h *Handler) review(req *request) *answer {
	r := &req.AdmissionRequest
	switch r.Operation {
	case admissionv1.Create, admissionv1.Delete, admissionv1.Connect:
		return h.allow(r, Allowed)
	case admissionv1.Update:
	default:
		return h.unchecked(r, http.StatusBadRequest, fmt.Errorf("the operation is %q: it should be CREATE, UPDATE, DELETE or CONNECT", r.Operation))
	}
	target, unknown := h.registry.Find(kindOf(r), resourceOf(r), r.SubResource)
	if unknown == nil && target == nil {
		return h.allow(r, Allowed)
	}
	reason, err := h.exempt.of(r)
	if err != nil {
		return h.unchecked(r, http.StatusBadRequest, err)
	}
	if reason != "" {
		a := h.allow(r, Exempt)
		a.note("exempt", reason)
		return a
	}
	if unknown != nil {
		return h.unchecked(r, http.StatusInternalServerError, unknown)
	}
	return h.checked(req, target)
}

// checked answers an update of a kind whose locks are known.
func (h *Handler) checked(req *request, target *Target) *answer {
	r := &req.AdmissionRequest
	gap := ""
	if len(target.gaps) > 0 && h.gaps != AllowGaps {
		gap = fmt.Sprintf("version %s leaves free what other served versions lock: %s", target.kind.Version, strings.Join(target.gaps, ", "))
	}
	if gap != "" && h.gaps == RefuseGaps {
		return h.unchecked(r, http.StatusForbidden, errors.New(gap))
	}
	a := h.allow(r, Allowed)
	if !target.validator.Empty() {
		report, err := target.checkDocuments(&req.object, &req.oldObject)
		if err != nil {
			return h.unchecked(r, http.StatusBadRequest, err)
		}
		if !report.Allowed() {
			a = h.violated(r, target, report)
		}
	}
	if gap != "" && a.response.Allowed {
		a.warn("this update was not checked for all immutable fields: " + gap)
	}
	return a
}

// violated answers an update that breaks locks.
func (h *Handler) violated(r *admissionv1.AdmissionRequest, target *Target, report immutability.Report) *answer {
	var a *answer
	switch h.mode {
	case Enforce:
		a = refuse(r.UID, refusal(r, target, report, h.code))
		a.observed = h.observe(r)
		if h.logger != nil {
			a.refused = append(describe(r), "violations", brokenLocks(report))
		}
	case Warn:
		a = h.allow(r, Warned)
		for i := range report.Violations {
			if more := len(report.Violations) + report.More - i; i == maxWarnings-1 && more > 1 {
				a.warn(fmt.Sprintf("and %d more immutable fields", more))
				break
			}
			a.warn(report.Violations[i].Path.String() + ": " + schema.Refused + ": the change was allowed, because the webhook only warns")
		}
	case Audit:
		a = h.allow(r, Audited)
		a.note("violations", strings.Join(brokenLocks(report), ", "))
	}
	a.observed.Kind = target.kind
	a.observed.Violations = len(report.Violations) + report.More
	a.observed.Locks = make(map[immutability.Lock]int, 1)
	for i := range report.Violations {
		a.observed.Locks[report.Violations[i].Lock]++
	}
	return a
}

// unchecked answers a request that cannot be checked.
func (h *Handler) unchecked(r *admissionv1.AdmissionRequest, status int, err error) *answer {
	if h.policy == Fail && h.mode == Enforce {
		a := refuse(r.UID, failure(status, "this update cannot be checked for immutable fields: "+err.Error()))
		a.decision, a.observed = Failed, h.observe(r)
		if h.logger != nil {
			a.refused = append(describe(r), "error", clip(err.Error(), maxCause))
		}
		return a
	}
	a := h.allow(r, Ignored)
	a.warn("not checked for immutable fields: " + err.Error())
	a.note("unchecked", err.Error())
	return a
}

func (h *Handler) allow(r *admissionv1.AdmissionRequest, d Decision) *answer {
	return &answer{
		response: admissionv1.AdmissionResponse{UID: r.UID, Allowed: true},
		http:     http.StatusOK, decision: d, observed: h.observe(r),
	}
}

// observe returns what there is to say about a request, without anything that a client could make up.
func (h *Handler) observe(r *admissionv1.AdmissionRequest) Observation {
	o := Observation{DryRun: isDryRun(r)}
	switch r.Operation {
	case admissionv1.Create, admissionv1.Update, admissionv1.Delete, admissionv1.Connect:
		o.Operation = string(r.Operation)
	}
	if kind := kindOf(r); h.registry.has(kind) {
		o.Kind = kind
	}
	return o
}

// describe returns the attributes of a log line about a request.
func describe(r *admissionv1.AdmissionRequest) []any {
	return []any{
		"kind", show(kindOf(r)), "namespace", r.Namespace, "name", r.Name, "subresource", r.SubResource,
		"user", r.UserInfo.Username, "uid", string(r.UID), "dryRun", isDryRun(r),
	}
}

// level is Warn for an update that could not be checked, which is a fault of the cluster, not of the client.
func (a *answer) level() slog.Level {
	if a.decision == Failed {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}
