package cluster

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/fieldlock/fieldlock/internal/manifest"
)

// Helm 3, and Helm 4 for releases that were not installed by server-side apply, merge three ways: the manifest of the
// release that is deployed, the new one, and the object as it is (helm.sh/helm/v3 v3.22.0, pkg/kube/client.go:
// createPatch).

// helmManagers are the managers of objects that Helm writes: Helm itself, and Flux's helm-controller.
var helmManagers = [...]string{"helm", "helm-controller"}

// Helm's annotations name the release that an object is part of.
const (
	releaseName      = "meta.helm.sh/release-name"
	releaseNamespace = "meta.helm.sh/release-namespace"
)

// writtenByHelm reports whether Helm made an entry of managedFields, by updates. Programs that embed Helm write under
// their own names, and the annotations all the same.
func writtenByHelm(entry *metav1.ManagedFieldsEntry, fields map[string]any) bool {
	if entry.Operation != metav1.ManagedFieldsOperationUpdate {
		return false
	}
	metadata, _ := fields["f:metadata"].(map[string]any)
	annotations, _ := metadata["f:annotations"].(map[string]any)
	_, annotated := annotations["f:"+releaseName]
	return annotated || slices.Contains(helmManagers[:], entry.Manager)
}

// lastRelease returns what Helm calls the original: the object in the manifest of the release that is deployed. If the
// release cannot be read, it is what Helm has written of the live object; nil if it has written nothing.
func (c *Cluster) lastRelease(ctx context.Context, r *resource, live *unstructured.Unstructured,
	manager string) ([]byte, error) {
	of := release{live.GetAnnotations()[releaseNamespace], live.GetAnnotations()[releaseName]}
	if of.name == "" {
		return c.owned(r, live, manager)
	}
	objects, err := c.releases.of(of, func() ([]*manifest.Object, error) { return c.deployed(ctx, of) })
	if err != nil || objects == nil {
		return c.owned(r, live, manager)
	}
	for _, o := range objects {
		if o.Group == r.kind.Group && o.Kind == r.kind.Kind && o.Name == live.GetName() &&
			(!r.namespaced || o.Namespace == live.GetNamespace() || o.Namespace == "") {
			original := (&unstructured.Unstructured{Object: o.Value()}).DeepCopy()
			original.SetNamespace(live.GetNamespace())
			return encoded(original)
		}
	}
	return encoded(live) // Helm takes what is there for the original
}

// release names a release of Helm.
type release struct{ namespace, name string }

// deployed reads the objects of a release from the Secret in which Helm stores it. It returns nil if no release has
// that name.
func (c *Cluster) deployed(ctx context.Context, of release) ([]*manifest.Object, error) {
	secrets := c.objects.Resource(schema.GroupVersionResource{Version: "v1",
		Resource: "secrets"}).Namespace(of.namespace)
	selector := "owner=helm,name=" + of.name
	found, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: selector + ",status=deployed"})
	if err == nil && len(found.Items) == 0 { // it failed from the beginning
		found, err = secrets.List(ctx, metav1.ListOptions{LabelSelector: selector})
	}
	if err != nil || len(found.Items) == 0 {
		return nil, err
	}
	last := slices.MaxFunc(found.Items, func(a, b unstructured.Unstructured) int { return revision(a) - revision(b) })
	text, _, _ := unstructured.NestedString(last.Object, "data", "release")
	stored, err := decodeRelease(text)
	if err != nil {
		return nil, err
	}
	f := manifest.File{Name: manifest.Cluster, Path: manifest.Cluster, Found: true}
	f.Parse([]byte(stored))
	return append([]*manifest.Object{}, manifest.Objects([]manifest.File{f}).Objects...), nil
}

// revision returns the number of a stored release.
func revision(secret unstructured.Unstructured) int {
	n, _ := strconv.Atoi(secret.GetLabels()["version"])
	return n
}

// releaseSize bounds the text of a release, which a Secret holds compressed.
const releaseSize = 64 << 20

// decodeRelease returns the manifest of a release: JSON, compressed, in base64 twice, once for the Secret.
func decodeRelease(text string) (string, error) {
	inner, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", err
	}
	compressed, err := base64.StdEncoding.DecodeString(string(inner))
	if err != nil {
		return "", err
	}
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(reader, releaseSize))
	if err != nil {
		return "", err
	}
	var stored struct {
		Manifest string `json:"manifest"`
	}
	err = json.Unmarshal(data, &stored)
	return stored.Manifest, err
}

// owned returns what a manager has written of an object, except Helm's annotations, which no manifest has.
func (c *Cluster) owned(r *resource, live *unstructured.Unstructured, manager string) ([]byte, error) {
	t, err := c.typesOf(r.kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	var fields fieldpath.Set
	for _, entry := range live.GetManagedFields() {
		var set fieldpath.Set
		if entry.Manager != manager || entry.Subresource != "" || entry.FieldsV1 == nil ||
			set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())) != nil {
			continue
		}
		fields = *fields.Union(&set)
	}
	if fields.Empty() {
		return nil, nil
	}
	converter, err := t.published.Converter()
	if err != nil {
		return nil, err
	}
	whole, err := converter.ObjectToTyped(live)
	if err != nil {
		return nil, err
	}
	part, err := converter.TypedToObject(whole.ExtractItems(fields.Leaves(), typed.WithAppendKeyFields()))
	if err != nil {
		return nil, err
	}
	object, ok := part.(*unstructured.Unstructured)
	if !ok {
		return nil, nil
	}
	for _, name := range [...]string{releaseName, releaseNamespace} {
		unstructured.RemoveNestedField(object.Object, "metadata", "annotations", name)
	}
	unstructured.RemoveNestedField(object.Object, "metadata", "labels", "app.kubernetes.io/managed-by")
	return encoded(object)
}
