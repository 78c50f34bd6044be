package main

import (
	"fmt"
	"io/fs"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/testing/modulefs"
)

// realResource is a CRD in a Go module of another project.
type realResource struct {
	kind, module, version, file string
}

var realResources = []realResource{
	{"HTTPRoute", "sigs.k8s.io/gateway-api", "v1.7.0", "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"},
	{"Cluster API Cluster", "sigs.k8s.io/cluster-api", "v1.14.2",
		"core/config/crd/bases/cluster.x-k8s.io_clusters.yaml"},
	{"Karpenter NodePool", "sigs.k8s.io/karpenter", "v1.15.0", "pkg/apis/crds/karpenter.sh_nodepools.yaml"},
}

// schema returns the schema of the version that is stored.
func (r realResource) schema() (object, error) {
	files, err := modulefs.Open(r.module + "@" + r.version)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	data, err := fs.ReadFile(files, r.file)
	if err != nil {
		return nil, err
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Storage bool
				Schema  struct{ OpenAPIV3Schema object }
			}
		}
	}
	if err := yaml.Unmarshal(data, &crd); err != nil {
		return nil, fmt.Errorf("%s: %w", r.file, err)
	}
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			return v.Schema.OpenAPIV3Schema, nil
		}
	}
	return nil, fmt.Errorf("%s has no version that is stored", r.file)
}

// sample returns a value of the schema with every property, and items with different keys; n tells items apart.
func sample(schema object, n int) any {
	if values, ok := schema["enum"].([]any); ok {
		return values[n%len(values)]
	}
	if value, ok := schema["default"]; ok {
		return value
	}
	switch schema["type"] {
	case "object":
		obj := object{}
		properties, _ := schema["properties"].(object)
		for name, property := range properties {
			obj[name] = sample(property.(object), n)
		}
		if values, ok := schema["additionalProperties"].(object); ok {
			obj["a"], obj["b"] = sample(values, n), sample(values, n+1)
		}
		return obj
	case "array":
		list := []any{}
		items, ok := schema["items"].(object)
		for i := 0; ok && i < 2; i++ {
			list = append(list, sample(items, i))
		}
		return list
	case "integer":
		return int64(n + 1)
	case "number":
		return float64(n) + 0.5
	case "boolean":
		return true
	}
	return fmt.Sprintf("value-%d", n)
}
