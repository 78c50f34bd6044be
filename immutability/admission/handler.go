// Package admission checks updates where a cluster admits them: a Registry holds the validators by kind, and a Handler
// answers AdmissionReviews with it. The package apiserver has the same check for an API server's own admission chain
// and update strategies; the package loader fills a Registry from CustomResourceDefinitions.
//
// Use it for aggregated API servers, and for custom resources whose locks a stock API server does not know. Locks that
// a stock API server can enforce itself need no webhook: export them as CEL rules.
//
// Everything that cannot be checked is refused unless an option says otherwise: an update without its old object, an
// object of another kind than the request says, a kind whose locks cannot be compiled, a Registry that is not filled
// yet.
package admission

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
)

// handler answers AdmissionReviews over HTTP. It keeps no part of a request.
type handler struct {
	*Reviewer
	transport transport
}

var (
	_ http.Handler = (*handler)(nil)
	_ reviewer     = (*handler)(nil)
)

// NewHandler returns a handler that answers AdmissionReviews of admission.k8s.io/v1 with the locks of r, which may be
// filled and changed later. Updates are compared from the raw bytes of both objects; create, delete and connect are
// allowed. Every answer is an AdmissionReview: a request that cannot be read is refused, with an HTTP status of 4xx
// where not even its uid could be read. The handler is safe for concurrent use.
//
// NewHandler returns an error if r is nil or an option has a value that makes no sense.
func NewHandler(r *Registry, opts ...Option) (http.Handler, error) {
	v, err := NewReviewer(r, opts...)
	if err != nil {
		return nil, err
	}
	h := &handler{Reviewer: v}
	h.transport.maxBytes, h.transport.readTimeout = v.maxBytes, v.readTimeout
	return h, nil
}

// ServeHTTP answers one AdmissionReview.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	a, length := h.transport.serve(w, r, h)
	h.tell(r.Context(), a, length, start)
}

// review answers a request that could be read.
func (h *handler) review(_ context.Context, req *request) *answer {
	return h.decide(&req.AdmissionRequest, &rawObjects{newDoc: req.object, oldDoc: req.oldObject})
}

// NewReviewHandler returns a handler of AdmissionReviews that review answers: a validating webhook around one function,
// with the limits on bodies and time that the handler of NewHandler has. The function gets the context of the HTTP
// request, and the request without the options of the operation and the extra of the user. It sets everything of the
// response but the uid. A nil response, a panic and a nil function refuse the request.
func NewReviewHandler(review func(context.Context,
	*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse) http.Handler {
	return &reviewHandler{call: review,
		transport: transport{maxBytes: defaultMaxBytes, readTimeout: defaultReadTimeout}}
}

type reviewHandler struct {
	call      func(context.Context, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse
	transport transport
}

var _ reviewer = (*reviewHandler)(nil)

func (h *reviewHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.transport.serve(w, r, h) }

func (h *reviewHandler) review(ctx context.Context, req *request) *answer {
	r := &req.AdmissionRequest
	response := h.call(ctx, r)
	if response == nil {
		return h.unchecked(r, http.StatusInternalServerError, fmt.Errorf("there is no response"))
	}
	a := &answer{response: *response, http: http.StatusOK, decision: DecisionAllowed}
	a.response.UID = r.UID
	return a
}

func (h *reviewHandler) unchecked(r *admissionv1.AdmissionRequest, status int, err error) *answer {
	return refuse(r.UID, failure(status, "the request cannot be checked: "+err.Error()))
}

// transport reads AdmissionReviews from HTTP requests and writes the answers. Every answer is an AdmissionReview: a
// request that cannot be read is refused, with an HTTP status of 4xx where not even its uid could be read.
type transport struct {
	maxBytes    int64
	readTimeout time.Duration
	buffers     sync.Pool // of *bytes.Buffer
}

// reviewer answers the requests that could be read.
type reviewer interface {
	review(ctx context.Context, r *request) *answer
	// unchecked answers a request whose review failed. The status is the one of a refusal.
	unchecked(r *admissionv1.AdmissionRequest, status int, err error) *answer
}

const (
	defaultMaxBytes    = 32 << 20
	defaultReadTimeout = 10 * time.Second

	keptBuffer = 1 << 20 // the largest buffer that is kept for the next request
)

// serve answers one HTTP request. It returns the answer, and the length of the body as far as it was read.
func (t *transport) serve(w http.ResponseWriter, r *http.Request, by reviewer) (a *answer, length int) {
	body, ok := t.buffers.Get().(*bytes.Buffer)
	if !ok {
		body = new(bytes.Buffer)
	}
	a = t.answer(w, r, body, by)
	a.write(w)
	length = body.Len()
	if body.Cap() <= keptBuffer {
		body.Reset()
		t.buffers.Put(body)
	}
	return a, length
}

func (t *transport) answer(w http.ResponseWriter, r *http.Request, body *bytes.Buffer, by reviewer) (a *answer) {
	var read *request
	// A panic must become a refusal. Without an answer, the failurePolicy of the webhook's configuration decides, which
	// may be to ignore.
	defer func() {
		fault := recover()
		if fault == nil {
			return
		}
		err := fmt.Errorf("the check failed: %v", fault)
		if read == nil {
			a = unread(peekUID(body.Bytes()), http.StatusInternalServerError, err)
		} else {
			a = by.unchecked(&read.AdmissionRequest, http.StatusInternalServerError, err)
		}
	}()
	if status, err := t.read(w, r, body); err != nil {
		return unread(peekUID(body.Bytes()), status, err)
	}
	read, err := readReview(body.Bytes())
	switch {
	case read == nil:
		return unread("", http.StatusBadRequest, err)
	case err != nil:
		return unread(read.UID, http.StatusBadRequest, err)
	}
	return by.review(r.Context(), read)
}

// read reads the body. The status belongs to the answer to the error.
func (t *transport) read(w http.ResponseWriter, r *http.Request, body *bytes.Buffer) (status int, err error) {
	lift := t.limit(w, r)
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return http.StatusMethodNotAllowed, fmt.Errorf("the method is %s: an AdmissionReview is sent by POST", r.Method)
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return http.StatusUnsupportedMediaType, fmt.Errorf("the Content-Type is %q: it should be application/json",
			r.Header.Get("Content-Type"))
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return http.StatusUnsupportedMediaType,
			fmt.Errorf("the Content-Encoding is %q: the body should not be encoded", coding)
	}
	// The buffer grows with what arrives, not with what the Content-Length promises.
	n, err := body.ReadFrom(io.LimitReader(r.Body, t.maxBytes+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout, fmt.Errorf("the body did not arrive in time")
	case err != nil:
		return http.StatusBadRequest, fmt.Errorf("the body cannot be read: %w", err)
	case n > t.maxBytes:
		return http.StatusRequestEntityTooLarge, fmt.Errorf("the body is longer than %d bytes", t.maxBytes)
	}
	lift()
	return http.StatusOK, nil
}

// limit sets how long the body may take: the time of the handler or of the server, whichever is shorter. lift takes the
// limit off once the body is read to its end.
//
// Otherwise the limit must stay. Before net/http sends an answer and again after it, it reads up to 256 KB of a body
// that the handler left unread, and without a limit it would wait for a silent client forever.
func (t *transport) limit(w http.ResponseWriter, r *http.Request) (lift func()) {
	timeout := t.readTimeout
	if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && server.ReadTimeout > 0 {
		timeout = min(timeout, server.ReadTimeout)
	}
	// A writer that takes no deadlines returns an error. It limits requests in its own way, if at all.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(timeout))
	return func() { _ = control.SetReadDeadline(time.Time{}) }
}
