package witness_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/finding/catalogue"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/testing/realcrds"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// TestRealCRDs looks for a witness of every hole in the CRDs of other projects: what has none is a note that says
// "possible", and at most 2 % of all holes. The API server's validators accept and refuse what the witness says they
// do, also for a client that is strict about unknown fields.
func TestRealCRDs(t *testing.T) {
	proved, missing := 0, 0
	for _, file := range realcrds.Files(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crds, err := crd.Read(filepath.Base(file), data)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range crds {
			k := witness.FromCRD(c, nil)
			r, err := audit.CRDs([]*crd.CRD{c}, nil, audit.Options{Explain: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Findings {
				is, _ := catalogue.Find(f.Rule)
				switch {
				case !is.Hole:
				case f.Witness != nil:
					proved++
					prove(t, c, k, *f.Witness)
				default:
					missing++
					if f.Severity != immutability.SeverityNote || !strings.HasPrefix(f.Message, "possible: ") {
						t.Errorf("%s, %s: no witness for %s at %s", c.File, f.Version, f.Rule, f.SchemaPath)
					}
				}
			}
		}
	}
	t.Logf("%d holes have a witness that holds, %d have none", proved, missing)
	if realcrds.All() && missing*50 > proved+missing {
		t.Error("more than 2 % of the holes have no witness")
	}
}

// prove wants each object of w to have no field that its version lacks, each step to be accepted, and the direct update
// to be refused.
func prove(t *testing.T, c *crd.CRD, k *witness.Kind, w witness.Witness) {
	t.Helper()
	for _, obj := range w.Objects {
		name, _ := strings.CutPrefix(obj["apiVersion"].(string), c.Group+"/")
		v, ok := c.Version(name)
		if !ok {
			t.Fatalf("%s: an object of %v", c.File, obj["apiVersion"])
		}
		for _, field := range unknownFields(t, v.Schema, obj) {
			t.Errorf("%s: a strict client does not send %s with %s", c.File, obj["apiVersion"], field)
		}
	}
	last := len(w.Objects) - 1
	for i := range last {
		if refused, mistakes, err := k.Update(w.Objects[i+1], w.Objects[i]); err != nil || len(mistakes)+len(refused) > 0 {
			t.Errorf("%s: the witness %v: step %d is refused: %v %+v, %v", c.File, w.Objects, i+1, mistakes, refused, err)
		}
	}
	if refused, mistakes, err := k.Update(w.Objects[last], w.Objects[0]); err != nil || len(refused) == 0 {
		t.Errorf("%s: the witness %v: the direct update is accepted: %v, %v", c.File, w.Objects, mistakes, err)
	}
	if reflect.DeepEqual(w.Objects[0], w.Objects[last]) {
		t.Errorf("%s: the witness %v begins and ends with the same object", c.File, w.Objects)
	}
}

// unknownFields returns what an API server says of obj under strict field validation.
func unknownFields(t *testing.T, s *spec.Schema, obj map[string]any) []string {
	t.Helper()
	internal, err := celrun.Convert(s)
	if err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		t.Fatal(err)
	}
	obj = jsonvalue.Clone(obj).(map[string]any)
	fields := pruning.PruneWithOptions(obj, structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	fieldErr, inMetadata := objectmeta.CoerceWithOptions(nil, obj, structural, true, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if fieldErr != nil {
		t.Error(fieldErr)
	}
	return append(fields, inMetadata...)
}
