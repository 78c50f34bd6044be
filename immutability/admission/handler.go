package admission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fieldlock/fieldlock/immutability"
)

// Handler answers AdmissionReviews of admission.k8s.io/v1 with the locks of a registry. Updates are compared from the
// raw bytes of both objects; create, delete and connect are allowed. Every answer is an AdmissionReview, also to what
// is none: that one is refused, and has an HTTP status of 4xx where the uid of the request could not be read.
//
// A Handler is safe for concurrent use. It keeps no part of a request.
type Handler struct {
	registry    *Registry
	mode        Mode
	policy      FailurePolicy
	code        immutability.StatusCode
	exempt      exemptions
	observer    Observer
	maxBytes    int64
	readTimeout time.Duration

	buffers sync.Pool // of *bytes.Buffer
}

var _ http.Handler = (*Handler)(nil)

// NewHandler returns a handler with the locks of r, which may be filled and changed later. The error is that of an
// option with a senseless value, or a nil registry.
func NewHandler(r *Registry, opts ...Option) (*Handler, error) {
	if r == nil {
		return nil, errors.New("the handler has no registry: give one, it may be filled later")
	}
	h := &Handler{registry: r, code: immutability.Invalid, maxBytes: 32 << 20, readTimeout: 10 * time.Second}
	h.buffers.New = func() any { return new(bytes.Buffer) }
	for _, o := range opts {
		if err := o.apply(h); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// ServeHTTP answers one AdmissionReview.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	body := h.buffers.Get().(*bytes.Buffer)
	a := h.answer(w, r, body)
	a.write(w)
	if h.observer != nil {
		a.observed.Decision = a.decision
		a.observed.Bytes = body.Len()
		a.observed.Duration = time.Since(start)
		h.observer.Observe(a.observed)
	}
	if body.Cap() <= keptBuffer {
		body.Reset()
		h.buffers.Put(body)
	}
}

// keptBuffer is the largest buffer that is kept for the next request, so that a few huge ones do not stay in memory.
const keptBuffer = 1 << 20

func (h *Handler) answer(w http.ResponseWriter, r *http.Request, body *bytes.Buffer) (a *answer) {
	var request *admissionv1.AdmissionRequest
	// A fault of the program must be an answer that refuses: a connection that just ends is up to the failurePolicy of
	// the webhook's configuration, which may be to ignore.
	defer func() {
		fault := recover()
		if fault == nil {
			return
		}
		err := fmt.Errorf("the check failed: %v", fault)
		if request == nil {
			a = unread(peekUID(body.Bytes()), http.StatusInternalServerError, err)
		} else {
			a = h.unchecked(request, http.StatusInternalServerError, err)
		}
	}()
	if status, err := h.read(w, r, body); err != nil {
		return unread(peekUID(body.Bytes()), status, err)
	}
	request, err := readReview(body.Bytes())
	switch {
	case request == nil:
		return unread("", http.StatusBadRequest, err)
	case err != nil:
		return unread(request.UID, http.StatusBadRequest, err)
	}
	return h.decide(request)
}

// read reads the body. The status is that of the answer to the error.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, body *bytes.Buffer) (status int, err error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return http.StatusMethodNotAllowed, fmt.Errorf("the method is %s: an AdmissionReview is sent by POST", r.Method)
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return http.StatusUnsupportedMediaType, fmt.Errorf("the Content-Type is %q: it should be application/json", r.Header.Get("Content-Type"))
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return http.StatusUnsupportedMediaType, fmt.Errorf("the Content-Encoding is %q: the body should not be encoded", coding)
	}
	// A writer that takes no deadline has its own way to limit a request; the error says just that.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(h.readTimeout))
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()

	// The buffer grows with what arrives, not with what the Content-Length promises.
	n, err := body.ReadFrom(io.LimitReader(r.Body, h.maxBytes+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout, fmt.Errorf("the body did not arrive within %v", h.readTimeout)
	case err != nil:
		return http.StatusBadRequest, fmt.Errorf("the body cannot be read: %w", err)
	case n > h.maxBytes:
		return http.StatusRequestEntityTooLarge, fmt.Errorf("the body is longer than %d bytes", h.maxBytes)
	}
	return http.StatusOK, nil
}

// decide answers a request that could be read.
func (h *Handler) decide(r *admissionv1.AdmissionRequest) *answer {
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
	report, err := target.CheckJSON(r.Object.Raw, r.OldObject.Raw)
	if err != nil {
		return h.unchecked(r, http.StatusBadRequest, err)
	}
	if report.Allowed() {
		return h.allow(r, Allowed)
	}
	return h.violated(r, target, report)
}

// unchecked answers a request that cannot be checked.
func (h *Handler) unchecked(r *admissionv1.AdmissionRequest, status int, err error) *answer {
	if h.policy == Fail && h.mode == Enforce {
		a := refuse(r.UID, failure(status, "this update cannot be checked for immutable fields: "+err.Error()))
		a.decision, a.observed = Failed, h.observe(r)
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

// observe returns what there is to say of a request, with nothing in it that a client could make up.
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

// unread answers a request that is none. The uid is "" where it is not known: no client takes that for an answer to its
// request, so the HTTP status says it too.
func unread(uid types.UID, status int, err error) *answer {
	a := refuse(uid, failure(status, "the request cannot be answered: "+err.Error()))
	a.decision = Unread
	if uid == "" {
		a.http = status
	}
	return a
}

// write sends the answer. A client that is gone does not read it, and there is nobody else to tell.
func (a *answer) write(w http.ResponseWriter) {
	review := admissionv1.AdmissionReview{Response: &a.response}
	review.APIVersion, review.Kind = reviewVersion, reviewKind
	data, err := json.Marshal(&review)
	if err != nil { // no value of a review can fail
		http.Error(w, "the answer cannot be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.http)
	_, _ = w.Write(data)
}
