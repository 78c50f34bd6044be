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

// readReview reads the request of an AdmissionReview. Object and oldObject are parts of body, not copies; null counts
// as absent. The options of the operation and extra of the user are not read.
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
		return r, fmt.Errorf("the body is %q of %q: only %s of %s is answered",
			kind, apiVersion, reviewKind, reviewVersion)
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
	p := &parts{rest: append(make([]byte, 0, 1024), '{'), object: document{name: "object"},
		oldObject: document{name: "oldObject"}}
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

// peek is how far into a body of too many bytes the uid is looked for; an API server writes it within the first
// hundred.
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
	return schema.GroupVersionResource{Group: r.Resource.Group, Version: r.Resource.Version,
		Resource: r.Resource.Resource}
}

func isDryRun(r *admissionv1.AdmissionRequest) bool { return r.DryRun != nil && *r.DryRun }

// document is an object as it came, with what it says that it is.
type document struct {
	name             string // in the request: object or oldObject
	raw              []byte
	apiVersion, kind string
	read             bool // apiVersion and kind are known, and no member is there twice
}

// cutDocument cuts the value that t has next. In an object, it reads apiVersion and kind in the same pass. Where that
// is not possible, identify says why, if the document is needed at all.
func cutDocument(name string, t *jsonscan.Text, body []byte) document {
	d := document{name: name}
	if t.Kind() != '{' {
		d.raw = unlessNull(t.Skip())
		return d
	}
	start := t.Offset()
	d.read = true
	var seen names
	for m := range t.Members() {
		err := seen.add(m.Name)
		if value := t.Skip(); err == nil {
			err = d.note(m.Name, value)
		}
		d.read = d.read && err == nil
	}
	if d.read = d.read && !t.Failed(); !t.Failed() {
		d.raw = body[start:t.Offset()]
	}
	return d
}

// note takes apiVersion or kind from a member.
func (d *document) note(name, value []byte) error {
	switch string(name) {
	case "apiVersion":
		return readString(name, value, &d.apiVersion)
	case "kind":
		return readString(name, value, &d.kind)
	}
	return nil
}

// identify reads what the document says that it is, unless that is known. It returns an error if the document is
// missing, is not an object, or has a member twice.
func (d *document) identify() error {
	if d.read {
		return nil
	}
	if d.raw = unlessNull(d.raw); d.raw == nil {
		return missing(d.name)
	}
	if err := eachMember(d.raw, d.note); err != nil {
		return fmt.Errorf("the %s cannot be read: %w", d.name, err)
	}
	d.read = true
	return nil
}

// missing is the error of an update without one of its two objects.
func missing(name string) error {
	return fmt.Errorf("the update has no %s: it needs both the object and the one that is stored", name)
}

// readString reads a value that is JSON.
func readString(name, value []byte, to *string) error {
	if len(value) == 0 || value[0] != '"' {
		return fmt.Errorf("the member %q is not a string", name)
	}
	*to, _ = jsonscan.String(value, 0)
	return nil
}

// unlessNull returns value, nil for null.
func unlessNull(value []byte) []byte {
	if string(value) == "null" {
		return nil
	}
	return value
}

// names are the member names of one object that were seen.
type names struct {
	common uint32 // by index in commonNames
	rest   map[string]bool
}

// commonNames are those that nearly every review and object has. They are told apart without allocating.
var commonNames = [...]string{
	"apiVersion", "kind", "metadata", "spec", "status", "request", "uid", "resource", "subResource", "requestKind",
	"requestResource", "requestSubResource", "name", "namespace", "operation", "userInfo", "object", "oldObject",
	"dryRun", "options",
}

// add returns an error where a name comes a second time: two readers could take two different values.
func (n *names) add(name []byte) error {
	for i, c := range commonNames {
		if string(name) == c {
			if n.common&(1<<i) != 0 {
				return fmt.Errorf("the member %q appears twice", name)
			}
			n.common |= 1 << i
			return nil
		}
	}
	if n.rest[string(name)] {
		return fmt.Errorf("the member %q appears twice", name)
	}
	if n.rest == nil {
		n.rest = map[string]bool{}
	}
	n.rest[string(name)] = true
	return nil
}

// eachMember calls f for each member of the JSON object doc, in their order, with its name and its undecoded value. It
// ends with the first error of f. A repeated name is an error.
func eachMember(doc []byte, f func(name, value []byte) error) error {
	var seen names
	t := jsonscan.NewText(doc)
	for m := range t.Members() {
		if err := seen.add(m.Name); err != nil {
			return err
		}
		value := t.Skip()
		if t.Failed() {
			break
		}
		if err := f(m.Name, value); err != nil {
			return err
		}
	}
	return t.End()
}
