package main

import (
	"mime"
	"net/http"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
	"k8s.io/apiserver/pkg/warning"
)

// keyFilter runs in front of the API server and carries the keys that its types drop: from the schemas of a CRD into
// the annotation fieldlock.dev/locks when one is written, and from the annotation back into the schemas when one is
// read, and into the published OpenAPI documents. It also answers for the aggregator that is missing here.
//
// It runs after authentication and authorization and leaves the server's own requests alone.
type keyFilter struct {
	inner http.Handler
	crds  func() listers.CustomResourceDefinitionLister
}

func newKeyFilter(inner http.Handler, crds func() listers.CustomResourceDefinitionLister) http.Handler {
	return &keyFilter{inner: inner, crds: crds}
}

func (f *keyFilter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if u, ok := request.UserFrom(r.Context()); ok && u.GetName() == user.APIServerUser {
		f.inner.ServeHTTP(w, r)
		return
	}
	if r.URL.Path == "/openapi/v2" || r.URL.Path == "/openapi/v3" || strings.HasPrefix(r.URL.Path, "/openapi/v3/") {
		f.publish(w, r)
		return
	}
	if r.Method == http.MethodGet && (r.URL.Path == "/api" || r.URL.Path == "/apis") {
		f.discover(w, r)
		return
	}
	info, ok := request.RequestInfoFrom(r.Context())
	if !ok || info.APIGroup != apiextensions.GroupName || info.APIVersion != "v1" ||
		info.Resource != "customresourcedefinitions" {
		f.inner.ServeHTTP(w, r)
		return
	}
	switch info.Verb {
	case "create", "update":
		f.write(w, r)
	case "patch":
		f.patch(w, r)
	default:
		f.read(w, r)
	}
}

// read serves a CRD, a list of them or a watch, with the keys back in the schemas.
func (f *keyFilter) read(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.Header.Get("Accept"), ";as=") {
		f.inner.ServeHTTP(w, r) // a table or metadata alone: there are no schemas
		return
	}
	if info, _ := request.RequestInfoFrom(r.Context()); info != nil && info.Verb == "watch" {
		r = r.Clone(r.Context())
		r.Header.Set("Accept", "application/json")
		r.Header.Del("Accept-Encoding")
		f.inner.ServeHTTP(responsewriter.WrapForHTTP1Or2(&eventWriter{ResponseWriter: w}), r)
		return
	}
	answer := ask(f.inner, r, nil)
	answer.send(w, restored(answer.body.Bytes()))
}

// write serves a create or an update of a whole CRD.
func (f *keyFilter) write(w http.ResponseWriter, r *http.Request) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil &&
		!strings.HasSuffix(media, "json") && !strings.HasSuffix(media, "yaml") {
		f.inner.ServeHTTP(w, r) // protobuf and CBOR are written by clients with API types, which have no keys
		return
	}
	document, ok := f.body(w, r)
	if !ok {
		return
	}
	if !f.stow(w, r, document) {
		return
	}
	answer := ask(f.inner, r, func(r *http.Request) { setBody(r, encode(document), "application/json") })
	answer.send(w, restored(answer.body.Bytes()))
}

// stow moves the keys of a document into its annotation. It answers the request itself where that is not possible.
func (f *keyFilter) stow(w http.ResponseWriter, r *http.Request, document map[string]any) bool {
	ignored, err := stow(document)
	if err != nil {
		fail(w, statusError(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, err.Error()))
		return false
	}
	if ignored {
		warning.AddWarning(r.Context(), "",
			"the annotation fieldlock.dev/locks says something else than the keys in the schemas, and was replaced")
	}
	return true
}
