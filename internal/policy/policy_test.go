package policy_test

import (
	"os"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/policy"
	"github.com/fieldlock/fieldlock/internal/testing/policycase"
)

// kindsOf returns the built-in kinds and the CRDs of a file.
func kindsOf(t *testing.T, file string) *policycase.Kinds {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	crds, err := crd.Read(file, data)
	if err != nil {
		t.Fatal(err)
	}
	known, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	return &policycase.Kinds{Builtin: known, CRDs: crds}
}

// TestCases: each update has the verdict that the end-to-end tests get from a real API server.
func TestCases(t *testing.T) {
	kinds := kindsOf(t, "testdata/crds.yaml")
	cases, err := policycase.Read("testdata/cases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			u, err := kinds.Update(c.New, c.Old)
			if err != nil {
				t.Fatal(err)
			}
			set := policy.NewSet(c.Documents(), kinds.Scope)
			if set == nil || len(set.Warnings()) > 0 {
				t.Fatalf("the policy was not read: %q", set.Warnings())
			}
			v := set.Check(u)
			if c.Unknown != "" {
				if len(v.Refused) > 0 || len(v.Unknown) != 1 || !strings.Contains(v.Unknown[0], c.Unknown) {
					t.Errorf("got %+v, want it unknown because of %s: %s", v, c.Unknown, c.Reason)
				}
				return
			}
			if len(v.Unknown) > 0 {
				t.Errorf("it is unknown: %q", v.Unknown)
			}
			checkRefused(t, &c, v)
			if warned := len(v.Notes) == 1 && strings.HasSuffix(v.Notes[0], c.Warning); c.Warning != "" && !warned {
				t.Errorf("got the notes %q, want %q: %s", v.Notes, c.Warning, c.Reason)
			}
		})
	}
}

func checkRefused(t *testing.T, c *policycase.Case, v policy.Decision) {
	t.Helper()
	switch {
	case c.Refused == "" && len(v.Refused) > 0:
		t.Errorf("it is refused: %+v; want it allowed: %s", v.Refused, c.Reason)
	case c.Refused != "" && len(v.Refused) != 1:
		t.Errorf("got %d refusals: %+v; want one that ends with %q: %s", len(v.Refused), v.Refused, c.Refused, c.Reason)
	case c.Refused != "":
		r := v.Refused[0]
		if !strings.Contains(r.Message, c.Refused) || r.OnlyOld != c.OnlyOld || r.Policy != c.ID || r.Binding != c.ID {
			t.Errorf("got %+v, want %q, only in OLD: %v: %s", r, c.Refused, c.OnlyOld, c.Reason)
		}
	}
}
