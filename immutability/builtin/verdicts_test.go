package builtin_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/testing/golden"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
)

var update = flag.Bool("update", false, "write testdata/verdicts.txt anew")

// TestVerdicts holds all that a verdict says beside the server's message, for every case on one minor: the field, the
// lock and rule, the values, what is unknown or noted, and what replacing the object costs.
func TestVerdicts(t *testing.T) {
	cases, err := kindcase.Read(filepath.Join("testdata", "cases"))
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := builtin.For("1.36")
	if err != nil {
		t.Fatal(err)
	}
	value := func(v result.Value) string {
		text := v.String()
		switch {
		case !v.OK:
			return "absent"
		case len(text) > 100:
			return fmt.Sprintf("%s… (%d bytes)", text[:60], len(text))
		}
		return text
	}
	var b strings.Builder
	rules := map[string]int{} // rules are long: each is written out once
	for _, c := range cases {
		kind, _ := kinds.Find(c.Old["apiVersion"].(string), c.Old["kind"].(string))
		if kind == nil {
			continue
		}
		verdict := kind.Check(c.New, c.Old)
		fmt.Fprintln(&b, c.Name)
		for _, v := range verdict.Violations {
			rule := ""
			if text := v.Rule; text != "" {
				if rules[text] == 0 {
					rules[text] = len(rules) + 1
				}
				rule = fmt.Sprintf(" by rule %d", rules[text])
			}
			fmt.Fprintf(&b, "  %s %s%s: %s → %s\n", v.Path, v.Lock, rule, value(v.Old), value(v.New))
			for _, d := range v.Differences {
				fmt.Fprintf(&b, "    %s: %s → %s\n", d.Path, value(d.Old), value(d.New))
			}
		}
		for _, r := range verdict.Unknown {
			fmt.Fprintf(&b, "  unknown %s: %s\n", r.Path, r.Message)
		}
		for _, r := range verdict.Notes {
			fmt.Fprintf(&b, "  note %s: %s\n", r.Path, r.Message)
		}
		if len(verdict.Violations) > 0 {
			r := kind.Replacement(c.New, c.Old, verdict)
			fmt.Fprintf(&b, "  replacement: %s, %d ways: %s\n", r.Cost, len(r.How), r.Message)
		}
	}
	file := filepath.Join("testdata", "verdicts.txt")
	want := golden.Want(t, *update, file, b.String())
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
