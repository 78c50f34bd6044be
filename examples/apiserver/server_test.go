package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"
)

// shared is the server of all tests. Each test has a group of custom resources to itself.
var shared struct {
	server *Server
	client dynamic.Interface
}

func TestMain(m *testing.M) {
	if os.Getenv(asKubectl) != "" {
		runKubectl()
		return
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	klog.SetLogger(logr.Discard())
	dir, err := os.MkdirTemp("", "fieldlock-apiserver")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	if shared.server, err = Start(context.Background(), Options{Listen: "127.0.0.1:0", DataDir: dir}); err != nil {
		fmt.Println(err)
		return 1
	}
	defer shared.server.Stop()
	if shared.client, err = dynamic.NewForConfig(clientConfig()); err != nil {
		fmt.Println(err)
		return 1
	}
	return m.Run()
}

// patience is how long a test waits for what has to happen: far longer than it takes on a busy machine.
const patience = 2 * time.Minute

func clientConfig() *rest.Config {
	config := rest.CopyConfig(shared.server.ClientConfig)
	config.QPS = -1
	return config
}

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func crds() dynamic.ResourceInterface { return shared.client.Resource(crdResource) }

// updateCRD writes a whole CRD over what is stored, whatever the server's controllers wrote to its status meanwhile.
func (w *world) updateCRD(object *unstructured.Unstructured) (updated *unstructured.Unstructured, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		stored, err := crds().Get(w.ctx, object.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		object.SetResourceVersion(stored.GetResourceVersion())
		updated, err = crds().Update(w.ctx, object, metav1.UpdateOptions{})
		return err
	})
	return updated, err
}

// testdata is the table of cases that the end-to-end tests run against a stock API server too.
var testdata = filepath.Join("..", "e2e", "testdata")

// world is the group of custom resources of one test.
type world struct {
	t     *testing.T
	ctx   context.Context
	group string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	t.Cleanup(cancel)
	return &world{t: t, ctx: ctx, group: strings.ToLower(t.Name()) + ".fieldlock.test"}
}

// object reads an object of testdata.
func (w *world) object(file string) *unstructured.Unstructured {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(testdata, file))
	if err != nil {
		w.t.Fatal(err)
	}
	data, err = yaml.YAMLToJSON(bytes.ReplaceAll(data, []byte("GROUP"), []byte(w.group)))
	if err != nil {
		w.t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(data); err != nil {
		w.t.Fatal(err)
	}
	return object
}

// install creates a CRD, with its keys where the proposal has them, and waits until its resources are served.
func (w *world) install(document *unstructured.Unstructured) {
	w.t.Helper()
	if _, err := crds().Create(w.ctx, document, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
		w.t.Fatalf("creating the CRD: %v", err)
	}
	w.t.Cleanup(func() { _ = crds().Delete(context.Background(), document.GetName(), metav1.DeleteOptions{}) })
	plural, _, _ := unstructured.NestedString(document.Object, "spec", "names", "plural")
	for version := range schemas(document.Object) {
		w.eventually("the resources are served", func() error {
			_, err := w.resource(version, plural).List(w.ctx, metav1.ListOptions{})
			return err
		})
	}
}

func (w *world) resource(version, plural string) dynamic.ResourceInterface {
	return shared.client.Resource(schema.GroupVersionResource{Group: w.group, Version: version, Resource: plural}).Namespace("default")
}

func (w *world) widgets() dynamic.ResourceInterface { return w.resource("v1", "widgets") }

// create stores a widget.
func (w *world) create(name string) *unstructured.Unstructured {
	w.t.Helper()
	object := w.object("widget.yaml")
	object.SetName(name)
	stored, err := w.widgets().Create(w.ctx, object, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatalf("creating %s: %v", name, err)
	}
	return stored
}

func (w *world) get(name string) *unstructured.Unstructured {
	w.t.Helper()
	stored, err := w.widgets().Get(w.ctx, name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatalf("reading %s: %v", name, err)
	}
	return stored
}

func (w *world) eventually(what string, f func() error) {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("waiting until %s: %v", what, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// checkVerdict compares the answer to an update with the paths of the locks that it breaks; none where it is allowed.
func checkVerdict(t *testing.T, err error, paths []string) {
	t.Helper()
	if len(paths) == 0 {
		if err != nil {
			t.Errorf("the update was refused: %v", err)
		}
		return
	}
	var refusal apierrors.APIStatus
	if !errors.As(err, &refusal) {
		t.Errorf("got %v, want a refusal for %v", err, paths)
		return
	}
	status := refusal.Status()
	if status.Code != http.StatusUnprocessableEntity || !strings.Contains(status.Message, "field is immutable") {
		t.Errorf("the refusal is %d %q, want 422 with \"field is immutable\"", status.Code, status.Message)
	}
	var got []string
	if status.Details != nil {
		for _, c := range status.Details.Causes {
			got = append(got, c.Field)
		}
	}
	if !slices.Equal(got, paths) {
		t.Errorf("the causes are at %q, want %q: %s", got, paths, status.Message)
	}
}

// readCases reads a table of testdata.
func readCases[T any](t *testing.T, file string) []T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testdata, file))
	if err != nil {
		t.Fatal(err)
	}
	var cases []T
	if err := yaml.UnmarshalStrict(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatalf("%s has no cases", file)
	}
	return cases
}

// node returns a schema node of the first version of a CRD.
func node(t *testing.T, document *unstructured.Unstructured, path string) map[string]any {
	t.Helper()
	for _, s := range schemas(document.Object) {
		if found, ok := nodes(s)[path]; ok {
			return found
		}
	}
	t.Fatalf("the schema of %s has no %s", document.GetName(), path)
	return nil
}

func encoded(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// do sends a request as curl would.
func (w *world) do(method, path, media, body string, header ...string) (*http.Response, string) {
	w.t.Helper()
	client, err := rest.HTTPClientFor(clientConfig())
	if err != nil {
		w.t.Fatal(err)
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	req, err := http.NewRequestWithContext(w.ctx, method, shared.server.ClientConfig.Host+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp, string(data)
}
