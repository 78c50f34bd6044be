package operators_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
)

// TestEachRowHasACase: of each row there is a case that it refuses, leaves undecided or remarks on.
func TestEachRowHasACase(t *testing.T) {
	catalogue, err := operators.Load()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, folder := range []string{"cases", "read"} {
		cases, err := kindcase.Read(filepath.Join("testdata", folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			kind, ok := catalogue.Find(c.Old["apiVersion"].(string), c.Old["kind"].(string))
			if !ok {
				t.Fatalf("%s: the kind is not known", c.Name)
			}
			verdict, rows := kind.Check(c.New, c.Old), kind.Rows()
			for _, v := range verdict.Violations {
				seen[rowID(kind, &rows[v.Row-1])] = true
			}
			for _, r := range append(verdict.Unknown, verdict.Notes...) {
				seen[rowID(kind, &rows[r.Row-1])] = true
			}
		}
	}
	for _, kind := range catalogue.All() {
		for _, row := range kind.Rows() {
			if id := rowID(kind, &row); !seen[id] {
				t.Errorf("%s has no case", id)
			}
		}
	}
}

// sourceForm is a function or several, and their file or package; or why there is no function.
var sourceForm = regexp.MustCompile(`^[\w.*]+(( and |, | with )[\w.* ]+)* \([^()]+\)$| has no `)

// TestSources: each row names the function that refuses, and where it is.
func TestSources(t *testing.T) {
	catalogue, err := operators.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range catalogue.All() {
		if !sourceForm.MatchString(kind.Source) {
			t.Errorf("%s: %q", kind.Kind, kind.Source)
		}
		for _, row := range kind.Rows() {
			if !sourceForm.MatchString(row.Source) {
				t.Errorf("%s %s: %q", kind.Kind, row.Path, row.Source)
			}
		}
	}
}

// What cert-manager's webhook says about an update that no CRD refuses.
func Example() {
	catalogue, err := operators.Load()
	if err != nil {
		fmt.Println(err)
		return
	}
	kind, ok := catalogue.Find("cert-manager.io/v1", "CertificateRequest")
	if !ok {
		fmt.Println("nothing is known of the kind")
		return
	}
	object := func(issuer string) map[string]any {
		return map[string]any{
			"apiVersion": "cert-manager.io/v1", "kind": "CertificateRequest", "metadata": map[string]any{"name": "web"},
			"spec": map[string]any{"request": "Zm9v", "issuerRef": map[string]any{"name": issuer}},
		}
	}
	verdict := kind.Check(object("b"), object("a"))
	for _, v := range verdict.Violations {
		fmt.Printf("%s refuses %s: %s\n", kind.Operator.Name, v.Path, v.Message)
	}
	fmt.Println(kind.Replacement(object("b"), verdict).Cost)
	// Output:
	// cert-manager refuses spec: cannot change spec after creation
	// none
}
