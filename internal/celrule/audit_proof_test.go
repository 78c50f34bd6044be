package celrule

import (
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/testing/randomupdates"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// TestNoOtherHolesInRealCRDs looks for two random updates in a row that get around a rule which no finding names.
// internal/witness shows the holes that findings name.
func TestNoOtherHolesInRealCRDs(t *testing.T) {
	silent := 0
	for _, v := range readRealCRDs(t) {
		silent += proveSilence(t, v, Lint(v.schema), 60)
	}
	t.Logf("%d rules without a finding", silent)
}

// proveHole wants objects that go through the hole of a finding about one of versions.
func proveHole(t *testing.T, version string, versions map[string]*spec.Schema, f immutability.Finding) {
	t.Helper()
	k := &witness.Kind{}
	for name, s := range versions {
		locks, err := immutability.Compile(s)
		if err != nil {
			t.Fatal(err)
		}
		k.Versions = append(k.Versions, &witness.Version{
			APIVersion: "example.com/" + name, Kind: "Example", Name: name, Schema: s, Served: true, Storage: name == version, Locks: locks,
			Prepare: func(obj map[string]any) (map[string]any, error) { return obj, nil },
		})
	}
	if _, ok := k.Show(witness.Hole{Finding: crd.Finding{Finding: f, Version: version}}); !ok {
		t.Errorf("no objects go through the hole %s at %s: %s", f.Rule, f.Path, f.Message)
	}
}

// proveSilence looks for two random updates that get around a rule that no finding names; n for each rule. It returns
// how many rules it tried.
func proveSilence(t *testing.T, v crdVersion, findings []immutability.Finding, n int) int {
	t.Helper()
	named := map[string]bool{}
	for _, f := range findings {
		for _, path := range f.Fields {
			named[path] = true
		}
	}
	silent := map[RuleRef]bool{}
	var focus []string
	for _, r := range Import(v.schema).Recognized {
		quiet := !named[displayPath(r.at)]
		for _, l := range r.Locks {
			quiet = quiet && !named[l.Path]
		}
		if !quiet {
			continue
		}
		silent[RuleRef{r.SchemaPath, r.Index}] = true
		focus = append(focus, r.SchemaPath)
		for _, l := range r.Locks {
			focus = append(focus, l.SchemaPath)
		}
	}
	if len(silent) == 0 {
		return 0
	}
	all := judgeOf(t, v.schema, nil)
	is := transitions(v.schema)
	all.plain = celrun.New(v.schema, func(r celrun.Rule) bool { return !is(RuleRef{r.SchemaPath, r.Index}) })
	quiet := judgeOf(t, v.schema, func(r RuleRef) bool { return silent[r] })
	random := randomupdates.New(v.schema, focus, 5)
	for range n * len(silent) {
		first := random.Object()
		if !all.satisfiesPlain(t, first) {
			continue
		}
		second := random.Change(first)
		third := random.Change(second)
		if ok, _ := all.accepts(t, second, first); !ok || !all.valid(second) {
			continue
		}
		if ok, _ := all.accepts(t, third, second); !ok || !all.valid(third) {
			continue
		}
		if ok, why := quiet.accepts(t, third, first); !ok {
			t.Errorf("%s: two updates get around a rule without a warning: %v\nfirst  %s\nsecond %s\nthird  %s", v.name, why, asJSON(first), asJSON(second), asJSON(third))
			return len(silent)
		}
	}
	return len(silent)
}
