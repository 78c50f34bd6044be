package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// TestApplier: who has applied most of what the manifest has is the one whose next apply is predicted.
func TestApplier(t *testing.T) {
	const manifest = `{apiVersion: v1, kind: A, spec: {class: a, size: 1, list: [{name: x}]}, metadata: {name: x, labels: {a: b}}}`
	ssa := func(manager, fields string) string {
		return `{manager: ` + manager + `, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: ` + fields + `}`
	}
	const all = `{"f:spec": {"f:class": {}, "f:size": {}, "f:list": {}}, "f:metadata": {"f:labels": {"f:a": {}}}}`
	for _, test := range []struct {
		name, reason, managed, annotation string
		want                              applier
	}{
		{"nobody", "an object that was created", "", "", applier{manager: newManager}},
		{"server-side", "the manager goes on", ssa("flux", all), "", applier{manager: "flux"}},
		{"two managers", "the one with more fields", ssa("autoscaler", `{"f:spec": {"f:size": {}}}`) + "," + ssa("flux", all), "", applier{manager: "flux"}},
		{"two equal managers", "the order of managedFields does not count", ssa("b", all) + "," + ssa("a", all), "", applier{manager: "a"}},
		{"two equal managers in order", "the first by name", ssa("a", all) + "," + ssa("b", all), "", applier{manager: "a"}},
		{"a manager without fields", "it applies none", `{manager: m, operation: Apply}`, "", applier{manager: newManager}},
		{"an update", "nobody has applied it", `{manager: kubectl-edit, operation: Update, fieldsV1: {"f:spec": {}}}`, "", applier{manager: newManager}},
		{"Helm 3 and an update", "the other one does not apply", `{manager: helm, operation: Update, fieldsV1: {"f:spec": {}}}, {manager: kubectl-edit, operation: Update, fieldsV1: {"f:spec": {}}}`, "", applier{manager: "helm", helm: true}},
		{"what identifies it", "it is in every manifest", ssa("flux", `{"f:spec": {}}`), `{"apiVersion":"v1","kind":"A","metadata":{"name":"x","namespace":"y"}}`, applier{manager: "flux"}},
		{"client-side", "kubectl's annotation", "", `{"spec":{"class":"a"}}`, applier{original: []byte(`{"spec":{"class":"a"}}`)}},
		{"client-side, and a controller", "the controller applies one field only", ssa("autoscaler", `{"f:spec": {"f:size": {}}}`), `{"spec":{"class":"a","list":[]}}`,
			applier{original: []byte(`{"spec":{"class":"a","list":[]}}`)}},
		{"server-side with a leftover annotation", "server-side apply goes first", ssa("kubectl", all), `{"spec":{"class":"a"}}`, applier{manager: "kubectl"}},
		{"the annotation is no object", "nobody", "", `nonsense`, applier{manager: newManager}},
		{"Helm 3", "it updates", `{manager: helm, operation: Update, fieldsV1: {"f:spec": {}}}`, "", applier{manager: "helm", helm: true}},
		{"Helm 3, and a controller", "the controller applies one field only", ssa("autoscaler", `{"f:spec": {"f:size": {}}}`) + `, {manager: helm, operation: Update, fieldsV1: {"f:spec": {"f:class": {}, "f:size": {}}}}`, "",
			applier{manager: "helm", helm: true}},
		{"Flux's HelmRelease", "Helm 3 in a controller", `{manager: helm-controller, operation: Update, fieldsV1: {"f:spec": {}}}`, "", applier{manager: "helm-controller", helm: true}},
		{"a program that embeds Helm", "it wrote Helm's annotation", `{manager: terraform, operation: Update, fieldsV1: {"f:metadata": {"f:annotations": {"f:meta.helm.sh/release-name": {}}}}}`, "", applier{manager: "terraform", helm: true}},
		{"Helm 4", "it applies server-side", ssa("helm", all), "", applier{manager: "helm"}},
		{"the status", "nobody applies by writing the status", `{manager: m, operation: Apply, subresource: status, fieldsV1: ` + all + `}`, "", applier{manager: newManager}},
	} {
		t.Run(test.name, func(t *testing.T) {
			live := read(t, `{metadata: {managedFields: [`+test.managed+`], annotations: {}}}`)
			if test.annotation != "" {
				live.SetAnnotations(map[string]string{lastApplied: test.annotation})
			}
			if got := applierOf(live, read(t, manifest)); !reflect.DeepEqual(got, test.want) {
				t.Errorf("%s: got %+v, want %+v", test.reason, got, test.want)
			}
		})
	}
}

// read reads an object as the API machinery has it.
func read(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	v, err := yamldoc.ReadJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: v.(map[string]any)}
}

// TestRefusals: which answers to a dry run are a refusal of the object.
func TestRefusals(t *testing.T) {
	status := func(code int, reason, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: int32(code), Reason: metav1.StatusReason(reason), Message: message}}
	}
	for _, test := range []struct {
		name string
		err  error
		want []Refusal
	}{
		{"a webhook denies", status(403, "Forbidden", `admission webhook "w" denied the request: no`), []Refusal{{"", `admission webhook "w" denied the request: no`}}},
		{"a webhook denies in the same words", status(403, "Forbidden", "this kind does not support dry run"), []Refusal{{"", "this kind does not support dry run"}}},
		{"a bad request", status(400, "BadRequest", "spec.x is wrong"), []Refusal{{"", "spec.x is wrong"}}},
		{"the server cannot store it", status(500, "InternalError", "etcd"), []Refusal{{"", "etcd"}}},
		{"versions without conversion", status(500, "InternalError", "failed to convert merged object to last applied version: .spec.new: field not declared in schema"),
			[]Refusal{{"", "failed to convert merged object to last applied version: .spec.new: field not declared in schema"}}},
		{"a conflict", status(409, "Conflict", "the UID in the precondition"), []Refusal{{"", "the UID in the precondition"}}},
		{"no namespace", status(404, "NotFound", "namespaces \"a\" not found"), []Refusal{{"", "namespaces \"a\" not found"}}},
		{"too much to do", status(429, "TooManyRequests", "later"), nil},
		{"a server that is not there", status(503, "ServiceUnavailable", "later"), nil},
		{"an unknown user", status(401, "Unauthorized", "who"), nil},
		{"a type is wrong", status(500, "InternalError", "failed to create typed patch object: .spec: x"), []Refusal{{"", "failed to create typed patch object: .spec: x"}}},
		{"no answer", errors.New("connection refused"), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := refusals(test.err); !reflect.DeepEqual(got, test.want) || notAsked(test.err) {
				t.Errorf("got %v, want %v; not asked: %v", got, test.want, notAsked(test.err))
			}
		})
	}
}

// TestNotAsked: which answers say that the server has not judged the object.
func TestNotAsked(t *testing.T) {
	for _, test := range []struct {
		name          string
		code          int
		reason, words string
		want          bool
	}{
		{"the user may not ask", 403, "Forbidden", `widgets.example.com "x" is forbidden: User "u" cannot patch resource "widgets" in API group "example.com"`, true},
		{"a webhook without dry runs", 400, "BadRequest", `admission webhook "w" does not support dry run`, true},
		{"a webhook denies", 403, "Forbidden", `admission webhook "w" denied the request: no`, false},
		{"an internal error", 500, "InternalError", "the user cannot patch resource x", false},
	} {
		err := &apierrors.StatusError{ErrStatus: metav1.Status{Code: int32(test.code), Reason: metav1.StatusReason(test.reason), Message: test.words}}
		if got := notAsked(err); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
	if notAsked(errors.New("connection refused")) {
		t.Error("no answer at all is an error")
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
		"/apis/apps/v1": map[string]any{"kind": "APIResourceList", "groupVersion": "apps/v1", "resources": []any{
			map[string]any{"name": "deployments", "kind": "Deployment", "namespaced": true, "verbs": []any{"get", "patch"}},
		}},
		"/apis/apps/v1/namespaces/shop/deployments/api": deployment,
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
	f := manifest.File{Name: "new.yaml"}
	f.Parse([]byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: api}\nspec: {selector: {matchLabels: {app: web}}}\n" +
		"---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: other}\n---\napiVersion: example.com/v1\nkind: Widget\nmetadata: {name: x}\n"))
	objects := manifest.Objects([]manifest.File{f}).Objects
	live, errs := c.Fetch(t.Context(), objects, func() {})
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := []Refusal{{"spec.selector", "field is immutable"}}
	if live[0].Old == nil || live[0].NotAsked != "" || !reflect.DeepEqual(live[0].Refusals, want) {
		t.Errorf("got %+v", live[0])
	}
	spec := live[0].New["spec"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"replicas": int64(1), "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}}, spec); diff != "" {
		t.Errorf("the merged object (-want +got):\n%s", diff)
	}
	if live[1].Old != nil || live[1].Unserved || live[2].Old != nil || !live[2].Unserved {
		t.Errorf("objects that the cluster does not have: got %+v", live[1:])
	}
	if crd, err := c.CRD(t.Context(), objects[0]); crd != nil || err != nil {
		t.Errorf("a CRD for Deployments: got %v, %v", crd, err)
	}
	if _, err := Open(Options{Kubeconfig: config, Context: "nope"}); err == nil || !strings.Contains(err.Error(), "nope") {
		t.Errorf("an unknown context: %v", err)
	}
	if c, err := Open(Options{Kubeconfig: config, Namespace: "other"}); err != nil || c.namespace != "other" {
		t.Errorf("another namespace: %v", err)
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	if err := os.WriteFile(config, []byte(strings.ReplaceAll(text, "clusters: [{name: a, cluster: {", "clusters: [{name: a, cluster: {server: \""+closed.URL+"\"}}, {name: b, cluster: {")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Kubeconfig: config}); err == nil || !strings.Contains(err.Error(), "--live: the cluster does not answer: ") {
		t.Errorf("a cluster that does not answer: %v", err)
	}
}
