package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability"
)

// clusterSchema is the schema of the made-up resource, as a CRD has it.
const clusterSchema = `
type: object
properties:
  apiVersion: {type: string}
  kind: {type: string}
  metadata: {type: object}
  spec:
    type: object
    required: [class]
    properties:
      class: {type: string, maxLength: 63}
      replicas: {type: integer, minimum: 0}
      paused: {type: boolean, default: false}
      tags: {type: array, maxItems: 200000, x-kubernetes-list-type: set, items: {type: string, maxLength: 63}}
      nodes:
        type: array
        maxItems: 200000
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items:
          type: object
          required: [name]
          properties:
            name: {type: string, maxLength: 63}
            zone: {type: string, maxLength: 63}
            image: {type: string, maxLength: 255}
            weight: {type: integer, default: 1}
            schedulable: {type: boolean, default: true}
            labels: {type: object, additionalProperties: {type: string}}
            resources: {type: object, properties: {cpu: {type: string}, memory: {type: string}}}
            ports: {type: array, x-kubernetes-list-type: atomic, items: {type: integer, minimum: 1, maximum: 65535}}
  status:
    type: object
    properties:
      observedGeneration: {type: integer}
      conditions:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [type]
        items:
          type: object
          required: [type]
          properties:
            type: {type: string}
            status: {type: string}
            reason: {type: string}
            message: {type: string}
            lastTransitionTime: {type: string, format: date-time}
            observedGeneration: {type: integer}
`

// object is decoded JSON.
type object = map[string]any

// schemaWith returns clusterSchema with keys added to some of its nodes, by the names of the properties that lead
// there.
func schemaWith(keys map[string]object) (object, error) {
	schema := object{}
	if err := yaml.Unmarshal([]byte(clusterSchema), &schema); err != nil {
		return nil, err
	}
	properties := schema["properties"].(object)["spec"].(object)
	for name, more := range keys {
		at := properties
		switch name {
		case "spec":
		case "node":
			at = properties["properties"].(object)["nodes"].(object)["items"].(object)
		case "nodes.name", "nodes.zone":
			at = properties["properties"].(object)["nodes"].(object)["items"].(object)["properties"].(object)[name[len("nodes."):]].(object)
		default:
			at = properties["properties"].(object)[name].(object)
		}
		for key, value := range more {
			at[key] = value
		}
	}
	return schema, nil
}

var immutable = object{"x-kubernetes-immutable": true}

// validator compiles clusterSchema with locks.
func validator(locks map[string]object) (*immutability.Validator, error) {
	schema, err := schemaWith(locks)
	if err != nil {
		return nil, err
	}
	return compile(schema)
}

func compile(schema object) (*immutability.Validator, error) {
	data, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	var s spec.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	return immutability.Compile(&s)
}

// cluster is a made-up resource of which n nodes and n tags are the most: 2 KB of JSON with 5, 230 KB with 1,000.
func cluster(n int) object {
	nodes, tags := make([]any, n), make([]any, n)
	for i := range n {
		tags[i] = fmt.Sprintf("tag-%d", i)
		nodes[i] = object{
			"name": fmt.Sprintf("node-%d", i), "zone": fmt.Sprintf("europe-west1-%c", 'a'+i%3),
			"weight": int64(i % 100), "schedulable": true,
			"image":     fmt.Sprintf("registry.example.com/team/agent:v1.%d.0", i%30),
			"labels":    object{"pool": fmt.Sprintf("pool-%d", i%10), "role": "worker"},
			"resources": object{"cpu": "4", "memory": fmt.Sprintf("%dGi", 8+i%8)},
			"ports":     []any{int64(80), int64(443)},
		}
	}
	condition := func(kind string) object {
		return object{
			"type": kind, "status": "True", "reason": "AsExpected", "message": "",
			"lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": int64(3),
		}
	}
	return object{
		"apiVersion": "example.com/v1", "kind": "Cluster",
		"metadata": object{
			"name": "main", "namespace": "default", "uid": "0c9a5b1e-54f1-4a52-9c5e-7d1a4c0fbd7e",
			"resourceVersion": "1001", "generation": int64(3),
			"creationTimestamp": "2026-01-01T00:00:00Z",
			"labels":            object{"app.kubernetes.io/name": "main", "app.kubernetes.io/managed-by": "operator"},
			"managedFields": []any{object{
				"manager": "kubectl", "operation": "Apply", "apiVersion": "example.com/v1",
				"time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
				"fieldsV1": object{"f:spec": object{"f:class": object{}, "f:replicas": object{}, "f:nodes": object{}}},
			}},
		},
		"spec": object{"class": "standard", "replicas": int64(3), "nodes": nodes, "tags": tags},
		"status": object{"conditions": []any{condition("Ready"), condition("Progressing")},
			"observedGeneration": int64(3)},
	}
}

// updated changes obj as an ordinary update does: metadata, status and a field of spec that nothing locks.
func updated(obj object) object {
	metadata := obj["metadata"].(object)
	metadata["resourceVersion"], metadata["generation"] = "1002", int64(4)
	metadata["managedFields"].([]any)[0].(object)["time"] = "2026-01-02T03:04:05Z"
	obj["spec"].(object)["replicas"] = int64(12)
	progressing := obj["status"].(object)["conditions"].([]any)[1].(object)
	progressing["status"], progressing["reason"], progressing["message"] = "False", "Waiting", "9 of 12 replicas are there"
	return obj
}

// shuffled gives the lists of the spec of obj another order.
func shuffled(obj object) object {
	r := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"nodes", "tags"} {
		list := obj["spec"].(object)[name].([]any)
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	return obj
}

func encoded(obj any) []byte {
	data, err := json.Marshal(obj)
	if err != nil {
		panic(err) // decoded JSON encodes
	}
	return data
}

// decoded returns the object of a text, laid out in memory as decoding does.
func decoded(data []byte) object {
	var obj object
	if err := utiljson.Unmarshal(data, &obj); err != nil {
		panic(err) // only for texts made by encoded
	}
	return obj
}
