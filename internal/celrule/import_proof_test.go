package celrule

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/testing/randomupdates"
	"github.com/fieldlock/fieldlock/internal/testing/realcrds"
)

// TestImportAgreesWithCEL holds imported locks against the API server's CEL validator, on random updates of the CRDs of
// other projects. A fixed seed; examples/celproof runs many more pairs.
func TestImportAgreesWithCEL(t *testing.T) {
	pairs, refused := 0, 0
	for _, v := range readRealCRDs(t) {
		im := Import(v.schema)
		if len(im.Recognized) == 0 {
			continue
		}
		n, r := proveImport(t, v, im, 40*len(im.Recognized))
		pairs, refused = pairs+n, refused+r
	}
	t.Logf("%d pairs, %d of them refused, by CEL and locks alike", pairs, refused)
	if realcrds.All() && (refused < pairs/10 || refused > pairs*9/10) {
		t.Errorf("%d of %d pairs are refused: too lopsided to prove much", refused, pairs)
	}
}

// proveImport compares the recognized rules of v with the locks made of them on n random updates, and returns how many
// were compared and refused.
func proveImport(t *testing.T, v crdVersion, im Imported, n int) (pairs, refused int) {
	t.Helper()
	var kept []RuleRef
	var focus []string
	for _, r := range im.Recognized {
		kept = append(kept, RuleRef{r.SchemaPath, r.Index})
		focus = append(focus, r.SchemaPath)
		for _, l := range r.Locks {
			focus = append(focus, l.SchemaPath)
		}
	}
	judge := judgeOf(t, v.schema, func(r RuleRef) bool { return slices.Contains(kept, r) })
	locks, err := immutability.Compile(Apply(v.schema, im.Changes))
	if err != nil {
		t.Fatalf("%s: the imported locks do not compile: %v", v.name, err)
	}
	is := transitions(v.schema)
	judge.plain = celrun.New(v.schema, func(r celrun.Rule) bool { return !is(RuleRef{r.SchemaPath, r.Index}) })
	return sameVerdicts(t, v.name, judge, locks, randomupdates.New(v.schema, focus, 7), n)
}

// sameVerdicts compares judge with locks on n updates, and returns how many were compared and refused.
func sameVerdicts(t *testing.T, name string, judge *judgement, locks *immutability.Validator, random *randomupdates.Random, n int) (pairs, refused int) {
	t.Helper()
	for range n {
		newObj, oldObj := random.Next()
		if !judge.satisfiesPlain(t, newObj) || !judge.satisfiesPlain(t, oldObj) {
			continue
		}
		accepted, why := judge.accepts(t, newObj, oldObj)
		violations := locks.ValidateUpdate(newObj, oldObj)
		if accepted != (len(violations) == 0) {
			t.Errorf("%s: CEL accepts: %v (%v), locks: %v\nold %s\nnew %s", name, accepted, why, violations, asJSON(oldObj), asJSON(newObj))
			return pairs, refused
		}
		pairs++
		if !accepted {
			refused++
		}
	}
	return pairs, refused
}

func asJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
