// Command rabbitmq asks the webhooks of RabbitMQ's Messaging Topology Operator about updates: the cases of fieldlock's
// catalogue. Its module lies below the operator's path, since they are internal packages; hack/operators runs it.
package main

import (
	"context"

	"github.com/rabbitmq/messaging-topology-operator/internal/webhook/v1alpha1"
	"github.com/rabbitmq/messaging-topology-operator/internal/webhook/v1beta1"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
)

// queue has the webhooks of Queue.
type queue struct {
	v1beta1.QueueCustomDefaulter
	v1beta1.QueueCustomValidator
}

// The CRDs' schemas have these defaults.
const (
	vhost       = `{"spec": {"vhost": "/"}}`
	exchange    = `{"spec": {"vhost": "/", "type": "direct"}}`
	superStream = `{"spec": {"vhost": "/", "partitions": 3}}`
)

func main() {
	ask.Main(context.Background(), map[string]ask.Judge{
		"rabbitmq.com/v1beta1 Queue": ask.Defaulted(vhost, ask.WebhookOnce(&queue{})),
		"rabbitmq.com/v1beta1 Exchange": ask.Defaulted(exchange,
			ask.Webhook(&v1beta1.ExchangeCustomValidator{})),
		"rabbitmq.com/v1beta1 Binding": ask.Defaulted(vhost, ask.Webhook(&v1beta1.BindingCustomValidator{})),
		"rabbitmq.com/v1beta1 Policy":  ask.Defaulted(vhost, ask.Webhook(&v1beta1.PolicyCustomValidator{})),
		"rabbitmq.com/v1beta1 OperatorPolicy": ask.Defaulted(vhost,
			ask.Webhook(&v1beta1.OperatorPolicyCustomValidator{})),
		"rabbitmq.com/v1beta1 Federation": ask.Defaulted(vhost,
			ask.Webhook(&v1beta1.FederationCustomValidator{})),
		"rabbitmq.com/v1beta1 Shovel":            ask.Defaulted(vhost, ask.Webhook(&v1beta1.ShovelCustomValidator{})),
		"rabbitmq.com/v1beta1 Vhost":             ask.Webhook(&v1beta1.VhostCustomValidator{}),
		"rabbitmq.com/v1beta1 User":              ask.Webhook(&v1beta1.UserCustomValidator{}),
		"rabbitmq.com/v1beta1 SchemaReplication": ask.Webhook(&v1beta1.SchemaReplicationCustomValidator{}),
		"rabbitmq.com/v1beta1 Permission":        ask.Webhook(&v1beta1.PermissionCustomValidator{}),
		"rabbitmq.com/v1beta1 TopicPermission":   ask.Webhook(&v1beta1.TopicPermissionCustomValidator{}),
		"rabbitmq.com/v1alpha1 SuperStream": ask.Defaulted(superStream,
			ask.Webhook(&v1alpha1.SuperStreamCustomValidator{})),
	})
}
