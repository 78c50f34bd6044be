package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/admission"
	"github.com/fieldlock/fieldlock/immutability/admission/loader"
	"github.com/fieldlock/fieldlock/immutability/crd"
)

// patience is how long a test waits for what has to happen: far longer than it takes on a busy machine.
const patience = 2 * time.Minute

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// world is what one test has to itself: a group of custom resources on the shared API server, and the locks of the
// group as the webhook knows them.
type world struct {
	t        *testing.T
	ctx      context.Context
	group    string
	registry *admission.Registry
	strict   bool // CRDs have no key that a stock API server does not know
}

// newWorld installs the CRD of a file of testdata, with its locks in the annotation, and waits until it is served.
func newWorld(t *testing.T, file string) *world {
	t.Helper()
	return newWorldNamed(t, file, t.Name())
}

// newWorldNamed is newWorld with a name of its own for the group, for tests that have several.
func newWorldNamed(t *testing.T, file, name string) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	t.Cleanup(cancel)
	w := &world{t: t, ctx: ctx, group: strings.ToLower(name) + ".fieldlock.test", registry: &admission.Registry{}}
	w.registry.SetComplete()
	w.installCRD(w.withLocks(w.read(file)))
	return w
}

// read returns an object of testdata with the group of the test.
func (w *world) read(file string) map[string]any {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		w.t.Fatal(err)
	}
	var object map[string]any
	if err := yaml.Unmarshal(bytes.ReplaceAll(data, []byte("GROUP"), []byte(w.group)), &object); err != nil {
		w.t.Fatal(err)
	}
	return numbers(object).(map[string]any)
}

// numbers makes whole numbers int64, as the API machinery has them.
func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}

// withLocks returns a CRD document with its marks in the annotation, as a user of a stock cluster submits it.
func (w *world) withLocks(document map[string]any) map[string]any {
	w.t.Helper()
	c, err := crd.FromObject(&unstructured.Unstructured{Object: document})
	if err != nil {
		w.t.Fatal(err)
	}
	annotation, err := c.Annotation()
	if err != nil {
		w.t.Fatal(err)
	}
	carrier := (&unstructured.Unstructured{Object: document}).DeepCopy()
	if annotation != "" {
		carrier.SetAnnotations(map[string]string{crd.AnnotationKey: annotation})
	}
	return carrier.Object
}

// installCRD creates a CRD, waits until it is served, and has it removed at the end of the test.
func (w *world) installCRD(document map[string]any) {
	w.t.Helper()
	crds := cluster.client.Resource(crdResource)
	object := &unstructured.Unstructured{Object: document}
	validation := metav1.FieldValidationIgnore
	if w.strict {
		validation = metav1.FieldValidationStrict
	}
	if _, err := crds.Create(w.ctx, object, metav1.CreateOptions{FieldValidation: validation}); err != nil {
		w.t.Fatalf("creating the CRD: %v", err)
	}
	w.t.Cleanup(func() {
		if err := crds.Delete(context.Background(), object.GetName(), metav1.DeleteOptions{}); err != nil {
			w.t.Errorf("removing the CRD: %v", err)
		}
	})
	w.eventually("the CRD is served", func() error {
		stored, err := crds.Get(w.ctx, object.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		w.load(stored)
		for _, version := range w.typed(stored).Spec.Versions {
			if !version.Served {
				continue
			}
			plural := w.typed(stored).Spec.Names.Plural
			if _, err := w.resource(version.Name, plural).List(w.ctx, metav1.ListOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
}

// load makes the webhook know the locks of a CRD as the API server returned it, with nothing but the annotation left.
func (w *world) load(stored *unstructured.Unstructured) {
	w.t.Helper()
	if err := loader.New().Load(w.registry, w.typed(stored)); err != nil {
		w.t.Fatalf("loading the locks of the stored CRD: %v", err)
	}
}

func (w *world) typed(stored *unstructured.Unstructured) *apiextensionsv1.CustomResourceDefinition {
	w.t.Helper()
	object := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, object); err != nil {
		w.t.Fatal(err)
	}
	return object
}

func (w *world) resource(version, plural string) dynamic.ResourceInterface {
	return cluster.client.Resource(schema.GroupVersionResource{Group: w.group, Version: version, Resource: plural}).Namespace("default")
}

func (w *world) widgets() dynamic.ResourceInterface { return w.resource("v1", "widgets") }

// widget returns the object of testdata under a name.
func (w *world) widget(name string) *unstructured.Unstructured {
	w.t.Helper()
	object := &unstructured.Unstructured{Object: w.read("widget.yaml")}
	object.SetName(name)
	return object
}

// create stores a widget under a name that the test has not used.
func (w *world) create(name string) *unstructured.Unstructured {
	w.t.Helper()
	stored, err := w.widgets().Create(w.ctx, w.widget(name), metav1.CreateOptions{})
	if err != nil {
		w.t.Fatalf("creating %s: %v", name, err)
	}
	return stored
}

// get returns what is stored.
func (w *world) get(name string) *unstructured.Unstructured {
	w.t.Helper()
	stored, err := w.widgets().Get(w.ctx, name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatalf("reading %s: %v", name, err)
	}
	return stored
}

// eventually polls f until it succeeds.
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
		time.Sleep(20 * time.Millisecond)
	}
}

// checkVerdict compares the answer to an update with what was expected: paths are those of the violated locks, in the
// order of the report; none for an update that is allowed.
func checkVerdict(t *testing.T, err error, paths []string) {
	t.Helper()
	if len(paths) == 0 {
		if err != nil {
			t.Errorf("the update was refused: %v", err)
		}
		return
	}
	if err == nil {
		t.Errorf("the update was accepted; it should break the locks of %v", paths)
		return
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		t.Errorf("the refusal is no status of the API: %v", err)
		return
	}
	s := status.Status()
	if s.Code != http.StatusUnprocessableEntity || s.Reason != metav1.StatusReasonInvalid {
		t.Errorf("the refusal is %d %s, want 422 Invalid: %s", s.Code, s.Reason, s.Message)
	}
	if !strings.Contains(s.Message, "field is immutable") {
		t.Errorf("the message does not say what deployment tools look for, \"field is immutable\": %s", s.Message)
	}
	var got []string
	if s.Details != nil {
		for _, c := range s.Details.Causes {
			got = append(got, c.Field)
		}
	}
	if !slices.Equal(got, paths) {
		t.Errorf("the causes are at %q, want %q: %s", got, paths, s.Message)
	}
}

// at returns the value at a path of member names and indices.
func at(object *unstructured.Unstructured, path ...any) any {
	var v any = object.Object
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encoding a test's own value: %v", err))
	}
	return data
}

// replaceCRD updates the CRD to a document with other marks, and the webhook's locks with it.
func (w *world) replaceCRD(document map[string]any) {
	w.t.Helper()
	crds := cluster.client.Resource(crdResource)
	object := &unstructured.Unstructured{Object: w.withLocks(document)}
	w.eventually("the CRD is updated", func() error {
		current, err := crds.Get(w.ctx, object.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		object.SetResourceVersion(current.GetResourceVersion())
		stored, err := crds.Update(w.ctx, object, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationIgnore})
		if err == nil {
			w.load(stored)
		}
		return err
	})
}
