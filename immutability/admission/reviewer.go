package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fieldlock/fieldlock/immutability"
)

// Reviewer decides about updates with the locks of a registry, whatever brings the requests: the handler of NewHandler
// answers HTTP with one, package admission/apiserver the requests of an API server's own admission chain, and
// immutability/admission/controllerruntime those of controller-runtime. It keeps no part of a request and is safe for
// concurrent use. The zero Reviewer and nil refuse every request.
type Reviewer struct {
	settings
	registry *Registry
}

// NewReviewer returns a reviewer with the locks of r, which may be filled and changed later. It returns an error if r
// is nil or an option has a value that makes no sense.
func NewReviewer(r *Registry, opts ...Option) (*Reviewer, error) {
	if r == nil {
		return nil, errors.New("there is no registry: give one, it may be filled later")
	}
	v := &Reviewer{registry: r, settings: settings{
		mode: ModeEnforce, policy: admissionregistrationv1.Fail, gaps: ModeWarn,
		code: http.StatusUnprocessableEntity, maxBytes: defaultMaxBytes, readTimeout: defaultReadTimeout,
	}}
	for _, o := range opts {
		if o == nil {
			continue
		}
		if err := o.apply(&v.settings); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// Review answers a request as it is in an AdmissionReview: updates are compared from the raw bytes of both objects;
// create, delete and connect are allowed. It logs and observes the answer. A request that is nil, and a panic, are
// refused.
func (v *Reviewer) Review(ctx context.Context, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	if r == nil {
		return &refuse("", failure(http.StatusBadRequest, "there is no request")).response
	}
	o := &rawObjects{newDoc: document{name: "object", raw: r.Object.Raw},
		oldDoc: document{name: "oldObject", raw: r.OldObject.Raw}}
	return v.answer(ctx, r, o, len(r.Object.Raw)+len(r.OldObject.Raw))
}

// Objects are the two objects of an update that are decoded already, in any form.
type Objects struct {
	// New and Old are the metadata, which exemptions read. Nil is an object that is missing.
	New, Old metav1.Object
	// Check compares the objects with the locks of target; it is called once at most. A nil Check is an error.
	Check func(target *Target) (immutability.Report, error)
}

// ReviewObjects is Review for objects that are decoded already. The objects in the request are not read.
func (v *Reviewer) ReviewObjects(ctx context.Context, r *admissionv1.AdmissionRequest,
	o Objects) *admissionv1.AdmissionResponse {
	if r == nil {
		return v.Review(ctx, nil)
	}
	return v.answer(ctx, r, &decodedObjects{o}, 0)
}

// answer decides, logs and observes.
func (v *Reviewer) answer(ctx context.Context, r *admissionv1.AdmissionRequest, o objects,
	length int) *admissionv1.AdmissionResponse {
	if v == nil || v.registry == nil {
		return &refuse(r.UID, failure(http.StatusInternalServerError,
			"this update cannot be checked for immutable fields: there is no registry")).response
	}
	start := time.Now()
	a := v.safely(r, o)
	v.tell(ctx, a, length, start)
	return &a.response
}

// safely is decide for callers that cannot answer after a panic.
func (v *Reviewer) safely(r *admissionv1.AdmissionRequest, o objects) (a *answer) {
	defer func() {
		if fault := recover(); fault != nil {
			a = v.unchecked(r, http.StatusInternalServerError, fmt.Errorf("the check failed: %v", fault))
		}
	}()
	return v.decide(r, o)
}

// tell logs and observes an answer.
func (v *Reviewer) tell(ctx context.Context, a *answer, length int, start time.Time) {
	if v.logger != nil && a.refused != nil {
		v.logger.Log(ctx, a.level(), "update refused", a.refused...)
	}
	if v.observe != nil {
		a.observed.Decision = a.decision
		a.observed.Bytes = length
		a.observed.Duration = time.Since(start)
		v.observe(ctx, a.observed)
	}
}

// objects are the two objects of an update, as they came.
type objects interface {
	check(target *Target) (immutability.Report, error)
	deleting() (bool, error)                 // of the stored object, which the client cannot set
	annotations() (map[string]string, error) // of the new object
	fault() int                              // the HTTP status if the objects cannot be read
}

var (
	_ objects = (*rawObjects)(nil)
	_ objects = (*decodedObjects)(nil)
)

type rawObjects struct{ newDoc, oldDoc document }

func (o *rawObjects) check(t *Target) (immutability.Report, error) {
	return t.checkDocuments(&o.newDoc, &o.oldDoc)
}

func (o *rawObjects) deleting() (bool, error) {
	metadata, err := metadataOf("oldObject", o.oldDoc.raw)
	if err != nil {
		return false, err
	}
	var timestamp string
	return json.Unmarshal(metadata["deletionTimestamp"], &timestamp) == nil && timestamp != "", nil
}

func (o *rawObjects) annotations() (map[string]string, error) {
	metadata, err := metadataOf("object", o.newDoc.raw)
	if err != nil {
		return nil, err
	}
	var annotations map[string]string
	if json.Unmarshal(metadata["annotations"], &annotations) != nil {
		return nil, nil
	}
	return annotations, nil
}

func (o *rawObjects) fault() int { return http.StatusBadRequest }

type decodedObjects struct{ Objects }

func (o *decodedObjects) check(t *Target) (immutability.Report, error) {
	if o.Check == nil {
		return immutability.Report{}, errors.New("nothing compares the objects")
	}
	return o.Check(t)
}

func (o *decodedObjects) deleting() (bool, error) {
	if o.Old == nil {
		return false, missing("oldObject")
	}
	return o.Old.GetDeletionTimestamp() != nil, nil
}

func (o *decodedObjects) annotations() (map[string]string, error) {
	if o.New == nil {
		return nil, missing("object")
	}
	return o.New.GetAnnotations(), nil
}

func (o *decodedObjects) fault() int { return http.StatusInternalServerError }

// decide answers a request that could be read.
func (v *Reviewer) decide(r *admissionv1.AdmissionRequest, o objects) *answer {
	switch r.Operation {
	case admissionv1.Create, admissionv1.Delete, admissionv1.Connect:
		return v.allow(r, DecisionAllowed)
	case admissionv1.Update:
	default:
		return v.unchecked(r, http.StatusBadRequest,
			fmt.Errorf("the operation is %q: it should be CREATE, UPDATE, DELETE or CONNECT", r.Operation))
	}
	target, locked, unknown := v.registry.Find(kindOf(r), resourceOf(r), r.SubResource)
	if unknown == nil && !locked {
		return v.allow(r, DecisionAllowed)
	}
	reason, err := v.exempt.of(r, o)
	if err != nil {
		return v.unchecked(r, o.fault(), err)
	}
	if reason != "" {
		a := v.allow(r, DecisionExempt)
		a.note("exempt", reason)
		return a
	}
	if unknown != nil {
		return v.unchecked(r, http.StatusInternalServerError, unknown)
	}
	return v.checked(r, target, o)
}

// checked answers an update of a kind whose locks are known.
func (v *Reviewer) checked(r *admissionv1.AdmissionRequest, target *Target, o objects) *answer {
	gap := ""
	if len(target.gaps) > 0 {
		gap = fmt.Sprintf("version %s leaves free what other served versions lock: %s",
			target.Kind.Version, strings.Join(target.gaps, ", "))
	}
	if gap != "" && v.gaps == ModeEnforce {
		return v.unchecked(r, http.StatusForbidden, errors.New(gap))
	}
	a := v.allow(r, DecisionAllowed)
	if !target.locks.Empty() {
		report, err := o.check(target)
		if err != nil {
			return v.unchecked(r, o.fault(), err)
		}
		if !report.Allowed() {
			a = v.violated(r, target, report)
		}
	}
	if gap != "" && a.response.Allowed {
		text := "this update was not checked for all immutable fields: " + gap
		if v.gaps == ModeWarn {
			a.warn(text)
		} else {
			a.note("gaps", text)
		}
	}
	return a
}

// observation returns what there is to say about a request, without anything that a client could make up.
func (v *Reviewer) observation(r *admissionv1.AdmissionRequest) Observation {
	o := Observation{DryRun: isDryRun(r)}
	switch r.Operation {
	case admissionv1.Create, admissionv1.Update, admissionv1.Delete, admissionv1.Connect:
		o.Operation = string(r.Operation)
	}
	if kind := kindOf(r); v.registry.has(kind) {
		o.Kind = kind
	}
	return o
}

// describe returns the attributes of a log line about a request.
func describe(r *admissionv1.AdmissionRequest) []any {
	return []any{
		"kind", show(kindOf(r)), "namespace", r.Namespace, "name", r.Name, "subresource", r.SubResource,
		"user", r.UserInfo.Username, "uid", string(r.UID), "dryRun", isDryRun(r),
	}
}

// level is Warn for an update that could not be checked, which is a fault of the cluster, not of the client.
func (a *answer) level() slog.Level {
	if a.decision == DecisionFailed {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// metadataOf returns the undecoded members of the metadata of an object. Names match exactly, as the API server's do.
func metadataOf(name string, object []byte) (map[string]json.RawMessage, error) {
	if unlessNull(object) == nil {
		return nil, missing(name)
	}
	var metadata map[string]json.RawMessage
	err := eachMember(object, func(member, value []byte) error {
		if string(member) != "metadata" {
			return nil
		}
		return json.Unmarshal(value, &metadata)
	})
	if err != nil {
		return nil, fmt.Errorf("the %s cannot be read: %w", name, err)
	}
	return metadata, nil
}
