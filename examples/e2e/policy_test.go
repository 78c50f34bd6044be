package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/convert"
	"github.com/fieldlock/fieldlock/internal/policy"
	"github.com/fieldlock/fieldlock/internal/testing/policycase"
)

const policyData = "../../internal/policy/testdata/"

// The server answers the cases of package policy as its data says. The package's own tests compare it with that data.
func TestPolicyAnswers(t *testing.T) {
	data, err := os.ReadFile(policyData + "crds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w := newPolicyWorld(t, data)
	w.install(data)
	cases, err := policycase.Read(policyData + "cases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cases = slices.DeleteFunc(cases, func(c policycase.Case) bool { return c.ManifestsOnly })
	for i := range cases {
		w.prepare(&cases[i])
	}
	for i := range cases {
		if cases[i].PolicyIn != "" && cases[i].BindingIn != "" && cases[i].PolicyIn != cases[i].BindingIn {
			continue
		}
		for _, obj := range cases[i].Installed() {
			w.create(obj)
		}
	}
	w.awaitPolicies()
	for i := range cases {
		t.Run(cases[i].Name, func(t *testing.T) { w.check(t, &cases[i]) })
	}
	t.Run("refuses syntax errors", w.refusesSyntaxErrors)
}

// refusesSyntaxErrors: the server stores no policy with a syntax error, so a manifest of one refuses nothing.
func (w *policyWorld) refusesSyntaxErrors(t *testing.T) {
	obj := policyObject("syntax-error", map[string]any{"validations": []any{map[string]any{"expression": "object.spec.class == oldObject.spec."}}})
	_, err := w.resource(obj).Create(w.ctx, &unstructured.Unstructured{Object: obj}, metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "Syntax error") {
		t.Errorf("the server says: %v", err)
	}
}

// policyWorld is the shared API server with the kinds of the cases.
type policyWorld struct {
	t        *testing.T
	ctx      context.Context
	client   dynamic.Interface
	kinds    *policycase.Kinds
	warnings *warnings
}

// warnings remembers the warnings of the last responses.
type warnings struct {
	sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.Lock()
	defer w.Unlock()
	w.texts = append(w.texts, text)
}

func (w *warnings) take() []string {
	w.Lock()
	defer w.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}

// newPolicyWorld has the kinds in a file of CRDs.
func newPolicyWorld(t *testing.T, data []byte) *policyWorld {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	t.Cleanup(cancel)
	crds, err := crd.Read("crds.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	known, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	w := &policyWorld{t: t, ctx: ctx, kinds: &policycase.Kinds{Builtin: known, CRDs: crds}, warnings: &warnings{}}
	config := rest.CopyConfig(cluster.config)
	config.WarningHandler = w.warnings
	if w.client, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	return w
}

// install creates the CRDs of the cases and waits until they are served.
func (w *policyWorld) install(data []byte) {
	w.t.Helper()
	for _, document := range strings.Split(string(data), "\n---\n") {
		var obj map[string]any
		if err := yaml.Unmarshal([]byte(document), &obj); err != nil {
			w.t.Fatal(err)
		}
		w.create(obj)
	}
	for _, resource := range []schema.GroupVersionResource{
		{Group: "policies.test", Version: "v1", Resource: "gadgets"}, {Group: "policies.test", Version: "v2", Resource: "gadgets"},
		{Group: "policies.test", Version: "v1", Resource: "regions"},
	} {
		w.eventually(resource.String()+" is served", func() error {
			_, err := w.client.Resource(resource).List(w.ctx, metav1.ListOptions{})
			return err
		})
	}
}

// resource returns the client for an object.
func (w *policyWorld) resource(obj map[string]any) dynamic.ResourceInterface {
	w.t.Helper()
	o := &unstructured.Unstructured{Object: obj}
	gvr := schema.GroupVersionResource{Group: o.GroupVersionKind().Group, Version: o.GroupVersionKind().Version}
	if o.GetKind() == "CustomResourceDefinition" {
		return w.client.Resource(crdResource)
	}
	u, err := w.kinds.Update(obj, obj)
	if err != nil {
		w.t.Fatal(err)
	}
	gvr.Resource = u.Plural
	if u.Namespaced {
		return w.client.Resource(gvr).Namespace(o.GetNamespace())
	}
	return w.client.Resource(gvr)
}

// create creates an object, and deletes it at the end of the test.
func (w *policyWorld) create(obj map[string]any) {
	w.t.Helper()
	resource := w.resource(obj)
	o := &unstructured.Unstructured{Object: obj}
	o = o.DeepCopy()
	if _, err := resource.Create(w.ctx, o, metav1.CreateOptions{}); err != nil {
		w.t.Fatalf("creating %s %s: %v", o.GetKind(), o.GetName(), err)
	}
	if o.GetKind() != "Namespace" { // nobody removes the namespaces of this cluster
		w.t.Cleanup(func() {
			w.eventually(o.GetName()+" is removed", func() error { // a policy about DELETE lives on for a second
				err := resource.Delete(context.Background(), o.GetName(), metav1.DeleteOptions{})
				if apierrors.IsNotFound(err) {
					return nil
				}
				return err
			})
		})
	}
}

func (w *policyWorld) eventually(what string, f func() error) {
	w.t.Helper()
	(&world{t: w.t, ctx: w.ctx}).eventually(what, f)
}

// prepare creates what a case finds in the cluster, its policy left out.
func (w *policyWorld) prepare(c *policycase.Case) {
	w.t.Helper()
	others := slices.Concat(c.Manifests, c.Cluster)
	isNamespace := func(obj map[string]any) bool { return obj["kind"] == "Namespace" }
	if i := slices.IndexFunc(others, isNamespace); i >= 0 {
		w.create(others[i])
		others = slices.Delete(others, i, i+1)
	} else {
		w.create(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": c.ID}})
	}
	for _, obj := range others {
		w.create(obj)
	}
	w.create(c.Old)
}

func policyObject(name string, spec map[string]any) map[string]any {
	all := map[string]any{"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
		"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "operations": []any{"UPDATE"}, "resources": []any{"configmaps"}, "resourceNames": []any{name},
	}}}}
	maps.Copy(all, spec)
	return map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": map[string]any{"name": name}, "spec": all,
	}
}

// awaitPolicies waits until a last policy and its binding are enforced, and with them all that were created before.
func (w *policyWorld) awaitPolicies() {
	w.t.Helper()
	name := "last-" + strings.ToLower(w.t.Name())
	probe := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "default"}}
	w.create(probe)
	w.create(policyObject(name, map[string]any{"validations": []any{map[string]any{"expression": "false"}}}))
	w.create(map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"policyName": name, "validationActions": []any{"Deny"}},
	})
	w.eventually("policies are enforced", func() error {
		time.Sleep(50 * time.Millisecond)
		_, err := w.resource(probe).Update(w.ctx, &unstructured.Unstructured{Object: probe}, metav1.UpdateOptions{})
		if err == nil {
			return errors.New("the probe is accepted")
		}
		return nil
	})
}

// check sends the update of a case.
func (w *policyWorld) check(t *testing.T, c *policycase.Case) {
	resource := w.resource(c.New)
	newObj := (&unstructured.Unstructured{Object: c.New}).DeepCopy()
	stored, err := resource.Get(w.ctx, newObj.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	newObj.SetResourceVersion(stored.GetResourceVersion())
	w.warnings.take()
	_, err = resource.Update(w.ctx, newObj, metav1.UpdateOptions{})
	warned := w.warnings.take()
	if c.Warning != "" && !slices.ContainsFunc(warned, func(text string) bool { return strings.HasSuffix(text, c.Warning) }) {
		t.Errorf("the warnings are %q, want %q: %s", warned, c.Warning, c.Reason)
	}
	if c.Refused == "" {
		if err != nil {
			t.Errorf("the server refuses: %v; the data allows: %s", err, c.Reason)
		}
		return
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		t.Fatalf("the server says %v, the data refuses: %s", err, c.Reason)
	}
	s := status.Status()
	prefix := fmt.Sprintf("ValidatingAdmissionPolicy '%s' with binding '%s' denied request: ", c.ID, c.ID)
	if s.Code != c.Code || !strings.Contains(s.Message, prefix) || !strings.Contains(s.Message, c.Refused) {
		t.Errorf("the server says %d %s, the data %d %s", s.Code, s.Message, c.Code, c.Refused)
	}
	if s.Code == http.StatusInternalServerError {
		t.Errorf("the server fails: %s", s.Message)
	}
}

// The policies that `export policy` writes refuse on a server what package policy says about them, and what the locks
// say but for those that export has named as left out.
func TestPolicyExported(t *testing.T) {
	w := newWorld(t, "widgets.yaml")
	text := mustJSON(w.read("widgets.yaml"))
	p := newPolicyWorld(t, text)
	file, err := convert.Read("widgets.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	exported, err := convert.ToPolicies(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	var documents []policy.Document
	for _, document := range exported.Documents {
		var obj map[string]any
		if err := json.Unmarshal(mustJSON(document), &obj); err != nil {
			t.Fatal(err)
		}
		p.create(obj)
		documents = append(documents, policy.Document{Object: obj, InNew: true, InOld: true})
	}
	p.awaitPolicies()
	set := policy.NewSet(documents, p.kinds.Scope)
	refused := 0
	for i, c := range readCases[change](t, "changes.yaml") {
		t.Run(c.Name, func(t *testing.T) {
			before := w.create(fmt.Sprintf("p-%d", i))
			patched, err := jsonpatch.MergePatch(mustJSON(before.Object), []byte(c.Merge))
			if err != nil {
				t.Fatal(err)
			}
			after := &unstructured.Unstructured{}
			if err := after.UnmarshalJSON(patched); err != nil {
				t.Fatal(err)
			}
			u, err := p.kinds.Update(after.Object, before.Object)
			if err != nil {
				t.Fatal(err)
			}
			u.Live = true
			verdict := set.Check(u)
			_, err = w.widgets().Patch(w.ctx, before.GetName(), types.MergePatchType, []byte(c.Merge), metav1.PatchOptions{})
			if len(verdict.Unknown) > 0 || (err != nil) != (len(verdict.Refused) > 0) {
				t.Errorf("the server says %v, the policies %+v", err, verdict)
			}
			if err != nil && len(verdict.Refused) > 0 {
				refused++
				if !strings.Contains(err.Error(), verdict.Refused[0].Message) {
					t.Errorf("the server says %v, want %q", err, verdict.Refused[0].Message)
				}
			}
		})
	}
	if refused < 10 {
		t.Errorf("only %d refusals", refused)
	}
}
