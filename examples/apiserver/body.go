package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

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
		fail(w, apierrors.NewBadRequest("the body is not an object in JSON or YAML: "+err.Error()))
	}
	return document, err == nil
}

// decode reads an object in JSON or YAML. A repeated member is an error: which of them counts would be lost
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
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code,
		Reason: reason, Message: message}}
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
