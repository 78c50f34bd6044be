// Package askserver asks webhooks that an operator only registers with its manager: it sends admission reviews to the handlers of
// the manager's webhook server, which is not started. No API server is reached.
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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
)

// Judges returns the judges of the kinds in a scheme for which setup registers a validating webhook under its usual path.
func Judges(addToScheme func(*runtime.Scheme) error, setup func(ctrl.Manager) error) (map[string]ask.Judge, error) {
	scheme := runtime.NewScheme()
	if err := addToScheme(scheme); err != nil {
		return nil, err
	}
	manager, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	if err := setup(manager); err != nil {
		return nil, err
	}
	mux := manager.GetWebhookServer().WebhookMux()
	judges := map[string]ask.Judge{}
	for gvk := range scheme.AllKnownTypes() {
		w := webhook{mux, gvk}
		if w.handler("validate") != nil {
			judges[gvk.GroupVersion().String()+" "+gvk.Kind] = ask.Update(w.defaults, w.validate)
		}
	}
	return judges, nil
}

// webhook is the webhooks of a kind.
type webhook struct {
	mux *http.ServeMux
	gvk schema.GroupVersionKind
}

// handler returns the handler of a verb, "mutate" or "validate", or nil.
func (w webhook) handler(verb string) http.Handler {
	path := "/" + verb + "-" + strings.ReplaceAll(w.gvk.Group, ".", "-") + "-" + w.gvk.Version + "-" + strings.ToLower(w.gvk.Kind)
	handler, pattern := w.mux.Handler(httptest.NewRequest(http.MethodPost, path, nil))
	if pattern == "" {
		return nil
	}
	return handler
}

// defaults asks the mutating webhook when an object is created, and not about updates.
func (w webhook) defaults(_ context.Context, newObj, oldObj *map[string]any) error {
	if oldObj != nil {
		return nil
	}
	response, err := w.ask("mutate", newObj, nil)
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

func (w webhook) validate(_ context.Context, newObj, oldObj *map[string]any) error {
	_, err := w.ask("validate", newObj, oldObj)
	return err
}

// ask sends a review. The response is nil without a handler; the error is a refusal.
func (w webhook) ask(verb string, newObj, oldObj *map[string]any) (*admissionv1.AdmissionResponse, error) {
	handler := w.handler(verb)
	if handler == nil {
		return nil, nil
	}
	request := &admissionv1.AdmissionRequest{UID: "1", Kind: metav1.GroupVersionKind(w.gvk), Operation: admissionv1.Create}
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
	review := admissionv1.AdmissionReview{Request: request}
	review.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
	body, err := json.Marshal(review)
	if err != nil {
		return nil, err
	}
	post := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	post.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, post)
	review.Request = nil
	if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil || review.Response == nil {
		return nil, fmt.Errorf("no review: %q: %w", recorder.Body, err)
	}
	if !review.Response.Allowed {
		return nil, errors.New(review.Response.Result.Message)
	}
	return review.Response, nil
}
