// Command clusterapi asks Cluster API's own webhooks about updates: the cases of fieldlock's catalogue. It reads a JSON
// list of {name, old, new} and prints {name: {refused, error}}. Its module lies below Cluster API's path, as in the
// other versions, whose webhooks are internal packages; hack/operators runs it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1beta1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	bootstrap "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks/admission"
	controlplane "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/admission"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/conversion"
	core "sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/cluster-api/feature"
)

type question struct {
	Name     string
	Old, New json.RawMessage
}

type answer struct {
	Refused bool   `json:"refused"`
	Error   string `json:"error,omitempty"`
}

// judge decodes both objects, and answers as the webhooks of their kind do: defaults first, then the validation.
type judge func(ctx context.Context, oldJSON, newJSON []byte) error

// webhook makes the judge of a kind.
func webhook[T runtime.Object](make func() T, decode func([]byte, T) error, v admission.Validator[T]) judge {
	return func(ctx context.Context, oldJSON, newJSON []byte) error {
		oldObj, newObj := make(), make()
		if err := decode(oldJSON, oldObj); err != nil {
			return err
		}
		if err := decode(newJSON, newObj); err != nil {
			return err
		}
		if d, ok := v.(admission.Defaulter[T]); ok {
			if err := d.Default(ctx, oldObj); err != nil {
				return err
			}
			if err := d.Default(ctx, newObj); err != nil {
				return err
			}
		}
		_, err := v.ValidateUpdate(ctx, oldObj, newObj)
		return err
	}
}

func plain[T any](data []byte, obj T) error { return json.Unmarshal(data, obj) }

// converted decodes a KubeadmControlPlane of v1beta1 and converts it, as the API server has it done before it asks.
func converted(data []byte, obj *controlplanev1.KubeadmControlPlane) error {
	src := &controlplanev1beta1.KubeadmControlPlane{}
	if err := json.Unmarshal(data, src); err != nil {
		return err
	}
	return conversion.ConvertKubeadmControlPlaneV1Beta1ToHub(context.Background(), src, obj)
}

func newObject[T any]() *T { return new(T) }

// judges are the kinds that the cases are about.
func judges() map[string]judge {
	return map[string]judge{
		"cluster.x-k8s.io/v1beta2 Machine": webhook(newObject[clusterv1.Machine],
			plain[*clusterv1.Machine], &core.Machine{}),
		"cluster.x-k8s.io/v1beta2 MachineSet": webhook(newObject[clusterv1.MachineSet],
			plain[*clusterv1.MachineSet], &core.MachineSet{}),
		"cluster.x-k8s.io/v1beta2 MachineDeployment": webhook(newObject[clusterv1.MachineDeployment],
			plain[*clusterv1.MachineDeployment], &core.MachineDeployment{}),
		"cluster.x-k8s.io/v1beta2 MachinePool": webhook(newObject[clusterv1.MachinePool],
			plain[*clusterv1.MachinePool], &core.MachinePool{}),
		"cluster.x-k8s.io/v1beta2 MachineHealthCheck": webhook(newObject[clusterv1.MachineHealthCheck],
			plain[*clusterv1.MachineHealthCheck], &core.MachineHealthCheck{}),
		"addons.cluster.x-k8s.io/v1beta2 ClusterResourceSet": webhook(newObject[addonsv1.ClusterResourceSet],
			plain[*addonsv1.ClusterResourceSet], &core.ClusterResourceSet{}),
		"addons.cluster.x-k8s.io/v1beta2 ClusterResourceSetBinding": webhook(newObject[addonsv1.ClusterResourceSetBinding], plain[*addonsv1.ClusterResourceSetBinding], &core.ClusterResourceSetBinding{}),
		"ipam.cluster.x-k8s.io/v1beta2 IPAddress": webhook(newObject[ipamv1.IPAddress],
			plain[*ipamv1.IPAddress], &core.IPAddress{}),
		"ipam.cluster.x-k8s.io/v1beta2 IPAddressClaim": webhook(newObject[ipamv1.IPAddressClaim],
			plain[*ipamv1.IPAddressClaim], &core.IPAddressClaim{}),
		"bootstrap.cluster.x-k8s.io/v1beta2 KubeadmConfigTemplate":          webhook(newObject[bootstrapv1.KubeadmConfigTemplate], plain[*bootstrapv1.KubeadmConfigTemplate], &bootstrap.KubeadmConfigTemplate{}),
		"bootstrap.cluster.x-k8s.io/v1beta2 KubeadmConfig":                  webhook(newObject[bootstrapv1.KubeadmConfig], plain[*bootstrapv1.KubeadmConfig], &bootstrap.KubeadmConfig{}),
		"controlplane.cluster.x-k8s.io/v1beta2 KubeadmControlPlane":         webhook(newObject[controlplanev1.KubeadmControlPlane], plain[*controlplanev1.KubeadmControlPlane], &controlplane.KubeadmControlPlane{}),
		"controlplane.cluster.x-k8s.io/v1beta1 KubeadmControlPlane":         webhook(newObject[controlplanev1.KubeadmControlPlane], converted, &controlplane.KubeadmControlPlane{}),
		"controlplane.cluster.x-k8s.io/v1beta2 KubeadmControlPlaneTemplate": webhook(newObject[controlplanev1.KubeadmControlPlaneTemplate], plain[*controlplanev1.KubeadmControlPlaneTemplate], &controlplane.KubeadmControlPlaneTemplate{}),
	}
}

func main() {
	var questions []question
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := feature.MutableGates.Set("MachinePool=true"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// The defaults of replicas would read the old object from the request; they lock nothing.
	ctx := admission.NewContextWithRequest(context.Background(),
		admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Create}})
	known := judges()
	answers := map[string]answer{}
	for _, q := range questions {
		var meta metav1.TypeMeta
		if err := json.Unmarshal(q.Old, &meta); err != nil {
			fmt.Fprintln(os.Stderr, q.Name, err)
			os.Exit(1)
		}
		judge, ok := known[meta.APIVersion+" "+meta.Kind]
		if !ok {
			continue // another version has the kind
		}
		answers[q.Name] = answer{}
		if err := judge(ctx, q.Old, q.New); err != nil {
			answers[q.Name] = answer{true, err.Error()}
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
