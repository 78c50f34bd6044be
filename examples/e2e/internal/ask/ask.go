// Package ask creates objects on an API server, applies changes to them, and writes down what the server says.
package ask

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
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

	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// Server is an API server that answers cases.
type Server struct {
	client dynamic.Interface
	mapper meta.RESTMapper
	custom sync.Map // the resources of CRDs, by schema.GroupKind
}

// New connects to an API server and makes what objects in a namespace need: the namespace, and the service account of
// the Pods.
func New(ctx context.Context, config *rest.Config, namespace string) (*Server, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	groups, err := restmapper.GetAPIGroupResources(found)
	if err != nil {
		return nil, err
	}
	s := &Server{client: client, mapper: restmapper.NewDiscoveryRESTMapper(groups)}
	for _, needed := range []map[string]any{
		{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}},
		{"apiVersion": "v1", "kind": "ServiceAccount",
			"metadata": map[string]any{"name": "default", "namespace": namespace}},
	} {
		if err := s.apply(ctx, needed); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Served reports whether the server has the kind of an object.
func (s *Server) Served(obj map[string]any) bool {
	_, _, err := s.resource(obj)
	return err == nil
}

// Ask creates the old object of a case, applies the new one, and removes it. The name of the object gets a suffix, so
// that cases do not meet. It returns an error if anything but the apply fails.
func (s *Server) Ask(ctx context.Context, c kindcase.Case, suffix string) (kindcase.Answer, error) {
	rename(c.Old, suffix)
	rename(c.New, suffix)
	return s.Update(ctx, c.New, c.Old, c.ClientSide)
}

// Update creates oldObj, applies newObj over it, and removes the object. It returns an error if anything but the second
// apply fails; ErrNotValid when the server refuses oldObj.
func (s *Server) Update(ctx context.Context, newObj, oldObj map[string]any, clientSide bool) (kindcase.Answer, error) {
	by := method(clientSide)
	if err := s.Request(ctx, by, oldObj, nil); err != nil {
		return kindcase.Answer{}, errors.Join(ErrNotValid, fmt.Errorf("creating the old object: %w", err))
	}
	defer s.Remove(context.WithoutCancel(ctx), oldObj)
	if oldObj["kind"] == "CustomResourceDefinition" {
		if err := s.Established(ctx, oldObj); err != nil {
			return kindcase.Answer{}, err
		}
	}
	err := s.Request(ctx, by, newObj, oldObj)
	if err == nil {
		return kindcase.Answer{}, nil
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code >= 500 {
		return kindcase.Answer{}, err
	}
	return answer(status.Status()), nil
}

// ErrNotValid is in the error of Update when the server refuses the old object.
var ErrNotValid = errors.New("the object is not valid")

// Valid reports whether the server would create obj. Nothing is stored.
func (s *Server) Valid(ctx context.Context, obj map[string]any, clientSide bool) error {
	return s.Request(ctx, method(clientSide), obj, nil, metav1.DryRunAll)
}

func method(clientSide bool) tool.Method {
	if clientSide {
		return tool.ClientSide
	}
	return tool.ServerSide
}

// Request sends newObj as tools do by a method: as an update of what they sent before, oldObj, or as a new object if
// that is nil. With metav1.DryRunAll nothing is stored.
func (s *Server) Request(ctx context.Context, by tool.Method, newObj, oldObj map[string]any, dryRun ...string) error {
	if by == tool.ClientSide {
		newObj = withLastApplied(newObj)
	}
	switch {
	case by == tool.ServerSide:
		return s.apply(ctx, newObj, dryRun...)
	case oldObj == nil:
		return s.create(ctx, newObj, dryRun...)
	case by == tool.Replace:
		return s.replace(ctx, newObj, dryRun...)
	}
	return s.applyClientSide(ctx, newObj, oldObj, dryRun...)
}

// answer keeps what is the same in each run: no values, no differences.
func answer(status metav1.Status) kindcase.Answer {
	a := kindcase.Answer{Refused: true}
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			a.Causes = append(a.Causes, kindcase.Cause{Field: cause.Field, Message: short(cause.Message)})
		}
	}
	if len(a.Causes) == 0 {
		a.Error = short(status.Message)
	}
	return a
}

// short keeps the kind of an error and the end of its first line: what is between them is the value.
func short(message string) string {
	const start, end = 40, 280
	if strings.HasPrefix(message, "Forbidden") {
		message, _, _ = strings.Cut(message, "\n")
	}
	if len(message) > start+end {
		message = message[:start] + "…" + message[len(message)-end:]
	}
	return strings.ToValidUTF8(message, "")
}

// fixedNames lists the kinds whose names follow from their specs.
func fixedName(kind any) bool {
	switch kind {
	case "CustomResourceDefinition", "APIService", "IPAddress", "CSIDriver":
		return true
	}
	return false
}

func rename(obj map[string]any, suffix string) {
	if metadata, ok := obj["metadata"].(map[string]any); ok && !fixedName(obj["kind"]) {
		metadata["name"] = fmt.Sprintf("%s-%s", metadata["name"], suffix)
	}
}

func (s *Server) resource(obj map[string]any) (dynamic.ResourceInterface, string, error) {
	u := &unstructured.Unstructured{Object: obj}
	gvk := schema.FromAPIVersionAndKind(u.GetAPIVersion(), u.GetKind())
	var of schema.GroupVersionResource
	if plural, ok := s.custom.Load(gvk.GroupKind()); ok {
		of = gvk.GroupVersion().WithResource(plural.(string))
	} else {
		mapping, err := s.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return nil, "", err
		}
		of = mapping.Resource
	}
	if namespace := u.GetNamespace(); namespace != "" {
		return s.client.Resource(of).Namespace(namespace), u.GetName(), nil
	}
	return s.client.Resource(of), u.GetName(), nil
}

func (s *Server) apply(ctx context.Context, obj map[string]any, dryRun ...string) error {
	resource, name, err := s.resource(obj)
	if err != nil {
		return err
	}
	_, err = resource.Apply(ctx, name, &unstructured.Unstructured{Object: obj},
		metav1.ApplyOptions{FieldManager: "case", Force: true, DryRun: dryRun})
	return err
}

// replace sends a PUT of obj over the object that is there.
func (s *Server) replace(ctx context.Context, obj map[string]any, dryRun ...string) error {
	resource, name, err := s.resource(obj)
	if err != nil {
		return err
	}
	live, err := resource.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	put := (&unstructured.Unstructured{Object: obj}).DeepCopy()
	put.SetResourceVersion(live.GetResourceVersion())
	_, err = resource.Update(ctx, put,
		metav1.UpdateOptions{FieldManager: "case", FieldValidation: metav1.FieldValidationIgnore, DryRun: dryRun})
	return err
}

// Remove deletes an object together with its finalizers and waits until it is gone.
func (s *Server) Remove(ctx context.Context, obj map[string]any) {
	resource, name, err := s.resource(obj)
	if err != nil {
		return
	}
	grace := int64(0)
	for range 1000 {
		if err := resource.Delete(ctx, name,
			metav1.DeleteOptions{GracePeriodSeconds: &grace}); apierrors.IsNotFound(err) {
			return
		}
		if obj["kind"] == "Namespace" {
			return // a controller that the test server does not have empties it
		}
		if obj["kind"] != "CustomResourceDefinition" { // the API server itself runs its finalizer
			_, _ = resource.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`),
				metav1.PatchOptions{})
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Bare removes from a CRD what asks for programs that the server does not have, and what keeps the server from taking
// it.
func Bare(crd map[string]any) {
	spec, _ := crd["spec"].(map[string]any)
	delete(spec, "conversion")
	delete(crd, "status")
	metadata, _ := crd["metadata"].(map[string]any)
	crd["metadata"] = map[string]any{"name": metadata["name"],
		"annotations": map[string]any{"api-approved.kubernetes.io": "unapproved, experimental"}}
	versions, _ := spec["versions"].([]any)
	for _, v := range versions {
		delete(v.(map[string]any), "selectableFields")
	}
}

// Established waits until a CRD is served: only then its names are fixed. The server answers for its objects from then
// on.
func (s *Server) Established(ctx context.Context, obj map[string]any) error {
	resource, name, err := s.resource(obj)
	if err != nil {
		return err
	}
	for range 500 {
		stored, err := resource.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(stored.Object, "status", "conditions")
		for _, c := range conditions {
			if condition, ok := c.(map[string]any); ok && condition["type"] == "Established" &&
				condition["status"] == "True" {
				return s.serves(ctx, stored.Object)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errors.New("the CRD is not established after 10 s")
}

// serves waits until the server answers for the objects of an established CRD, and remembers their resource.
func (s *Server) serves(ctx context.Context, crd map[string]any) error {
	group, _, _ := unstructured.NestedString(crd, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd, "spec", "names", "kind")
	plural, _, _ := unstructured.NestedString(crd, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(crd, "spec", "versions")
	s.custom.Store(schema.GroupKind{Group: group, Kind: kind}, plural)
	for _, v := range versions {
		if v, ok := v.(map[string]any); ok && v["served"] == true {
			of := schema.GroupVersionResource{Group: group, Version: fmt.Sprint(v["name"]), Resource: plural}
			var err error
			for range 100 {
				if _, err = s.client.Resource(of).List(ctx, metav1.ListOptions{Limit: 1}); err == nil {
					return nil
				}
				time.Sleep(20 * time.Millisecond)
			}
			return err
		}
	}
	return nil // it serves none
}
