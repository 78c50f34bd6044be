package suite_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"testing"

	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/crd/prepare"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/testing/suite"
)

// route is a way from a suite's schema to verdicts.
type route struct {
	name string
	// open returns the check of the suite's updates, nil where the route cannot take the suite.
	open func(t *testing.T, s *suite.Suite) func(new, old []byte) (immutability.Report, error)
}

var routes = []route{
	{"spec", specRoute},
	{"raw JSON", jsonRoute},
	{"CRD", func(t *testing.T, s *suite.Suite) func(new, old []byte) (immutability.Report, error) {
		return crdRoute(t, s, document(t, s))
	}},
	{"annotation", func(t *testing.T, s *suite.Suite) func(new, old []byte) (immutability.Report, error) {
		return crdRoute(t, s, carried(t, document(t, s)))
	}},
}

// TestSuites runs every case of testdata/suites through every route.
func TestSuites(t *testing.T) {
	suites, err := suite.Load(os.DirFS("../../../testdata"), "suites")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, s := range suites {
		for _, r := range routes {
			check := r.open(t, &s)
			if check == nil {
				continue
			}
			for _, c := range s.Cases {
				ran++
				t.Run(fmt.Sprintf("%s/%s/%s", s.String(), c.Name, r.name), func(t *testing.T) {
					report, err := check(c.NewDocument(), c.OldDocument())
					if err != nil {
						t.Fatal(err)
					}
					if wrong := c.Mismatch(violations(t, report)); wrong != "" {
						t.Errorf("%s (%s)", wrong, c.Reason)
					}
				})
			}
		}
	}
	if ran < 4*100 {
		t.Errorf("only %d cases ran", ran)
	}
}

func options(s *suite.Suite) []immutability.Option {
	if s.MapListOrder == "ignored" {
		return []immutability.Option{immutability.WithMapListOrder(immutability.MapListOrderIgnored)}
	}
	return nil
}

func compile(t *testing.T, s *suite.Suite) *immutability.Validator {
	t.Helper()
	schema, err := s.Spec()
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	v, err := immutability.Compile(schema, options(s)...)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

func specRoute(t *testing.T, s *suite.Suite) func(new, old []byte) (immutability.Report, error) {
	if s.Defaults {
		return nil
	}
	v := compile(t, s)
	return func(new, old []byte) (immutability.Report, error) {
		return v.Check(decode(t, new), decode(t, old)), nil
	}
}

func jsonRoute(t *testing.T, s *suite.Suite) func(new, old []byte) (immutability.Report, error) {
	if s.Defaults {
		return nil
	}
	return compile(t, s).CheckJSON
}

// crdRoute reads the CRD, and prepares the objects as an API server does when the suite says so.
func crdRoute(t *testing.T, s *suite.Suite, document []byte) func(new, old []byte) (immutability.Report, error) {
	crds, err := crd.Read("suite.yaml", document)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	version, _ := crds[0].Version("v1")
	v, err := version.Compile(options(s)...)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	preparer := prepare.New(version)
	return func(new, old []byte) (immutability.Report, error) {
		newObj, oldObj := decode(t, new), decode(t, old)
		if s.Defaults {
			var err error
			if newObj, err = preparer.Prepare(newObj); err != nil {
				return immutability.Report{}, err
			}
			if oldObj, err = preparer.Prepare(oldObj); err != nil {
				return immutability.Report{}, err
			}
		}
		return v.Check(newObj, oldObj), nil
	}
}

// document is a CRD with the suite's schema.
func document(t *testing.T, s *suite.Suite) []byte {
	t.Helper()
	data, err := yaml.Marshal(s.CRD())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// carried moves the marks of a CRD document into its annotation, as a stock API server would leave them.
func carried(t *testing.T, document []byte) []byte {
	t.Helper()
	crds, err := crd.Read("suite.yaml", document)
	if err != nil {
		t.Fatal(err)
	}
	annotation, err := crds[0].Annotation()
	if err != nil {
		t.Fatal(err)
	}
	var obj map[string]any
	if err := yaml.Unmarshal(document, &obj); err != nil {
		t.Fatal(err)
	}
	strip(obj)
	obj["metadata"].(map[string]any)["annotations"] = map[string]any{crd.AnnotationKey: annotation}
	data, err := yaml.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// strip removes the keys that a stock API server drops.
func strip(v any) {
	switch v := v.(type) {
	case map[string]any:
		own := map[string]bool{}
		for _, key := range schema.OwnKeys() {
			own[key] = true
		}
		maps.DeleteFunc(v, func(key string, _ any) bool { return own[key] })
		for _, member := range v {
			strip(member)
		}
	case []any:
		for _, item := range v {
			strip(item)
		}
	}
}

func decode(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var obj map[string]any
	if err := kjson.Unmarshal(data, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// violations turns a report into what suites expect.
func violations(t *testing.T, r immutability.Report) []suite.Violation {
	t.Helper()
	raw := func(v any, ok bool) json.RawMessage {
		if !ok {
			return nil
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var list []suite.Violation
	for _, v := range r.Violations {
		out := suite.Violation{
			Path: v.Path.String(), Lock: string(v.Lock), Old: raw(v.Old, v.HasOld), New: raw(v.New, v.HasNew), Key: raw(v.Key, v.HasKey),
		}
		for _, d := range v.Differences {
			out.Differences = append(out.Differences, d.Path.String())
		}
		list = append(list, out)
	}
	return list
}
