package apiserver_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/admission/apiserver"
)

// The update strategy of one resource enforces the locks of its kind. In a registry.Store:
//
//	store.UpdateStrategy = locked(strategy, validator, scheme)
//	store.ResetFieldsStrategy = strategy // as before: the wrapper adds nothing to it
func ExampleNewUpdateStrategy() {
	locked := func(strategy rest.RESTUpdateStrategy, v *immutability.Validator, scheme *runtime.Scheme) (rest.RESTUpdateStrategy, error) {
		kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
		locks, err := apiserver.NewLocks(v, kind, scheme)
		if err != nil {
			return nil, err
		}
		return apiserver.NewUpdateStrategy(strategy, locks)
	}
	_, err := locked(strategy{}, nil, nil)
	fmt.Println(err)
	// Output: the locks have no validator: compile the schema of the kind
}

func ExampleOrder() {
	// In an API server: options.Admission.RecommendedPluginOrder = apiserver.Order(options.Admission.RecommendedPluginOrder)
	fmt.Println(apiserver.Order([]string{"NamespaceLifecycle", "MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"}))
	// Output: [NamespaceLifecycle MutatingAdmissionWebhook FieldImmutability ValidatingAdmissionWebhook]
}
