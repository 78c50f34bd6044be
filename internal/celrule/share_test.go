package celrule

import (
	"maps"
	"slices"
	"testing"

	"github.com/fieldlock/fieldlock/internal/testing/realcrds"
)

// TestRecognizedShare holds the promise that at least 85 % of the transition rules of real CRDs are read as locks.
func TestRecognizedShare(t *testing.T) {
	rules, recognized := 0, 0
	left := map[string]int{}
	for _, v := range readRealCRDs(t) {
		im := Import(v.schema)
		rules += len(im.Recognized) + len(im.Left)
		recognized += len(im.Recognized)
		for _, l := range im.Left {
			left[l.Reason]++
			t.Logf("left: %s %s: %s: %s", v.name, l.Path, l.Text, l.Reason)
		}
		for _, r := range im.Recognized {
			if len(r.Locks) != 1 || r.Text != "self == oldSelf" {
				t.Logf("read: %s %s: %s: %v", v.name, r.Path, r.Text, r.Locks)
			}
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(left)) {
		t.Logf("%4d left: %s", left[reason], reason)
	}
	share := float64(recognized) / float64(rules)
	t.Logf("recognized %d of %d transition rules, %.1f %%", recognized, rules, 100*share)
	if share < 0.85 && realcrds.All() {
		t.Errorf("recognized %.1f %% of the transition rules, want at least 85 %%", 100*share)
	}
}
