package main

import (
	"bytes"
	"io"
	"net/http"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// buffer keeps an answer until it is changed and sent.
type buffer struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func newBuffer() *buffer { return &buffer{status: http.StatusOK, header: http.Header{}} }

func (b *buffer) Header() http.Header         { return b.header }
func (b *buffer) WriteHeader(status int)      { b.status = status }
func (b *buffer) Write(p []byte) (int, error) { return b.body.Write(p) }

// send writes the answer, with body where it is not nil in place of its own.
func (b *buffer) send(w http.ResponseWriter, body []byte) {
	for name, values := range b.header {
		w.Header()[name] = values
	}
	if body == nil {
		body = b.body.Bytes()
	}
	w.Header().Del("Content-Length")
	w.WriteHeader(b.status)
	_, _ = w.Write(body)
}

// ask serves a variant of a request and returns the answer, in JSON and whole: not compressed, not cut, not
// "unchanged".
func ask(inner http.Handler, r *http.Request, edit func(*http.Request)) *buffer {
	r = r.Clone(r.Context())
	r.Header.Set("Accept", "application/json")
	for _, name := range []string{"Accept-Encoding", "If-None-Match", "If-Modified-Since", "Range"} {
		r.Header.Del(name)
	}
	if edit != nil {
		edit(r)
	}
	b := newBuffer()
	inner.ServeHTTP(b, r)
	return b
}

// as makes a request one of another method and body, also in what the API server noted about it.
func as(r *http.Request, method, verb string, body []byte) {
	r.Method = method
	setBody(r, body, "application/json")
	if info, ok := request.RequestInfoFrom(r.Context()); ok {
		changed := *info
		changed.Verb = verb
		*r = *r.WithContext(request.WithRequestInfo(r.Context(), &changed))
	}
}

// setBody replaces the body of a request.
func setBody(r *http.Request, body []byte, media string) {
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Type", media)
}
