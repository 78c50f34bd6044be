package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What cannot be read, or is not served, is answered and not passed on.
func TestFilterRefusals(t *testing.T) {
	w := newWorld(t)
	document := w.object("widgets.yaml")
	w.install(document)
	path := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	for _, c := range []struct {
		name, method, path, media, body string
		code                            int
	}{
		{"no JSON", http.MethodPost, path, "application/json", "{", http.StatusBadRequest},
		{"duplicate key", http.MethodPost, path, "application/json", `{"spec": {}, "spec": {}}`, http.StatusBadRequest},
		{"duplicate key in YAML", http.MethodPost, path, "application/yaml", "spec: {}\nspec: {}\n", http.StatusBadRequest},
		{"a list", http.MethodPost, path, "application/json", "[]", http.StatusBadRequest},
		{"too large", http.MethodPost, path, "application/json", `"` + strings.Repeat("x", maxBody) + `"`, http.StatusRequestEntityTooLarge},
		{"no patch", http.MethodPatch, path + "/" + document.GetName(), "application/json-patch+json", "{}", http.StatusBadRequest},
		{"patch of nothing", http.MethodPatch, path + "/" + document.GetName(), "application/json-patch+json", `[{"op": "remove", "path": "/nowhere"}]`, http.StatusUnprocessableEntity},
		{"strategic merge patch", http.MethodPatch, path + "/" + document.GetName(), "application/strategic-merge-patch+json", `{"spec": {"versions": {}}}`, http.StatusBadRequest},
		{"unknown CRD", http.MethodPatch, path + "/none.example.com", "application/merge-patch+json", "{}", http.StatusNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, body := w.do(c.method, c.path, c.media, c.body)
			var status metav1.Status
			if err := json.Unmarshal([]byte(body), &status); err != nil || resp.StatusCode != c.code || status.Status != metav1.StatusFailure {
				t.Errorf("got %d, want %d and a Status: %s", resp.StatusCode, c.code, body)
			}
		})
	}
}
