package controllerruntime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fieldlock/fieldlock/immutability/admission"
	"github.com/fieldlock/fieldlock/immutability/admission/controllerruntime"
	"github.com/fieldlock/fieldlock/immutability/admission/loader"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/openapi"
	"github.com/fieldlock/fieldlock/immutability/typed"
)

var _ ctrladmission.Validator[*appsv1.Deployment] = (*controllerruntime.Validator[*appsv1.Deployment])(nil)

var deployments = appsv1.SchemeGroupVersion.WithKind("Deployment")

// deploymentLocks has a lock for each direction: swapped arguments would let one update through and refuse another.
func deploymentLocks(t *testing.T) *typed.Validator[appsv1.Deployment] {
	t.Helper()
	document, err := openapi.Read("schema.json", []byte(`{"type": "object", "properties": {"spec": {"type": "object", "properties": {
		"replicas": {"type": "integer", "x-fieldlock-update": ["NoUnset"]},
		"progressDeadlineSeconds": {"type": "integer", "x-fieldlock-update": ["NoSet"]}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	v, err := document.Compile(document.Root)
	if err != nil {
		t.Fatal(err)
	}
	locks, err := typed.Compile[appsv1.Deployment](v)
	if err != nil {
		t.Fatal(err)
	}
	return locks
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := appsv1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

func request(oldSpec, newSpec string) ctrladmission.Request {
	object := func(spec string) runtime.RawExtension {
		return runtime.RawExtension{Raw: []byte(`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}, "spec": ` + spec + `}`)}
	}
	return ctrladmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: "1", Operation: admissionv1.Update, Name: "web", Namespace: "shop", OldObject: object(oldSpec), Object: object(newSpec),
		Kind:     metav1.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		Resource: metav1.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
		UserInfo: authenticationv1.UserInfo{Username: "jane"},
	}}
}

// webhooks answer the same requests by a Validator and by the raw handler.
func webhooks(t *testing.T, opts ...admission.Option) map[string]ctrladmission.Handler {
	t.Helper()
	locks := deploymentLocks(t)
	ofType, err := controllerruntime.NewValidator(locks, deployments, opts...)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := typed.CompileObjects(locks.Untyped(), deployments, scheme(t))
	if err != nil {
		t.Fatal(err)
	}
	ofObjects, err := controllerruntime.ForObjects[*appsv1.Deployment](objects, opts...)
	if err != nil {
		t.Fatal(err)
	}
	registry := &admission.Registry{}
	registry.Put(admission.Kind{GroupKind: deployments.GroupKind(), Resource: "deployments", Versions: map[string]admission.Version{"v1": {Validator: locks.Untyped()}}})
	registry.SetComplete()
	raw, err := controllerruntime.NewHandler(registry, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]ctrladmission.Handler{
		"Go type": ctrladmission.WithValidator(scheme(t), ofType), "objects": ctrladmission.WithValidator(scheme(t), ofObjects),
		"raw": &ctrladmission.Webhook{Handler: raw},
	}
}

// TestWebhook sends requests through controller-runtime.
func TestWebhook(t *testing.T) {
	for _, row := range []struct {
		name, reason     string
		oldSpec, newSpec string
		opts             []admission.Option
		refused          string // field of the only cause
		warning          string
	}{
		{name: "set", reason: "only unsetting is locked", oldSpec: `{}`, newSpec: `{"replicas": 1}`},
		{name: "unset", reason: "the old object is the one that has it", oldSpec: `{"replicas": 1}`, newSpec: `{}`, refused: "spec.replicas"},
		{name: "set what may not be set", reason: "the other direction", oldSpec: `{}`, newSpec: `{"progressDeadlineSeconds": 1}`, refused: "spec.progressDeadlineSeconds"},
		{name: "unset what may be unset", reason: "the other direction", oldSpec: `{"progressDeadlineSeconds": 1}`, newSpec: `{}`},
		{name: "warned", reason: "locks are tried out", oldSpec: `{"replicas": 1}`, newSpec: `{}`, opts: []admission.Option{admission.WithMode(admission.ModeWarn)}, warning: "spec.replicas: field is immutable"},
		{name: "exempt", reason: "the request says who updates", oldSpec: `{"replicas": 1}`, newSpec: `{}`, opts: []admission.Option{admission.WithExemptions(admission.Exemptions{Users: []string{"jane"}})}},
	} {
		for name, webhook := range webhooks(t, row.opts...) {
			t.Run(row.name+"/"+name, func(t *testing.T) {
				answer := webhook.Handle(t.Context(), request(row.oldSpec, row.newSpec))
				if answer.Allowed != (row.refused == "") {
					t.Fatalf("allowed %t, %+v: %s", answer.Allowed, answer.Result, row.reason)
				}
				if text := strings.Join(answer.Warnings, "\n"); (text != "") != (row.warning != "") || !strings.Contains(text, row.warning) {
					t.Errorf("warnings %q, want %q", text, row.warning)
				}
				if row.refused == "" {
					return
				}
				result := answer.Result
				if result.Code != 422 || result.Reason != metav1.StatusReasonInvalid || result.Details == nil || result.Details.Name != "web" ||
					len(result.Details.Causes) != 1 || result.Details.Causes[0].Field != row.refused || !strings.Contains(result.Message, "field is immutable") {
					text, _ := json.Marshal(result)
					t.Errorf("%s, want 422 Invalid with the cause %s", text, row.refused)
				}
			})
		}
	}
}

// TestDirectCalls: a Validator is called in a unit test, without a request.
func TestDirectCalls(t *testing.T) {
	v, err := controllerruntime.NewValidator(deploymentLocks(t), deployments)
	if err != nil {
		t.Fatal(err)
	}
	one := int32(1)
	set := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DeploymentSpec{Replicas: &one}}
	unset := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	if _, err := v.ValidateUpdate(t.Context(), set, unset); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `Deployment.apps "web" is invalid`) {
		t.Errorf("unset: %v", err)
	}
	if _, err := v.ValidateUpdate(t.Context(), unset, set); err != nil {
		t.Errorf("set: %v", err)
	}
	for name, call := range map[string]func() error{
		"a nil old object": func() error { _, err := v.ValidateUpdate(t.Context(), nil, set); return err },
		"a nil new object": func() error { _, err := v.ValidateUpdate(t.Context(), set, nil); return err },
		"the zero Validator": func() error {
			_, err := (&controllerruntime.Validator[*appsv1.Deployment]{}).ValidateUpdate(t.Context(), set, set)
			return err
		},
		"a nil Validator": func() error {
			_, err := (*controllerruntime.Validator[*appsv1.Deployment])(nil).ValidateUpdate(t.Context(), set, set)
			return err
		},
	} {
		if err := call(); !apierrors.IsInternalError(err) {
			t.Errorf("%s: %v, want an internal error", name, err)
		}
	}
	if _, err := v.ValidateCreate(t.Context(), set); err != nil {
		t.Error(err)
	}
	if _, err := v.ValidateDelete(t.Context(), set); err != nil {
		t.Error(err)
	}
}

// TestMistakes: mistakes show when the webhook is built.
func TestMistakes(t *testing.T) {
	locks := deploymentLocks(t)
	for name, call := range map[string]func() error{
		"no locks": func() error {
			_, err := controllerruntime.NewValidator[appsv1.Deployment](nil, deployments)
			return err
		},
		"no kind": func() error { _, err := controllerruntime.NewValidator(locks, schema.GroupVersionKind{}); return err },
		"a wrong mode": func() error {
			_, err := controllerruntime.NewValidator(locks, deployments, admission.WithMode("x"))
			return err
		},
		"no objects":       func() error { _, err := controllerruntime.ForObjects[*appsv1.Deployment](nil); return err },
		"no version":       func() error { _, err := controllerruntime.ForCRD[*appsv1.Deployment](nil, nil); return err },
		"no registry":      func() error { _, err := controllerruntime.NewHandler(nil); return err },
		"nothing to watch": func() error { return controllerruntime.Watch(nil, nil, nil) },
	} {
		if call() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

const databases = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: databases.example.com}
spec:
  group: example.com
  names: {kind: Database, plural: databases}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              engine: {type: string, x-kubernetes-immutable: true}
`

// TestCRD: a compiled CRD checks unstructured objects.
func TestCRD(t *testing.T) {
	crds, err := crd.Read("crd.yaml", []byte(databases))
	if err != nil {
		t.Fatal(err)
	}
	v, err := controllerruntime.ForCRD[*unstructured.Unstructured](crds[0].Versions[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	object := func(engine string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Database",
			"metadata": map[string]any{"name": "a"}, "spec": map[string]any{"engine": engine}}}
	}
	if _, err := v.ValidateUpdate(t.Context(), object("a"), object("b")); !apierrors.IsInvalid(err) {
		t.Errorf("changed: %v", err)
	}
	if _, err := v.ValidateUpdate(t.Context(), object("a"), object("a")); err != nil {
		t.Errorf("unchanged: %v", err)
	}
	other := object("a")
	other.SetKind("Gadget")
	var status apierrors.APIStatus
	if _, err := v.ValidateUpdate(t.Context(), other, other); !errors.As(err, &status) || status.Status().Code != 500 {
		t.Errorf("another kind: %v", err)
	}
}

// TestMetrics: answers are counted by decision and lock.
func TestMetrics(t *testing.T) {
	registerer := prometheus.NewRegistry()
	registry := &admission.Registry{}
	counts := controllerruntime.NewMetrics(registry)
	if err := registerer.Register(counts); err != nil {
		t.Fatal(err)
	}
	v, err := controllerruntime.NewValidator(deploymentLocks(t), deployments, counts.Option())
	if err != nil {
		t.Fatal(err)
	}
	webhook := ctrladmission.WithValidator(scheme(t), v)
	webhook.Handle(t.Context(), request(`{"replicas": 1}`, `{}`))
	webhook.Handle(t.Context(), request(`{"replicas": 1}`, `{"replicas": 2}`))
	families, err := registerer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, m := range family.Metric {
			key := family.GetName()
			for _, label := range m.Label {
				if label.GetName() == "decision" || label.GetName() == "lock" {
					key += " " + label.GetValue()
				}
			}
			if m.Counter != nil {
				got[key] += m.Counter.GetValue()
			}
		}
	}
	for key, want := range map[string]float64{
		"fieldlock_admission_requests_total refused": 1, "fieldlock_admission_requests_total allowed": 1,
		"fieldlock_admission_violations_total NoUnset": 1,
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v: %v", key, got[key], want, got)
		}
	}
}

// TestCRDOfGoType: a CRD checks objects of a Go type, and, in a registry, the raw bytes of requests.
func TestCRDOfGoType(t *testing.T) {
	document := []byte(strings.NewReplacer("databases.example.com", "deployments.apps", "example.com", "apps", "Database", "Deployment", "databases", "deployments",
		"engine: {type: string", "paused: {type: boolean").Replace(databases))
	crds, err := crd.Read("crd.yaml", document)
	if err != nil {
		t.Fatal(err)
	}
	v, err := controllerruntime.ForCRD[*appsv1.Deployment](crds[0].Versions[0], scheme(t))
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := loader.New().Read("crd.yaml", document)
	if err != nil {
		t.Fatal(err)
	}
	registry := &admission.Registry{}
	registry.Put(kinds...)
	registry.SetComplete()
	raw, err := controllerruntime.NewHandler(registry)
	if err != nil {
		t.Fatal(err)
	}
	for name, webhook := range map[string]ctrladmission.Handler{"Go type": ctrladmission.WithValidator(scheme(t), v), "raw": raw} {
		if answer := webhook.Handle(t.Context(), request(`{}`, `{"paused": true}`)); answer.Allowed || answer.Result.Code != 422 {
			t.Errorf("%s: a locked field is set: %+v", name, answer)
		}
		if answer := webhook.Handle(t.Context(), request(`{"paused": true}`, `{"paused": true, "replicas": 2}`)); !answer.Allowed {
			t.Errorf("%s: a free field is set: %+v", name, answer.Result)
		}
	}
}

// TestZeroMetrics: the zero Metrics and nil count nothing and change no answer.
func TestZeroMetrics(t *testing.T) {
	for name, counts := range map[string]*controllerruntime.Metrics{"zero": {}, "nil": nil} {
		if err := prometheus.NewRegistry().Register(counts); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		v, err := controllerruntime.NewValidator(deploymentLocks(t), deployments, counts.Option())
		if err != nil {
			t.Fatal(err)
		}
		if answer := ctrladmission.WithValidator(scheme(t), v).Handle(t.Context(), request(`{"replicas": 1}`, `{}`)); answer.Allowed {
			t.Errorf("%s: allowed", name)
		}
	}
}

func ExampleForCRD() {
	// In a program: ctrl.NewWebhookManagedBy(manager, &appsv1.Deployment{}).WithValidator(updates).Complete()
	crds, err := crd.Read("crd.yaml", []byte(databases))
	if err != nil {
		panic(err)
	}
	updates, err := controllerruntime.ForCRD[*unstructured.Unstructured](crds[0].Versions[0], nil)
	if err != nil {
		panic(err)
	}
	object := func(engine string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Database",
			"metadata": map[string]any{"name": "orders"}, "spec": map[string]any{"engine": engine}}}
	}
	_, err = updates.ValidateUpdate(context.Background(), object("postgres"), object("mysql"))
	fmt.Println(err)
	// Output: Database.example.com "orders" is invalid: spec.engine: Invalid value: "mysql": field is immutable
}
