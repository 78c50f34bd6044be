package immutability_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/testing/suite"
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
	v := immutability.MustCompile(object(map[string]spec.Schema{"a": *mark(object(nil), "x-kubernetes-immutable", true)}))
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
		"x": *mark(&spec.Schema{}, "x-kubernetes-immutable", true),
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

func TestDeepSchema(t *testing.T) {
	for name, test := range map[string]struct {
		levels int
		level  func() *spec.Schema
	}{
		"one lock": {deep / 10, func() *spec.Schema { return object(nil) }},
		"set each": {deep / 10, func() *spec.Schema { return mark(object(nil), "x-kubernetes-list-type", "set") }},
		// Each of these locks compares, and reports, all that is below it.
		"lock each": {deep / 10, func() *spec.Schema { return mark(object(nil), "x-fieldlock-update", []any{"NoModify"}) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := mark(&spec.Schema{}, "x-kubernetes-immutable", true)
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
	root.Definitions[fmt.Sprint(levels)] = *object(map[string]spec.Schema{"a": *mark(&spec.Schema{}, "x-kubernetes-immutable", true)})
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

func TestMegabyteString(t *testing.T) {
	v := immutability.MustCompile(object(map[string]spec.Schema{"s": *mark(&spec.Schema{}, "x-kubernetes-immutable", true)}))
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
	v := immutability.MustCompile(object(map[string]spec.Schema{"s": *mark(&spec.Schema{}, "x-kubernetes-immutable", true)}))
	if r := v.Check(map[string]any{"s": "a\xff"}, map[string]any{"s": "a\xfe"}); len(r.Violations) != 1 {
		t.Error("strings compare by bytes, also where they are no UTF-8")
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	s := mark(list(&spec.Schema{}), "x-kubernetes-list-type", "set", "x-kubernetes-immutable", true)
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
		"map": *mark(values, "x-kubernetes-immutable-keys", true),
		"set": *mark(list(&spec.Schema{}), "x-kubernetes-list-type", "set", "x-kubernetes-addition-only", true),
	}))
	for name, pair := range map[string][2]map[string]any{
		"changed map":       {{"map": map[string]string{"a": "x"}}, {"map": map[string]string{"b": "x"}}},
		"changed set":       {{"set": []string{"a"}}, {"set": []string{"b"}}},
		"removed set":       {{}, {"set": []string{"b"}}},
		"typed for decoded": {{"set": []string{"a"}}, {"set": []any{"a", "b"}}},
	} {
		r := v.Check(pair[0], pair[1])
		if len(r.Violations) != 1 || r.Violations[0].Lock != immutability.LockIncomparable {
			t.Errorf("%s: %v", name, r.Violations)
		}
	}
	same := map[string]any{"map": map[string]string{"a": "x"}, "set": []string{"a"}}
	if r := v.Check(same, same); !r.Allowed() {
		t.Errorf("unchanged: %v", r.Violations)
	}
}
