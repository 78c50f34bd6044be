package builtin_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/immutability/builtin"
)

// TestTyped: values are spelled as the server spells them, and what it cannot read is left alone.
func TestTyped(t *testing.T) {
	kinds, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	claim, _ := kinds.Find("v1", "PersistentVolumeClaim")
	manifest := map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim", "unknown": "x", "metadata": map[string]any{"name": "c"},
		"spec": map[string]any{"resources": map[string]any{"requests": map[string]any{"storage": "1024Mi"}}},
	}
	got, ok := claim.Typed(manifest)
	if !ok {
		t.Fatal("the claim has a type")
	}
	spec := got["spec"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"requests": map[string]any{"storage": "1Gi"}}, spec["resources"]); diff != "" {
		t.Error(diff)
	}
	if spec["volumeMode"] != "Filesystem" || got["unknown"] != nil || got["kind"] != "PersistentVolumeClaim" {
		t.Errorf("%v", got)
	}
	if manifest["unknown"] != "x" || manifest["spec"].(map[string]any)["volumeMode"] != nil {
		t.Error("the manifest has changed")
	}
	secret, _ := kinds.Find("v1", "Secret")
	got, ok = secret.Typed(map[string]any{"apiVersion": "v1", "kind": "Secret", "stringData": map[string]any{"a": "x"}})
	if diff := cmp.Diff(map[string]any{"a": "eA=="}, got["data"]); !ok || diff != "" || got["stringData"] != nil {
		t.Error(diff, got)
	}
	manifest["spec"] = "text"
	if _, ok := claim.Typed(manifest); ok {
		t.Error("a spec that is a text")
	}
	deployment, _ := kinds.Find("apps/v1", "Deployment")
	if _, ok := deployment.Typed(map[string]any{"apiVersion": "apps/v1beta1", "kind": "Deployment"}); ok {
		t.Error("a version that is gone has no type")
	}
}
