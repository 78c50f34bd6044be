package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/testing/randomupdates"
	"github.com/fieldlock/fieldlock/internal/testing/realcrds"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// TestLintFixOfRealCRDs: after lint --fix, every single update of the CRDs of other projects that was allowed before is
// still allowed, except the ways around: an update that removes what a companion keeps, and one that a rule of another
// served version refuses. Random updates, from a fixed seed. Of the ways around that it is for, at least 95 % are
// refused.
func TestLintFixOfRealCRDs(t *testing.T) {
	if testing.Short() {
		t.Skip("it lints and fixes many CRDs")
	}
	var sum fixTally
	for _, name := range realcrds.Files(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "oldSelf") {
			continue
		}
		file := filepath.Join(t.TempDir(), filepath.Base(name))
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		before := readCRDs(t, file)
		found, err := audit.CRDs(before, nil, audit.Options{Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		runCommand("", "lint", "--fix", file)
		after := readCRDs(t, file)
		sum.replay(t, found, after)
		for i, c := range before {
			for n := range c.Versions {
				sum.compare(t, c, after[i], n)
			}
		}
	}
	t.Logf("%+v", sum)
	if realcrds.All() && (sum.Rules < 60 || sum.Allowed < 1000 || sum.Closed < 250) {
		t.Errorf("%+v: too few to show much", sum)
	}
	if (sum.Fixed-sum.Refused)*20 > sum.Fixed {
		t.Errorf("%+v: after the fixes, less than 95 %% of the ways around that they are for are refused", sum)
	}
}

// replay writes the objects of the ways around that --fix closes to the CRDs after it.
func (sum *fixTally) replay(t *testing.T, found *audit.Report, after []*crd.CRD) {
	t.Helper()
	for _, f := range found.Findings {
		if f.Witness == nil {
			continue
		}
		sum.Shown++
		if f.Severity != immutability.SeverityWarning || f.Fix == nil || !f.Fix.Safe {
			continue
		}
		sum.Fixed++
		i := slices.IndexFunc(after, func(c *crd.CRD) bool { return c.Name == f.CRD })
		k, objects := witness.FromCRD(after[i], nil), f.Witness.Objects
		refused := false
		for n := range objects[1:] {
			refusals, _, err := k.Update(objects[n+1], objects[n])
			if err != nil {
				t.Fatal(err)
			}
			refused = refused || len(refusals) > 0
		}
		if refused {
			sum.Refused++
		} else {
			t.Logf("%s %s: %s at %s is not closed: %v", f.CRD, f.Version, f.Rule, f.Path, objects)
		}
	}
}

// fixTally counts what TestLintFixOfRealCRDs has seen.
type fixTally struct {
	Rules   int // that fixes added
	Allowed int // updates before and after
	Closed  int // updates that get around a rule

	// Ways around that have objects, of these the ones that --fix is for, and of these the ones that are refused after
	// it.
	Shown, Fixed, Refused int
}

// compare holds the n-th version of a CRD against the same after lint --fix.
func (sum *fixTally) compare(t *testing.T, before, after *crd.CRD, n int) {
	t.Helper()
	was, is := before.Versions[n], after.Versions[n]
	rulesBefore, rulesAfter := celrun.New(was.Schema, celrun.Transition), celrun.New(is.Schema, celrun.Transition)
	same := func(a, b celrun.Rule) bool { return a.SchemaPath == b.SchemaPath && a.Text == b.Text }
	var added []celrun.Rule
	var focus []string
	for _, r := range rulesAfter.Rules() {
		if !slices.ContainsFunc(rulesBefore.Rules(), func(old celrun.Rule) bool { return same(old, r) }) {
			added = append(added, r)
			focus = append(focus, fieldsOf(r)...)
		}
	}
	if len(added) == 0 {
		return
	}
	sum.Rules += len(added)
	isCopy := func(r celrun.Rule) bool {
		return slices.ContainsFunc(before.Versions, func(v *crd.Version) bool {
			return v != was && slices.ContainsFunc(celrun.New(v.Schema, celrun.Transition).Rules(), func(old celrun.Rule) bool { return same(old, r) })
		})
	}
	random := randomupdates.New(was.Schema, focus, 3)
	for range 20 + 20*len(added) {
		newObj, oldObj := random.Next()
		refused, now := violations(t, rulesBefore, newObj, oldObj), violations(t, rulesAfter, newObj, oldObj)
		switch {
		case len(refused) > len(now):
			t.Fatalf("%s %s: the fix allows an update that was refused: %v\nold %v\nnew %v", before.Name, was.Name, refused, oldObj, newObj)
		case len(refused) > 0:
			continue
		case len(now) == 0:
			sum.Allowed++
		default:
			sum.Closed++
		}
		for _, v := range now {
			if !slices.ContainsFunc(added, func(r celrun.Rule) bool { return same(r, v.Rule) }) || !isCopy(v.Rule) && !companion(v.Rule) {
				t.Fatalf("%s %s: %q refuses an update that gets around no rule\nold %v\nnew %v", before.Name, was.Name, v.Rule.Text, oldObj, newObj)
			}
		}
	}
}

// companion reports whether r refuses the removal of a field, and nothing else: its last operand is that the field is
// there, and no other one reads the new object.
func companion(r celrun.Rule) bool {
	old, kept, found := strings.Cut(r.Text, " || has(self.")
	match := oldField.FindStringSubmatch(old)
	return found && match != nil && strings.TrimSuffix(kept, ")") == match[1] && !newField.MatchString(old)
}

var newField = regexp.MustCompile(`\bself\b`)

// fieldsOf returns the schema paths of the fields that a companion rule asks the old object for, otherwise where r is.
func fieldsOf(r celrun.Rule) []string {
	paths := []string{r.SchemaPath}
	for _, match := range oldField.FindAllStringSubmatch(r.Text, -1) {
		paths = append(paths, r.SchemaPath+"/properties/"+strings.ReplaceAll(match[1], ".", "/properties/"))
	}
	return paths
}

func readCRDs(t *testing.T, file string) []*crd.CRD {
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
