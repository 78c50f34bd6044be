package admission_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/admission"
)

// TestSecretKeys: a list-map key and a set item of format password stay out of answers, warnings, audit notes and logs.
func TestSecretKeys(t *testing.T) {
	var s spec.Schema
	if err := json.Unmarshal([]byte(`{"type": "object", "properties": {"spec": {"type": "object", "properties": {
		"nodes": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["pin"], "x-kubernetes-immutable-keys": true,
			"items": {"type": "object", "properties": {"pin": {"type": "string", "format": "password", "x-kubernetes-immutable": true}}}},
		"words": {"type": "array", "x-kubernetes-list-type": "set", "x-kubernetes-addition-only": true, "items": {"type": "string", "format": "password"}}}}}}`), &s); err != nil {
		t.Fatal(err)
	}
	registry := &admission.Registry{}
	registry.Put(clusterWith(immutability.MustCompile(&s)))
	request := map[string]any{
		"object":    map[string]any{"spec": map[string]any{"nodes": []any{map[string]any{"pin": "other"}}, "words": []any{}}},
		"oldObject": map[string]any{"spec": map[string]any{"nodes": []any{map[string]any{"pin": "hunter2"}}, "words": []any{"hunter2"}}},
	}
	for _, mode := range []string{"", "warn", "audit"} {
		var log bytes.Buffer
		handler, err := admission.NewHandler(registry, append(handlerOptions{Mode: mode}.list(), admission.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))...)
		if err != nil {
			t.Fatal(err)
		}
		got := serve(t, handler, reviewCase{Request: request})
		if text := got.text + log.String(); strings.Contains(text, "hunter2") || !strings.Contains(text, "spec.nodes") {
			t.Errorf("mode %q: the answer or the log line has the secret, or nothing was found: %s", mode, text)
		}
	}
}
