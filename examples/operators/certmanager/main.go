// Command certmanager asks cert-manager's own webhook about updates: the cases of fieldlock's catalogue. It reads a
// JSON list of {name, old, new} and prints {name: {refused, error}}. Its module lies below cert-manager's path, since
// the webhook's packages are internal; hack/operators runs it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	acmeinstall "github.com/cert-manager/cert-manager/internal/apis/acme/install"
	cminstall "github.com/cert-manager/cert-manager/internal/apis/certmanager/install"
	metainstall "github.com/cert-manager/cert-manager/internal/apis/meta/install"
	"github.com/cert-manager/cert-manager/internal/webhook/admission/certificaterequest/identity"
	"github.com/cert-manager/cert-manager/internal/webhook/admission/resourcevalidation"
	"github.com/cert-manager/cert-manager/pkg/webhook/admission"
)

type question struct {
	Name     string
	Old, New json.RawMessage
}

type answer struct {
	Refused bool   `json:"refused"`
	Error   string `json:"error,omitempty"`
}

func main() {
	var questions []question
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scheme := runtime.NewScheme()
	cminstall.Install(scheme)
	acmeinstall.Install(scheme)
	metainstall.Install(scheme)
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer() // as the webhook decodes: without defaults
	decode := func(data []byte) (runtime.Object, error) {
		obj, err := runtime.Decode(decoder, data)
		if err != nil {
			return nil, err
		}
		return scheme.UnsafeConvertToVersion(obj, runtime.InternalGroupVersioner)
	}
	validators := []admission.ValidationInterface{
		resourcevalidation.NewPlugin().(admission.ValidationInterface),
		identity.NewPlugin().(admission.ValidationInterface),
	}
	answers := map[string]answer{}
	for _, q := range questions {
		oldObj, err := decode(q.Old)
		if err != nil {
			fmt.Fprintln(os.Stderr, q.Name, err)
			os.Exit(1)
		}
		newObj, err := decode(q.New)
		if err != nil {
			answers[q.Name] = answer{true, err.Error()}
			continue
		}
		var meta metav1.TypeMeta
		if err := json.Unmarshal(q.New, &meta); err != nil {
			fmt.Fprintln(os.Stderr, q.Name, err)
			os.Exit(1)
		}
		gvk := meta.GroupVersionKind()
		request := admissionv1.AdmissionRequest{
			Operation: admissionv1.Update,
			Kind:      metav1.GroupVersionKind(gvk),
			Resource:  metav1.GroupVersionResource{Group: gvk.Group, Version: gvk.Version, Resource: strings.ToLower(gvk.Kind) + "s"},
		}
		var errs []string
		for _, v := range validators {
			if _, err := v.Validate(context.Background(), request, oldObj, newObj); err != nil {
				errs = append(errs, err.Error())
			}
		}
		answers[q.Name] = answer{len(errs) > 0, strings.Join(errs, "; ")}
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
