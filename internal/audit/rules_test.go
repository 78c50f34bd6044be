package audit

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/celrule"
	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/testing/randomupdates"
	"github.com/fieldlock/fieldlock/internal/testing/realcrds"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// rulesCase is a case of testdata/rules.yaml.
type rulesCase struct {
	Name, Reason string
	Spec         json.RawMessage
	Findings     []struct {
		Path, Rule, Message string
		Fix                 string // part of its text
		Safe                bool
		Refuses             string // part of it
		NoFix               bool   `json:"no-fix"`
		Note                bool   // the author of the rule seems to mean it
	}
	// ReadsLocks is set if a lock closes the hole, which the API server does not know, or a rule that counts zero as
	// absent.
	ReadsLocks bool `json:"reads-locks"`
}

// TestRules: the ways around transition rules, each shown by objects that the API server's validator judges, and rules
// that refuse nothing. Where there is no finding, random updates find no way around either.
func TestRules(t *testing.T) {
	var cases []rulesCase
	readCases(t, "testdata/rules.yaml", &cases)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			widget := crds(t, "c.yaml", "Widget", "None", string(c.Spec))[0]
			got := aboutRules(t, widget, nil)
			for i, f := range got {
				if i >= len(c.Findings) || f.Path != c.Findings[i].Path || f.Rule != c.Findings[i].Rule || !strings.Contains(f.Message, c.Findings[i].Message) {
					t.Errorf("finding %d is %s at %s: %s (%s)", i, f.Rule, f.Path, f.Message, c.Reason)
					continue
				}
				want := c.Findings[i]
				if f.Rule != finding.DeadRule && len(f.Fields) == 0 {
					t.Errorf("finding %+v names no field", f)
				}
				severity := immutability.SeverityWarning
				if want.Note {
					severity = immutability.SeverityNote
				}
				if f.Severity != severity || want.Note && f.Fix != nil {
					t.Errorf("finding %d is a %s with the fix %+v, want a %s (%s)", i, f.Severity, f.Fix, severity, c.Reason)
				}
				if f.Fix != nil && strings.HasSuffix(f.Message, " required") {
					t.Errorf("finding %d has a fix, and asks for more: %s", i, f.Message)
				}
				if want.NoFix && f.Fix != nil {
					t.Errorf("finding %d has the fix %q (%s)", i, f.Fix.Text, c.Reason)
				}
				if want.Fix != "" {
					proveFix(t, widget, f, want.Fix, want.Refuses, want.Safe)
				}
				if f.Rule != finding.DeadRule {
					proveSteps(t, witness.FromCRD(widget, nil), f.Witness)
				}
			}
			if len(got) < len(c.Findings) {
				t.Errorf("%d findings, want %d (%s)", len(got), len(c.Findings), c.Reason)
			}
			if !c.ReadsLocks {
				proveSilence(t, widget, got, 300)
			}
		})
	}
}

// TestRemovedSpec: an object whose spec is removed is a finding only where the schema speaks of such objects. Then spec
// is kept as it is, and not while something is in it.
func TestRemovedSpec(t *testing.T) {
	const head = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
`
	const spec = `        properties:
          spec:
            type: object
            nullable: NULLABLE
            x-kubernetes-validations: [{rule: "!has(oldSelf.f) || has(self.f) && self.f == oldSelf.f"}]
            properties: {f: {type: string}}
          data: {type: object}
`
	for _, c := range []struct {
		name, text string
		found      bool
		safe       bool
	}{
		{"nobody sends an object without its spec", strings.Replace(spec, "NULLABLE", "false", 1), false, false},
		{"null is a spec", strings.Replace(spec, "NULLABLE", "true", 1), true, true},
		{"spec or data", "        anyOf: [{required: [spec]}, {required: [data]}]\n" + strings.Replace(spec, "NULLABLE", "false", 1), true, false},
		{"spec or data, by a rule", "        x-kubernetes-validations: [{rule: has(self.spec) || has(self.data)}]\n" + strings.Replace(spec, "NULLABLE", "false", 1), true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, err := crd.Read("c.yaml", []byte(head+c.text))
			if err != nil {
				t.Fatal(err)
			}
			findings := aboutRules(t, list[0], nil)
			if !c.found {
				if len(findings) > 0 {
					t.Errorf("%+v", findings)
				}
				return
			}
			if len(findings) != 1 {
				t.Fatalf("%+v", findings)
			}
			proveFix(t, list[0], findings[0], "rule: '!has(oldSelf.spec) || has(self.spec)'", "an update that removes spec", c.safe)
		})
	}
}

// proveFix wants a fix with a text, which closes the hole of its finding.
func proveFix(t *testing.T, c *crd.CRD, f Finding, text, refuses string, safe bool) {
	t.Helper()
	if f.Fix == nil || !strings.Contains(f.Fix.Text, text) || f.Fix.Safe != safe || !strings.Contains(f.Fix.Refuses, refuses) {
		t.Errorf("%s at %s has the fix %+v, want %q", f.Rule, f.Path, f.Fix, text)
		return
	}
	fixed, version := *c, *c.Versions[0]
	version.Schema = celrule.Apply(version.Schema, []celrule.Change{{SchemaPath: f.Fix.SchemaPath, AddRules: f.Fix.AddRules}})
	fixed.Versions = []*crd.Version{&version}
	for _, left := range aboutRules(t, &fixed, nil) {
		if left.Path == f.Path && left.Rule == f.Rule && left.Severity != immutability.SeverityNote {
			t.Errorf("the fix %q does not close the hole", f.Fix.Text)
		}
	}
}

// aboutRules returns the findings about ways around the transition rules of a CRD, about rules that refuse nothing, and
// about those that an update of old drops, by version, path and rule.
func aboutRules(t *testing.T, c, old *crd.CRD) []Finding {
	t.Helper()
	var olds []*crd.CRD
	if old != nil {
		olds = []*crd.CRD{old}
	}
	r, err := CRDs([]*crd.CRD{c}, olds, Options{Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	findings := slices.DeleteFunc(r.Findings, func(f Finding) bool {
		about := f.Rule == finding.DeadRule || f.Rule == finding.LockDropped || strings.HasPrefix(f.Rule, "cel-")
		return !about || f.Rule == finding.CELTwoSteps
	})
	slices.SortStableFunc(findings, func(x, y Finding) int {
		return strings.Compare(x.Version+x.Path+"\x00"+x.Rule, y.Version+y.Path+"\x00"+y.Rule)
	})
	return findings
}

func readCases(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// TestRulesOfVersions: ways around a rule through another version.
func TestRulesOfVersions(t *testing.T) {
	var cases []struct {
		Name, Reason string
		Webhook      bool
		Versions     map[string]json.RawMessage
		Findings     []struct {
			Version, Path, Rule, Message string
			Fix                          string // its text
			Safe                         bool
		}
	}
	readCases(t, "testdata/versions.yaml", &cases)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			var specs []string
			for i := range len(c.Versions) {
				specs = append(specs, string(c.Versions[fmt.Sprintf("v%d", i+1)]))
			}
			conversion := "None"
			if c.Webhook {
				conversion = "Webhook"
			}
			widget := crds(t, "c.yaml", "Widget", conversion, specs...)[0]
			for i, v := range widget.Versions { // what only the last version has is stored, too
				v.Storage = i == len(specs)-1
			}
			found := slices.DeleteFunc(aboutRules(t, widget, nil), func(f Finding) bool { return f.Rule != finding.CELVersionWithoutRule })
			for i, f := range found {
				if i >= len(c.Findings) {
					t.Errorf("version %s: unexpected %s at %s: %s (%s)", f.Version, f.Rule, f.Path, f.Message, c.Reason)
					continue
				}
				want := c.Findings[i]
				if note := f.Severity == immutability.SeverityNote; note != c.Webhook {
					t.Errorf("version %s: severity %s (%s)", want.Version, f.Severity, c.Reason)
				}
				proveSteps(t, witness.FromCRD(widget, nil), f.Witness)
				if (f.Fix == nil) != (want.Fix == "") || f.Fix != nil && (f.Fix.Text != want.Fix || f.Fix.Safe != want.Safe || f.Fix.Version != want.Version) {
					t.Errorf("version %s: fix %+v, want %q (%s)", want.Version, f.Fix, want.Fix, c.Reason)
				}
				if f.Version != want.Version || f.Path != want.Path || !strings.Contains(f.Message, want.Message) {
					t.Errorf("version %s: %s at %s: %s (%s)", f.Version, f.Rule, f.Path, f.Message, c.Reason)
				}
			}
			if len(found) < len(c.Findings) {
				t.Errorf("%d findings, want %d (%s)", len(found), len(c.Findings), c.Reason)
			}
		})
	}
}

// TestDroppedRules: rules before and after an update of the CRD.
func TestDroppedRules(t *testing.T) {
	var cases []struct {
		Name, Reason string
		Old, New     json.RawMessage
		Findings     []struct{ Rule, Path, Severity, Message string }
	}
	readCases(t, "testdata/dropped.yaml", &cases)
	for _, c := range cases {
		widget, old := crds(t, "c.yaml", "Widget", "None", string(c.New))[0], crds(t, "c.yaml", "Widget", "None", string(c.Old))[0]
		got := slices.DeleteFunc(aboutRules(t, widget, old), func(f Finding) bool { return f.Rule != finding.LockDropped })
		if len(got) != len(c.Findings) {
			t.Errorf("%s: %+v, want %+v (%s)", c.Name, got, c.Findings, c.Reason)
			continue
		}
		for i, want := range c.Findings {
			if f := got[i]; f.Rule != want.Rule || f.Path != want.Path || string(f.Severity) != want.Severity || !strings.Contains(f.Message, want.Message) || len(f.Fields) == 0 {
				t.Errorf("%s: %+v, want %+v (%s)", c.Name, f, want, c.Reason)
			}
		}
	}
}

// TestNoOtherWaysInRealCRDs looks for two random updates in a row that get around a rule which no finding names.
func TestNoOtherWaysInRealCRDs(t *testing.T) {
	silent := 0
	for _, file := range realcrds.Files(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		list, err := crd.Read(file, data)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			silent += proveSilence(t, c, aboutRules(t, c, nil), 60)
		}
	}
	t.Logf("%d rules without a finding", silent)
}

// proveSilence looks for two random updates that get around a rule that no finding names; n for each rule. It returns
// how many rules it tried.
func proveSilence(t *testing.T, c *crd.CRD, findings []Finding, n int) int {
	t.Helper()
	k := witness.FromCRD(c, nil)
	tried := 0
	for _, v := range c.Versions {
		if !v.Served {
			continue
		}
		silent, focus := silentRules(v, findings)
		random := randomupdates.New(v.Schema, focus, 5)
		tried += len(silent)
		for range n * len(silent) {
			if proveNoWay(t, k, v, random, silent) {
				break
			}
		}
	}
	return tried
}

// silentRules returns the texts of the rules of a version that equal locks and that no finding names, and the schema
// paths that they are about.
func silentRules(v *crd.Version, findings []Finding) (silent map[string]bool, focus []string) {
	named := func(path string) bool {
		return slices.ContainsFunc(findings, func(f Finding) bool { return f.Version == v.Name && slices.Contains(f.Fields, path) })
	}
	silent, loud := map[string]bool{}, map[string]bool{}
	imported := celrule.Import(v.Schema)
	for _, r := range imported.Left {
		loud[r.Text] = true
	}
	for _, r := range imported.Recognized {
		if named(r.Path) || slices.ContainsFunc(r.Locks, func(l celrule.LockAt) bool { return named(l.Path) }) {
			loud[r.Text] = true
			continue
		}
		silent[r.Text] = true
		focus = append(focus, r.SchemaPath)
		for _, l := range r.Locks {
			focus = append(focus, l.SchemaPath)
		}
	}
	for text := range loud {
		delete(silent, text)
	}
	return silent, focus
}

// proveNoWay tries two random updates, and reports whether they get around a silent rule.
func proveNoWay(t *testing.T, k *witness.Kind, v *crd.Version, random *randomupdates.Random, silent map[string]bool) bool {
	t.Helper()
	first := random.Object()
	second := random.Change(first)
	third := random.Change(second)
	for _, obj := range []map[string]any{first, second, third} {
		obj["apiVersion"], obj["kind"], obj["metadata"] = k.Versions[0].APIVersion, k.Versions[0].Kind, map[string]any{"name": "example"}
		for _, of := range k.Versions {
			if of.Name == v.Name {
				obj["apiVersion"] = of.APIVersion
			}
		}
	}
	accepts := func(newObj, oldObj map[string]any) bool {
		refused, mistakes, err := k.Update(newObj, oldObj)
		return err == nil && len(mistakes)+len(refused) == 0
	}
	if second["spec"] == nil { // nobody sends an object without its spec
		return false
	}
	if !accepts(second, first) || !accepts(third, second) {
		return false
	}
	refused, _, err := k.Update(third, first)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range refused {
		if silent[r.Rule] {
			t.Errorf("%s: two updates get around the rule %q without a warning:\nfirst  %v\nsecond %v\nthird  %v", v.Name, r.Rule, first, second, third)
			return true
		}
	}
	return false
}
