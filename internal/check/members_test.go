package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// listOf returns a checker of an object with a list by key.
func listOf(t *testing.T, item string) (*Checker, *KeyedItems) {
	t.Helper()
	c := compileText(t, `{"type":"object","properties":{"list":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":`+item+`}}}`)
	return c, c.root.(*ContainerNode).Object.Properties[0].Node.(*ContainerNode).List.(*KeyedItems)
}

// broken returns what an update of a list breaks: a line for each lock, under the name of the item.
func broken(c *Checker, newList, oldList []any) []string {
	r := c.Check(map[string]any{"list": newList}, map[string]any{"list": oldList})
	if r == nil {
		return nil
	}
	var lines []string
	var visit func(f *Found, path string, value any)
	visit = func(f *Found, path string, value any) {
		for _, refusal := range f.Here {
			lines = append(lines, fmt.Sprintf("%s %s: %v -> %v", path, refusal.Lock, refusal.Old, refusal.New))
		}
		for _, below := range f.Below {
			if below.Step.Role == schema.Items {
				item := value.([]any)[below.Step.Index].(map[string]any)
				visit(below.Found, path+"/"+item["name"].(string), item)
				continue
			}
			members, _ := value.(map[string]any)
			visit(below.Found, path+"/"+below.Step.Name, members[below.Step.Name])
		}
	}
	visit(r.Found, "", map[string]any{"list": newList})
	slices.Sort(lines)
	return lines
}

// TestOldMembers: a list in another order breaks what it breaks in order, where old and new items are compared in
// place.
func TestOldMembers(t *testing.T) {
	object := func(properties string) string {
		return `{"type":"object","properties":{"name":{"type":"string"},` + properties + `}}`
	}
	zone := object(`"zone":{"type":"string","x-kubernetes-immutable":true}`)
	for _, c := range []struct {
		name       string
		item       string
		olds, news string
		read       int // how many properties are read with the old list
		breaks     string
	}{
		{"nothing changed", zone, `[{"name":"a","zone":"x"},{"name":"b","zone":"y"}]`, `[{"name":"a","zone":"x"},{"name":"b","zone":"y"}]`, 1, ""},
		{"changed", zone, `[{"name":"a","zone":"x"},{"name":"b","zone":"y"}]`, `[{"name":"a","zone":"x"},{"name":"b","zone":"z"}]`, 1, "/list/b/zone"},
		{"swapped", zone, `[{"name":"a","zone":"x"},{"name":"b","zone":"y"}]`, `[{"name":"a","zone":"y"},{"name":"b","zone":"x"}]`, 1, "/list/a/zone /list/b/zone"},
		{"added to an item", zone, `[{"name":"a"},{"name":"b","zone":"y"}]`, `[{"name":"a","zone":"x"},{"name":"b","zone":"y"}]`, 1, "/list/a/zone"},
		{"removed from an item", zone, `[{"name":"a","zone":"x"},{"name":"b","zone":"y"}]`, `[{"name":"a"},{"name":"b","zone":"y"}]`, 1, "/list/a/zone"},
		{"absent in both", zone, `[{"name":"a"},{"name":"b"}]`, `[{"name":"a"},{"name":"b"}]`, 1, ""},
		{"null is not absent", zone, `[{"name":"a"},{"name":"b","zone":null}]`, `[{"name":"a","zone":null},{"name":"b"}]`, 1, "/list/a/zone /list/b/zone"},
		{"an object", object(`"at":{"type":"object","x-kubernetes-immutable":true}`), `[{"name":"a","at":{"x":1}},{"name":"b","at":{"x":1}}]`, `[{"name":"a","at":{"x":1}},{"name":"b","at":{"x":2}}]`, 1, "/list/b/at"},
		{"below an object", object(`"at":{"type":"object","properties":{"x":{"type":"integer","x-kubernetes-immutable":true}}}`), `[{"name":"a","at":{"x":1}},{"name":"b","at":{"x":1}}]`, `[{"name":"a","at":{"x":2}},{"name":"b"}]`, 1, "/list/a/at/x"},
		{"two properties", object(`"x":{"type":"integer","x-kubernetes-immutable":true},"y":{"type":"integer","x-fieldlock-update":["NoUnset"]}`), `[{"name":"a","x":1,"y":1},{"name":"b","x":2,"y":2}]`, `[{"name":"a","x":2,"y":2},{"name":"b","x":2}]`, 2, "/list/a/x /list/b/y"},
		{"three properties", object(`"x":{"type":"integer","x-kubernetes-immutable":true},"y":{"type":"integer","x-kubernetes-immutable":true},"z":{"type":"integer","x-kubernetes-immutable":true}`), `[{"name":"a","x":1,"y":1,"z":1},{"name":"b","x":2,"y":2,"z":2}]`, `[{"name":"a","x":2,"y":1,"z":1},{"name":"b","x":2,"z":3}]`, 0, "/list/a/x /list/b/y /list/b/z"},
		{"zero counts as absent", object(`"zone":{"type":"string","x-kubernetes-immutable":true,"x-kubernetes-normalize":"zero"}`), `[{"name":"a"},{"name":"b","zone":""}]`, `[{"name":"a","zone":""},{"name":"b","zone":"x"}]`, 1, "/list/b/zone"},
		{"other keys too", `{"type":"object","properties":{"name":{"type":"string"}},"additionalProperties":{"type":"string","x-kubernetes-immutable":true}}`, `[{"name":"a","k":"x"},{"name":"b","k":"x"}]`, `[{"name":"a","k":"x"},{"name":"b","k":"y"}]`, 0, "/list/b/k"},
		{"whole items", `{"type":"object","x-kubernetes-immutable":true,"properties":{"name":{"type":"string"}}}`, `[{"name":"a","k":"x"},{"name":"b","k":"x"}]`, `[{"name":"a","k":"x"},{"name":"b","k":"y"}]`, 0, "/list/b"},
		{"a list by key below", object(`"in":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":` + zone + `}`), `[{"name":"a","in":[{"name":"c","zone":"x"}]},{"name":"b"}]`, `[{"name":"a","in":[{"name":"c","zone":"y"}]},{"name":"b"}]`, 0, "/list/a/in/c/zone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			checker, list := listOf(t, c.item)
			if len(list.Members) != c.read {
				t.Errorf("%d properties are read, want %d", len(list.Members), c.read)
			}
			var olds, news []any
			if err := json.Unmarshal([]byte(c.olds), &olds); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(c.news), &news); err != nil {
				t.Fatal(err)
			}
			want := broken(checker, news, olds)
			var at []string
			for _, line := range want {
				path, _, _ := strings.Cut(line, " ")
				at = append(at, path)
			}
			if got := strings.Join(at, " "); got != c.breaks {
				t.Errorf("in order: broken at %q, want %q", got, c.breaks)
			}
			slices.Reverse(news)
			if got := broken(checker, news, olds); !slices.Equal(got, want) {
				t.Errorf("in another order:\n%q\nwant\n%q", got, want)
			}
		})
	}
}
