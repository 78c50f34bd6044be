package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
	"k8s.io/apiserver/pkg/warning"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// keyFilter stands in front of the API server and carries the keys that its types drop: from the schemas of a CRD into
// the annotation fieldlock.dev/locks when one is written, and from the annotation back into the schemas when one is
// read, and into the published OpenAPI documents. It also answers for the aggregator that is missing here.
//
// It stands behind authentication and authorization and leaves the server's own requests alone.
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
	if !ok || info.APIGroup != apiextensions.GroupName || info.APIVersion != "v1" || info.Resource != "customresourcedefinitions" {
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

// restored returns an answer with the keys in the schemas of its CRDs; nil where there is nothing to restore.
func restored(body []byte) []byte {
	var document map[string]any
	if err := utiljson.Unmarshal(body, &document); err != nil {
		return nil
	}
	switch document["kind"] {
	case "CustomResourceDefinition":
		unpack(document)
	case "CustomResourceDefinitionList":
		items, _ := document["items"].([]any)
		for _, item := range items {
			if item, ok := item.(map[string]any); ok {
				unpack(item)
			}
		}
	default:
		return nil
	}
	return encode(document)
}

// encode writes what was decoded from JSON, which cannot fail.
func encode(document map[string]any) []byte {
	body, err := json.Marshal(document)
	if err != nil {
		return nil
	}
	return body
}

// write serves a create or an update of a whole CRD.
func (f *keyFilter) write(w http.ResponseWriter, r *http.Request) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && !strings.HasSuffix(media, "json") && !strings.HasSuffix(media, "yaml") {
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

// patch serves a patch of a CRD. Apply patches keep their form: the versions of a CRD are one atomic list, so whoever
// applies them owns all keys. The others are applied here, to the CRD as clients see it, and stored as an update.
func (f *keyFilter) patch(w http.ResponseWriter, r *http.Request) {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch types.PatchType(media) {
	case types.ApplyYAMLPatchType:
		document, ok := f.body(w, r)
		if !ok {
			return
		}
		if len(schemas(document)) > 0 {
			if !f.stow(w, r, document) {
				return
			}
			if annotation(document) == "" {
				setAnnotation(document, "{}") // owned as well, so that nobody else's keys stay
			}
		}
		answer := ask(f.inner, r, func(r *http.Request) { setBody(r, encode(document), media) })
		answer.send(w, restored(answer.body.Bytes()))
	case types.JSONPatchType, types.MergePatchType:
		if body, ok := readAll(w, r); ok {
			f.patchByUpdate(w, r, types.PatchType(media), body)
		}
	case types.StrategicMergePatchType:
		fail(w, statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
			"strategic merge patches are not served here; use a merge patch: the lists of a CRD with keys have no strategy"))
	default:
		f.inner.ServeHTTP(w, r)
	}
}

// attempts is how often a patch is tried again when somebody else changes the CRD meanwhile.
const attempts = 5

func (f *keyFilter) patchByUpdate(w http.ResponseWriter, r *http.Request, form types.PatchType, patch []byte) {
	for attempt := 1; ; attempt++ {
		current := ask(f.inner, r, func(r *http.Request) { r.URL.RawQuery = ""; as(r, http.MethodGet, "get", nil) })
		var document map[string]any
		if err := utiljson.Unmarshal(current.body.Bytes(), &document); current.status != http.StatusOK || err != nil {
			current.send(w, nil)
			return
		}
		unpack(document)
		hideAnnotation(document)
		patched, err := apply(form, encode(document), patch)
		if err != nil {
			fail(w, err)
			return
		}
		if err := utiljson.Unmarshal(patched, &document); err != nil {
			fail(w, apierrors.NewBadRequest("the patch leaves no object: "+err.Error()))
			return
		}
		if !f.stow(w, r, document) {
			return
		}
		answer := ask(f.inner, r, func(r *http.Request) { as(r, http.MethodPut, "update", encode(document)) })
		if answer.status == http.StatusConflict && attempt < attempts {
			continue
		}
		answer.send(w, restored(answer.body.Bytes()))
		return
	}
}

// apply returns a document with a patch applied to it.
func apply(form types.PatchType, document, patch []byte) ([]byte, error) {
	if form == types.MergePatchType {
		patched, err := jsonpatch.MergePatch(document, patch)
		if err != nil {
			return nil, apierrors.NewBadRequest("the merge patch cannot be applied: " + err.Error())
		}
		return patched, nil
	}
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, apierrors.NewBadRequest("the JSON patch cannot be read: " + err.Error())
	}
	patched, err := operations.Apply(document)
	if err != nil {
		return nil, statusError(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "the JSON patch cannot be applied: "+err.Error())
	}
	return patched, nil
}

// stow moves the keys of a document into its annotation. It answers the request itself where that is not possible.
func (f *keyFilter) stow(w http.ResponseWriter, r *http.Request, document map[string]any) bool {
	ignored, err := stow(document)
	if err != nil {
		fail(w, statusError(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, err.Error()))
		return false
	}
	if ignored {
		warning.AddWarning(r.Context(), "", "the annotation fieldlock.dev/locks says something else than the keys in the schemas, and was replaced")
	}
	return true
}

// maxBody is what an API server takes, too.
const maxBody = 3 << 20

// readAll reads the body of a request. It answers the request itself where that is not possible.
func readAll(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		fail(w, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the limit is %d bytes", maxBody)))
	case err != nil:
		fail(w, apierrors.NewBadRequest("the body cannot be read: "+err.Error()))
	}
	return data, err == nil
}

// body reads the object of a request. It answers the request itself where that is not possible.
func (f *keyFilter) body(w http.ResponseWriter, r *http.Request) (map[string]any, bool) {
	data, ok := readAll(w, r)
	if !ok {
		return nil, false
	}
	document, err := decode(data)
	if err != nil {
		fail(w, apierrors.NewBadRequest("the body is no object in JSON or YAML: "+err.Error()))
	}
	return document, err == nil
}

// decode reads an object in JSON or YAML. A member that stands twice is an error: which of them counts would be lost
// when the document is written again.
func decode(data []byte) (map[string]any, error) {
	if !json.Valid(data) {
		var err error
		if data, err = yaml.YAMLToJSONStrict(data); err != nil {
			return nil, err
		}
	}
	var document map[string]any
	strict, err := kjson.UnmarshalStrict(data, &document)
	if err == nil {
		err = errors.Join(strict...)
	}
	return document, err
}

func statusError(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

// fail answers with an error of the API.
func fail(w http.ResponseWriter, err error) {
	status := apierrors.NewInternalError(err).ErrStatus
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status = known.Status()
	}
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	body, err := json.Marshal(status)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_, _ = w.Write(body)
}

// eventWriter restores the keys in the CRDs of a watch, one event a line.
type eventWriter struct {
	http.ResponseWriter
	line []byte
}

func (e *eventWriter) Write(p []byte) (int, error) {
	for i, b := range p {
		e.line = append(e.line, b)
		if b != '\n' {
			continue
		}
		if _, err := e.ResponseWriter.Write(restoredEvent(e.line)); err != nil {
			return i + 1, err
		}
		e.line = e.line[:0]
	}
	return len(p), nil
}

// Unwrap returns the writer below, which the API server flushes after each event.
func (e *eventWriter) Unwrap() http.ResponseWriter { return e.ResponseWriter }

func restoredEvent(line []byte) []byte {
	var event map[string]any
	if err := utiljson.Unmarshal(line, &event); err != nil {
		return line
	}
	object, ok := event["object"].(map[string]any)
	if !ok || object["kind"] != "CustomResourceDefinition" {
		return line
	}
	unpack(object)
	return append(encode(event), '\n')
}
