package cluster

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// widgets are the kinds of the server in these tests, and their types: Widget merges its parts by name, in a strategic
// merge patch too; Plain is published without types.
const (
	widgetResources = `{"kind": "APIResourceList", "groupVersion": "example.com/v1", "resources": [
		{"name": "widgets", "kind": "Widget", "namespaced": true}, {"name": "widgets/status", "kind": "Widget", "namespaced": true}, {"name": "widgets/scale", "kind": "Scale", "namespaced": true},
		{"name": "clusters", "kind": "Cluster", "namespaced": false}]}`
	plainResources = `{"kind": "APIResourceList", "groupVersion": "plain.dev/v1", "resources": [{"name": "plains", "kind": "Plain", "namespaced": true}]}`
	openAPI        = `{"paths": {"apis/example.com/v1": {"serverRelativeURL": "/openapi/v3/apis/example.com/v1?hash=a"}}}`
	widgetTypes    = `{"openapi": "3.0.0", "info": {"title": "", "version": ""},
		"paths": {"/apis/example.com/v1/namespaces/{namespace}/widgets/{name}": {"patch": {"x-kubernetes-group-version-kind": {"group": "example.com", "version": "v1", "kind": "Widget"},
			"requestBody": {"content": {"application/strategic-merge-patch+json": {}}}}}},
		"components": {"schemas": {
			"Part": {"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}},
			"Widget": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v2", "kind": "Widget"}, {"group": "example.com", "version": "v1", "kind": "Widget"}], "properties": {
				"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object", "additionalProperties": true}, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
				"spec": {"type": "object", "properties": {"class": {"type": "string"}, "size": {"type": "integer"},
					"parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name",
						"items": {"allOf": [{"$ref": "#/components/schemas/Part"}], "default": {}}}}}}},
			"Cluster": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Cluster"}], "x-kubernetes-preserve-unknown-fields": true}}}}`
)

// asked is a dry run that the server was asked for.
type asked struct {
	path, contentType, manager, force string
	body                              map[string]any
}

// open connects to a server that has live under a path and answers dry runs with status and answer; "" is the object as
// it is. Writes that are not dry runs fail the test. releases are the Secrets of a namespace, "" for none that may be
// read.
func open(t *testing.T, path, live string, status int, answer, releases string, got *asked) *Cluster {
	t.Helper()
	object, err := yaml.YAMLToJSON([]byte(live))
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{"/version": `{"major": "1", "minor": "36"}`, "/apis/example.com/v1": widgetResources, "/apis/plain.dev/v1": plainResources,
		"/openapi/v3": openAPI, "/openapi/v3/apis/example.com/v1": widgetTypes, path: string(object)}
	if releases != "" {
		answers["/api/v1/namespaces/shop/secrets"] = releases
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text, ok := answers[r.URL.Path]
		switch {
		case r.Method == http.MethodPatch && r.URL.Query().Get("dryRun") == "All":
			body, _ := io.ReadAll(r.Body)
			*got = asked{path: r.URL.Path, contentType: r.Header.Get("Content-Type"), manager: r.URL.Query().Get("fieldManager"), force: r.URL.Query().Get("force")}
			if err := yaml.Unmarshal(body, &got.body); err != nil {
				t.Error(err)
			}
			if text = answer; text == "" {
				text = string(object)
			}
			w.WriteHeader(status)
		case r.Method != http.MethodGet:
			t.Errorf("%s %s is a write", r.Method, r.URL)
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			text = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
		case strings.Contains(text, `"Failure"`):
			w.WriteHeader(http.StatusForbidden)
		}
		io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	config := filepath.Join(t.TempDir(), "config")
	text := `{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: a, cluster: {server: "` + s.URL +
		`"}}], users: [{name: a, user: {}}], contexts: [{name: a, context: {cluster: a, user: a, namespace: shop}}]}`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(Options{Kubeconfig: config})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestPredict: what the server is asked for, and what an apply would store, by its answer or by the merge here.
func TestPredict(t *testing.T) {
	const (
		widgetPath = "/apis/example.com/v1/namespaces/shop/widgets/w"
		head       = "apiVersion: example.com/v1, kind: Widget, "
		refusal    = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":"no","details":{"causes":[{"field":"spec.class","message":"immutable"},{"field":"spec.size","message":"too large"}]}}`
		forbidden  = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"widgets \"w\" is forbidden: User \"u\" cannot patch resource \"widgets\""}`
		applied    = `managedFields: [{manager: flux, operation: Apply, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:class": {}, "f:size": {}, "f:parts": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}}}}},
			{manager: controller, operation: Update, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:parts": {"k:{\"name\":\"b\"}": {".": {}, "f:name": {}, "f:size": {}}}}}}]`
		updated   = `managedFields: [{manager: helm, operation: Update, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:class": {}, "f:size": {}}}}]`
		released  = `annotations: {meta.helm.sh/release-name: rel, meta.helm.sh/release-namespace: shop}, managedFields: [{manager: helm, operation: Update, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:class": {}}}}]`
		live      = "spec: {class: a, size: 1, parts: [{name: a}, {name: b, size: 5}]}"
		annotated = `annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"spec":{"class":"a","size":1,"parts":[{"name":"a"}]}}'}`
		apply     = "application/apply-patch+yaml"
	)
	for _, row := range []struct {
		name, reason    string
		path, live, new string
		status          int
		answer          string
		want            asked  // without the body
		body            string // "" where it is not compared
		spec            string // of the predicted object
		refusals        []Refusal
		notAsked        string
		releases        string
	}{
		{name: "server-side apply", reason: "the server's answer is the prediction", live: "{" + head + "metadata: {name: w, namespace: shop, " + applied + "}, " + live + "}", new: "{" + head + "metadata: {name: w}, spec: {class: a}}",
			status: 200, answer: `{"apiVersion":"example.com/v1","kind":"Widget","spec":{"from":"the server"}}`, want: asked{widgetPath, apply, "flux", "true", nil},
			body: "{" + head + "metadata: {name: w, namespace: shop}, spec: {class: a}}", spec: "{from: the server}"},
		{name: "server-side apply that is refused", reason: "what the manager left out goes, what others set stays", live: "{" + head + "metadata: {name: w, namespace: shop, " + applied + "}, " + live + "}",
			new: "{" + head + "metadata: {name: w, namespace: shop}, spec: {class: b}}", status: 422, answer: refusal, want: asked{widgetPath, apply, "flux", "true", nil},
			spec: "{class: b, parts: [{name: b, size: 5}]}", refusals: []Refusal{{"spec.class", "immutable"}, {"spec.size", "too large"}}},
		{name: "the user may not ask", reason: "the manifest is merged here", live: "{" + head + "metadata: {name: w, namespace: shop, " + applied + "}, " + live + "}",
			new: "{" + head + "metadata: {name: w}, spec: {class: b, size: 2}}", status: 403, answer: forbidden, want: asked{widgetPath, apply, "flux", "true", nil},
			spec: "{class: b, size: 2, parts: [{name: b, size: 5}]}", notAsked: "cannot patch resource"},
		{name: "Helm 3, whose releases may not be read", reason: "what Helm has written counts as its last manifest", live: "{" + head + "metadata: {name: w, namespace: shop, " + updated + "}, " + live + "}",
			new: "{" + head + "metadata: {name: w}, spec: {class: b}}", status: 422, answer: refusal, want: asked{widgetPath, "application/strategic-merge-patch+json", "helm", "", nil},
			body: "{spec: {class: b, size: null}}", spec: "{class: b, parts: [{name: a}, {name: b, size: 5}]}", refusals: []Refusal{{"spec.class", "immutable"}, {"spec.size", "too large"}}},
		{name: "Helm 3, by its release", reason: "what somebody has changed since goes with it", live: "{" + head + "metadata: {name: w, namespace: shop, " + released + "}, " + live + "}",
			new: "{" + head + "metadata: {name: w}, spec: {class: b}}", status: 422, answer: refusal, want: asked{widgetPath, "application/strategic-merge-patch+json", "helm", "", nil}, releases: storedRelease(t, "{"+head+"metadata: {name: w}, spec: {class: a, size: 7, parts: [{name: b}]}}"),
			body: "{spec: {class: b, size: null, parts: null}}", spec: "{class: b}", refusals: []Refusal{{"spec.class", "immutable"}, {"spec.size", "too large"}}},
		{name: "Helm 3, an object that the release lacks", reason: "the live object counts as the last manifest", live: "{" + head + "metadata: {name: w, namespace: shop, " + released + "}, " + live + "}",
			new: "{" + head + "metadata: {name: w}, spec: {class: a}}", status: 200, want: asked{widgetPath, "application/strategic-merge-patch+json", "helm", "", nil}, releases: storedRelease(t, "{"+head+"metadata: {name: other}, spec: {class: a}}"),
			spec: "{class: a, size: 1, parts: [{name: a}, {name: b, size: 5}]}"},
		{name: "Helm 3, a custom resource", reason: "Helm does not look at what is there", path: "/apis/plain.dev/v1/namespaces/shop/plains/w",
			live: "{apiVersion: plain.dev/v1, kind: Plain, metadata: {name: w, namespace: shop, " + released + "}, spec: {class: changed, size: 1}}", new: "{apiVersion: plain.dev/v1, kind: Plain, metadata: {name: w}, spec: {class: a, size: 2}}",
			status: 422, answer: refusal, want: asked{"/apis/plain.dev/v1/namespaces/shop/plains/w", "application/merge-patch+json", "helm", "", nil},
			releases: storedRelease(t, "{apiVersion: plain.dev/v1, kind: Plain, metadata: {name: w}, spec: {class: a, size: 1}}"),
			body:     "{spec: {size: 2}}", spec: "{class: changed, size: 2}", refusals: []Refusal{{"spec.class", "immutable"}, {"spec.size", "too large"}}},
		{name: "client-side apply", reason: "a strategic merge patch of what the manifest lost and changed", live: "{" + head + "metadata: {name: w, namespace: shop, " + annotated + "}, " + live + "}",
			new: "{" + head + "metadata: {name: w}, spec: {class: b, parts: [{name: c}]}}", status: 422, answer: refusal,
			want: asked{widgetPath, "application/strategic-merge-patch+json", "kubectl-client-side-apply", "", nil},
			spec: "{class: b, parts: [{name: b, size: 5}, {name: c}]}", refusals: []Refusal{{"spec.class", "immutable"}, {"spec.size", "too large"}}},
		{name: "client-side apply that is allowed", reason: "the server's answer is the prediction", live: "{" + head + "metadata: {name: w, namespace: shop, " + annotated + "}, " + live + "}",
			new: "{" + head + "metadata: {name: w}, spec: {class: b}}", status: 200, answer: `{"apiVersion":"example.com/v1","kind":"Widget","spec":{"from":"the server"}}`,
			want: asked{widgetPath, "application/strategic-merge-patch+json", "kubectl-client-side-apply", "", nil}, spec: "{from: the server}"},
		{name: "client-side apply of a custom resource", reason: "a JSON merge patch: lists are replaced", path: "/apis/plain.dev/v1/namespaces/other/plains/w",
			live: "{apiVersion: plain.dev/v1, kind: Plain, metadata: {name: w, namespace: other, " + annotated + "}, " + live + "}", new: "{apiVersion: plain.dev/v1, kind: Plain, metadata: {name: w, namespace: other}, spec: {class: a, parts: [{name: c}]}}",
			status: 422, answer: refusal, want: asked{"/apis/plain.dev/v1/namespaces/other/plains/w", "application/merge-patch+json", "kubectl-client-side-apply", "", nil},
			spec: "{class: a, parts: [{name: c}]}", refusals: []Refusal{{"spec.class", "immutable"}, {"spec.size", "too large"}}},
		{name: "Flux", reason: "it sends a kind without a Go type as it is", live: "{" + head + "metadata: {name: w, namespace: shop, " + strings.Replace(applied, "manager: flux", "manager: kustomize-controller", 1) + "}, " + live + "}",
			new: "{" + head + "metadata: {name: w}, spec: {class: a, size: null}}", status: 200, want: asked{widgetPath, apply, "kustomize-controller", "true", nil},
			body: "{" + head + "metadata: {name: w, namespace: shop}, spec: {class: a, size: null}}", spec: "{class: a, size: 1, parts: [{name: a}, {name: b, size: 5}]}"},
		{name: "nobody applied it", reason: "everything that is there stays", live: "{" + head + "metadata: {name: w, namespace: shop}, " + live + "}", new: "{" + head + "metadata: {name: w}, spec: {size: null, parts: [{name: c}, {name: d, size: null}]}}",
			status: 422, answer: refusal, want: asked{widgetPath, apply, newManager, "true", nil}, spec: "{class: a, size: null, parts: [{name: a}, {name: b, size: 5}, {name: c}, {name: d, size: null}]}", refusals: []Refusal{{"spec.class", "immutable"}, {"spec.size", "too large"}}},
		{name: "an exported object", reason: "what only the server writes is not sent, nor the status where it is a subresource", live: "{" + head + "metadata: {name: w, namespace: shop}, " + live + "}",
			new:    "{" + head + "metadata: {name: w, managedFields: [], resourceVersion: '1', uid: u, creationTimestamp: null, generation: 1, selfLink: x, labels: {a: b}}, spec: {}, status: {a: b}}",
			status: 200, want: asked{widgetPath, apply, newManager, "true", nil}, body: "{" + head + "metadata: {name: w, namespace: shop, labels: {a: b}}, spec: {}}", spec: "{class: a, size: 1, parts: [{name: a}, {name: b, size: 5}]}"},
		{name: "without a namespace", reason: "a kind of the whole cluster, whose status is no subresource", path: "/apis/example.com/v1/clusters/w", live: "{apiVersion: example.com/v1, kind: Cluster, metadata: {name: w}, spec: {a: b}}",
			new: "{apiVersion: example.com/v1, kind: Cluster, metadata: {name: w}, spec: {a: c}, status: {d: e}}", status: 200, want: asked{"/apis/example.com/v1/clusters/w", apply, newManager, "true", nil},
			body: "{apiVersion: example.com/v1, kind: Cluster, metadata: {name: w}, spec: {a: c}, status: {d: e}}", spec: "{a: b}"},
		{name: "a value of another type", reason: "the types of the schema do not fit, so lists are merged as they look", live: "{" + head + "metadata: {name: w, namespace: shop}, " + live + "}",
			new: "{" + head + "metadata: {name: w}, spec: {size: many}}", status: 500, answer: `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500,"message":"failed to create typed patch object: .spec.size: expected integer"}`,
			want: asked{widgetPath, apply, newManager, "true", nil}, spec: "{class: a, size: many, parts: [{name: a}, {name: b, size: 5}]}", refusals: []Refusal{{"", "failed to create typed patch object: .spec.size: expected integer"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.path == "" {
				row.path = widgetPath
			}
			var got asked
			c := open(t, row.path, row.live, row.status, row.answer, row.releases, &got)
			f := manifest.File{Name: "new.yaml"}
			f.Parse([]byte(row.new))
			live, errs := c.Fetch(t.Context(), manifest.Objects([]manifest.File{f}).Objects, func() {})
			if errs[0] != nil {
				t.Fatal(errs[0])
			}
			body := got.body
			if got.body = nil; !reflect.DeepEqual(got, row.want) {
				t.Errorf("the server was asked %+v, want %+v: %s", got, row.want, row.reason)
			}
			if row.body != "" && asText(t, body) != asText(t, read(t, row.body).Object) {
				t.Errorf("%s was sent, want %s: %s", asText(t, body), row.body, row.reason)
			}
			if want := read(t, row.spec).Object; asText(t, live[0].New["spec"]) != asText(t, want) {
				t.Errorf("predicted %s, want %s: %s", asText(t, live[0].New["spec"]), asText(t, want), row.reason)
			}
			if !reflect.DeepEqual(live[0].Refusals, row.refusals) || (live[0].NotAsked == "") != (row.notAsked == "") || !strings.Contains(live[0].NotAsked, row.notAsked) {
				t.Errorf("refused by %v, not asked because of %q: %s", live[0].Refusals, live[0].NotAsked, row.reason)
			}
			if asText(t, live[0].Old) != asText(t, read(t, row.live).Object) || live[0].Unserved {
				t.Errorf("the live object is %v, want %s", live[0].Old, row.live)
			}
		})
	}
}

// storedRelease is the list of Secrets in which Helm keeps a release: a manifest, and a smaller revision with another
// one.
func storedRelease(t *testing.T, manifest string) string {
	t.Helper()
	secret := func(version, manifest string) string {
		var compressed bytes.Buffer
		w := gzip.NewWriter(&compressed)
		fmt.Fprint(w, asText(t, map[string]any{"name": "rel", "manifest": "---\n# Source: rel/templates/w.yaml\n" + manifest + "\n"}))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		text := base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString(compressed.Bytes())))
		return `{"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1", "metadata": {"name": "sh.helm.release.v1.rel.v` + version + `", "labels": {"owner": "helm", "name": "rel", "status": "deployed", "version": "` +
			version + `"}}, "data": {"release": "` + text + `"}}`
	}
	return `{"apiVersion": "v1", "kind": "SecretList", "items": [` + secret("10", manifest) + "," + secret("9", "{apiVersion: v1, kind: ConfigMap, metadata: {name: w}}") + "]}"
}

func asText(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestFetchErrors: if the cluster does not answer for an object, an error names the object. A CRD that the cluster lacks
// is not an error.
func TestFetchErrors(t *testing.T) {
	const forbidden = "{kind: Status, apiVersion: v1, status: Failure, reason: Forbidden, code: 403, message: not for you}"
	objects := func(text string) []*manifest.Object {
		f := manifest.File{Name: "new.yaml"}
		f.Parse([]byte(text))
		return manifest.Objects([]manifest.File{f}).Objects
	}
	widget := objects("{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop}}")
	c := open(t, "/apis/example.com/v1/namespaces/shop/widgets/w", forbidden, 200, "", "", &asked{})
	steps := 0
	if _, errs := c.Fetch(t.Context(), widget, func() { steps++ }); errs[0] == nil || !strings.Contains(errs[0].Error(), "new.yaml:1: document 1, Widget shop/w: the cluster cannot be asked for it: not for you") || steps != 1 {
		t.Errorf("an object that may not be read: %v, %d steps", errs[0], steps)
	}
	if _, errs := c.Fetch(t.Context(), objects("{apiVersion: a/b/c, kind: Widget, metadata: {name: w}}"), func() {}); errs[0] == nil || !strings.Contains(errs[0].Error(), "a/b/c") {
		t.Errorf("a version that is none: %v", errs[0])
	}
	if live, errs := c.Fetch(t.Context(), objects("{apiVersion: example.com/v1, kind: Widget, metadata: {generateName: w}}"), func() {}); errs[0] != nil || live[0].Old != nil || live[0].Unserved {
		t.Errorf("a generated name: %v, %v", live, errs)
	}
	if crd, err := c.CRD(t.Context(), objects("{apiVersion: unserved.dev/v1, kind: Widget, metadata: {name: w}}")[0]); crd != nil || err != nil {
		t.Errorf("the CRD of a kind that is not served: %v, %v", crd, err)
	}
	if crd, err := c.CRD(t.Context(), widget[0]); crd != nil || err != nil {
		t.Errorf("a CRD that is not there: %v, %v", crd, err)
	}
	const crdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com"
	if crd, err := open(t, crdPath, "{kind: CustomResourceDefinition, metadata: {name: widgets.example.com}}", 200, "", "", &asked{}).CRD(t.Context(), widget[0]); err != nil || crd == nil || fmt.Sprint(crd.Object["kind"]) != "CustomResourceDefinition" || crd.File != manifest.Cluster {
		t.Errorf("a CRD: %v, %v", crd, err)
	}
	if crd, err := open(t, crdPath, forbidden, 200, "", "", &asked{}).CRD(t.Context(), widget[0]); crd != nil || err == nil || !strings.Contains(err.Error(), "--live: the CRD of Widget cannot be read, give it with --schema: not for you") {
		t.Errorf("a CRD that may not be read: %v, %v", crd, err)
	}
}

// TestAsType: objects as Flux sends them, by way of their Go types.
func TestAsType(t *testing.T) {
	for _, row := range []struct{ name, object, want string }{
		{"empty objects of a template", "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}",
			"{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: {metadata: {}, spec: {restartPolicy: Never, containers: [{name: a, image: b, resources: {}}]}}}}"},
		{"an empty map goes", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}, binaryData: {}}", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}}"},
		{"the text of a Secret", "{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: Yg==}, stringData: {a: x, c: d}}", "{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: eA==, c: ZA==}}"},
		{"a role", "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r, labels: {}}, rules: []}", ""},
		{"a custom resource", "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {a: {}}}", ""},
		{"an object that does not fit its type", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: [a]}", ""},
	} {
		if row.want == "" {
			row.want = row.object
		}
		var object, want map[string]any
		if err := errors.Join(yaml.Unmarshal([]byte(row.object), &object), yaml.Unmarshal([]byte(row.want), &want)); err != nil {
			t.Fatal(err)
		}
		if got := asType(&unstructured.Unstructured{Object: object}); !jsonvalue.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", row.name, got, want)
		}
	}
}
