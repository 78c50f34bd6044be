package cluster

import (
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// typesOf returns the types of a group and version. Where the server publishes none, it returns types that know nothing:
// lists are replaced as a whole then.
func (c *Cluster) typesOf(gv schema.GroupVersion) (*types, error) {
	return c.types.of(gv, func() (*types, error) {
		paths, err := c.discovery.OpenAPIV3().Paths()
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("its OpenAPI documents cannot be listed: %w", err)
		}
		path := "apis/" + gv.String()
		if gv.Group == "" {
			path = "api/" + gv.String()
		}
		published, ok := paths[path]
		if !ok {
			return &types{converter: managedfields.NewDeducedTypeConverter()}, nil
		}
		data, err := published.Schema("application/json")
		if err != nil {
			return nil, fmt.Errorf("the OpenAPI document of %s cannot be read: %w", gv, err)
		}
		return readTypes(data)
	})
}

// readTypes reads an OpenAPI document of version 3.
func readTypes(data []byte) (*types, error) {
	var document struct {
		Components struct {
			Schemas map[string]*spec.Schema `json:"schemas"`
		} `json:"components"`
		Paths map[string]struct {
			Patch struct {
				Kind        schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
				RequestBody struct {
					Content map[string]json.RawMessage `json:"content"`
				} `json:"requestBody"`
			} `json:"patch"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	t := &types{models: document.Components.Schemas, kinds: map[schema.GroupVersionKind]string{}, strategic: map[schema.GroupVersionKind]bool{}}
	for name, model := range t.models {
		var kinds []schema.GroupVersionKind
		text, err := json.Marshal(model.Extensions["x-kubernetes-group-version-kind"])
		if err == nil {
			err = json.Unmarshal(text, &kinds)
		}
		for _, kind := range kinds {
			t.kinds[kind] = name
		}
		if err != nil {
			return nil, fmt.Errorf("the kinds of %s cannot be read: %w", name, err)
		}
	}
	for _, path := range document.Paths {
		if _, ok := path.Patch.RequestBody.Content["application/strategic-merge-patch+json"]; ok {
			t.strategic[path.Patch.Kind] = true
		}
	}
	var err error
	t.converter, err = managedfields.NewTypeConverter(t.models, true)
	return t, err
}

// patchMeta returns how strategic merge patches merge a kind; ok is false for a kind that takes none.
func (t *types) patchMeta(kind schema.GroupVersionKind) (meta strategicpatch.LookupPatchMeta, ok bool) {
	model := t.models[t.kinds[kind]]
	return strategicpatch.PatchMetaFromOpenAPIV3{SchemaList: t.models, Schema: model}, t.strategic[kind] && model != nil
}
