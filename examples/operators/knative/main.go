// Command knative asks Knative Serving's own validation about updates: the cases of fieldlock's catalogue.
// hack/operators runs it.
package main

import (
	"context"

	v1 "knative.dev/serving/pkg/apis/serving/v1"
	"knative.dev/serving/pkg/apis/serving/v1beta1"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
	"github.com/fieldlock/fieldlock/examples/operators/askknative"
)

func main() {
	ask.Main(context.Background(), map[string]ask.Judge{
		"serving.knative.dev/v1 Revision":           askknative.Judge[v1.Revision](),
		"serving.knative.dev/v1 Service":            askknative.Judge[v1.Service](),
		"serving.knative.dev/v1 Configuration":      askknative.Judge[v1.Configuration](),
		"serving.knative.dev/v1 Route":              askknative.Judge[v1.Route](),
		"serving.knative.dev/v1beta1 DomainMapping": askknative.Judge[v1beta1.DomainMapping](),
	})
}
