package admission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
)

// The one form of review that is answered.
const (
	reviewVersion = "admission.k8s.io/v1"
	reviewKind    = "AdmissionReview"
)

// readReview reads the request of an AdmissionReview. Object and oldObject are parts of body, not copies; null counts as
// absent. The options of the operation and extra of the user are not read.
//
// The request is not nil when its uid could be read, even when there is an error, so that the error can be answered.
func readReview(body []byte) (*request, error) {
	var apiVersion, kind string
	var cut *parts
	err := cutReview(body, &apiVersion, &kind, &cut)
	if err != nil {
		return nil, fmt.Errorf("the body is not an AdmissionReview in JSON: %w", err)
	}
	if cut == nil {
		return nil, errors.New("the body is not an AdmissionReview: it has no request")
	}
	r, err := cut.decode()
	if err != nil {
		return nil, err
	}
	if apiVersion != reviewVersion || kind != reviewKind {
		return r, fmt.Errorf("the body is %q of %q: only %s of %s is answered", kind, apiVersion, reviewKind, reviewVersion)
	}
	return r, nil
}

// cutReview cuts a review in one pass.
func cutReview(body []byte, apiVersion, kind *string, cut **parts) error {
	var seen names
	t := jsonscan.NewText(body)
	for m := range t.Members() {
		err := seen.add(m.Name)
		switch string(m.Name) {
		case "apiVersion":
			err = errors.Join(err, readString(m.Name, t.Skip(), apiVersion))
		case "kind":
			err = errors.Join(err, readString(m.Name, t.Skip(), kind))
		case "request":
			if t.Kind() != '{' {
				return errors.New("the request is not an object")
			}
			if err == nil {
				*cut, err = cutRequest(t, body)
			}
		}
		if t.Failed() {
			break
		}
		if err != nil {
			return err
		}
	}
	return t.End()
}

// parts is a request that is cut, not decoded: the objects, and a document with the rest.
type parts struct {
	object, oldObject document
	rest              []byte
}

// request is the request of a review, with what is known about its objects.
type request struct {
	admissionv1.AdmissionRequest
	object, oldObject document
}

// cutRequest cuts the request of a review, the object that t has next.
func cutRequest(t *jsonscan.Text, body []byte) (*parts, error) {
	p := &parts{rest: append(make([]byte, 0, 1024), '{'), object: document{name: "object"}, oldObject: document{name: "oldObject"}}
	var seen names
	for m := range t.Members() {
		if err := seen.add(m.Name); err != nil {
			return nil, err
		}
		switch string(m.Name) {
		case "object":
			p.object = cutDocument("object", t, body)
		case "oldObject":
			p.oldObject = cutDocument("oldObject", t, body)
		case "uid", "kind", "resource", "subResource", "name", "namespace", "operation", "userInfo", "dryRun":
			if len(p.rest) > 1 {
				p.rest = append(p.rest, ',')
			}
			p.rest = append(p.rest, '"')
			p.rest = append(p.rest, m.Name...)
			p.rest = append(p.rest, `":`...)
			p.rest = append(p.rest, t.Skip()...)
		}
	}
	p.rest = append(p.rest, '}')
	return p, nil
}

func (p *parts) decode() (*request, error) {
	r := &request{object: p.object, oldObject: p.oldObject}
	if err := json.Unmarshal(p.rest, &r.AdmissionRequest); err != nil {
		return nil, fmt.Errorf("the request of the AdmissionReview cannot be read: %w", err)
	}
	if r.UID == "" {
		return nil, errors.New("the request of the AdmissionReview has no uid")
	}
	r.Object.Raw, r.OldObject.Raw = p.object.raw, p.oldObject.raw
	return r, nil
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

func kindOf(r *admissionv1.AdmissionRequest) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.Kind.Group, Version: r.Kind.Version, Kind: r.Kind.Kind}
}

func resourceOf(r *admissionv1.AdmissionRequest) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.Resource.Group, Version: r.Resource.Version, Resource: r.Resource.Resource}
}

func isDryRun(r *admissionv1.AdmissionRequest) bool { return r.DryRun != nil && *r.DryRun }
