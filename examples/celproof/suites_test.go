package celproof

import (
	"encoding/json"
	"os"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/crd/prepare"
	"github.com/fieldlock/fieldlock/internal/celrule"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/testing/suite"
)

// TestSuites runs the shared suites through export: of every case whose objects an API server would store, the rules
// give the verdict of the locks that they were made of.
func TestSuites(t *testing.T) {
	suites, err := suite.Load(os.DirFS("../../testdata"), "suites")
	if err != nil {
		t.Fatal(err)
	}
	ran, left := 0, 0
	for _, s := range suites {
		c, err := crd.FromObject(&unstructured.Unstructured{Object: s.CRD()})
		if err != nil || c == nil {
			left += len(s.Cases) // a schema that no CRD can have, as one with $refs
			continue
		}
		v := c.Versions[0]
		preparer := prepare.New(v)
		object, err := newObjectSchema(encode(t, v.Schema))
		if err != nil || s.MapListOrder != "" {
			left += len(s.Cases)
			continue
		}
		rules, sayable := exportable(t, v.Schema)
		enforced := celrun.New(celrule.Apply(sayable, rules.Changes), nil)
		locks := immutability.MustCompile(sayable)
		for _, k := range s.Cases {
			newObj, okNew := stored(preparer, object, k.New)
			oldObj, okOld := stored(preparer, object, k.Old)
			if !okNew || !okOld {
				left++
				continue
			}
			ran++
			refusals, err := enforced.ValidateUpdate(newObj, oldObj)
			if err != nil {
				t.Fatalf("%s: %v", s.Name, err)
			}
			if violations := locks.ValidateUpdate(newObj, oldObj); (len(refusals) == 0) != (len(violations) == 0) {
				t.Errorf("%s: %s/%s: CEL: %v, locks: %v (%s)", s.File, s.Name, k.Name, refusals, violations, k.Reason)
			}
		}
	}
	t.Logf("%d cases through export; %d have objects or schemas that an API server would not store", ran, left)
	if ran < 50 {
		t.Errorf("only %d cases went through export", ran)
	}
}

// stored returns the object as an API server stores it, and whether it does.
func stored(preparer *prepare.Preparer, object *objectSchema, raw json.RawMessage) (map[string]any, bool) {
	obj, ok := suite.Value(raw).(map[string]any)
	if !ok {
		return nil, false
	}
	prepared, err := preparer.Prepare(obj)
	return prepared, err == nil && object.valid(prepared)
}

// objectSchema validates objects as the API server does.
type objectSchema struct {
	validator  validation.SchemaValidator
	structural *schema.Structural
}

func newObjectSchema(openAPIV3Schema []byte) (*objectSchema, error) {
	var v1 apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(openAPIV3Schema, &v1); err != nil {
		return nil, err
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1, &internal, nil); err != nil {
		return nil, err
	}
	structural, err := schema.NewStructural(&internal)
	if err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	return &objectSchema{validator, structural}, err
}

func (s *objectSchema) valid(obj map[string]any) bool {
	return len(validation.ValidateCustomResource(nil, obj, s.validator)) == 0 &&
		len(listtype.ValidateListSetsAndMaps(nil, s.structural, obj)) == 0
}
