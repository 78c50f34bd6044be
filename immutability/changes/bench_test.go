package changes_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/changes"
)

// BenchmarkCheck measures a whole comparison, reading included: one object of n is refused.
func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{1, 100} {
		var oldText bytes.Buffer
		for i := range n {
			fmt.Fprintf(&oldText, "---\n%s", bytes.Replace(deployment("shop"), []byte("name: shop}"), fmt.Appendf(nil, "name: shop-%d}", i), 1))
		}
		newText := bytes.Replace(oldText.Bytes(), []byte("matchLabels: {app: shop}"), []byte("matchLabels: {app: cart}"), 1)
		b.Run(fmt.Sprintf("route=changes/n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, err := changes.Check(b.Context(), newText, oldText.Bytes())
				if err != nil || r.Allowed || len(r.Violations) == 0 {
					b.Fatal(err, r)
				}
			}
		})
	}
}
