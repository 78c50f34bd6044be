// Package askserver asks webhooks that answer admission reviews: functions, or handlers that an operator only registers
// with its manager, whose webhook server is not started. No API server is reached.
package askserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
)

// Judges returns the judges of the kinds in a scheme for which setup registers a validating webhook under its usual
// path. The manager's options can be changed before it is made.
func Judges(
	addToScheme func(*runtime.Scheme) error, setup func(ctrl.Manager) error, change ...func(*ctrl.Options),
) (map[string]ask.Judge, error) {
	return judges(Review, addToScheme, setup, change)
}

// MutatedJudges is Judges for mutating webhooks that are registered for updates too.
func MutatedJudges(
	addToScheme func(*runtime.Scheme) error, setup func(ctrl.Manager) error, change ...func(*ctrl.Options),
) (map[string]ask.Judge, error) {
	return judges(MutatedReview, addToScheme, setup, change)
}

func judges(
	judge func(gvk schema.GroupVersionKind, mutate, validate Handler) ask.Judge,
	addToScheme func(*runtime.Scheme) error, setup func(ctrl.Manager) error, change []func(*ctrl.Options),
) (map[string]ask.Judge, error) {
	scheme := runtime.NewScheme()
	if err := addToScheme(scheme); err != nil {
		return nil, err
	}
	options := ctrl.Options{Scheme: scheme}
	for _, c := range change {
		c(&options)
	}
	manager, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, options)
	if err != nil {
		return nil, err
	}
	if err := setup(manager); err != nil {
		return nil, err
	}
	mux := manager.GetWebhookServer().WebhookMux()
	judges := map[string]ask.Judge{}
	for gvk := range scheme.AllKnownTypes() {
		if validate := registered(mux, "validate", gvk); validate != nil {
			judges[gvk.GroupVersion().String()+" "+gvk.Kind] = judge(gvk, registered(mux, "mutate", gvk), validate)
		}
	}
	return judges, nil
}

// Handler answers an admission review.
type Handler func(review *admissionv1.AdmissionReview) *admissionv1.AdmissionResponse

// Review returns the judge of a kind from its webhooks. mutate, which may be nil, is asked when an object is created,
// and not about updates.
func Review(gvk schema.GroupVersionKind, mutate, validate Handler) ask.Judge {
	w := webhook{gvk, mutate, validate}
	return ask.Update(func(_ context.Context, newObj, oldObj *map[string]any) error {
		if oldObj != nil {
			return nil
		}
		return w.mutates(newObj, nil)
	}, w.validates)
}

// MutatedReview is Review for a mutating webhook that is asked about updates too.
func MutatedReview(gvk schema.GroupVersionKind, mutate, validate Handler) ask.Judge {
	w := webhook{gvk, mutate, validate}
	return ask.Update(func(_ context.Context, newObj, oldObj *map[string]any) error {
		return w.mutates(newObj, oldObj)
	}, w.validates)
}

// registered returns the handler of a verb, "mutate" or "validate", at the usual path of a kind; nil without one.
func registered(mux *http.ServeMux, verb string, gvk schema.GroupVersionKind) Handler {
	path := "/" + verb + "-" + strings.ReplaceAll(gvk.Group, ".", "-") + "-" + gvk.Version + "-" +
		strings.ToLower(gvk.Kind)
	handler, pattern := mux.Handler(httptest.NewRequest(http.MethodPost, path, nil))
	if pattern == "" {
		return nil
	}
	return HTTP(handler)
}

// HTTP returns the handler of reviews that are sent over HTTP.
func HTTP(handler http.Handler) Handler {
	return func(review *admissionv1.AdmissionReview) *admissionv1.AdmissionResponse {
		body, err := json.Marshal(review)
		if err != nil {
			return refusal(err)
		}
		post := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		post.Header.Set("Content-Type", "application/json")
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, post)
		var answer admissionv1.AdmissionReview
		if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil || answer.Response == nil {
			return refusal(fmt.Errorf("no review: %q: %w", recorder.Body, err))
		}
		return answer.Response
	}
}

func refusal(err error) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: err.Error()}}
}

// webhook is the webhooks of a kind.
type webhook struct {
	gvk              schema.GroupVersionKind
	mutate, validate Handler
}

// mutates makes newObj what the mutating webhook makes of it. oldObj is nil while the object is created.
func (w webhook) mutates(newObj, oldObj *map[string]any) error {
	response, err := w.ask(w.mutate, newObj, oldObj)
	if err != nil || response == nil || response.Patch == nil {
		return err
	}
	patch, err := jsonpatch.DecodePatch(response.Patch)
	if err != nil {
		return err
	}
	data, err := json.Marshal(newObj)
	if err != nil {
		return err
	}
	if data, err = patch.Apply(data); err != nil {
		return err
	}
	*newObj = nil
	return json.Unmarshal(data, newObj)
}

func (w webhook) validates(_ context.Context, newObj, oldObj *map[string]any) error {
	_, err := w.ask(w.validate, newObj, oldObj)
	return err
}

// ask sends a review. The response is nil without a handler; the error is a refusal.
func (w webhook) ask(handler Handler, newObj, oldObj *map[string]any) (*admissionv1.AdmissionResponse, error) {
	if handler == nil {
		return nil, nil
	}
	metadata, _ := (*newObj)["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	namespace, _ := metadata["namespace"].(string)
	request := &admissionv1.AdmissionRequest{
		UID: "1", Kind: metav1.GroupVersionKind(w.gvk), Operation: admissionv1.Create, Name: name, Namespace: namespace,
	}
	plural, _ := meta.UnsafeGuessKindToResource(w.gvk)
	request.Resource = metav1.GroupVersionResource(plural)
	var err error
	if request.Object.Raw, err = json.Marshal(newObj); err != nil {
		return nil, err
	}
	if oldObj != nil {
		request.Operation = admissionv1.Update
		if request.OldObject.Raw, err = json.Marshal(oldObj); err != nil {
			return nil, err
		}
	}
	review := &admissionv1.AdmissionReview{Request: request}
	review.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
	response := handler(review)
	if !response.Allowed {
		return nil, errors.New(response.Result.Message)
	}
	return response, nil
}
