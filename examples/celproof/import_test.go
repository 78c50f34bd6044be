package celproof

import (
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/celrule"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/testing/randomupdates"
)

// TestImport compares, for every CRD, the rules that import recognizes with the locks that it makes of them, on random
// updates. And it prints the share of rules that are recognized.
func TestImport(t *testing.T) {
	var tally tally
	rules, recognized := 0, 0
	everyVersion(t, func(t *testing.T, v *crd.Version) {
		im := celrule.Import(v.Schema)
		rules += len(im.Recognized) + len(im.Left)
		recognized += len(im.Recognized)
		if len(im.Recognized) == 0 {
			return
		}
		kept := map[celrule.RuleRef]bool{}
		var focus []string
		for _, r := range im.Recognized {
			kept[celrule.RuleRef{SchemaPath: r.SchemaPath, Index: r.Index}] = true
			focus = append(focus, r.SchemaPath)
			for _, l := range r.Locks {
				focus = append(focus, l.SchemaPath)
			}
		}
		rules := celrun.New(v.Schema, func(r celrun.Rule) bool { return kept[celrule.RuleRef{SchemaPath: r.SchemaPath, Index: r.Index}] })
		tally.plain = celrun.New(v.Schema, func(r celrun.Rule) bool { return !celrun.Transition(r) })
		tally.compare(t, nameOf(v), rules, celrule.Apply(v.Schema, im.Changes), randomupdates.New(v.Schema, focus, 20), 150+200*len(im.Recognized))
	})
	t.Logf("recognized %d of %d transition rules, %.1f %%", recognized, rules, 100*float64(recognized)/float64(rules))
	if rules > 300 && recognized*100 < rules*85 {
		t.Errorf("recognized %d of %d transition rules, want at least 85 %%", recognized, rules)
	}
	tally.check(t)
}

// tally counts updates and the refused among them.
type tally struct {
	pairs, refused int
	plain          *celrun.Validator // rules without oldSelf, which every stored object satisfies; nil for none
	object         *objectSchema     // excuses objects that an API server does not store; nil for none
}

// stored reports whether an API server would store obj, as far as plain is concerned.
func (c *tally) stored(t *testing.T, obj map[string]any) bool {
	t.Helper()
	refusals, err := c.plain.ValidateUpdate(obj, nil)
	if err != nil {
		t.Fatal(err)
	}
	return len(refusals) == 0
}

// compare compares the locks of schema with rules on n updates.
func (c *tally) compare(t *testing.T, name string, rules *celrun.Validator, schema *spec.Schema, random *randomupdates.Random, n int) {
	t.Helper()
	locks, err := immutability.Compile(schema)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for range n {
		newObj, oldObj := random.Next()
		if !c.stored(t, newObj) || !c.stored(t, oldObj) {
			continue
		}
		refusals, err := rules.ValidateUpdate(newObj, oldObj)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		violations := locks.ValidateUpdate(newObj, oldObj)
		if (len(refusals) == 0) != (len(violations) == 0) {
			if c.object != nil && !(c.object.valid(newObj) && c.object.valid(oldObj)) {
				continue
			}
			t.Errorf("%s: CEL: %v, locks: %v\nold %s\nnew %s", name, refusals, violations, encode(t, oldObj), encode(t, newObj))
			return
		}
		c.pairs++
		if len(refusals) > 0 {
			c.refused++
		}
	}
}

// check fails when the updates say little.
func (c *tally) check(t *testing.T) {
	t.Helper()
	t.Logf("%d updates without disagreement, %d of them refused", c.pairs, c.refused)
	if c.refused < c.pairs/10 || c.refused > c.pairs*9/10 {
		t.Errorf("%d of %d updates are refused: too lopsided to prove much", c.refused, c.pairs)
	}
}
