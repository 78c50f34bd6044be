// Command eck asks the webhooks of Elastic Cloud on Kubernetes about updates: the cases of fieldlock's catalogue.
// hack/operators runs it. The webhooks find the storage classes "expands" and "fixed", the default, the StatefulSet of
// the node set "a" of the Elasticsearch "e", and an autoscaler of the Elasticsearch "s".
package main

import (
	"context"
	"log"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	agentv1alpha1 "github.com/elastic/cloud-on-k8s/v3/pkg/apis/agent/v1alpha1"
	apmv1 "github.com/elastic/cloud-on-k8s/v3/pkg/apis/apm/v1"
	scalingv1alpha1 "github.com/elastic/cloud-on-k8s/v3/pkg/apis/autoscaling/v1alpha1"
	beatv1beta1 "github.com/elastic/cloud-on-k8s/v3/pkg/apis/beat/v1beta1"
	esv1 "github.com/elastic/cloud-on-k8s/v3/pkg/apis/elasticsearch/v1"
	searchv1 "github.com/elastic/cloud-on-k8s/v3/pkg/apis/enterprisesearch/v1"
	kibanav1 "github.com/elastic/cloud-on-k8s/v3/pkg/apis/kibana/v1"
	logstashv1alpha1 "github.com/elastic/cloud-on-k8s/v3/pkg/apis/logstash/v1alpha1"
	mapsv1alpha1 "github.com/elastic/cloud-on-k8s/v3/pkg/apis/maps/v1alpha1"
	packagesv1alpha1 "github.com/elastic/cloud-on-k8s/v3/pkg/apis/packageregistry/v1alpha1"
	"github.com/elastic/cloud-on-k8s/v3/pkg/controller/agent"
	"github.com/elastic/cloud-on-k8s/v3/pkg/controller/autoscaling/elasticsearch/validation"
	"github.com/elastic/cloud-on-k8s/v3/pkg/controller/common/license"
	"github.com/elastic/cloud-on-k8s/v3/pkg/controller/common/webhook"
	elasticsearch "github.com/elastic/cloud-on-k8s/v3/pkg/controller/elasticsearch/validation"
	logstash "github.com/elastic/cloud-on-k8s/v3/pkg/controller/logstash/validation"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
	"github.com/fieldlock/fieldlock/examples/operators/askserver"
)

// setup registers the webhooks as the operator does, under paths that are all alike.
func setup(manager ctrl.Manager) error {
	checker := license.NewLicenseChecker(manager.GetClient(), "elastic-system")
	webhook.RegisterResourceWebhook(manager, apmv1.WebhookPath, checker, nil, nil, apmv1.Validate, "ApmServer")
	webhook.RegisterResourceWebhook(manager, beatv1beta1.WebhookPath, checker, nil, nil, beatv1beta1.Validate, "Beat")
	webhook.RegisterResourceWebhook(manager, searchv1.WebhookPath, checker, nil, nil, searchv1.Validate,
		"EnterpriseSearch")
	webhook.RegisterResourceWebhook(manager, kibanav1.WebhookPath, checker, nil, nil, kibanav1.Validate, "Kibana")
	webhook.RegisterResourceWebhook(manager, "/validate-maps-k8s-elastic-co-v1alpha1-elasticmapsserver", checker, nil,
		nil, mapsv1alpha1.Validate, "ElasticMapsServer")
	webhook.RegisterResourceWebhook(manager, "/validate-packageregistry-k8s-elastic-co-v1alpha1-packageregistry",
		checker, nil, nil, packagesv1alpha1.Validate, "PackageRegistry")
	elasticsearch.RegisterWebhook(manager, true, nil, checker, nil, nil)
	validation.RegisterWebhook(manager, true, checker, nil, nil)
	logstash.RegisterWebhook(manager, true, nil, nil)
	agent.RegisterWebhook(manager, checker, nil, nil)
	return nil
}

// cluster holds what the webhooks read.
func cluster(*rest.Config, client.Options) (client.Client, error) {
	expands := true
	claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "elasticsearch-data"}}
	autoscaler := &scalingv1alpha1.ElasticsearchAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "default",
		Name: "s"}}
	autoscaler.Spec.ElasticsearchRef.Name = "s"
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	return fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "expands"}, AllowVolumeExpansion: &expands},
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{
			Name: "fixed", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
		}},
		&appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "e-es-a"},
			Spec:       appsv1.StatefulSetSpec{VolumeClaimTemplates: []corev1.PersistentVolumeClaim{claim}},
		},
		autoscaler,
	).Build(), nil
}

func main() {
	schemes := runtime.NewSchemeBuilder(
		scheme.AddToScheme, agentv1alpha1.AddToScheme, apmv1.AddToScheme, scalingv1alpha1.AddToScheme,
		beatv1beta1.AddToScheme,
		esv1.AddToScheme, searchv1.AddToScheme, kibanav1.AddToScheme, logstashv1alpha1.AddToScheme,
		mapsv1alpha1.AddToScheme,
		packagesv1alpha1.AddToScheme,
	)
	judges, err := askserver.Judges(schemes.AddToScheme, setup, func(o *ctrl.Options) { o.NewClient = cluster })
	if err != nil {
		log.Fatal(err)
	}
	ask.Main(context.Background(), judges)
}
