package controllerruntime

import (
	"errors"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/fieldlock/fieldlock/immutability/admission"
	"github.com/fieldlock/fieldlock/immutability/admission/loader"
)

// TestWatcher: the registry follows a CRD from its creation to its deletion; a mistake keeps the last good locks.
func TestWatcher(t *testing.T) {
	s := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	names := apiextensionsv1.CustomResourceDefinitionNames{Kind: "Database", Plural: "databases"}
	object := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "databases.example.com", Annotations: map[string]string{
			"fieldlock.dev/locks": `{"v1":{"/properties/spec/properties/engine":{"x-kubernetes-immutable":true}}}`}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Names: names, Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {Type: "object",
						Properties: map[string]apiextensionsv1.JSONSchemaProps{"engine": {Type: "string"}}}}}}}},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{AcceptedNames: names},
	}
	cluster := fake.NewClientBuilder().WithScheme(s).WithObjects(object).Build()
	registry := &admission.Registry{}
	w := &watcher{reader: cluster, registry: registry, crds: loader.New()}
	if err := registry.Ready(); !errors.Is(err, admission.ErrNotLoaded) {
		t.Errorf("before the start: %v", err)
	}
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	kind := schema.GroupKind{Group: "example.com", Kind: "Database"}
	locked := func() bool {
		_, ok, err := registry.Find(kind.WithVersion("v1"), schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "databases"}, "")
		return ok && err == nil
	}
	if err := registry.Ready(); err != nil || !locked() {
		t.Errorf("after the start: %v, locked %t", err, locked())
	}
	reconcile := func() {
		t.Helper()
		if _, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: object.Name}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := cluster.Get(t.Context(), types.NamespacedName{Name: object.Name}, object); err != nil {
		t.Fatal(err)
	}
	object.Annotations["fieldlock.dev/locks"] = "{"
	if err := cluster.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	reconcile()
	if !locked() || registry.Faults()[kind] == nil {
		t.Errorf("a mistake: locked %t, faults %v", locked(), registry.Faults())
	}
	if err := cluster.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	reconcile()
	if locked() || len(registry.Kinds()) != 0 || len(registry.Faults()) != 0 {
		t.Errorf("deleted: kinds %v, faults %v", registry.Kinds(), registry.Faults())
	}
}
