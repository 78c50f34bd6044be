package main

import (
	"mime"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

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
	case types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType:
		if body, ok := readAll(w, r); ok {
			f.patchByUpdate(w, r, types.PatchType(media), body)
		}
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
	switch form {
	case types.MergePatchType:
		patched, err := jsonpatch.MergePatch(document, patch)
		if err != nil {
			return nil, apierrors.NewBadRequest("the merge patch cannot be applied: " + err.Error())
		}
		return patched, nil
	case types.StrategicMergePatchType:
		// The versions of a CRD are replaced as one list, so that the patch never has to merge schemas, whose keys the
		// Go types do not know.
		patched, err := strategicpatch.StrategicMergePatch(document, patch, apiextensionsv1.CustomResourceDefinition{})
		if err != nil {
			return nil, apierrors.NewBadRequest("the strategic merge patch cannot be applied: " + err.Error())
		}
		return patched, nil
	}
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, apierrors.NewBadRequest("the JSON patch cannot be read: " + err.Error())
	}
	patched, err := operations.Apply(document)
	if err != nil {
		return nil, statusError(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
			"the JSON patch cannot be applied: "+err.Error())
	}
	return patched, nil
}
