// Command azure asks the webhooks of Cluster API's Azure provider about updates: the cases of fieldlock's catalogue.
// Its module lies below the provider's path, since they are internal packages; hack/operators runs it.
package main

import (
	"context"
	"log"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "sigs.k8s.io/cluster-api-provider-azure/api/v1beta1"
	expv1 "sigs.k8s.io/cluster-api-provider-azure/exp/api/v1beta1"
	expwebhooks "sigs.k8s.io/cluster-api-provider-azure/internal/exp/webhooks"
	"sigs.k8s.io/cluster-api-provider-azure/internal/webhooks"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
	"github.com/fieldlock/fieldlock/examples/operators/askserver"
)

// defaults are those of the CRDs' schemas that hold whatever else an object has.
var defaults = map[string]string{
	"AzureCluster":                    `{"spec": {"controlPlaneEnabled": true}}`,
	"AzureMachine":                    `{"spec": {"identity": "None", "osDisk": {"cachingType": "None", "osType": "Linux"}}}`,
	"AzureMachineTemplate":            `{"spec": {"template": {"spec": {"identity": "None", "osDisk": {"cachingType": "None", "osType": "Linux"}}}}}`,
	"AzureMachinePool":                `{"spec": {"identity": "None", "orchestrationMode": "Uniform", "template": {"osDisk": {"cachingType": "None", "osType": "Linux"}}}}`,
	"AzureManagedControlPlane":        `{"spec": {"loadBalancerSKU": "Standard", "networkPlugin": "azure", "enablePreviewFeatures": false, "virtualNetwork": {"cidrBlock": "10.0.0.0/8", "subnet": {"cidrBlock": "10.240.0.0/16"}}}}`,
	"AzureManagedMachinePool":         `{"spec": {"osDiskType": "Managed", "osType": "Linux", "scaleDownMode": "Delete"}}`,
	"AzureManagedMachinePoolTemplate": `{"spec": {"template": {"spec": {"osDiskType": "Managed", "osType": "Linux", "scaleDownMode": "Delete"}}}}`,
}

// setup registers the webhooks as the provider does.
func setup(manager ctrl.Manager) error {
	for _, webhook := range []interface {
		SetupWebhookWithManager(manager ctrl.Manager) error
	}{
		&webhooks.AzureClusterWebhook{}, &webhooks.AzureClusterTemplateWebhook{},
		&webhooks.AzureClusterIdentityWebhook{},
		&webhooks.AzureMachineWebhook{}, &webhooks.AzureMachineTemplateWebhook{},
		&webhooks.AzureManagedClusterWebhook{}, &webhooks.AzureManagedClusterTemplateWebhook{},
		&webhooks.AzureManagedControlPlaneWebhook{}, &webhooks.AzureManagedControlPlaneTemplateWebhook{},
		&webhooks.AzureManagedMachinePoolWebhook{}, &webhooks.AzureManagedMachinePoolTemplateWebhook{},
		&expwebhooks.AzureMachinePoolWebhook{},
	} {
		if err := webhook.SetupWebhookWithManager(manager); err != nil {
			return err
		}
	}
	return nil
}

// cluster is one in which the machines of a case belong to the cluster and to the pool "pool".
func cluster(o *ctrl.Options) {
	o.NewClient = func(*rest.Config, client.Options) (client.Client, error) {
		owner := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "pool", Namespace: "default"}}
		owner.Spec.InfrastructureRef.Name = "pool"
		azure := &infrav1.AzureCluster{ObjectMeta: owner.ObjectMeta}
		azure.Spec.SubscriptionID = "s"
		pool := &clusterv1.MachinePool{ObjectMeta: owner.ObjectMeta}
		pool.Spec.ClusterName = "pool"
		pool.Spec.Template.Spec.InfrastructureRef.Name = "pool"
		return fake.NewClientBuilder().WithScheme(o.Scheme).WithObjects(owner, azure, pool).Build(), nil
	}
}

func main() {
	ctrl.SetLogger(logr.Discard())
	schemes := runtime.NewSchemeBuilder(infrav1.AddToScheme, expv1.AddToScheme, clusterv1.AddToScheme)
	judges, err := askserver.MutatedJudges(schemes.AddToScheme, setup, cluster)
	if err != nil {
		log.Fatal(err)
	}
	for kind, json := range defaults {
		kind = "infrastructure.cluster.x-k8s.io/v1beta1 " + kind
		judges[kind] = ask.Defaulted(json, judges[kind])
	}
	ask.Main(context.Background(), judges)
}
