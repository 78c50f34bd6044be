package immutability_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
)

func TestKeyedListsInKeyedLists(t *testing.T) {
	const levels = 500 // looking twice at each level would take 2^500 looks
	ref := spec.Schema{SchemaProps: spec.SchemaProps{Ref: spec.MustCreateRef("#/definitions/node")}}
	build := func(x any, shuffled bool) map[string]any {
		m := map[string]any{"name": "m", "x": x}
		for range levels {
			list := []any{m, map[string]any{"name": "n"}, map[string]any{"name": "o"}}
			if shuffled {
				list[1], list[2] = list[2], list[1]
			}
			m = map[string]any{"name": "m", "a": list}
		}
		return map[string]any{"a": m}
	}
	for name, root := range map[string]*spec.Schema{
		"lock in the innermost list": object(map[string]spec.Schema{"a": ref}),
		"lock around all of them":    object(map[string]spec.Schema{"a": *mark(&spec.Schema{SchemaProps: ref.SchemaProps}, "x-kubernetes-immutable", true)}),
	} {
		t.Run(name, func(t *testing.T) {
			root.Definitions = spec.Definitions{"node": *object(map[string]spec.Schema{
				"name": {SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"string"}}},
				"x":    *mark(&spec.Schema{}, "x-kubernetes-immutable", true),
				"a": *mark(&spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"array"}, Items: &spec.SchemaOrArray{Schema: &ref}}},
					"x-kubernetes-list-type", "map", "x-kubernetes-list-map-keys", []any{"name"}),
			})}
			v := immutability.MustCompile(root, immutability.WithMapListOrder(immutability.MapListOrderIgnored))
			for _, shuffled := range []bool{false, true} {
				if r := v.Check(build("new", shuffled), build("old", false)); len(r.Violations) != 1 {
					t.Errorf("shuffled %t: %d violations, want the one of x", shuffled, len(r.Violations))
				}
				if r := v.Check(build("old", shuffled), build("old", false)); !r.Allowed() {
					t.Errorf("shuffled %t: %d violations of equal objects", shuffled, len(r.Violations))
				}
			}
		})
	}
}

func shuffled(list []any) []any {
	out := append([]any(nil), list...)
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func TestLargeSets(t *testing.T) {
	s := mark(list(&spec.Schema{}), "x-kubernetes-list-type", "set", "x-kubernetes-immutable", true)
	only := mark(list(&spec.Schema{}), "x-kubernetes-list-type", "set", "x-kubernetes-addition-only", true)
	v := immutability.MustCompile(object(map[string]spec.Schema{"set": *s, "only": *only}))
	// Package listtype counts what large sets cost, for items that are hard to tell apart.
	for name, item := range map[string]func(i int) any{
		"strings":   func(i int) any { return fmt.Sprint(i) },
		"objects":   func(i int) any { return map[string]any{"a": int64(i), "b": int64(-i)} },
		"all equal": func(int) any { return "a" },
	} {
		t.Run(name, func(t *testing.T) {
			old := make([]any, many)
			for i := range old {
				old[i] = item(i)
			}
			new := shuffled(old)
			if r := v.Check(map[string]any{"set": new, "only": new}, map[string]any{"set": old, "only": old}); !r.Allowed() {
				t.Errorf("a shuffled set is refused: %v", r.Violations[0].Path)
			}
			new[many/2] = "another"
			r := v.Check(map[string]any{"set": new, "only": new}, map[string]any{"set": old, "only": old})
			if len(r.Violations) != 2 || r.Violations[0].Lock != immutability.LockAdditionOnly || r.Violations[1].Lock != immutability.LockImmutable {
				t.Errorf("%d violations by one item that was replaced", len(r.Violations))
			}
		})
	}
}

func TestLargeKeyedList(t *testing.T) {
	item := object(map[string]spec.Schema{
		"k": *mark(&spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"string"}}}, "x-kubernetes-immutable", true),
		"x": *mark(&spec.Schema{}, "x-kubernetes-immutable", true),
	})
	s := mark(list(item), "x-kubernetes-list-type", "map", "x-kubernetes-list-map-keys", []any{"k"}, "x-kubernetes-immutable-keys", true)
	v := immutability.MustCompile(object(map[string]spec.Schema{"list": *s}))
	build := func(x any) []any {
		out := make([]any, many)
		for i := range out {
			out[i] = map[string]any{"k": fmt.Sprint(i), "x": x}
		}
		return out
	}
	if r := v.Check(map[string]any{"list": shuffled(build("a"))}, map[string]any{"list": build("a")}); !r.Allowed() {
		t.Errorf("a shuffled list is refused")
	}
	same := make([]any, many)
	for i := range same {
		same[i] = map[string]any{"k": "k", "x": int64(i)}
	}
	if r := v.Check(map[string]any{"list": shuffled(same)}, map[string]any{"list": same}); len(r.Violations) != 1 || r.Violations[0].Lock != immutability.LockIncomparable {
		t.Errorf("items of one key: %d violations", len(r.Violations))
	}
}

func TestManyViolations(t *testing.T) {
	v := immutability.MustCompile(object(map[string]spec.Schema{
		"list": *list(mark(&spec.Schema{}, "x-kubernetes-immutable", true)),
		"map":  *mark(&spec.Schema{SchemaProps: spec.SchemaProps{AdditionalProperties: &spec.SchemaOrBool{Allows: true}}}, "x-kubernetes-immutable-keys", true),
	}))
	fill := func(x any, key string) map[string]any {
		items, keys := make([]any, many), map[string]any{}
		for i := range items {
			items[i] = x
			keys[fmt.Sprint(key, i)] = true
		}
		return map[string]any{"list": items, "map": keys}
	}
	r := v.Check(fill("new", "n"), fill("old", "o"))
	if total := len(r.Violations) + r.More; total != 3*many {
		t.Errorf("%d violations are told of, want %d", total, 3*many)
	}
	errs := r.ErrorList()
	if last := errs[len(errs)-1].Detail; last != fmt.Sprintf("and %d more violations", r.More) {
		t.Errorf("the last error says %q", last)
	}
	if first := r.Violations[1].Path.String(); first != "list[1]" {
		t.Errorf("the second violation is at %s: not the first ones of the report are kept", first)
	}
}

func TestManyDifferences(t *testing.T) {
	v := immutability.MustCompile(object(map[string]spec.Schema{"list": *mark(list(&spec.Schema{}), "x-kubernetes-immutable", true)}))
	old, new := make([]any, many), make([]any, many)
	for i := range old {
		old[i], new[i] = "old", "new"
	}
	r := v.Check(map[string]any{"list": new}, map[string]any{"list": old})
	if got := len(r.Violations[0].Differences) + r.Violations[0].MoreDifferences; got != many {
		t.Errorf("%d differences are told of, want %d", got, many)
	}
	if text := r.Violations[0].Message(); len(text) > 1000 || !strings.Contains(text, "and 9997 more differences") {
		t.Errorf("the message is %.200q", text)
	}
}

// TestDeepDifferences: differences beyond the limit of steps are counted, each once.
func TestDeepDifferences(t *testing.T) {
	v := immutability.MustCompile(object(map[string]spec.Schema{"a": *mark(object(nil), "x-kubernetes-immutable", true)}))
	build := func(value any) map[string]any {
		var branches []any
		for range many {
			branches = append(branches, nested(1, value))
		}
		return nested(50, branches)
	}
	r := v.Check(build("new"), build("old"))
	if len(r.Violations) != 1 || r.Violations[0].MoreDifferences == 0 || len(r.Violations[0].Differences)+r.Violations[0].MoreDifferences != many {
		t.Errorf("%d violations, of the first %d differences and %d more", len(r.Violations), len(r.Violations[0].Differences), r.Violations[0].MoreDifferences)
	}
}

func TestStatusOfManyViolations(t *testing.T) {
	v := immutability.MustCompile(object(map[string]spec.Schema{
		"set": *mark(list(&spec.Schema{}), "x-kubernetes-list-type", "set", "x-kubernetes-addition-only", true),
	}))
	old := make([]any, 10_000)
	for i := range old {
		old[i] = fmt.Sprintf("item %d", i)
	}
	const removed = 5_000
	r := v.Check(map[string]any{"set": old[removed:]}, map[string]any{"set": old})
	if errs := r.ErrorList(); len(errs) != removed || fmt.Sprintf("%T", errs[0].BadValue) != "[]interface {}" {
		t.Errorf("%d errors, the first of a value of type %T", len(errs), errs[0].BadValue)
	}
	status := r.Status(schema.GroupKind{Group: "example.com", Kind: "Widget"}, "w", http.StatusUnprocessableEntity)
	size := 0
	for _, cause := range status.Details.Causes {
		size += len(cause.Message)
	}
	if len(status.Details.Causes) != removed || size > 4<<20 {
		t.Errorf("%d causes of %d bytes: the list stands in each", len(status.Details.Causes), size)
	}
	if want := fmt.Sprintf(", and %d more violations", removed-100); !strings.HasSuffix(status.Message, want) {
		t.Errorf("the message ends in %q, want %q", status.Message[len(status.Message)-40:], want)
	}
}
