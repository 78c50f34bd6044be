// Command certmanager asks cert-manager's own webhook about updates: the cases of fieldlock's catalogue. Its module
// lies below cert-manager's path, since the webhook's packages are internal; hack/operators runs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	acmeinstall "github.com/cert-manager/cert-manager/internal/apis/acme/install"
	cminstall "github.com/cert-manager/cert-manager/internal/apis/certmanager/install"
	metainstall "github.com/cert-manager/cert-manager/internal/apis/meta/install"
	"github.com/cert-manager/cert-manager/internal/webhook/admission/certificaterequest/identity"
	"github.com/cert-manager/cert-manager/internal/webhook/admission/resourcevalidation"
	"github.com/cert-manager/cert-manager/pkg/webhook/admission"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
)

func main() {
	scheme := runtime.NewScheme()
	cminstall.Install(scheme)
	acmeinstall.Install(scheme)
	metainstall.Install(scheme)
	judges := map[string]ask.Judge{}
	for gvk := range scheme.AllKnownTypes() {
		judges[gvk.GroupVersion().String()+" "+gvk.Kind] = judge(scheme, gvk)
	}
	ask.Main(context.Background(), judges)
}

// judge returns what the webhook's plugins say about updates of a kind. The webhook decodes without defaults.
func judge(scheme *runtime.Scheme, gvk schema.GroupVersionKind) ask.Judge {
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	decode := func(data []byte) (runtime.Object, error) {
		obj, err := runtime.Decode(decoder, data)
		if err != nil {
			return nil, err
		}
		return scheme.UnsafeConvertToVersion(obj, runtime.InternalGroupVersioner)
	}
	request := admissionv1.AdmissionRequest{
		Operation: admissionv1.Update,
		Kind:      metav1.GroupVersionKind(gvk),
		Resource: metav1.GroupVersionResource{Group: gvk.Group, Version: gvk.Version,
			Resource: strings.ToLower(gvk.Kind) + "s"},
	}
	return func(ctx context.Context, newJSON, oldJSON []byte) error {
		oldObj, err := decode(oldJSON)
		if err != nil {
			return fmt.Errorf("the old object: %w", err)
		}
		newObj, err := decode(newJSON)
		if err != nil {
			return err
		}
		var refusals []error
		for _, v := range []admission.ValidationInterface{
			resourcevalidation.NewPlugin().(admission.ValidationInterface),
			identity.NewPlugin().(admission.ValidationInterface),
		} {
			_, err := v.Validate(ctx, request, oldObj, newObj)
			refusals = append(refusals, err)
		}
		return errors.Join(refusals...)
	}
}
