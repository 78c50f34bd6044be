package loader_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/admission"
	"github.com/fieldlock/fieldlock/immutability/admission/loader"
	"github.com/fieldlock/fieldlock/immutability/crd"
)

var (
	clusterV1  = schema.GroupVersionKind{Group: "example.dev", Version: "v1", Kind: "Cluster"}
	clustersV1 = schema.GroupVersionResource{Group: "example.dev", Version: "v1", Resource: "clusters"}
)

func documents(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("../../../testdata/admission/crds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func clusterObject(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	document, _, _ := strings.Cut(string(documents(t)), "\n---\n")
	var object apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal([]byte(document), &object); err != nil {
		t.Fatal(err)
	}
	return &object
}

// TestLoader: an object of the API has lost the marks of its schema; the annotation remains.
func TestLoad(t *testing.T) {
	annotation := `{"v1":{"/properties/spec/properties/class":{"x-kubernetes-immutable":true}}}`
	for _, row := range []struct {
		name, reason, annotation string
		want                     string // the locked fields of v1, or an error
	}{
		{"bare", "no annotation, no locks", "", ""},
		{"annotation", "locks by schema path", annotation, "spec.class"},
		{"annotation is no JSON", "fail closed", "{", "fieldlock.dev/locks"},
		{"annotation names a path that is not there", "fail closed: a typo is no unlock", strings.ReplaceAll(annotation, "class", "klass"), "klass"},
	} {
		t.Run(row.name, func(t *testing.T) {
			object := clusterObject(t)
			object.Annotations = map[string]string{}
			if row.annotation != "" {
				object.Annotations["fieldlock.dev/locks"] = row.annotation
			}
			registry := &admission.Registry{}
			registry.SetComplete()
			loadErr := loader.New().Load(registry, object)
			target, locked, err := registry.Find(clusterV1, clustersV1, "")
			var got []string
			switch {
			case err != nil:
				if loadErr == nil || len(registry.Faults()) != 1 {
					t.Errorf("loading gave %v and the faults %v", loadErr, registry.Faults())
				}
				got = []string{err.Error()}
			case locked:
				side := func(v string) map[string]any {
					return map[string]any{"apiVersion": "example.dev/v1", "kind": "Cluster", "spec": map[string]any{"class": v, "note": v}}
				}
				report, err := target.Check(side("new"), side("old"))
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range report.Violations {
					got = append(got, v.Path.String())
				}
			}
			if text := strings.Join(got, " "); row.want == "" && text != "" || !strings.Contains(text, row.want) {
				t.Errorf("%q, want %q: %s", text, row.want, row.reason)
			}
		})
	}
	if err := loader.New().Load(&admission.Registry{}, nil); err == nil {
		t.Error("a nil CRD is loaded")
	}
}

func TestRead(t *testing.T) {
	kinds, err := loader.New().Read("crds.yaml", documents(t))
	if err != nil || len(kinds) != 2 {
		t.Fatalf("%d kinds, %v: a Cluster and a Note are expected", len(kinds), err)
	}
	cluster, note := kinds[0], kinds[1]
	if cluster.Resource != "clusters" || len(cluster.Versions) != 2 {
		t.Errorf("%+v: the versions that are served are v1 and v1beta1", cluster)
	}
	if v := cluster.Versions["v1"]; v.Validator.Empty() || strings.Join(v.Replicas, ".") != "spec.size" {
		t.Errorf("v1: %+v: it has locks and a scale subresource", v)
	}
	if v := cluster.Versions["v1beta1"]; v.Validator.Empty() || v.Replicas != nil {
		t.Errorf("v1beta1: %+v: it has locks and no scale subresource", v)
	}
	if !note.Versions["v1"].Validator.Empty() {
		t.Error("a Note has no locks")
	}
	if kinds, err := loader.New().Read("other.yaml", []byte("kind: ConfigMap\napiVersion: v1\n")); err != nil || len(kinds) != 0 {
		t.Errorf("%v, %v: a document of another kind is skipped", kinds, err)
	}
	if _, err := loader.New().Read("bad.yaml", []byte("kind: [")); err == nil || !strings.Contains(err.Error(), "bad.yaml") {
		t.Errorf("%v: the error names the file", err)
	}
}

// TestObjectKeepsScale: the scale subresource comes from the object, the locks from its annotation.
func TestObjectKeepsScale(t *testing.T) {
	object := clusterObject(t)
	object.Annotations = map[string]string{"fieldlock.dev/locks": `{"v1":{"/properties/spec/properties/size":{"x-kubernetes-immutable":true}}}`}
	kind, err := loader.New().Object(object)
	if err != nil {
		t.Fatal(err)
	}
	if v := kind.Versions["v1"]; v.Validator.Empty() || strings.Join(v.Replicas, ".") != "spec.size" {
		t.Errorf("%+v", v)
	}
}

// TestGaps: what one served version locks and another leaves free.
func TestGaps(t *testing.T) {
	for _, row := range []struct {
		name, reason, annotation string
		want                     string
	}{
		{"gap", "v1beta1 has no locks", v1Locks, "spec.class"},
		{"none", "both versions have the lock", goodLocks, ""},
	} {
		object := clusterObject(t)
		object.Annotations = map[string]string{"fieldlock.dev/locks": row.annotation}
		kind, err := loader.New().Object(object)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(kind.Versions["v1beta1"].Gaps, " "); got != row.want || len(kind.Versions["v1"].Gaps) > 0 {
			t.Errorf("%s: gaps %q and %q, want %q: %s", row.name, got, kind.Versions["v1"].Gaps, row.want, row.reason)
		}
	}
}

// TestVersions: the served versions, each with its locks, its gaps and the field that its scale subresource sets.
func TestVersions(t *testing.T) {
	const schemaOf = `{openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {class: {type: string%s}, size: {type: integer}, count: {type: integer}}}}}}`
	locked, free := strings.ReplaceAll(schemaOf, "%s", ", x-kubernetes-immutable: true"), strings.ReplaceAll(schemaOf, "%s", "")
	text := `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clusters.example.dev}
spec:
  group: example.dev
  scope: Namespaced
  names: {kind: Cluster, plural: clusters}
  versions:
  - {name: v1, served: true, storage: true, schema: ` + locked + `}
  - {name: v2, served: true, storage: false, schema: ` + free + `, subresources: {scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}}
  - {name: v3, served: true, storage: false, schema: ` + locked + `, subresources: {scale: {specReplicasPath: .spec.count, statusReplicasPath: .status.count}}}
  - {name: v0, served: false, storage: false, schema: ` + locked + `, subresources: {scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}}
`
	kinds, err := loader.New().Read("crds.yaml", []byte(text))
	if err != nil || len(kinds) != 1 {
		t.Fatalf("%v, %v", kinds, err)
	}
	var got []string
	for _, kind := range kinds {
		for name, v := range kind.Versions {
			got = append(got, fmt.Sprintf("%s: %d locks, gaps %v, replicas %v", name, len(v.Validator.Locks()), v.Gaps, v.Replicas))
		}
	}
	slices.Sort(got)
	if want := []string{"v1: 1 locks, gaps [], replicas []", "v2: 0 locks, gaps [spec.class], replicas [spec size]", "v3: 1 locks, gaps [], replicas [spec count]"}; !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestReadErrors: the first mistake of a file ends it, and is named with its file.
func TestReadErrors(t *testing.T) {
	const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.example.dev}\nspec:\n  group: example.dev\n  scope: Namespaced\n  names: {kind: A, plural: as}\n  versions:\n"
	for name, row := range map[string]struct{ text, want string }{
		"malformed":                   {"{", "f.yaml"},
		"no versions":                 {crd, "f.yaml"},
		"a lock that is set to false": {crd + "  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {a: {x-kubernetes-immutable: false}}}}}\n", "x-kubernetes-immutable is false"},
		"another kind":                {"kind: A\napiVersion: v1\n", ""},
		"in the second of two":        {"kind: A\napiVersion: v1\n---\n" + crd, "f.yaml"},
		"a CRD of another version":    {"kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v9\n", "apiVersion"},
	} {
		kinds, err := loader.New().Read("f.yaml", []byte(row.text))
		if (err == nil) != (row.want == "") || len(kinds) > 0 || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, %v, want %q", name, kinds, err, row.want)
		}
	}
}

// TestSharedScale: a CRD of v1beta1 may say once for all versions what the scale subresource sets.
func TestSharedScale(t *testing.T) {
	kinds, err := loader.New().Read("f.yaml", []byte(`apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata: {name: as.example.dev}
spec:
  group: example.dev
  scope: Namespaced
  names: {kind: A, plural: as}
  subresources: {scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
  validation: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
  versions: [{name: v1, served: true, storage: true}, {name: v2, served: true, storage: false}, {name: v3, served: true, storage: false}]
`))
	if err != nil || len(kinds) != 1 || len(kinds[0].Versions) != 3 {
		t.Fatalf("%v, %v", kinds, err)
	}
	for name, v := range kinds[0].Versions {
		if !slices.Equal(v.Replicas, []string{"spec", "size"}) {
			t.Errorf("%s: replicas %v", name, v.Replicas)
		}
	}
}

// A controller loads each state of a CRD, which has its locks in the annotation. Where they cannot be read, the registry knows it.
func ExampleLoader_Load() {
	object := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com", Annotations: map[string]string{
			crd.AnnotationKey: `{"v1": {"/properties/class": {"x-kubernetes-immutable": true}}}`,
		}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Widget", Plural: "widgets"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
				OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"class": {Type: "string"}}},
			}}},
		},
	}
	registry := &admission.Registry{}
	l := loader.New()
	fmt.Println(l.Load(registry, object))
	for _, kind := range registry.Kinds() {
		for _, field := range kind.Versions["v1"].Validator.Locks() {
			fmt.Println(kind.Kind, field.Path, field.Locks)
		}
	}
	object.Annotations[crd.AnnotationKey] = `{`
	fmt.Println(l.Load(registry, object) != nil, len(registry.Faults()), len(registry.Kinds()))
	// Output:
	// <nil>
	// Widget class [immutable]
	// true 1 1
}

// TestZeroLoader: the zero Loader reads locks, and nil returns an error instead of a kind.
func TestZeroLoader(t *testing.T) {
	if kinds, err := (&loader.Loader{}).Read("crds.yaml", documents(t)); err != nil || len(kinds) == 0 || kinds[0].Versions["v1"].Validator.Empty() {
		t.Errorf("zero: %v, %v", kinds, err)
	}
	var none *loader.Loader
	if kinds, err := none.Read("crds.yaml", documents(t)); err == nil {
		t.Errorf("nil: %v", kinds)
	}
	registry := &admission.Registry{}
	if err := none.Load(registry, clusterObject(t)); err == nil || registry.Faults()[clusterV1.GroupKind()] == nil {
		t.Errorf("nil: %v, faults %v", err, registry.Faults())
	}
}
