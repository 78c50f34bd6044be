// Command instances is a webhook on KUDO Instances, like KUDO's own: it refuses what the parameters of the operator do
// not allow (KEP-30, KEP-36), and stores the defaults of immutable parameters in the Instance. It needs a
// MutatingWebhookConfiguration for CREATE and UPDATE of instances.kudo.dev, a certificate where controller-runtime
// looks for one, and the right to get operatorversions.
package main

import (
	"context"
	"log"
	"maps"
	"net/http"

	"gomodules.xyz/jsonpatch/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
)

func main() {
	server := webhook.NewServer(webhook.Options{})
	server.Register("/instances", handler(dynamic.NewForConfigOrDie(ctrl.GetConfigOrDie())))
	log.Fatal(server.Start(ctrl.SetupSignalHandler()))
}

var operatorVersions = schema.GroupVersionResource{Group: "kudo.dev", Version: "v1beta1", Resource: "operatorversions"}

func handler(client dynamic.Interface) http.Handler {
	return &admission.Webhook{Handler: admission.HandlerFunc(func(ctx context.Context,
		request admission.Request) admission.Response {
		find := func(ctx context.Context, name string) (*kudo.OperatorVersion, error) {
			object, err := client.Resource(operatorVersions).Namespace(request.Namespace).Get(ctx, name,
				metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			data, err := object.MarshalJSON()
			if err != nil {
				return nil, err
			}
			return kudo.ReadOperatorVersion(data)
		}
		admitted, err := kudo.Review(ctx, request.Object.Raw, request.OldObject.Raw, find)
		if err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
		if err := admitted.Err(); err != nil {
			return admission.Denied(err.Error())
		}
		requested, err := kudo.ReadInstance(request.Object.Raw)
		if err != nil || maps.Equal(requested.Parameters.Texts(), admitted.Resulting.Texts()) {
			return admission.Allowed("")
		}
		return admission.Patched("", jsonpatch.NewOperation("add", "/spec/parameters", admitted.Resulting.Texts()))
	})}
}
