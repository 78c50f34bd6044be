package crd_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/crd/prepare"
)

// stockServer takes a CRD document the way of a stock API server: decoded, defaulted, converted to the internal version
// and back, encoded as for storage and decoded again. Keys that the API types do not know are gone.
func stockServer(t *testing.T, text []byte) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	scheme := runtime.NewScheme()
	install.Install(scheme)
	codecs := serializer.NewCodecFactory(scheme)
	internal, err := runtime.Decode(codecs.UniversalDecoder(apiextensions.SchemeGroupVersion), text)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := runtime.Encode(codecs.LegacyCodec(apiextensionsv1.SchemeGroupVersion), internal)
	if err != nil {
		t.Fatal(err)
	}
	object, err := runtime.Decode(codecs.UniversalDecoder(apiextensionsv1.SchemeGroupVersion), stored)
	if err != nil {
		t.Fatal(err)
	}
	return object.(*apiextensionsv1.CustomResourceDefinition)
}

// allLocks lists the locks of every version of a CRD.
func allLocks(t *testing.T, c *crd.CRD) map[string]any {
	t.Helper()
	locks := make(map[string]any)
	for _, v := range c.Versions {
		validator, err := v.Compile()
		if err != nil {
			t.Fatal(err)
		}
		locks[v.Name] = validator.Locks()
	}
	return locks
}

// The marks survive a stock API server in the annotation: what comes back compiles to the same validator.
func TestAnnotationSurvivesStockServer(t *testing.T) {
	data := readFile(t, "testdata/widgets.yaml")
	crds, err := crd.Read("testdata/widgets.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	written := crds[0]
	annotation, err := written.Annotation()
	if err != nil {
		t.Fatal(err)
	}
	const name = "  name: widgets.example.com\n"
	text := strings.Replace(string(data), name, name+"  annotations: {"+crd.AnnotationKey+": '"+annotation+"'}\n", 1)

	bare, err := crd.FromObject(stockServer(t, data))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range bare.Versions {
		if validator, err := v.Compile(); err != nil || !validator.Empty() {
			t.Fatalf("without the annotation version %s has locks, or error %v: the server is not stock", v.Name, err)
		}
	}

	live, err := crd.FromObject(stockServer(t, []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(allLocks(t, written), allLocks(t, live)); diff != "" {
		t.Errorf("the locks differ (-document +server):\n%s", diff)
	}
	again, err := live.Annotation()
	if err != nil || again != annotation {
		t.Errorf("the annotation is %q, error %v; want %q", again, err, annotation)
	}

	// The document with the annotation beside its marks says everything twice, which is fine.
	both, err := crd.Read("both.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(allLocks(t, written), allLocks(t, both[0])); diff != "" {
		t.Errorf("the locks differ (-document +both):\n%s", diff)
	}

	// And the validators decide alike: same objects, same violations.
	object := objectOf(t, "{spec: {class: a, token: t, labels: {x: '1'}, nodes: [{name: a, zone: z}], tags: [b], template: {kind: Pod}, a/b~c: q}}")
	other := objectOf(t, "{spec: {class: b, labels: {}, nodes: [{name: a}, {name: b}], tags: [b, c], template: {kind: Pod, x: 1}}}")
	var verdicts []string
	for _, c := range []*crd.CRD{written, live} {
		v, _ := c.Version("v2")
		validator, err := v.Compile()
		if err != nil {
			t.Fatal(err)
		}
		newObj, err := prepare.New(v).Prepare(other)
		if err != nil {
			t.Fatal(err)
		}
		oldObj, err := prepare.New(v).Prepare(object)
		if err != nil {
			t.Fatal(err)
		}
		verdicts = append(verdicts, validator.ValidateUpdate(newObj, oldObj).ToAggregate().Error())
	}
	if verdicts[0] != verdicts[1] {
		t.Errorf("the violations differ:\n%s\n%s", verdicts[0], verdicts[1])
	}
}

func TestMergeAnnotation(t *testing.T) {
	const both = `{type: object, properties: {spec: {type: object, properties: {class: {type: string, x-kubernetes-immutable: true}, size: {type: integer, x-fieldlock-update: [NoSet, NoUnset]}, map: {type: object, x-kubernetes-addition-only: true, additionalProperties: {type: string}}}}}}`
	text := document("  versions:\n" + version("v1", both))
	const at = "crds.yaml:3: document 1, CustomResourceDefinition widgets.example.com: metadata.annotations[\"fieldlock.dev/locks\"]: "
	for _, c := range []struct{ name, reason, value, err, want string }{
		{"nothing", "an empty annotation is none", ``, "", "spec.class spec.map spec.size"},
		{"no versions", "as it would be without marks", `{}`, "", "spec.class spec.map spec.size"},
		{"new mark", "it joins the others", `{"v1": {"/properties/spec/properties/map/additionalProperties": {"x-kubernetes-immutable": true}}}`, "", "spec.class spec.map spec.map[*] spec.size"},
		{"same mark", "fine twice", `{"v1": {"/properties/spec/properties/class": {"x-kubernetes-immutable": true}}}`, "", "spec.class spec.map spec.size"},
		{"same mark as a string", "openapi-gen's spelling says the same", `{"v1": {"/properties/spec/properties/class": {"x-kubernetes-immutable": "true"}}}`, "", "spec.class spec.map spec.size"},
		{"same words in another order", "the order means nothing", `{"v1": {"/properties/spec/properties/size": {"x-fieldlock-update": ["NoUnset", "NoSet"]}}}`, "", "spec.class spec.map spec.size"},
		{"other words", "a conflict", `{"v1": {"/properties/spec/properties/size": {"x-fieldlock-update": ["NoSet"]}}}`,
			at + `version "v1", schema path "/properties/spec/properties/size": x-fieldlock-update is ["NoSet"] here and ["NoSet","NoUnset"] in the schema; make the two agree, or remove one`, ""},
		{"other lock", "a conflict: a node has one of them", `{"v1": {"/properties/spec/properties/map": {"x-kubernetes-immutable-keys": true}}}`,
			"the lock x-kubernetes-immutable-keys conflicts with x-kubernetes-addition-only in the schema; remove one", ""},
		{"immutable beside words", "a conflict too", `{"v1": {"/properties/spec/properties/size": {"x-kubernetes-immutable": true}}}`, "the lock x-kubernetes-immutable conflicts with x-fieldlock-update in the schema", ""},
		{"key lock beside words", "they may stand together", `{"v1": {"/properties/spec/properties/map": {"x-fieldlock-update": ["NoUnset"]}}}`, "", "spec.class spec.map spec.size"},
		{"unknown version next to a known one", "nothing would apply the locks of the unknown version", `{"v1": {}, "v9": {}}`, at + `there is no version "v9"; the versions are v1`, ""},
		{"unknown version", "the lock would be lost", `{"v9": {}}`, at + `there is no version "v9"; the versions are v1`, ""},
		{"unknown path", "the lock would be lost", `{"v1": {"/properties/spec/properties/clas": {"x-kubernetes-immutable": true}}}`,
			at + `version "v1", schema path "/properties/spec/properties/clas": the schema has no such node; a path looks like "/properties/spec/properties/class", and the nearest node is "/properties/spec"`, ""},
		{"field path", "not the form of a schema path", `{"v1": {"spec.class": {"x-kubernetes-immutable": true}}}`, `schema path "spec.class": the schema has no such node`, ""},
		{"unknown key", "the lock would be lost", `{"v1": {"/properties/spec/properties/class": {"x-kubernetes-imutable": true}}}`, `the key "x-kubernetes-imutable" is not known; the keys are x-kubernetes-immutable, `, ""},
		{"topology", "it stands in the schema", `{"v1": {"/properties/spec/properties/map": {"x-kubernetes-map-type": "atomic"}}}`, `the key "x-kubernetes-map-type" is not known`, ""},
		{"no JSON", "nothing can be read", `v1`, at + "the JSON is malformed: ", ""},
		{"same version twice", "one of them would be lost", `{"v1": {}, "v1": {"/properties": {}}}`, at + `an object has the member "v1" twice`, ""},
		{"list", "the wrong form", `[]`, at + "the value is a list; it must be an object, as in {", ""},
		{"version is a list", "the wrong form", `{"v1": []}`, at + `version "v1" is a list; it must be an object`, ""},
		{"keys are true", "the wrong form", `{"v1": {"/properties": true}}`, at + `version "v1", schema path "/properties" is the boolean true; it must be an object`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			crds, err := crd.Read("crds.yaml", []byte(annotated(text, c.value)))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%s: the error is\n\t%v\nand does not say\n\t%s", c.reason, err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", c.reason, err)
			}
			validator, err := crds[0].Versions[0].Compile()
			if err != nil {
				t.Fatal(err)
			}
			var paths []string
			for _, lock := range validator.Locks() {
				paths = append(paths, lock.Path)
			}
			if got := strings.Join(paths, " "); got != c.want {
				t.Errorf("locked are %s, want %s: %s", got, c.want, c.reason)
			}
		})
	}
}

func TestAnnotationTooLarge(t *testing.T) {
	var properties []string
	for range 4000 {
		properties = append(properties, "p"+strings.Repeat("x", len(properties)%60)+string(rune('a'+len(properties)%26))+strings.Repeat("y", len(properties)/26)+": {type: string, x-kubernetes-immutable: true}")
	}
	c := read(t, document("  versions:\n"+version("v1", spec(strings.Join(properties, ", ")))))
	if _, err := c.Annotation(); err == nil || !strings.Contains(err.Error(), "an object has room for 262144 in all its annotations: lock parents instead of each field") {
		t.Errorf("error %v, want one about the size", err)
	}
}

func TestAnnotationWithoutMarks(t *testing.T) {
	got, err := read(t, document("  versions:\n"+version("v1", "{type: object}"))).Annotation()
	if got != "" || err != nil {
		t.Errorf("the annotation is %q, error %v; want none", got, err)
	}
}

func TestFromOtherObjects(t *testing.T) {
	for _, none := range []runtime.Object{nil, (*apiextensionsv1.CustomResourceDefinition)(nil)} {
		if _, err := crd.FromObject(none); err == nil || !strings.Contains(err.Error(), "the CustomResourceDefinition is nil") {
			t.Errorf("nil: error %v", err)
		}
	}
	service := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service"}}
	if _, err := crd.FromObject(service); err == nil || !strings.Contains(err.Error(), "a schema comes from a CustomResourceDefinition") {
		t.Errorf("an object of another kind: error %v", err)
	}
	_, err := crd.FromObject(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "a"}}})
	if want := `Service a: kind: it is the string "Service"; a schema comes from a CustomResourceDefinition`; err == nil || err.Error() != want {
		t.Errorf("a Service: error %v, want %s", err, want)
	}
}

// TestRequireLocks: a controller that reads CRDs of a cluster notices one that was applied without its annotation.
func TestRequireLocks(t *testing.T) {
	data := readFile(t, "testdata/widgets.yaml")
	bare := stockServer(t, data)
	c, err := crd.FromObject(bare)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := c.Versions[0].Compile(); err != nil || !v.Empty() {
		t.Errorf("without RequireLocks: %v, %v", v, err)
	}
	if _, err := crd.FromObject(bare, crd.RequireLocks()); !errors.Is(err, crd.ErrNoLocks) {
		t.Errorf("got %v, want ErrNoLocks", err)
	}
	crds, err := crd.Read("testdata/widgets.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	annotation, err := crds[0].Annotation()
	if err != nil {
		t.Fatal(err)
	}
	annotated := bare.DeepCopy()
	annotated.Annotations = map[string]string{crd.AnnotationKey: annotation}
	if _, err := crd.FromObject(annotated, crd.RequireLocks()); err != nil {
		t.Error(err)
	}
}
