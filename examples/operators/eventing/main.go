// Command eventing asks Knative Eventing's own validation about updates: the cases of fieldlock's catalogue.
// hack/operators runs it.
package main

import (
	"context"

	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"
	eventingv1alpha1 "knative.dev/eventing/pkg/apis/eventing/v1alpha1"
	eventingv1beta1 "knative.dev/eventing/pkg/apis/eventing/v1beta1"
	eventingv1beta2 "knative.dev/eventing/pkg/apis/eventing/v1beta2"
	eventingv1beta3 "knative.dev/eventing/pkg/apis/eventing/v1beta3"
	flowsv1 "knative.dev/eventing/pkg/apis/flows/v1"
	messagingv1 "knative.dev/eventing/pkg/apis/messaging/v1"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
	"github.com/fieldlock/fieldlock/examples/operators/askknative"
)

func main() {
	ask.Main(context.Background(), map[string]ask.Judge{
		"eventing.knative.dev/v1 Broker":               askknative.Judge[eventingv1.Broker](),
		"eventing.knative.dev/v1 Trigger":              askknative.Judge[eventingv1.Trigger](),
		"eventing.knative.dev/v1alpha1 EventPolicy":    askknative.Judge[eventingv1alpha1.EventPolicy](),
		"eventing.knative.dev/v1alpha1 EventTransform": askknative.Judge[eventingv1alpha1.EventTransform](),
		"eventing.knative.dev/v1beta1 EventType":       askknative.Judge[eventingv1beta1.EventType](),
		"eventing.knative.dev/v1beta2 EventType":       askknative.Judge[eventingv1beta2.EventType](),
		"eventing.knative.dev/v1beta3 EventType":       askknative.Judge[eventingv1beta3.EventType](),
		"messaging.knative.dev/v1 Channel":             askknative.Judge[messagingv1.Channel](),
		"messaging.knative.dev/v1 InMemoryChannel":     askknative.Judge[messagingv1.InMemoryChannel](),
		"messaging.knative.dev/v1 Subscription":        askknative.Judge[messagingv1.Subscription](),
		"flows.knative.dev/v1 Parallel":                askknative.Judge[flowsv1.Parallel](),
		"flows.knative.dev/v1 Sequence":                askknative.Judge[flowsv1.Sequence](),
	})
}
