package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// parallel is how many objects are fetched at the same time.
const parallel = 8

// Fetch fetches the objects that manifests are about to change, in their order. Each error is about one object.
func (c *Cluster) Fetch(ctx context.Context, objects []*manifest.Object, step func()) ([]Live, []error) {
	live, errs := make([]Live, len(objects)), make([]error, len(objects))
	slots := make(chan struct{}, parallel)
	var group sync.WaitGroup
	for i, o := range objects {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if live[i], errs[i] = c.fetch(ctx, o); errs[i] != nil {
				errs[i] = o.Mistake(nil, "the cluster cannot be asked for it: %v", errs[i])
			}
			step()
		})
	}
	group.Wait()
	return live, errs
}

func (c *Cluster) fetch(ctx context.Context, o *manifest.Object) (Live, error) {
	if o.Generated() {
		return Live{}, nil
	}
	r, err := c.resourceOf(o)
	if err != nil {
		return Live{}, err
	}
	if r == nil {
		return Live{Unserved: true}, nil
	}
	client := dynamic.ResourceInterface(c.objects.Resource(r.GroupVersionResource))
	if r.namespaced {
		client = c.objects.Resource(r.GroupVersionResource).Namespace(cmp.Or(o.Namespace,
			o.AppliedBy.Namespace, c.namespace))
	}
	found, err := client.Get(ctx, o.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Live{}, nil
	}
	if err != nil {
		return Live{}, err
	}
	return c.predict(ctx, client, r, found, written(o, found, r))
}

// written returns the manifest of an object as a client sends it: without the fields that only the server writes, with
// which an exported object would be refused for another reason than its locks.
func written(o *manifest.Object, live *unstructured.Unstructured, r *resource) *unstructured.Unstructured {
	u := (&unstructured.Unstructured{Object: o.Value()}).DeepCopy()
	for _, field := range [...]string{"managedFields", "resourceVersion", "uid", "creationTimestamp",
		"generation", "selfLink"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	if r.status {
		delete(u.Object, "status")
	}
	if live.GetNamespace() != "" {
		u.SetNamespace(live.GetNamespace())
	}
	return u
}

// CRD reads the CRD that defines the kind of an object; nil for a kind without one.
func (c *Cluster) CRD(ctx context.Context, o *manifest.Object) (*yamldoc.Document, error) {
	r, err := c.resourceOf(o)
	if r == nil || err != nil || r.Group == "" {
		return nil, err
	}
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}
	found, err := c.objects.Resource(crds).Get(ctx, r.Resource+"."+r.Group, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("--live: the CRD of %s cannot be read, give it with --schema: %w", o.Kind, err)
	}
	return Document(found.Object), nil
}

// Guarded reports whether a validating webhook or policy of the cluster looks at updates of an object's kind. A lock in
// the annotation of a CRD is enforced by nothing else. It returns an error where the user may not read them.
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

// updateRules returns what the webhooks and policies of the cluster say which updates they look at. The version does
// not count: the server converts objects for them.
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
		if slices.Contains(rule.Operations, admissionregistration.Update) ||
			slices.Contains(rule.Operations, admissionregistration.OperationAll) {
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
	found, err := c.objects.Resource(schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1",
		Resource: plural}).List(ctx, metav1.ListOptions{})
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
