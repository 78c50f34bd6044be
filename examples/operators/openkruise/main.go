// Command openkruise asks OpenKruise's own webhooks about updates: the cases of fieldlock's catalogue. hack/operators runs
// it.
package main

import (
	"context"
	"log"
	"maps"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appsv1alpha1 "github.com/openkruise/kruise/apis/apps/v1alpha1"
	appsv1beta1 "github.com/openkruise/kruise/apis/apps/v1beta1"
	policyv1alpha1 "github.com/openkruise/kruise/apis/policy/v1alpha1"
	cronjobdefaults "github.com/openkruise/kruise/pkg/webhook/advancedcronjob/mutating"
	cronjob "github.com/openkruise/kruise/pkg/webhook/advancedcronjob/validating"
	clonesetdefaults "github.com/openkruise/kruise/pkg/webhook/cloneset/mutating"
	cloneset "github.com/openkruise/kruise/pkg/webhook/cloneset/validating"
	daemonsetdefaults "github.com/openkruise/kruise/pkg/webhook/daemonset/mutating"
	daemonset "github.com/openkruise/kruise/pkg/webhook/daemonset/validating"
	podstate "github.com/openkruise/kruise/pkg/webhook/persistentpodstate/validating"
	probemarker "github.com/openkruise/kruise/pkg/webhook/podprobemarker/validating"
	budget "github.com/openkruise/kruise/pkg/webhook/podunavailablebudget/validating"
	statefulsetdefaults "github.com/openkruise/kruise/pkg/webhook/statefulset/mutating"
	statefulset "github.com/openkruise/kruise/pkg/webhook/statefulset/validating"
	"github.com/openkruise/kruise/pkg/webhook/types"
	spread "github.com/openkruise/kruise/pkg/webhook/workloadspread/validating"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
	"github.com/fieldlock/fieldlock/examples/operators/askserver"
)

// webhooks are the names of a kind's webhooks; mutate is "" for a kind without defaults.
var webhooks = map[schema.GroupVersionKind]struct{ mutate, validate string }{
	apps("v1alpha1", "CloneSet"): {"mutate-apps-kruise-io-v1alpha1-cloneset",
		"validate-apps-kruise-io-v1alpha1-cloneset"},
	apps("v1alpha1", "DaemonSet"): {"mutate-apps-kruise-io-v1alpha1-daemonset",
		"validate-apps-kruise-io-v1alpha1-daemonset"},
	apps("v1beta1", "StatefulSet"): {"mutate-apps-kruise-io-statefulset",
		"validate-apps-kruise-io-statefulset"},
	apps("v1alpha1",
		"AdvancedCronJob"): {"mutate-apps-kruise-io-v1alpha1-advancedcronjob",
		"validate-apps-kruise-io-v1alpha1-advancedcronjob"},
	apps("v1alpha1", "WorkloadSpread"): {"",
		"validate-apps-kruise-io-v1alpha1-workloadspread"},
	apps("v1alpha1", "PersistentPodState"): {"",
		"validate-apps-kruise-io-persistentpodstate"},
	apps("v1alpha1", "PodProbeMarker"): {"", "validate-apps-kruise-io-podprobemarker"},
	policyv1alpha1.SchemeGroupVersion.WithKind("PodUnavailableBudget"): {"",
		"validate-policy-kruise-io-podunavailablebudget"},
}

func apps(version, kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apps.kruise.io", Version: version, Kind: kind}
}

func main() {
	ctrl.SetLogger(logr.Discard())
	handlers := map[string]types.HandlerGetter{}
	for _, of := range []map[string]types.HandlerGetter{
		cronjobdefaults.HandlerGetterMap, cronjob.HandlerGetterMap, clonesetdefaults.HandlerGetterMap,
		cloneset.HandlerGetterMap,
		daemonsetdefaults.HandlerGetterMap, daemonset.HandlerGetterMap, statefulsetdefaults.HandlerGetterMap,
		statefulset.HandlerGetterMap,
		spread.HandlerGetterMap, podstate.HandlerGetterMap, probemarker.HandlerGetterMap, budget.HandlerGetterMap,
	} {
		maps.Copy(handlers, of)
	}
	scheme := runtime.NewScheme()
	schemes := runtime.NewSchemeBuilder(
		appsv1alpha1.AddToScheme, appsv1beta1.AddToScheme, policyv1alpha1.AddToScheme, clientgoscheme.AddToScheme,
	)
	if err := schemes.AddToScheme(scheme); err != nil {
		log.Fatal(err)
	}
	// A cluster without other objects.
	manager, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{
		Scheme: scheme,
		NewClient: func(*rest.Config, client.Options) (client.Client, error) {
			return fake.NewClientBuilder().WithScheme(scheme).Build(), nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	handler := func(name string) askserver.Handler {
		get, ok := handlers[name]
		if !ok {
			return nil
		}
		return askserver.HTTP(&admission.Webhook{Handler: get(manager)})
	}
	judges := map[string]ask.Judge{}
	for gvk, of := range webhooks {
		judge := askserver.MutatedReview(gvk, handler(of.mutate), handler(of.validate))
		judges[gvk.GroupVersion().String()+" "+gvk.Kind] = ask.Defaulted(`{"metadata": {"resourceVersion": "1"}}`,
			judge)
	}
	ask.Main(context.Background(), judges)
}
