// Command aws asks the webhooks of Cluster API's AWS provider about updates: the cases of fieldlock's catalogue. It
// reads a JSON list of {name, old, new} and prints {name: {refused, error}}. hack/operators runs it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	expinfrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/exp/api/v1beta2"
	expwebhooks "sigs.k8s.io/cluster-api-provider-aws/v2/exp/webhooks"
	"sigs.k8s.io/cluster-api-provider-aws/v2/webhooks"
)

type question struct {
	Name     string
	Old, New json.RawMessage
}

type answer struct {
	Refused bool   `json:"refused"`
	Error   string `json:"error,omitempty"`
}

// kind makes an object of a kind, and has its webhook.
type kind struct {
	object  func() runtime.Object
	webhook any
}

var kinds = map[string]kind{
	"AWSMachineTemplate": {func() runtime.Object { return &infrav1.AWSMachineTemplate{} },
		&webhooks.AWSMachineTemplate{}},
	"AWSMachine": {func() runtime.Object { return &infrav1.AWSMachine{} }, &webhooks.AWSMachine{}},
	"AWSCluster": {func() runtime.Object { return &infrav1.AWSCluster{} }, &webhooks.AWSCluster{}},
	"AWSClusterTemplate": {func() runtime.Object { return &infrav1.AWSClusterTemplate{} },
		&webhooks.AWSClusterTemplate{}},
	"AWSClusterControllerIdentity": {func() runtime.Object { return &infrav1.AWSClusterControllerIdentity{} },
		&webhooks.AWSClusterControllerIdentity{}},
	"AWSClusterStaticIdentity": {func() runtime.Object { return &infrav1.AWSClusterStaticIdentity{} },
		&webhooks.AWSClusterStaticIdentity{}},
	"AWSClusterRoleIdentity": {func() runtime.Object { return &infrav1.AWSClusterRoleIdentity{} },
		&webhooks.AWSClusterRoleIdentity{}},
	"AWSManagedMachinePool": {func() runtime.Object { return &expinfrav1.AWSManagedMachinePool{} },
		&expwebhooks.AWSManagedMachinePool{}},
	"AWSFargateProfile": {func() runtime.Object { return &expinfrav1.AWSFargateProfile{} },
		&expwebhooks.AWSFargateProfile{}},
}

// ask answers as the webhooks of a kind do: defaults first, then the validation.
func ask(ctx context.Context, k kind, q question) error {
	oldObj, newObj := k.object(), k.object()
	if err := json.Unmarshal(q.Old, oldObj); err != nil {
		return err
	}
	if err := json.Unmarshal(q.New, newObj); err != nil {
		return err
	}
	if d, ok := k.webhook.(admission.CustomDefaulter); ok {
		if err := d.Default(ctx, oldObj); err != nil {
			return err
		}
		if err := d.Default(ctx, newObj); err != nil {
			return err
		}
	}
	_, err := k.webhook.(admission.CustomValidator).ValidateUpdate(ctx, oldObj, newObj)
	return err
}

func main() {
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	var questions []question
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx := admission.NewContextWithRequest(context.Background(),
		admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Update}})
	answers := map[string]answer{}
	for _, q := range questions {
		var meta metav1.TypeMeta
		if err := json.Unmarshal(q.Old, &meta); err != nil {
			fmt.Fprintln(os.Stderr, q.Name, err)
			os.Exit(1)
		}
		k, ok := kinds[meta.Kind]
		if !ok {
			fmt.Fprintln(os.Stderr, q.Name, "unknown kind")
			os.Exit(1)
		}
		answers[q.Name] = answer{}
		if err := ask(ctx, k, q); err != nil {
			answers[q.Name] = answer{true, err.Error()}
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
