package apply_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/apply"
)

// TestEmptied: what the API server's own merge makes of an object that a server-side apply empties. The check of
// manifests without a cluster (compare) relies on it.
func TestEmptied(t *testing.T) {
	models := map[string]*spec.Schema{}
	const schemas = `{"Widget": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Widget"}], "properties": {
		"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object", "additionalProperties": true},
		"spec": {"type": "object", "properties": {
			"params": {"type": "object", "additionalProperties": {"type": "string"}},
			"config": {"type": "object", "properties": {"x": {"type": "string"}, "w": {"type": "object", "properties": {"z": {"type": "string"}}}}},
			"atomic": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
			"list": {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "string"}}},
			"free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
			"groups": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object", "required": ["name"], "properties": {
				"name": {"type": "string"}, "params": {"type": "object", "additionalProperties": {"type": "string"}}}}}}}}}}`
	if err := json.Unmarshal([]byte(schemas), &models); err != nil {
		t.Fatal(err)
	}
	kind := apply.Kind{Types: apply.NewTypes(models)}
	object := func(spec string) map[string]any {
		return read(t, fmt.Sprintf("{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: a}, spec: %s}", spec))
	}
	for _, row := range []struct {
		name, old, live, new, want string // live is what else the server has
	}{
		{"a map", "{params: {a: '1'}}", "", "{params: {}}", `{"params":null}`},
		{"an object", "{config: {x: a}}", "", "{config: {}}", `{"config":null}`},
		{"an object in an object", "{config: {x: a, w: {z: a}}}", "", "{config: {x: a, w: {}}}", `{"config":{"w":null,"x":"a"}}`},
		{"an object of objects", "{config: {w: {z: a}}}", "", "{config: {}}", `{"config":null}`},
		{"an object of any fields", "{free: {a: 1}}", "", "{free: {}}", `{"free":null}`},
		{"an item of a keyed list", "{groups: [{name: b, params: {a: '1'}}]}", "", "{groups: [{name: b, params: {}}]}", `{"groups":[{"name":"b","params":null}]}`},
		{"some keys stay", "{params: {a: '1', b: '1'}}", "", "{params: {b: '1'}}", `{"params":{"b":"1"}}`},
		{"a key of somebody else stays", "{params: {a: '1'}}", "{params: {a: '1', d: '1'}}", "{params: {}}", `{"params":{"d":"1"}}`},
		{"it was empty", "{params: {}}", "", "{params: {}}", `{"params":{}}`},
		{"an atomic map", "{atomic: {a: '1'}}", "", "{atomic: {}}", `{"atomic":{}}`},
		{"an item of an atomic list", "{list: [{a: '1'}]}", "", "{list: [{}]}", `{"list":[{}]}`},
		{"a list", "{list: [{a: '1'}]}", "", "{list: []}", `{"list":[]}`},
	} {
		live := row.live
		if live == "" {
			live = row.old
		}
		stored, err := kind.Apply(apply.Request{By: apply.ServerSide, Stored: object(live), Last: object(row.old), Manifest: object(row.new)})
		if err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		got := asText(t, stored["spec"])
		if strings.TrimSpace(got) != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}

func read(t *testing.T, text string) (object map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func asText(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
