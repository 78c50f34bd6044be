package derive

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/crdfacts"
	"github.com/fieldlock/fieldlock/internal/testing/realcrds"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// TestRealCRDs derives the facts of real CRDs and compares them with the CRD's own validator on updates that the proof
// has not seen.
func TestRealCRDs(t *testing.T) {
	const unseen = 1000 // a seed that no round of a proof has
	var sum Proof
	for _, file := range realcrds.Files(t) {
		for _, c := range read(t, file) {
			for _, v := range c.Versions {
				d := newDeriver(v)
				if len(d.rules) == 0 || !v.Served {
					continue
				}
				if p := d.prove(); len(p.Unproved) > 0 {
					continue
				}
				kind := witness.FromCRD(c, nil)
				i := slices.IndexFunc(kind.Versions, func(w *witness.Version) bool { return w.Name == v.Name })
				p, _ := d.compare(kind, kind.Versions[i], d.targets(), unseen)
				if p.False > 0 || p.Found < p.Refused-p.Refused/100 {
					t.Errorf("%s %s: %d false refusals of %d; %d of %d refusals found", filepath.Base(file), v.Name, p.False, p.Refusals, p.Found, p.Refused)
				}
				sum.Add(p)
			}
		}
	}
	t.Logf("%d updates: %d of %d refusals found, %d of %d false", sum.Updates, sum.Found, sum.Refused, sum.False, sum.Refusals)
	if sum.Refused == 0 {
		t.Error("nothing was refused")
	}
}

func read(t *testing.T, file string) []*crd.CRD {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	crds, err := crd.Read(file, text)
	if err != nil {
		t.Fatal(err)
	}
	return crds
}

func TestFrom(t *testing.T) {
	crds := read(t, "testdata/widgets.yaml")
	kinds, proof := From(crds[0])
	if proof.False > 0 || proof.Found < proof.Refused || proof.Refused == 0 {
		t.Errorf("proof: %+v", proof)
	}
	if len(kinds) != 2 || !slices.Equal(kinds[0].Versions, []string{"v1", "v1beta2"}) || !slices.Equal(kinds[1].Versions, []string{"v1beta1"}) {
		t.Fatalf("versions with the same rules are one kind: %d kinds", len(kinds))
	}
	if len(kinds[1].Rows) != 0 {
		t.Errorf("v1beta1 has no transition rule: %v", kinds[1].Rows)
	}
	for _, want := range []crdfacts.Row{
		{Path: "spec.class", Lock: "immutable", Says: "class is immutable"},
		{Path: "spec.doors[*].port", Lock: "immutable"},
		{Path: "spec.zone", Update: []string{"NoModify"}},
		{Path: "spec.size", Unknown: true, Says: "size may only grow"},
	} {
		if !slices.ContainsFunc(kinds[0].Rows, func(r crdfacts.Row) bool {
			return r.Path == want.Path && r.Lock == want.Lock && slices.Equal(r.Update, want.Update) && r.Unknown == want.Unknown && r.Says == want.Says
		}) {
			t.Errorf("no row %+v in %+v", want, kinds[0].Rows)
		}
	}
	if f := kinds[0].Fields["spec.class"]; f.Default == nil || *f.Default != "small" {
		t.Errorf("the default of a locked field is missing: %+v", kinds[0].Fields)
	}
	if f := kinds[0].Fields["spec.doors"]; !slices.Equal(f.Keys, []string{"name"}) {
		t.Errorf("the keys of a list on the way are missing: %+v", kinds[0].Fields)
	}
}
