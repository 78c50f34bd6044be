package admission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The one form of review that is answered.
const (
	reviewVersion = "admission.k8s.io/v1"
	reviewKind    = "AdmissionReview"
)

// readReview reads the request of an AdmissionReview. Object and oldObject are parts of body, not copies; null is as
// absent. The options of the operation and extra of the user are not read.
//
// The request is not nil when its uid could be read, also beside an error, so that the error can be answered.
func readReview(body []byte) (*admissionv1.AdmissionRequest, error) {
	var apiVersion, kind string
	var request *parts
	var seen names
	s := splitter{doc: body}
	err := s.members(func(name []byte) error {
		if err := seen.add(name); err != nil {
			return err
		}
		if string(name) == "request" {
			var err error
			request, err = s.request()
			return err
		}
		value, err := s.value()
		if err != nil {
			return err
		}
		switch string(name) {
		case "apiVersion":
			return readString(name, value, &apiVersion)
		case "kind":
			return readString(name, value, &kind)
		}
		return nil
	})
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, fmt.Errorf("the body is no AdmissionReview in JSON: %w", err)
	}
	if request == nil {
		return nil, errors.New("the body is no AdmissionReview: it has no request")
	}
	r, err := request.decode()
	if err != nil {
		return nil, err
	}
	if apiVersion != reviewVersion || kind != reviewKind {
		return r, fmt.Errorf("the body is %q of %q: only %s of %s is answered", kind, apiVersion, reviewKind, reviewVersion)
	}
	return r, nil
}

// parts is a request that is cut, not decoded: the objects, and a document with the rest.
type parts struct{ object, oldObject, rest []byte }

// request cuts the request of a review in one pass.
func (s *splitter) request() (*parts, error) {
	p := &parts{rest: append(make([]byte, 0, 1024), '{')}
	var seen names
	err := s.members(func(name []byte) error {
		if err := seen.add(name); err != nil {
			return err
		}
		value, err := s.value()
		if err != nil {
			return err
		}
		switch string(name) {
		case "object":
			p.object = unlessNull(value)
		case "oldObject":
			p.oldObject = unlessNull(value)
		case "uid", "kind", "resource", "subResource", "name", "namespace", "operation", "userInfo", "dryRun":
			if len(p.rest) > 1 {
				p.rest = append(p.rest, ',')
			}
			p.rest = append(p.rest, '"')
			p.rest = append(p.rest, name...)
			p.rest = append(p.rest, `":`...)
			p.rest = append(p.rest, value...)
		}
		return nil
	})
	p.rest = append(p.rest, '}')
	return p, err
}

func (p *parts) decode() (*admissionv1.AdmissionRequest, error) {
	r := &admissionv1.AdmissionRequest{}
	if err := json.Unmarshal(p.rest, r); err != nil {
		return nil, fmt.Errorf("the request of the AdmissionReview cannot be read: %w", err)
	}
	if r.UID == "" {
		return nil, errors.New("the request of the AdmissionReview has no uid")
	}
	r.Object.Raw, r.OldObject.Raw = p.object, p.oldObject
	return r, nil
}

func readString(name, value []byte, to *string) error {
	if len(value) == 0 || value[0] != '"' {
		return fmt.Errorf("the member %q is no string", name)
	}
	return json.Unmarshal(value, to)
}

func unlessNull(value []byte) []byte {
	if string(value) == "null" {
		return nil
	}
	return value
}

// peek is how far into a body of too many bytes the uid is looked for; an API server writes it within the first hundred.
const peek = 4 << 10

// peekUID returns the uid of the request in a review of which only the beginning is there, or "".
func peekUID(beginning []byte) types.UID {
	d := json.NewDecoder(bytes.NewReader(beginning[:min(len(beginning), peek)]))
	if !enter(d) || !skipTo(d, "request") || !enter(d) || !skipTo(d, "uid") {
		return ""
	}
	var uid types.UID
	if d.Decode(&uid) != nil {
		return ""
	}
	return uid
}

func enter(d *json.Decoder) bool {
	t, err := d.Token()
	return err == nil && t == json.Delim('{')
}

// skipTo reads the members of an object up to the name of the one that is asked for.
func skipTo(d *json.Decoder, member string) bool {
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return false
		}
		if t == member {
			return true
		}
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return false
		}
	}
	return false
}
