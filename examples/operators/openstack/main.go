// Command openstack asks the webhooks of Cluster API's OpenStack provider about updates: the cases of fieldlock's
// catalogue. hack/operators runs it.
package main

import (
	"context"
	"errors"
	"log"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"

	"sigs.k8s.io/cluster-api-provider-openstack/api/v1alpha1"
	"sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"
	"sigs.k8s.io/cluster-api-provider-openstack/pkg/webhooks"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
	"github.com/fieldlock/fieldlock/examples/operators/askserver"
)

func main() {
	schemes := runtime.NewSchemeBuilder(v1alpha1.AddToScheme, v1beta1.AddToScheme)
	judges, err := askserver.Judges(schemes.AddToScheme, func(manager ctrl.Manager) error {
		return errors.Join(webhooks.RegisterAllWithManager(manager)...)
	})
	if err != nil {
		log.Fatal(err)
	}
	ask.Main(context.Background(), judges)
}
