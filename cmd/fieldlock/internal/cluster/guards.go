package cluster

import (
	"context"
	"encoding/json"
	"slices"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fieldlock/fieldlock/internal/manifest"
)

// Guarded reports whether a validating webhook or policy of the cluster looks at updates of an object's kind. A lock in the
// annotation of a CRD is enforced by nothing else. It returns an error where the user may not read them.
func (c *Cluster) Guarded(ctx context.Context, o *manifest.Object) (bool, error) {
	r, err := c.resourceOf(o)
	if err != nil || r == nil {
		return false, err
	}
	rules, err := c.guards.of(struct{}{}, func() ([]admissionregistration.Rule, error) { return c.updateRules(ctx) })
	return slices.ContainsFunc(rules, func(rule admissionregistration.Rule) bool {
		return matches(rule.APIGroups, r.Group) && matches(rule.Resources, r.Resource)
	}), err
}

// updateRules returns what the webhooks and policies of the cluster say which updates they look at. The version does not
// count: the server converts objects for them.
func (c *Cluster) updateRules(ctx context.Context) ([]admissionregistration.Rule, error) {
	var webhooks admissionregistration.ValidatingWebhookConfigurationList
	if err := c.list(ctx, "validatingwebhookconfigurations", &webhooks); err != nil {
		return nil, err
	}
	var policies admissionregistration.ValidatingAdmissionPolicyList
	if err := c.list(ctx, "validatingadmissionpolicies", &policies); err != nil && !apierrors.IsNotFound(err) { // servers before 1.30
		return nil, err
	}
	var rules []admissionregistration.Rule
	add := func(rule admissionregistration.RuleWithOperations) {
		if slices.Contains(rule.Operations, admissionregistration.Update) || slices.Contains(rule.Operations, admissionregistration.OperationAll) {
			rules = append(rules, rule.Rule)
		}
	}
	for _, configuration := range webhooks.Items {
		for _, webhook := range configuration.Webhooks {
			for _, rule := range webhook.Rules {
				add(rule)
			}
		}
	}
	for _, policy := range policies.Items {
		if policy.Spec.MatchConstraints != nil {
			for _, rule := range policy.Spec.MatchConstraints.ResourceRules {
				add(rule.RuleWithOperations)
			}
		}
	}
	return rules, nil
}

// list reads all objects of a resource of admissionregistration.k8s.io.
func (c *Cluster) list(ctx context.Context, plural string, into any) error {
	found, err := c.objects.Resource(schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: plural}).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	data, err := json.Marshal(found)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// matches reports whether a rule names something, or everything.
func matches(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return n == name || n == "*" || n == "*/*" })
}
