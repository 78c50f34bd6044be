package immutability_test

import (
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability"
)

// TestDecodedItemsAreNotMixedUp: what a check remembers about the decoded values of one item must not be taken for
// those of another, which may come to lie at the same address once the first are garbage.
func TestDecodedItemsAreNotMixedUp(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	var s spec.Schema
	if err := yaml.Unmarshal([]byte(`
type: object
properties:
  list:
    type: array
    items:
      type: object
      x-fieldlock-update: [NoModify]
      properties:
        tags: {type: array, x-kubernetes-list-type: set, items: {type: array, x-kubernetes-list-type: set, items: {type: string}}, x-kubernetes-addition-only: true}
`), &s); err != nil {
		t.Fatal(err)
	}
	v := immutability.MustCompile(&s)
	const items = 3000
	var newItems, oldItems []string
	want := 0
	for i := range items {
		oldItems = append(oldItems, fmt.Sprintf(`{"tags":[["a%d","b","c"],["d"]]}`, i))
		if i%2 == 0 {
			newItems = append(newItems, fmt.Sprintf(`{"tags":[["d"],["c","b","a%d"]]}`, i))
		} else {
			newItems = append(newItems, fmt.Sprintf(`{"tags":[["d"],["c","b","x%d"]]}`, i))
			want += 2 // the item, and the set that was removed
		}
	}
	doc := func(items []string) []byte { return []byte(`{"list":[` + strings.Join(items, ",") + `]}`) }
	r, err := v.CheckJSON(doc(newItems), doc(oldItems))
	if err != nil || len(r.Violations)+r.More != want {
		t.Errorf("%d violations, %v; want %d", len(r.Violations)+r.More, err, want)
	}
}
