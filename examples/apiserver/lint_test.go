package main

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/fieldlock/fieldlock/immutability/crd"
)

// What lint calls an error is refused, when a CRD is created and when it is updated; what it warns about goes to the
// client.
func TestLint(t *testing.T) {
	w := newWorld(t)
	valid := w.object("widgets.yaml")
	w.install(valid)
	const specPath = "/properties/spec"
	for _, c := range []struct {
		name, reason string
		edit         func(document *unstructured.Unstructured)
		field        string
	}{
		{"root", "a lock on the whole object breaks API machinery", func(u *unstructured.Unstructured) {
			node(t, u, "")["x-kubernetes-immutable"] = true
		}, "spec.versions[0].schema.openAPIV3Schema"},
		{"metadata", "nor may metadata be locked", func(u *unstructured.Unstructured) {
			node(t, u, "")["properties"].(map[string]any)["metadata"] = map[string]any{"type": "object", "x-kubernetes-immutable": true}
		}, "metadata"},
		{"false", "a child cannot lift its parent's lock", func(u *unstructured.Unstructured) {
			node(t, u, classPath)["x-kubernetes-immutable"] = false
		}, "class"},
		{"two locks", "they exclude each other", func(u *unstructured.Unstructured) {
			node(t, u, specPath+"/properties/quota")["x-kubernetes-immutable"] = true
		}, "quota"},
		{"keys without keys", "an object with plain properties has none", func(u *unstructured.Unstructured) {
			node(t, u, specPath+"/properties/region")["x-kubernetes-immutable-keys"] = true
		}, "region"},
		{"keys of a set", "x-kubernetes-immutable says the same there", func(u *unstructured.Unstructured) {
			delete(node(t, u, specPath+"/properties/tags"), "x-kubernetes-addition-only")
			node(t, u, specPath+"/properties/tags")["x-kubernetes-immutable-keys"] = true
		}, "tags"},
		{"map key not locked", "the key properties have to be immutable themselves", func(u *unstructured.Unstructured) {
			delete(node(t, u, specPath+"/properties/nodes/items/properties/name"), "x-kubernetes-immutable")
		}, "nodes"},
		{"letter case", "the API types would drop the key without a trace", func(u *unstructured.Unstructured) {
			node(t, u, classPath)["X-Kubernetes-Immutable"] = true
		}, "X-Kubernetes-Immutable"},
		{"unknown word", "it is not a word of +k8s:update", func(u *unstructured.Unstructured) {
			node(t, u, specPath)["x-fieldlock-update"] = []any{"NoChange"}
		}, "NoChange"},
	} {
		t.Run(c.name, func(t *testing.T) {
			check := func(how string, err error) {
				t.Helper()
				var status metav1.Status
				if s, ok := err.(apierrors.APIStatus); ok {
					status = s.Status()
				}
				if status.Code != http.StatusUnprocessableEntity || !strings.Contains(status.Message, c.field) {
					t.Errorf("%s: got %v, want 422 that names %s: %s", how, err, c.field, c.reason)
				}
			}
			fresh := w.object("widgets.yaml")
			fresh.SetName("gadgets." + w.group)
			for _, step := range [][]string{{"plural", "gadgets"}, {"singular", "gadget"}, {"kind", "Gadget"}, {"listKind", "GadgetList"}} {
				_ = unstructured.SetNestedField(fresh.Object, step[1], "spec", "names", step[0])
			}
			c.edit(fresh)
			_, err := crds().Create(w.ctx, fresh, metav1.CreateOptions{})
			check("create", err)
			stored, err := crds().Get(w.ctx, valid.GetName(), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			c.edit(stored)
			_, err = w.updateCRD(stored)
			check("update", err)
		})
	}

	t.Run("warnings", func(t *testing.T) {
		document := w.object("versions.yaml")
		warnings := &warningList{}
		config := clientConfig()
		config.WarningHandler = warnings
		if _, err := dynamic.NewForConfigOrDie(config).Resource(crdResource).Create(w.ctx, document, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(*warnings, "\n"), "spec.first") {
			t.Errorf("the warnings %q do not name the field that is free in one version", *warnings)
		}
		for _, text := range *warnings {
			if version, rest, _ := strings.Cut(text, ": "); !strings.HasPrefix(version, "v") || !strings.HasPrefix(rest, "spec") {
				t.Errorf("the warning %q does not begin with the version and the field", text)
			}
		}
	})
}

type warningList []string

var _ rest.WarningHandler = (*warningList)(nil)

func (l *warningList) HandleWarningHeader(_ int, _ string, text string) { *l = append(*l, text) }

// An update may keep the errors that a CRD has, and gain none.
func TestRatcheting(t *testing.T) {
	broken := func(annotation string) *apiextensions.CustomResourceDefinition {
		c := &apiextensions.CustomResourceDefinition{}
		c.Name = "things.example.com"
		c.Annotations = map[string]string{crd.AnnotationKey: annotation}
		c.Spec.Group = "example.com"
		c.Spec.Names = apiextensions.CustomResourceDefinitionNames{Kind: "Thing", Plural: "things"}
		object := apiextensions.JSONSchemaProps{Type: "object"}
		c.Spec.Versions = []apiextensions.CustomResourceDefinitionVersion{{
			Name: "v1", Served: true, Storage: true,
			Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{
				Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{"spec": object, "status": object},
			}},
		}}
		return c
	}
	const (
		good     = `{"v1": {"/properties/spec": {"x-kubernetes-immutable": true}}}`
		atRoot   = `{"v1": {"": {"x-kubernetes-immutable": true}}}`
		worse    = `{"v1": {"": {"x-kubernetes-immutable": true}, "/properties/spec": {"x-kubernetes-immutable-keys": true}}}`
		nonsense = `{"v1": {"/properties/nowhere": {"x-kubernetes-immutable": true}}}`
	)
	for _, c := range []struct {
		name, reason string
		before       string // "" for a create
		after        string
		refused      bool
	}{
		{"create, good", "nothing is wrong", "", good, false},
		{"create, broken", "a lock at the root", "", atRoot, true},
		{"create, unreadable", "the path leads nowhere", "", nonsense, true},
		{"breaks", "it gains an error", good, atRoot, true},
		{"stays broken", "it had the error before", atRoot, atRoot, false},
		{"breaks more", "one error is old, the other new", atRoot, worse, true},
		{"repaired", "it has fewer errors", worse, good, false},
		{"stays unreadable", "it was so before", nonsense, nonsense, false},
		{"becomes unreadable", "it was readable before", good, nonsense, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			operation := admission.Create
			var old *apiextensions.CustomResourceDefinition
			var attributes admission.Attributes
			resource := apiextensions.Resource("customresourcedefinitions").WithVersion("v1")
			kind := apiextensions.Kind("CustomResourceDefinition").WithVersion("v1")
			if c.before == "" {
				attributes = admission.NewAttributesRecord(broken(c.after), nil, kind, "", "things.example.com", resource, "", operation, nil, false, nil)
			} else {
				old, operation = broken(c.before), admission.Update
				attributes = admission.NewAttributesRecord(broken(c.after), old, kind, "", "things.example.com", resource, "", operation, nil, false, nil)
			}
			err := crdLint{}.Validate(context.Background(), attributes, nil)
			if (err != nil) != c.refused {
				t.Errorf("got %v; refused should be %v: %s", err, c.refused, c.reason)
			}
			if c.refused && !apierrors.IsInvalid(err) {
				t.Errorf("got %v, want Invalid", err)
			}
		})
	}
}
