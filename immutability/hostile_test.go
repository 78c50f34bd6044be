package immutability_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/suite"
)

// The tests of this file end at all, and soon, only when cost grows with the input and no faster.

const (
	deep = 10_000
	many = 10_000
)

// nested returns a value inside n objects under the key a.
func nested(n int, v any) map[string]any {
	m := map[string]any{"a": v}
	for range n {
		m = map[string]any{"a": m}
	}
	return m
}

func mark(s *spec.Schema, pairs ...any) *spec.Schema {
	for i := 0; i < len(pairs); i += 2 {
		set(s, pairs[i].(string), pairs[i+1])
	}
	return s
}

func TestDeepObjectUnderOneLock(t *testing.T) {
	v := immutability.MustCompile(object(map[string]spec.Schema{"a": *mark(object(nil), immutability.KeyImmutable, true)}))
	r := v.Check(nested(deep, int64(1)), nested(deep, int64(2)))
	if len(r.Violations) != 1 || len(r.Violations[0].Differences) != 1 {
		t.Fatalf("%d violations", len(r.Violations))
	}
	if got := strings.Count(r.Violations[0].Differences[0].Path.String(), "a"); got != deep+1 {
		t.Errorf("the difference is %d steps deep", got)
	}
	if !v.Check(nested(deep, int64(1)), nested(deep, int64(1))).Allowed() {
		t.Error("equal objects are refused")
	}
}

func TestDeepObjectUnderRecursiveSchema(t *testing.T) {
	node := object(map[string]spec.Schema{
		"a": {SchemaProps: spec.SchemaProps{Ref: spec.MustCreateRef("#/definitions/node")}},
		"x": *mark(&spec.Schema{}, immutability.KeyImmutable, true),
	})
	root := object(map[string]spec.Schema{"a": {SchemaProps: spec.SchemaProps{Ref: spec.MustCreateRef("#/definitions/node")}}})
	root.Definitions = spec.Definitions{"node": *node}
	v := immutability.MustCompile(root)
	build := func(x any) map[string]any {
		m := map[string]any{"x": x}
		for range deep {
			m = map[string]any{"a": m, "x": x}
		}
		return map[string]any{"a": m}
	}
	r := v.Check(build("new"), build("old"))
	if total := len(r.Violations) + r.More; total != deep+1 {
		t.Errorf("%d violations are told of, want %d", total, deep+1)
	}
	if r.More == 0 {
		t.Error("paths of that many steps in all are beyond the limit")
	}
}

// TestDeepLocks runs the classes in which a check could look at a subtree once for each level above it, through both
// routes. internal/check counts the work; here they end at all.
func TestDeepLocks(t *testing.T) {
	const depth = 1_000
	for _, g := range suite.Growths() {
		t.Run(g.Name, func(t *testing.T) {
			v := compileJSON(t, g.Schema)
			newObj, oldObj := g.Build(depth, true), g.Build(depth, false)
			if r := v.Check(newObj, oldObj); r.Allowed() == g.Refused {
				t.Errorf("decoded: allowed %t", r.Allowed())
			}
			r, err := v.CheckJSON(encoded(t, newObj), encoded(t, oldObj))
			if err != nil || r.Allowed() == g.Refused {
				t.Errorf("raw: allowed %t, %v", r.Allowed(), err)
			}
			for i := range r.Violations {
				_ = r.Violations[i].Message()
			}
			r.ErrorList()
		})
	}
}

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
		"lock around all of them":    object(map[string]spec.Schema{"a": *mark(&spec.Schema{SchemaProps: ref.SchemaProps}, immutability.KeyImmutable, true)}),
	} {
		t.Run(name, func(t *testing.T) {
			root.Definitions = spec.Definitions{"node": *object(map[string]spec.Schema{
				"name": {SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"string"}}},
				"x":    *mark(&spec.Schema{}, immutability.KeyImmutable, true),
				"a": *mark(&spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"array"}, Items: &spec.SchemaOrArray{Schema: &ref}}},
					immutability.KeyListType, "map", immutability.KeyListMapKeys, []any{"name"}),
			})}
			v := immutability.MustCompile(root, immutability.WithMapListOrder(immutability.Ignored))
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

func TestDeepSchema(t *testing.T) {
	for name, test := range map[string]struct {
		levels int
		level  func() *spec.Schema
	}{
		"one lock": {deep / 10, func() *spec.Schema { return object(nil) }},
		"set each": {deep / 10, func() *spec.Schema { return mark(object(nil), immutability.KeyListType, "set") }},
		// Each of these locks compares, and reports, all that is below it.
		"lock each": {deep / 10, func() *spec.Schema { return mark(object(nil), immutability.KeyUpdate, []any{"NoModify"}) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := mark(&spec.Schema{}, immutability.KeyImmutable, true)
			for range test.levels {
				up := test.level()
				up.Type = []string{"object"}
				up.Properties = map[string]spec.Schema{"a": *s}
				s = up
			}
			v, err := immutability.Compile(object(map[string]spec.Schema{"a": *s}))
			if err != nil {
				t.Fatal(err)
			}
			if r := v.Check(nested(test.levels, int64(1)), nested(test.levels, int64(2))); r.Allowed() {
				t.Error("the lock at the bottom is not checked")
			}
		})
	}
}

func TestWideRefs(t *testing.T) {
	const levels = 60 // two refs each: 2^60 paths
	root := object(map[string]spec.Schema{"a": {SchemaProps: spec.SchemaProps{Ref: spec.MustCreateRef("#/definitions/0")}}})
	root.Definitions = spec.Definitions{}
	for i := range levels {
		ref := spec.Schema{SchemaProps: spec.SchemaProps{Ref: spec.MustCreateRef(fmt.Sprintf("#/definitions/%d", i+1))}}
		root.Definitions[fmt.Sprint(i)] = *object(map[string]spec.Schema{"a": ref, "b": ref})
	}
	root.Definitions[fmt.Sprint(levels)] = *object(map[string]spec.Schema{"a": *mark(&spec.Schema{}, immutability.KeyImmutable, true)})
	v, err := immutability.Compile(root)
	if err != nil {
		t.Fatal(err)
	}
	if v.Check(nested(levels+1, int64(1)), nested(levels+1, int64(2))).Allowed() {
		t.Error("the lock at the bottom is not checked")
	}
	if len(immutability.Lint(root)) == 0 {
		t.Error("lint finds no optional parent")
	}
}

func shuffled(list []any) []any {
	out := append([]any(nil), list...)
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func TestLargeSets(t *testing.T) {
	s := mark(list(&spec.Schema{}), immutability.KeyListType, "set", immutability.KeyImmutable, true)
	only := mark(list(&spec.Schema{}), immutability.KeyListType, "set", immutability.KeyAdditionOnly, true)
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
			if len(r.Violations) != 2 || r.Violations[0].Lock != immutability.AdditionOnly || r.Violations[1].Lock != immutability.Immutable {
				t.Errorf("%d violations by one item that was replaced", len(r.Violations))
			}
		})
	}
}

func TestLargeKeyedList(t *testing.T) {
	item := object(map[string]spec.Schema{
		"k": *mark(&spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"string"}}}, immutability.KeyImmutable, true),
		"x": *mark(&spec.Schema{}, immutability.KeyImmutable, true),
	})
	s := mark(list(item), immutability.KeyListType, "map", immutability.KeyListMapKeys, []any{"k"}, immutability.KeyImmutableKeys, true)
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
	if r := v.Check(map[string]any{"list": shuffled(same)}, map[string]any{"list": same}); len(r.Violations) != 1 || r.Violations[0].Lock != immutability.Incomparable {
		t.Errorf("items of one key: %d violations", len(r.Violations))
	}
}

func TestManyViolations(t *testing.T) {
	v := immutability.MustCompile(object(map[string]spec.Schema{
		"list": *list(mark(&spec.Schema{}, immutability.KeyImmutable, true)),
		"map":  *mark(&spec.Schema{SchemaProps: spec.SchemaProps{AdditionalProperties: &spec.SchemaOrBool{Allows: true}}}, immutability.KeyImmutableKeys, true),
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
	v := immutability.MustCompile(object(map[string]spec.Schema{"list": *mark(list(&spec.Schema{}), immutability.KeyImmutable, true)}))
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

func TestStatusOfManyViolations(t *testing.T) {
	v := immutability.MustCompile(object(map[string]spec.Schema{
		"set": *mark(list(&spec.Schema{}), immutability.KeyListType, "set", immutability.KeyAdditionOnly, true),
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
	status := r.Status(schema.GroupKind{Group: "example.com", Kind: "Widget"}, "w", immutability.Invalid)
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

func TestMegabyteString(t *testing.T) {
	v := immutability.MustCompile(object(map[string]spec.Schema{"s": *mark(&spec.Schema{}, immutability.KeyImmutable, true)}))
	long := strings.Repeat("é", 1<<20)
	r := v.Check(map[string]any{"s": []any{long + "a"}}, map[string]any{"s": []any{long + "b"}})
	if text := r.Violations[0].Message(); len(text) > 1000 {
		t.Errorf("the message has %d bytes", len(text))
	}
	if !v.Check(map[string]any{"s": long}, map[string]any{"s": strings.Clone(long)}).Allowed() {
		t.Error("equal strings are refused")
	}
}

func TestInvalidUTF8(t *testing.T) {
	v := immutability.MustCompile(object(map[string]spec.Schema{"s": *mark(&spec.Schema{}, immutability.KeyImmutable, true)}))
	if r := v.Check(map[string]any{"s": "a\xff"}, map[string]any{"s": "a\xfe"}); len(r.Violations) != 1 {
		t.Error("strings compare by bytes, also where they are no UTF-8")
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	s := mark(list(&spec.Schema{}), immutability.KeyListType, "set", immutability.KeyImmutable, true)
	v := immutability.MustCompile(object(map[string]spec.Schema{"set": *s}))
	old := map[string]any{"set": []any{"a", "b", "c"}}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for range 100 {
				new := map[string]any{"set": []any{"c", "b", "a"}}
				if i%2 == 1 {
					new["set"] = []any{"c"}
				}
				if got := len(v.ValidateUpdate(new, old)); got != i%2 {
					t.Errorf("%d violations, want %d", got, i%2)
				}
				if errs, err := v.ValidateUpdateJSON([]byte(`{"set":["c"]}`), []byte(`{"set":["d"]}`)); err != nil || len(errs) != 1 {
					t.Errorf("%v, %v", errs, err)
				}
				v.Locks()
			}
		})
	}
	wg.Wait()
}

// TestGoTypes: what is no decoded JSON hides its keys and members, so that a change of it is refused.
func TestGoTypes(t *testing.T) {
	values := &spec.Schema{SchemaProps: spec.SchemaProps{AdditionalProperties: &spec.SchemaOrBool{Allows: true}}}
	v := immutability.MustCompile(object(map[string]spec.Schema{
		"map": *mark(values, immutability.KeyImmutableKeys, true),
		"set": *mark(list(&spec.Schema{}), immutability.KeyListType, "set", immutability.KeyAdditionOnly, true),
	}))
	for name, pair := range map[string][2]map[string]any{
		"changed map":       {{"map": map[string]string{"a": "x"}}, {"map": map[string]string{"b": "x"}}},
		"changed set":       {{"set": []string{"a"}}, {"set": []string{"b"}}},
		"removed set":       {{}, {"set": []string{"b"}}},
		"typed for decoded": {{"set": []string{"a"}}, {"set": []any{"a", "b"}}},
	} {
		r := v.Check(pair[0], pair[1])
		if len(r.Violations) != 1 || r.Violations[0].Lock != immutability.Incomparable {
			t.Errorf("%s: %v", name, r.Violations)
		}
	}
	same := map[string]any{"map": map[string]string{"a": "x"}, "set": []string{"a"}}
	if r := v.Check(same, same); !r.Allowed() {
		t.Errorf("unchanged: %v", r.Violations)
	}
}
