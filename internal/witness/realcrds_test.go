package witness_test

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/celrule"
	"github.com/fieldlock/fieldlock/internal/realcrds"
	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// TestRealCRDs looks for a witness of every hole in the CRDs of other projects. Those that follow from the rules have one;
// of all holes at most 2 % are left without.
func TestRealCRDs(t *testing.T) {
	found, missing := 0, 0
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
			k := witness.FromCRD(c)
			for _, h := range holesOf(c) {
				_, ok := k.Show(h.Hole)
				switch {
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
	t.Logf("%d holes have a witness, %d do not", found, missing)
	if realcrds.All() && missing*50 > found+missing {
		t.Error("more than 2 % of the holes have no witness")
	}
}

type suspected struct {
	witness.Hole
	sure bool
}

// holesOf returns the holes that lint finds in a CRD.
func holesOf(c *crd.CRD) []suspected {
	var holes []suspected
	for _, f := range crd.Lint(c, nil) {
		if r, _ := rule.Find(f.Rule); r.Hole {
			holes = append(holes, suspected{witness.Hole{Finding: f}, true})
		}
	}
	add := func(version string, list []celrule.Hole) {
		for _, h := range list {
			holes = append(holes, suspected{witness.Hole{Finding: crd.Finding{Finding: h.Finding, Version: version}}, h.Sure})
		}
	}
	served := map[string]*spec.Schema{}
	for _, v := range c.Versions {
		if v.Served {
			served[v.Name] = v.Schema
			add(v.Name, new(celrule.Audit).Holes(v.Schema))
		}
	}
	for version, list := range new(celrule.Audit).HolesBetween(served, celrule.ConversionNone) {
		add(version, list)
	}
	return holes
}
