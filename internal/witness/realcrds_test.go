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

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/celrule"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/rule/catalogue"
	"github.com/fieldlock/fieldlock/internal/testing/realcrds"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// TestRealCRDs looks for a witness of every hole in the CRDs of other projects. Those that follow from the rules have one;
// of all holes at most 2 % are left without. The API server's validators accept and refuse what the witness says they do, also
// for a client that is strict about unknown fields.
func TestRealCRDs(t *testing.T) {
	found, missing, proved := 0, 0, 0
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
			for _, h := range holesOf(c) {
				shown, ok := k.Show(h.Hole)
				if ok {
					proved++
					prove(t, c, k, shown.Witness())
				}
				switch {
				case h.Finding.Rule == rule.CELTwoSteps: // objects decide whether there is a hole
				case ok:
					found++
				case h.sure:
					t.Errorf("%s, %s: no witness for %s at %s, which follows from the rules", c.File, h.Version, h.Rule, h.SchemaPath)
				default:
					missing++
					t.Logf("%s, %s: no witness for %s at %s", c.File, h.Version, h.Rule, h.SchemaPath)
				}
			}
		}
	}
	t.Logf("%d holes have a witness, %d do not; %d witnesses hold", found, missing, proved)
	if realcrds.All() && missing*50 > found+missing {
		t.Error("more than 2 % of the holes have no witness")
	}
}

// prove wants each object of w to have no field that its version lacks, each step to be accepted, and the direct update to be
// refused.
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
		if verdict, err := k.Update(w.Objects[i+1], w.Objects[i]); err != nil || len(verdict.Invalid)+len(verdict.Refused) > 0 {
			t.Errorf("%s: the witness %v: step %d is refused: %+v, %v", c.File, w.Objects, i+1, verdict, err)
		}
	}
	if verdict, err := k.Update(w.Objects[last], w.Objects[0]); err != nil || len(verdict.Refused) == 0 {
		t.Errorf("%s: the witness %v: the direct update is accepted: %+v, %v", c.File, w.Objects, verdict, err)
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

type suspected struct {
	witness.Hole
	sure bool
}

// holesOf returns the holes that lint finds in a CRD.
func holesOf(c *crd.CRD) []suspected {
	var holes []suspected
	for _, f := range crd.Lint(c, nil) {
		if r, _ := catalogue.Find(f.Rule); r.Hole {
			holes = append(holes, suspected{witness.Hole{Finding: f}, true})
		}
	}
	add := func(version string, list []celrule.Hole) {
		for _, h := range list {
			holes = append(holes, suspected{witness.Hole{Finding: crd.Finding{Finding: h.Finding, Version: version}}, h.Sure})
		}
	}
	for _, v := range c.Versions {
		if v.Served {
			add(v.Name, new(celrule.Audit).Holes(v.Schema))
			for _, f := range new(celrule.Audit).TwoSteps(v.Schema) {
				holes = append(holes, suspected{witness.Hole{Finding: crd.Finding{Finding: f.Finding, Version: v.Name}, Index: f.Of.Index}, false})
			}
		}
	}
	unconverted := *c
	unconverted.Conversion = "None"
	for version, list := range new(celrule.Audit).HolesBetween(&unconverted) {
		add(version, list)
	}
	return holes
}
