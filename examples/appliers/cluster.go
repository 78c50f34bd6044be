package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
)

const namespace = "appliers"

// cluster is an API server without controllers.
type cluster struct {
	config *rest.Config
	client dynamic.Interface
	mapper meta.RESTMapper
}

func connect(kubeconfig string) (*cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 1000, 1000
	client, err := dynamic.NewForConfig(config)
	return &cluster{config: config, client: client}, err
}

// prepare makes what the cases need: a namespace with the account of Pods, and CRDs.
func (c *cluster) prepare(ctx context.Context, crds string) error {
	if err := c.discover(); err != nil {
		return err
	}
	needed := []map[string]any{
		{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}},
		{"apiVersion": "v1", "kind": "ServiceAccount",
			"metadata": map[string]any{"name": "default", "namespace": namespace}},
	}
	text, err := os.ReadFile(crds)
	if err != nil {
		return err
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var crd map[string]any
		if err := yaml.Unmarshal([]byte(document), &crd); err != nil {
			return err
		}
		needed = append(needed, kindcase.Clone(crd).(map[string]any))
	}
	for _, obj := range needed {
		resource, err := c.resource(obj)
		if err != nil {
			return err
		}
		u := &unstructured.Unstructured{Object: obj}
		if _, err := resource.Apply(ctx, u.GetName(), u,
			metav1.ApplyOptions{FieldManager: "prepare", Force: true}); err != nil {
			return err
		}
		if obj["kind"] == "CustomResourceDefinition" {
			if err := c.established(ctx, obj); err != nil {
				return err
			}
		}
	}
	// Releases of an earlier run would be taken for those of this one.
	secrets := c.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(namespace)
	if err := secrets.DeleteCollection(ctx, metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: "owner=helm"}); err != nil {
		return err
	}
	return c.discover()
}

// discover reads which kinds the server has.
func (c *cluster) discover() error {
	found, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		return err
	}
	groups, err := restmapper.GetAPIGroupResources(found)
	if err != nil {
		return err
	}
	c.mapper = restmapper.NewDiscoveryRESTMapper(groups)
	return nil
}

// established waits until a CRD is served, in all its versions.
func (c *cluster) established(ctx context.Context, crd map[string]any) error {
	spec := crd["spec"].(map[string]any)
	names := spec["names"].(map[string]any)
	var err error
	for range 500 {
		err = nil
		for _, version := range spec["versions"].([]any) {
			name, _ := version.(map[string]any)["name"].(string)
			resource := schema.GroupVersionResource{Group: spec["group"].(string), Version: name,
				Resource: names["plural"].(string)}
			_, listed := c.client.Resource(resource).List(ctx, metav1.ListOptions{})
			err = errors.Join(err, listed)
		}
		if err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

func (c *cluster) resource(obj map[string]any) (dynamic.ResourceInterface, error) {
	u := &unstructured.Unstructured{Object: obj}
	gvk := schema.FromAPIVersionAndKind(u.GetAPIVersion(), u.GetKind())
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return c.client.Resource(mapping.Resource).Namespace(u.GetNamespace()), nil
	}
	return c.client.Resource(mapping.Resource), nil
}

// update lets a tool create the old object of a case and apply the new one, and returns the server's reason for
// refusing the second, "" if it was accepted. The name of the object ends with suffix.
func (c *cluster) update(ctx context.Context, t tool, one kindcase.Case, suffix string) (string, error) {
	newObj, oldObj := c.named(one.New, suffix), c.named(one.Old, suffix)
	if err := t.create(ctx, suffix, clone(oldObj)); err != nil {
		return "", fmt.Errorf("creating the old object: %w", err)
	}
	defer c.remove(context.WithoutCancel(ctx), oldObj)
	if oldObj["kind"] == "CustomResourceDefinition" {
		if err := c.established(ctx, oldObj); err != nil {
			return "", err
		}
	}
	err := t.apply(ctx, suffix, clone(newObj))
	if err == nil {
		return "", nil
	}
	return reason(err, suffix), nil
}

// named returns an object in the namespace of the cases, with a suffix at its name, unless its name follows from its
// spec.
func (c *cluster) named(obj map[string]any, suffix string) map[string]any {
	obj = clone(obj)
	metadata := obj["metadata"].(map[string]any)
	u := unstructured.Unstructured{Object: obj}
	gvk := schema.FromAPIVersionAndKind(u.GetAPIVersion(), u.GetKind())
	if mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version); err == nil &&
		mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		metadata["namespace"] = namespace
	}
	if obj["kind"] != "CustomResourceDefinition" {
		metadata["name"] = fmt.Sprintf("%s-%s", metadata["name"], suffix)
	}
	return obj
}

func clone(obj map[string]any) map[string]any { return kindcase.Clone(obj).(map[string]any) }

// reason returns the server's words, without what differs between tools and runs: names, uids, addresses and long
// values.
func reason(err error, suffix string) string {
	text := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		text = status.Status().Message
	}
	text = strings.ReplaceAll(text, "-"+suffix, "")
	text = strings.ReplaceAll(text, "\n* ", " ")
	for _, before := range []string{" is invalid: ", " is forbidden: ", "Operation cannot be fulfilled on "} {
		if _, after, found := strings.Cut(text, before); found {
			text = after
		}
	}
	text = uids.ReplaceAllString(strings.Join(strings.Fields(text), " "), "UID")
	text = addresses.ReplaceAllString(text, "ADDRESS")
	const start, end = 120, 80
	if len(text) > start+end {
		text = text[:start] + "…" + text[len(text)-end:]
	}
	return strings.ToValidUTF8(text, "")
}

var (
	uids      = regexp.MustCompile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
	addresses = regexp.MustCompile(`10\.0\.0\.[0-9]+`) // that the server has chosen
)

// remove deletes an object together with its finalizers and waits until it is gone.
func (c *cluster) remove(ctx context.Context, obj map[string]any) {
	resource, err := c.resource(obj)
	if err != nil {
		return
	}
	u := unstructured.Unstructured{Object: obj}
	grace := int64(0)
	for range 300 {
		if err := resource.Delete(ctx, u.GetName(),
			metav1.DeleteOptions{GracePeriodSeconds: &grace}); apierrors.IsNotFound(err) {
			return
		}
		if obj["kind"] == "Namespace" {
			return // a controller that the test server does not have empties it
		}
		if obj["kind"] != "CustomResourceDefinition" { // the API server itself runs its finalizer
			_, _ = resource.Patch(ctx, u.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`),
				metav1.PatchOptions{})
		}
		time.Sleep(20 * time.Millisecond)
	}
}
