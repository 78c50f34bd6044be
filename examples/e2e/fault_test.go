package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/fieldlock/fieldlock/immutability/admission"
)

// failurePolicies are what a webhook's configuration says about a webhook that does not answer.
var failurePolicies = []struct {
	policy admissionregistrationv1.FailurePolicyType
	stored string // the class after an update that breaks a lock, while the webhook is away
}{
	{admissionregistrationv1.Fail, "gold"},
	{admissionregistrationv1.Ignore, "silver"},
}

// A webhook that is down: Fail refuses every update, Ignore lets every update through, also those that break a lock.
func TestWebhookDown(t *testing.T) {
	for _, c := range failurePolicies {
		t.Run(string(c.policy), func(t *testing.T) {
			w := newWorldNamed(t, "widgets.yaml", "down-"+string(c.policy))
			h := newHook(t, w.locksHandler())
			w.register(h, func(webhook *admissionregistrationv1.ValidatingWebhook) { webhook.FailurePolicy = &c.policy })
			w.create("w")
			h.stop()
			w.checkAway(t, c.policy, c.stored)
			h.start()
			checkVerdict(t, w.setClass("bronze"), []string{"spec.class"})
		})
	}
}

// A webhook that does not answer in time is as one that is down.
func TestWebhookSlow(t *testing.T) {
	for _, c := range failurePolicies {
		t.Run(string(c.policy), func(t *testing.T) {
			w := newWorldNamed(t, "widgets.yaml", "slow-"+string(c.policy))
			var slow atomic.Bool
			locks := w.locksHandler()
			h := newHook(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if slow.Load() {
					// The body is read to the end so that the server notices when the client gives up, which is
					// what ends this: it takes as long as the API server waits, however long that is.
					_, _ = io.Copy(io.Discard, r.Body)
					<-r.Context().Done()
					return
				}
				locks.ServeHTTP(rw, r)
			}))
			second := int32(1)
			w.register(h, func(webhook *admissionregistrationv1.ValidatingWebhook) {
				webhook.FailurePolicy = &c.policy
				webhook.TimeoutSeconds = &second
			})
			w.create("w")
			slow.Store(true)
			w.checkAway(t, c.policy, c.stored)
		})
	}
}

func (w *world) setClass(class string) error {
	_, err := w.widgets().Patch(w.ctx, "w", types.MergePatchType, []byte(`{"spec": {"class": "`+class+`"}}`), metav1.PatchOptions{})
	return err
}

// checkAway updates a locked field while the webhook does not answer.
func (w *world) checkAway(t *testing.T, policy admissionregistrationv1.FailurePolicyType, stored string) {
	t.Helper()
	err := w.setClass("silver")
	if policy == admissionregistrationv1.Fail && !apierrors.IsInternalError(err) {
		t.Errorf("failurePolicy Fail: got %v, want an internal error", err)
	}
	if policy == admissionregistrationv1.Ignore && err != nil {
		t.Errorf("failurePolicy Ignore: the update was refused: %v", err)
	}
	if got := at(w.get("w"), "spec", "class"); got != stored {
		t.Errorf("the stored class is %v, want %s", got, stored)
	}
}

// A webhook that has just started and has not read the CRDs yet answers, and refuses what it cannot check.
func TestWebhookNotLoaded(t *testing.T) {
	w := newWorld(t, "widgets.yaml")
	loaded := w.registry
	w.registry = &admission.Registry{}
	handlers := [2]http.Handler{w.locksHandler()}
	w.registry = loaded
	handlers[1] = w.locksHandler()
	var which atomic.Int32
	h := newHook(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { handlers[which.Load()].ServeHTTP(rw, r) }))
	w.register(h, nil)
	w.create("w")
	_, err := w.widgets().Patch(w.ctx, "w", types.MergePatchType, []byte(`{"spec": {"size": 4}}`), metav1.PatchOptions{})
	if err == nil {
		t.Errorf("an update that could not be checked was accepted")
	}
	if got := at(w.get("w"), "spec", "size"); got != int64(3) {
		t.Errorf("the stored size is %v, want 3", got)
	}
	which.Store(1)
	if _, err := w.widgets().Patch(w.ctx, "w", types.MergePatchType, []byte(`{"spec": {"size": 4}}`), metav1.PatchOptions{}); err != nil {
		t.Errorf("the same update with the locks loaded: %v", err)
	}
}

// Warn and Audit let through what breaks a lock; with the status code of the proposal a refusal is 400 Bad Request.
func TestWebhookModes(t *testing.T) {
	w := newWorld(t, "widgets.yaml")
	var handler atomic.Pointer[http.Handler]
	set := func(h http.Handler) { handler.Store(&h) }
	set(w.locksHandler())
	h := newHook(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { (*handler.Load()).ServeHTTP(rw, r) }))
	w.register(h, nil)
	w.create("w")

	set(w.locksHandler(admission.WithStatusCode(http.StatusBadRequest)))
	if err := w.setClass("silver"); !apierrors.IsBadRequest(err) {
		t.Errorf("with BadRequest: got %v, want 400", err)
	}
	set(w.locksHandler(admission.WithMode(admission.ModeWarn)))
	warnings := &warningList{}
	config := *cluster.config
	config.WarningHandler = warnings
	err := kubernetes.NewForConfigOrDie(&config).RESTClient().Patch(types.MergePatchType).
		AbsPath("/apis/" + w.group + "/v1/namespaces/default/widgets/w").Body([]byte(`{"spec": {"class": "silver"}}`)).Do(w.ctx).Error()
	if err != nil {
		t.Errorf("in mode Warn the update was refused: %v", err)
	}
	if len(*warnings) != 1 || !bytes.Contains([]byte((*warnings)[0]), []byte("spec.class")) {
		t.Errorf("the warnings are %q, want one that names spec.class", *warnings)
	}
	set(w.locksHandler(admission.WithMode(admission.ModeAudit)))
	if err := w.setClass("bronze"); err != nil {
		t.Errorf("in mode Audit the update was refused: %v", err)
	}
	if got := at(w.get("w"), "spec", "class"); got != "bronze" {
		t.Errorf("the stored class is %v, want bronze", got)
	}
}

// Locks see an update as mutating admission leaves it: what a mutating webhook changes in a locked field is refused,
// and what it puts back is no change.
func TestMutatingAdmission(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		patch        string // of the mutating webhook
		update       string
		paths        []string
	}{
		{
			name: "changes", reason: "webhooks may not change a locked field either",
			patch: `[{"op": "replace", "path": "/spec/class", "value": "mutated"}]`, update: `{"spec": {"size": 9}}`,
			paths: []string{"spec.class"},
		},
		{
			name: "restores", reason: "the user's change never reaches the locks",
			patch: `[{"op": "replace", "path": "/spec/class", "value": "gold"}]`, update: `{"spec": {"class": "silver", "size": 9}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorldNamed(t, "widgets.yaml", "mutating-"+c.name)
			w.enforce()
			w.create("w")
			w.mutate(newHook(t, mutator(c.patch)))
			_, err := w.widgets().Patch(w.ctx, "w", types.MergePatchType, []byte(c.update), metav1.PatchOptions{})
			checkVerdict(t, err, c.paths)
			if got := at(w.get("w"), "spec", "class"); got != "gold" {
				t.Errorf("the stored class is %v, want gold: %s", got, c.reason)
			}
		})
	}
}

// mutator answers every update with a JSON patch.
func mutator(patch string) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
			http.Error(rw, "no AdmissionReview", http.StatusBadRequest)
			return
		}
		kind := admissionv1.PatchTypeJSONPatch
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, Patch: []byte(patch), PatchType: &kind}
		review.Request = nil
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write(mustJSON(review))
	})
}

// mutate has h called for every update of the world's group, and waits until it is.
func (w *world) mutate(h *hook) {
	w.t.Helper()
	url := "https://" + h.address + "/mutate"
	none := admissionregistrationv1.SideEffectClassNone
	webhook := admissionregistrationv1.MutatingWebhook{
		Name:         "mutate." + w.group,
		ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: h.bundle},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{w.group}, APIVersions: []string{"*"}, Resources: []string{"*"}},
		}},
		SideEffects:             &none,
		AdmissionReviewVersions: []string{"v1"},
	}
	configurations := kubernetes.NewForConfigOrDie(cluster.config).AdmissionregistrationV1().MutatingWebhookConfigurations()
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: webhook.Name},
		Webhooks:   []admissionregistrationv1.MutatingWebhook{webhook},
	}
	if _, err := configurations.Create(w.ctx, configuration, metav1.CreateOptions{}); err != nil {
		w.t.Fatalf("registering the mutating webhook: %v", err)
	}
	w.t.Cleanup(func() { _ = configurations.Delete(context.Background(), webhook.Name, metav1.DeleteOptions{}) })
	w.eventually("the mutating webhook is called", func() error {
		before := h.calls.Load()
		_, _ = w.widgets().Patch(w.ctx, "w", types.MergePatchType, []byte(`{"spec": {"size": 8}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if h.calls.Load() == before {
			return errNotCalled
		}
		return nil
	})
}
