// Command vsphere asks the webhooks of Cluster API's vSphere provider about updates: the cases of fieldlock's
// catalogue. Its module lies below the provider's path, since they are internal packages; hack/operators runs it.
package main

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"sigs.k8s.io/cluster-api-provider-vsphere/internal/webhooks"
	"sigs.k8s.io/cluster-api-provider-vsphere/internal/webhooks/vmware"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
)

func main() {
	request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Update}}
	judges := map[string]ask.Judge{}
	for kind, judge := range map[string]ask.Judge{
		"infrastructure.cluster.x-k8s.io/v1beta2 VSphereMachineTemplate":        ask.Webhook(&webhooks.VSphereMachineTemplate{}),
		"infrastructure.cluster.x-k8s.io/v1beta2 VSphereClusterTemplate":        ask.Webhook(&webhooks.VSphereClusterTemplate{}),
		"infrastructure.cluster.x-k8s.io/v1beta2 VSphereMachine":                ask.Webhook(&webhooks.VSphereMachine{}),
		"infrastructure.cluster.x-k8s.io/v1beta2 VSphereVM":                     ask.Webhook(&webhooks.VSphereVM{}),
		"infrastructure.cluster.x-k8s.io/v1beta2 VSphereFailureDomain":          ask.Webhook(&webhooks.VSphereFailureDomain{}),
		"vmware.infrastructure.cluster.x-k8s.io/v1beta2 VSphereMachineTemplate": ask.Webhook(&vmware.VSphereMachineTemplate{}),
		"vmware.infrastructure.cluster.x-k8s.io/v1beta2 VSphereMachine":         ask.Webhook(&vmware.VSphereMachine{}),
		"vmware.infrastructure.cluster.x-k8s.io/v1beta2 VSphereCluster":         ask.Webhook(&vmware.VSphereCluster{}),
	} {
		judges[kind] = judge
	}
	ask.Main(admission.NewContextWithRequest(context.Background(), request), judges)
}
