package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/manifest"
)

func TestAsManifest(t *testing.T) {
	for _, test := range []struct{ name, reason, live, newObj, want string }{
		{
			"defaults of the server", "a field that nobody applied and NEW leaves out is not a change",
			"{spec: {replicas: 3, revisionHistoryLimit: 10, selector: {a: b}}, status: {replicas: 3}}", "{spec: {replicas: 2, selector: {a: c}}}",
			"{spec: {replicas: 3, selector: {a: b}}}",
		},
		{
			"applied by kubectl and dropped", "apply removes it",
			`{metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"spec":{"class":"a"}}'}}, spec: {class: a, other: b}}`, "{spec: {}}",
			"{spec: {class: a}}",
		},
		{
			"applied on the server and dropped", "so does server-side apply",
			`{metadata: {managedFields: [{manager: flux, operation: Apply, fieldsV1: {"f:spec": {"f:class": {}}}}]}, spec: {class: a, other: b}}`, "{spec: {}}",
			"{spec: {class: a}}",
		},
		{
			"a sidecar that a webhook injected", "an item that nobody applied is not a change",
			"{spec: {containers: [{name: main, image: a, imagePullPolicy: Always}, {name: proxy, image: b}]}}", "{spec: {containers: [{name: main, image: c}]}}",
			"{spec: {containers: [{name: main, image: a}]}}",
		},
		{
			"a list without names", "an apply replaces it",
			"{spec: {modes: [a, b]}}", "{spec: {modes: [a]}}", "{spec: {modes: [a, b]}}",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			read := func(text string) map[string]any {
				var object map[string]any
				if err := yaml.Unmarshal([]byte(text), &object); err != nil {
					t.Fatal(err)
				}
				return object
			}
			live := read(test.live)
			live["apiVersion"], live["kind"] = "v1", "Thing"
			got := asManifest(&unstructured.Unstructured{Object: live}, read(test.newObj))
			if diff := cmp.Diff(read(test.want)["spec"], got.Object["spec"]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
			if _, ok := got.Object["status"]; ok {
				t.Error("it has a status")
			}
		})
	}
}

// server answers as an API server with one Deployment would. It fails the test on any write that is not a dry run.
func server(t *testing.T) *httptest.Server {
	deployment := map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "api", "namespace": "shop"},
		"spec": map[string]any{"replicas": 1, "selector": map[string]any{"matchLabels": map[string]any{"app": "api"}}},
	}
	answers := map[string]any{
		"/version": map[string]any{"major": "1", "minor": "36+"},
		"/api":     map[string]any{"kind": "APIVersions", "versions": []any{"v1"}},
		"/api/v1":  map[string]any{"kind": "APIResourceList", "groupVersion": "v1", "resources": []any{}},
		"/apis": map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{map[string]any{
			"name": "apps", "versions": []any{map[string]any{"groupVersion": "apps/v1", "version": "v1"}},
			"preferredVersion": map[string]any{"groupVersion": "apps/v1", "version": "v1"},
		}}},
		"/apis/apps/v1": map[string]any{"kind": "APIResourceList", "groupVersion": "apps/v1", "resources": []any{
			map[string]any{"name": "deployments", "kind": "Deployment", "namespaced": true, "verbs": []any{"get", "patch"}},
		}},
		"/apis/apps/v1/namespaces/shop/deployments/api": deployment,
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions": map[string]any{
			"kind": "CustomResourceDefinitionList", "apiVersion": "apiextensions.k8s.io/v1", "items": []any{}},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch answer, ok := answers[r.URL.Path]; {
		case r.Method == http.MethodPatch && r.URL.Query().Get("dryRun") == "All":
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"details":{"causes":[{"field":"spec.selector","message":"field is immutable"}]}}`)
		case r.Method != http.MethodGet:
			t.Errorf("%s %s is a write", r.Method, r.URL)
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		default:
			if err := json.NewEncoder(w).Encode(answer); err != nil {
				t.Error(err)
			}
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestFetch(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config")
	text := `{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: a, cluster: {server: "` + server(t).URL +
		`"}}], users: [{name: a, user: {}}], contexts: [{name: a, context: {cluster: a, user: a, namespace: shop}}]}`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(Options{Kubeconfig: config})
	if err != nil {
		t.Fatal(err)
	}
	if c.Minor != "1.36" {
		t.Errorf("the minor is %q", c.Minor)
	}
	if crds, err := c.CRDs(context.Background()); err != nil || len(crds.Documents) != 0 {
		t.Errorf("got %d CRDs, %v", len(crds.Documents), err)
	}
	f := manifest.File{Name: "new.yaml"}
	f.Parse([]byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: api}\nspec: {selector: {matchLabels: {app: web}}}\n" +
		"---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: other}\n---\napiVersion: example.com/v1\nkind: Widget\nmetadata: {name: x}\n"))
	live, errs := c.Fetch(context.Background(), manifest.Objects([]manifest.File{f}).Objects, func() {})
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	if live[0].Old == nil || !live[0].DryRun || len(live[0].Refusals) != 1 || live[0].Refusals[0].Path != "spec.selector" {
		t.Errorf("got %+v", live[0])
	}
	if _, ok := live[0].Old.Object["spec"].(map[string]any)["replicas"]; ok {
		t.Error("a field that only the server has is in OLD")
	}
	if live[1].Old != nil || live[2].Old != nil {
		t.Error("objects that the cluster does not have are in OLD")
	}
	if _, err := Open(Options{Kubeconfig: config, Context: "nope"}); err == nil || !strings.Contains(err.Error(), "nope") {
		t.Errorf("an unknown context: %v", err)
	}
}
