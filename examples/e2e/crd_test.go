package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/admission"
	"github.com/fieldlock/fieldlock/immutability/admission/loader"
	"github.com/fieldlock/fieldlock/immutability/crd"
)

// What a stock API server does to the keys, and why the marks travel in the annotation: it refuses them under strict
// validation, drops them with a warning else, and keeps the annotation.
func TestStockServerDropsTheKeys(t *testing.T) {
	ctx := t.Context()
	w := &world{t: t, ctx: ctx, group: strings.ToLower(t.Name()) + ".fieldlock.test", registry: &admission.Registry{}}
	crds := cluster.client.Resource(crdResource)
	object := &unstructured.Unstructured{Object: w.withLocks(w.read("widgets.yaml"))}

	_, err := crds.Create(ctx, object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict, DryRun: []string{metav1.DryRunAll}})
	if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "x-kubernetes-immutable") {
		t.Errorf("strict validation: got %v, want 400 that names the unknown keys", err)
	}

	warnings := &warningList{}
	config := rest.CopyConfig(cluster.config)
	config.WarningHandler = warnings
	client := kubernetes.NewForConfigOrDie(config)
	err = client.RESTClient().Post().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").
		Param("fieldValidation", metav1.FieldValidationWarn).Body(mustJSON(object.Object)).SetHeader("Content-Type", "application/json").Do(ctx).Error()
	if err != nil {
		t.Fatalf("creating the CRD with warnings: %v", err)
	}
	t.Cleanup(func() { _ = crds.Delete(context.Background(), object.GetName(), metav1.DeleteOptions{}) })
	if !strings.Contains(strings.Join(*warnings, "\n"), "x-kubernetes-immutable") {
		t.Errorf("the warnings do not name the dropped keys: %q", *warnings)
	}

	stored, err := crds.Get(ctx, object.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kept := string(mustJSON(stored.Object["spec"]))
	for _, key := range []string{"x-kubernetes-immutable", "x-kubernetes-addition-only", "x-kubernetes-deletion-only", "x-fieldlock-update"} {
		if strings.Contains(kept, key) {
			t.Errorf("a stock server kept %s: the annotation is not needed any more", key)
		}
	}
	if got, want := stored.GetAnnotations()[crd.AnnotationKey], object.GetAnnotations()[crd.AnnotationKey]; got != want {
		t.Errorf("the annotation came back as %s, want %s", got, want)
	}
	read, err := crd.FromObject(w.typed(stored))
	if err != nil {
		t.Fatalf("reading the stored CRD: %v", err)
	}
	original, err := crd.FromObject(&unstructured.Unstructured{Object: w.read("widgets.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := locksOf(t, read), locksOf(t, original); got != want {
		t.Errorf("the stored CRD locks\n%s\nwant what the document locks\n%s", got, want)
	}
}

type warningList []string

func (l *warningList) HandleWarningHeader(_ int, _ string, text string) { *l = append(*l, text) }

func locksOf(t *testing.T, c *crd.CRD) string {
	t.Helper()
	var lines []string
	for _, version := range c.Versions {
		v, err := version.Compile()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range v.Locks() {
			lines = append(lines, version.Name+" "+string(mustJSON(l)))
		}
	}
	return strings.Join(lines, "\n")
}

// A stock server publishes the topology and, as it has none, no locks. examples/apiserver publishes both.
func TestOpenAPIPublishing(t *testing.T) {
	w := newWorld(t, "widgets.yaml")
	client := kubernetes.NewForConfigOrDie(cluster.config).RESTClient()
	for _, c := range []struct{ path, definitions string }{
		{"/openapi/v2", "definitions"},
		{"/openapi/v3/apis/" + w.group + "/v1", "components"},
	} {
		t.Run(c.definitions, func(t *testing.T) {
			var published string
			w.eventually("the kind is published", func() error {
				raw, err := client.Get().AbsPath(c.path).SetHeader("Accept", "application/json").Do(w.ctx).Raw()
				if err != nil {
					return err
				}
				var document map[string]json.RawMessage
				if err := json.Unmarshal(raw, &document); err != nil {
					return err
				}
				definitions := document[c.definitions]
				if c.definitions == "components" {
					var components map[string]json.RawMessage
					if err := json.Unmarshal(definitions, &components); err != nil {
						return err
					}
					definitions = components["schemas"]
				}
				var schemas map[string]json.RawMessage
				if err := json.Unmarshal(definitions, &schemas); err != nil {
					return err
				}
				for name, s := range schemas {
					if strings.HasSuffix(name, ".v1.Widget") && strings.Contains(string(s), w.group) {
						published = string(s)
						return nil
					}
				}
				return apierrors.NewNotFound(schema.GroupResource{Resource: "schema"}, "Widget")
			})
			if !strings.Contains(published, `"x-kubernetes-list-map-keys":["port","protocol"]`) {
				t.Errorf("the topology is not published: %s", published)
			}
			if strings.Contains(published, "x-kubernetes-immutable") {
				t.Errorf("a stock server published a lock that it does not know: %s", published)
			}
		})
	}
}

// Locks that a CRD gains, changes and loses are those of the next update.
func TestMarksChange(t *testing.T) {
	w := newWorld(t, "widgets.yaml")
	w.enforce()
	w.create("w")
	patch := func(p string) error {
		_, err := w.widgets().Patch(w.ctx, "w", types.MergePatchType, []byte(p), metav1.PatchOptions{})
		return err
	}
	marks := func(edit func(properties map[string]any)) {
		document := w.read("widgets.yaml")
		edit(at(&unstructured.Unstructured{Object: document}, "spec", "versions", 0, "schema", "openAPIV3Schema", "properties", "spec", "properties").(map[string]any))
		w.replaceCRD(document)
	}
	checkVerdict(t, patch(`{"spec": {"class": "silver"}}`), []string{"spec.class"})

	marks(func(p map[string]any) {
		delete(p["class"].(map[string]any), "x-kubernetes-immutable")
		p["size"].(map[string]any)["x-kubernetes-immutable"] = true
	})
	checkVerdict(t, patch(`{"spec": {"size": 99}}`), []string{"spec.size"})
	checkVerdict(t, patch(`{"spec": {"class": "silver"}}`), nil)

	marks(func(p map[string]any) {
		p["quota"].(map[string]any)["x-kubernetes-addition-only"] = true
		delete(p["quota"].(map[string]any), "x-kubernetes-immutable-keys")
	})
	checkVerdict(t, patch(`{"spec": {"size": 99, "quota": {"disk": 1}}}`), nil)
	checkVerdict(t, patch(`{"spec": {"quota": {"disk": null}}}`), []string{"spec.quota"})
	checkVerdict(t, patch(`{"spec": {"class": "bronze"}}`), []string{"spec.class"})

	// An annotation that somebody edits into nonsense: what was locked stays locked, and the fault can be seen.
	crds := cluster.client.Resource(crdResource)
	broken, err := crds.Patch(w.ctx, "widgets."+w.group, types.MergePatchType,
		[]byte(`{"metadata": {"annotations": {"fieldlock.dev/locks": "{\"v1\": {\"/properties/nowhere\": {\"x-kubernetes-immutable\": true}}}"}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := loader.New().Load(w.registry, w.typed(broken)); err == nil {
		t.Errorf("locks at a schema path that does not exist were loaded")
	}
	checkVerdict(t, patch(`{"spec": {"class": "bronze"}}`), []string{"spec.class"})
	if faults := w.registry.Faults(); len(faults) != 1 {
		t.Errorf("the registry has the faults %v, want that of the widgets", faults)
	}

	marks(func(p map[string]any) { delete(p["class"].(map[string]any), "x-kubernetes-immutable") })
	checkVerdict(t, patch(`{"spec": {"class": "bronze"}}`), nil)
	if faults := w.registry.Faults(); len(faults) != 0 {
		t.Errorf("the registry still has the faults %v", faults)
	}
}

// CRDs of v1beta1 have no locks: this server does not serve them at all, and what reads their documents refuses locks
// that are new, and lets those stay that were there.
func TestNonV1CRD(t *testing.T) {
	w := &world{t: t, ctx: t.Context(), group: strings.ToLower(t.Name()) + ".fieldlock.test", registry: &admission.Registry{}}
	document := w.read("widgets.yaml")
	document["apiVersion"] = "apiextensions.k8s.io/v1beta1"
	object := &unstructured.Unstructured{Object: document}

	beta := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1beta1", Resource: "customresourcedefinitions"}
	if _, err := cluster.client.Resource(beta).Create(w.ctx, object, metav1.CreateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("creating through v1beta1: got %v, want NotFound", err)
	}
	_, err := cluster.client.Resource(crdResource).Create(w.ctx, object, metav1.CreateOptions{})
	if s, ok := err.(apierrors.APIStatus); !ok || s.Status().Code != http.StatusBadRequest {
		t.Errorf("creating a v1beta1 document through v1: got %v, want 400", err)
	}
	if _, err := cluster.client.Resource(crdResource).Get(w.ctx, object.GetName(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("reading the refused CRD: got %v, want NotFound", err)
	}

	locked, err := crd.FromObject(&unstructured.Unstructured{Object: document})
	if err != nil {
		t.Fatal(err)
	}
	unlocked := (&unstructured.Unstructured{Object: document}).DeepCopy()
	removeKeys(unlocked.Object)
	free, err := crd.FromObject(unlocked)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, reason string
		newCRD, old  *crd.CRD
		refused      bool
	}{
		{"new with locks", "locks are for v1", locked, nil, true},
		{"locks added", "the update gains locks", locked, free, true},
		{"locks kept", "ratcheting: it had them before", locked, locked, false},
		{"locks dropped", "a v1beta1 CRD may have fewer; lint has an error of its own for a dropped lock", free, locked, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			refused := false
			for _, f := range crd.Lint(c.newCRD, c.old) {
				if f.Severity == immutability.SeverityError && f.Rule != "lock-dropped" {
					refused = true
					if f.Rule != "v1beta1-lock" {
						t.Errorf("unexpected error %s: %s", f.Rule, f.Message)
					}
				}
			}
			if refused != c.refused {
				t.Errorf("refused is %v, want %v: %s", refused, c.refused, c.reason)
			}
		})
	}
}

// removeKeys drops fieldlock's keys from everything below v.
func removeKeys(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"x-kubernetes-immutable", "x-kubernetes-immutable-keys", "x-kubernetes-addition-only", "x-kubernetes-deletion-only", "x-fieldlock-update"} {
			delete(v, key)
		}
		for _, child := range v {
			removeKeys(child)
		}
	case []any:
		for _, child := range v {
			removeKeys(child)
		}
	}
}

// Each served version has its own locks. A webhook for every version finds those of the version that is written; one
// that is registered for a single version is called for the others too, with the objects converted to that version.
func TestServedVersions(t *testing.T) {
	w := newWorld(t, "versions.yaml")
	things := func(version string) func(name, patch string) error {
		return func(name, patch string) error {
			_, err := w.resource(version, "things").Patch(w.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			return err
		}
	}
	v1, v2 := things("v1"), things("v2")
	w.createThing("a")
	h := newHook(t, w.locksHandler())
	w.registerWith(h, nil, func() error {
		before := h.calls.Load()
		_, err := w.resource("v1", "things").Patch(w.ctx, "a", types.MergePatchType, []byte(`{"metadata": {"labels": {"probe": "x"}}}`),
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if h.calls.Load() == before {
			return errNotCalled
		}
		return err
	})
	checkVerdict(t, v1("a", `{"spec": {"both": "c"}}`), []string{"spec.both"})
	checkVerdict(t, v2("a", `{"spec": {"both": "c"}}`), []string{"spec.both"})
	checkVerdict(t, v1("a", `{"spec": {"first": "g"}}`), []string{"spec.first"})
	// v2 leaves spec.first free. That is the hole that lint calls version-unlocked.
	checkVerdict(t, v2("a", `{"spec": {"first": "g"}}`), nil)

	document, err := crd.FromObject(&unstructured.Unstructured{Object: w.read("versions.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range crd.Lint(document, nil) {
		found = found || f.Rule == "version-unlocked" && f.Version == "v2" && strings.Contains(f.Message, "spec.first")
	}
	if !found {
		t.Errorf("lint does not warn of the hole that was just used: %v", crd.Lint(document, nil))
	}
}

// With matchPolicy Equivalent, rules for v1 alone have the API server convert updates through v2, so the locks of v1
// hold for both.
func TestServedVersionsEquivalent(t *testing.T) {
	w := newWorld(t, "versions.yaml")
	w.createThing("a")
	h := newHook(t, w.locksHandler())
	equivalent := admissionregistrationv1.Equivalent
	patch := func(version, p string, options metav1.PatchOptions) error {
		_, err := w.resource(version, "things").Patch(w.ctx, "a", types.MergePatchType, []byte(p), options)
		return err
	}
	w.registerWith(h, func(webhook *admissionregistrationv1.ValidatingWebhook) {
		webhook.MatchPolicy = &equivalent
		webhook.Rules[0].APIVersions = []string{"v1"}
	}, func() error {
		before := h.calls.Load()
		err := patch("v1", `{"metadata": {"labels": {"probe": "x"}}}`, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if h.calls.Load() == before {
			return errNotCalled
		}
		return err
	})
	checkVerdict(t, patch("v1", `{"spec": {"first": "g"}}`, metav1.PatchOptions{}), []string{"spec.first"})
	checkVerdict(t, patch("v2", `{"spec": {"first": "g"}}`, metav1.PatchOptions{}), []string{"spec.first"})
	checkVerdict(t, patch("v2", `{"spec": {"free": "y"}}`, metav1.PatchOptions{}), nil)
}

// createThing stores an object of versions.yaml.
func (w *world) createThing(name string) {
	w.t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": w.group + "/v1", "kind": "Thing", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"both": "b", "first": "f", "free": "x"},
	}}
	if _, err := w.resource("v1", "things").Create(w.ctx, object, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}
