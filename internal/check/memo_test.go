package check

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
)

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// TestForget: a memo that goes back to the pool keeps nothing of the objects, whichever part of it was used.
func TestForget(t *testing.T) {
	c := compileText(t, `{"x-kubernetes-immutable":true}`)
	for name, use := range map[string]func(m *Memo){
		"decoded values": func(m *Memo) { m.hold([]any{"a"}) },
		"pairs":          func(m *Memo) { m.nested = true; m.remember(nil, []any{"a"}, []any{"a"}, true) },
		"hashes":         func(m *Memo) { m.hashes = map[hashed]uint64{{}: 1} },
		"differences":    func(m *Memo) { m.differ = map[compared]*Found{{}: nil} },
		"a seed":         func(m *Memo) { m.seedOnce() },
	} {
		m := &Memo{work: 1, reread: 1}
		if use(m); !m.used() {
			t.Errorf("%s: the memo is not used", name)
		}
		if r := c.done(m, nil); r != nil || m.used() || m.nested || m.work != 0 || m.reread != 0 {
			t.Errorf("%s: %v, %+v", name, r, m)
		}
	}
}

// TestRemember: pairs are remembered only where other locks ask again.
func TestRemember(t *testing.T) {
	const inner = `"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}`
	for _, row := range []struct {
		name, schema string
		remembers    bool
	}{
		{"one lock", `{"properties":{"a":{"x-kubernetes-immutable":true,"properties":{"s":{` + inner + `}}}}}`, false},
		{"a lock in a lock", `{"properties":{"a":{"x-fieldlock-update":["NoModify"],"properties":{"s":{"x-fieldlock-update":["NoModify"],` + inner + `}}}}}`, true},
	} {
		m := &Memo{}
		f := compileText(t, row.schema).root.Check(m, present(decoded(t, `{"a":{"s":["x","y"]}}`)), present(decoded(t, `{"a":{"s":["y","x"]}}`)))
		if f != nil || (m.pairs != nil) != row.remembers {
			t.Errorf("%s: %v, %d pairs", row.name, f, len(m.pairs))
		}
	}
}

// TestRememberedItems: an item of a set that was found equal is not a difference afterwards.
func TestRememberedItems(t *testing.T) {
	c := compileText(t, `{"properties":{"a":{"x-fieldlock-update":["NoModify"],"properties":{"b":{"x-fieldlock-update":["NoModify"]},
		"s":{"type":"array","x-kubernetes-list-type":"set","items":{"properties":{"t":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}}}}}}}`)
	r := c.Check(decoded(t, `{"a":{"s":[{"t":["y","x"]},{"t":["w"]}]}}`), decoded(t, `{"a":{"s":[{"t":["x","y"]},{"t":["z"]}]}}`))
	if r == nil || r.Count() != 1 {
		t.Fatalf("%+v", r)
	}
	d := r.Memo.Differences(r.Below[0].Found.Here[0])
	if d == nil || d.Count() != 2 { // one item was added, one removed
		t.Errorf("%+v", d)
	}
}

// TestEqualBelowUnequal: looking for a difference leaves what is equal beside it equal.
func TestEqualBelowUnequal(t *testing.T) {
	const list = `{"type":"array","x-fieldlock-update":["NoModify"],"items":{"x-fieldlock-update":["NoModify"]}}`
	c := compileText(t, `{"properties":{"a":{"x-fieldlock-update":["NoModify"],"properties":{"l":`+list+`,"m":`+list+`,"n":`+list+`}}}}`)
	for range 20 { // members come in any order
		r := c.Check(decoded(t, `{"a":{"l":[{"x":1}],"m":[[2]],"n":[[3],4],"z":1}}`), decoded(t, `{"a":{"l":[{"x":1}],"m":[[2]],"n":[[3],4],"z":2}}`))
		if r == nil || r.Count() != 1 {
			t.Fatalf("%q", locks(r))
		}
		for _, n := range []string{`[[3]]`, `[[3],4,5]`} {
			if r := c.Check(decoded(t, `{"a":{"n":`+n+`}}`), decoded(t, `{"a":{"n":[[3],4]}}`)); r == nil || r.Count() != 2 { // a and n
				t.Fatalf("n is %s: %q", n, locks(r))
			}
		}
	}
}

// TestDifferences: what is equal is not among the differences, and null differs from empty.
func TestDifferences(t *testing.T) {
	c := compileText(t, `{"properties":{"a":{"x-kubernetes-immutable":true,"x-fieldlock-map-list-order":"ignored","properties":{
		"l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"properties":{"k":{"type":"string"},"v":{}}}}}}}}`)
	oldObj := decoded(t, `{"a":{"l":[{"k":"x","v":1},{"k":"y"},{"k":"x","v":2}],"m":{},"n":[],"z":1}}`)
	newObj := decoded(t, `{"a":{"l":[{"k":"y"},{"k":"x","v":1},{"k":"x","v":2}],"z":2}}`)
	newObj["a"].(map[string]any)["m"], newObj["a"].(map[string]any)["n"] = map[string]any(nil), []any(nil)
	r := c.Check(newObj, oldObj)
	if r == nil || r.Count() != 1 {
		t.Fatalf("%q", locks(r))
	}
	if d := r.Memo.Differences(r.Below[0].Found.Here[0]); d == nil || d.Count() != 3 { // m, n and z
		t.Errorf("%+v", d)
	}
}

// TestManyProperties: each of many properties is found in encoded objects.
func TestManyProperties(t *testing.T) {
	var properties []string
	const n = 21
	name := func(i int) string { return fmt.Sprintf("p%02d", i) }
	for i := range n {
		properties = append(properties, fmt.Sprintf(`%q:{"x-fieldlock-update":["NoModify"]}`, name(i)))
	}
	c := compileText(t, `{"properties":{`+strings.Join(properties, ",")+`}}`)
	for i := range n {
		r, err := c.CheckJSON(fmt.Appendf(nil, `{"a":1,%q:1,"p00x":1,"z":1}`, name(i)), fmt.Appendf(nil, `{"a":2,"p00x":2,%q:2,"z":2}`, name(i)))
		if err != nil || r == nil || r.Count() != 1 || r.Below[0].Step.Name != name(i) {
			t.Errorf("%s: %q, %v", name(i), locks(r), err)
		}
	}
}

// TestSpares: the memory of lists is used again, last in, first out.
func TestSpares(t *testing.T) {
	m, n := &Memo{}, &KeyedItems{}
	a, b := m.textItems(n), m.textItems(n)
	if a == b {
		t.Fatal("one memory for two lists")
	}
	m.spare(a, b)
	if c, d, e := m.textItems(n), m.textItems(n), m.textItems(n); c != b || d != a || e == a || e == b {
		t.Errorf("%p and %p come back as %p, %p and %p", a, b, c, d, e)
	}
	a.items = make([]jsonscan.Span, maxSpare+1)
	if m.spare(a); len(m.spares) != 0 {
		t.Error("the memory of a long list is kept")
	}
}

// TestNilObject: a nil object is an empty one.
func TestNilObject(t *testing.T) {
	c := compileText(t, `{"x-kubernetes-immutable":true}`)
	for _, newObj := range []map[string]any{nil, {}} {
		for _, oldObj := range []map[string]any{nil, {}} {
			if r := c.Check(newObj, oldObj); r != nil {
				t.Errorf("%#v and %#v: %+v", newObj, oldObj, r)
			}
		}
	}
	if c.Check(map[string]any{"a": "b"}, nil) == nil || c.Check(nil, map[string]any{"a": "b"}) == nil {
		t.Error("a nil object is any object")
	}
}

// TestNoLocks: without locks, encoded objects still have to be objects.
func TestNoLocks(t *testing.T) {
	var c *Checker
	for text, isObject := range map[string]bool{`{}`: true, ` {"a":[1,{"b":null}]} `: true, `null`: true, `[]`: false, `"x"`: false, `{"a":`: false, `{} {}`: false, ``: false} {
		for _, pair := range [][2]string{{text, `{"a":[1]}`}, {`{"a":[1]}`, text}} {
			r, err := c.CheckJSON([]byte(pair[0]), []byte(pair[1]))
			if r != nil || (err == nil) != isObject {
				t.Errorf("%q over %q: %v, %v", pair[0], pair[1], r, err)
			}
		}
	}
}

// TestRedaction: what is hidden as a whole stays hidden below, and nothing else is.
func TestRedaction(t *testing.T) {
	var none *Redaction
	whole := &Redaction{Whole: true}
	if whole.Item() != whole || whole.Member("a") != whole || none.Item() != nil || none.Member("a") != nil {
		t.Error("a step leads out of what is hidden, or into it")
	}
	r := &Redaction{Properties: map[string]*Redaction{"list": {Items: whole}, "map": {Values: whole}, "secret": whole}}
	const text = `{"list":["a",["b"]],"map":{"k":"v","l":null},"secret":{"c":1},"open":["d"],"empty":[]}`
	object := decoded(t, text)
	h := &Redactor{}
	for range 2 { // the second time from what is remembered
		want := map[string]any{"list": []any{Redacted, Redacted}, "map": map[string]any{"k": Redacted, "l": nil}, "secret": Redacted, "open": []any{"d"}, "empty": []any{}}
		if got := h.Hide(r, object); !reflect.DeepEqual(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	if !reflect.DeepEqual(object, decoded(t, text)) {
		t.Errorf("the object itself is changed: %v", object)
	}
}

// TestKindsAsText: values of any two kinds break as text what they break decoded.
func TestKindsAsText(t *testing.T) {
	values := []string{`null`, `"x"`, `1`, `{}`, `[]`, `{"a":"x"}`, `{"a":"y"}`, `["x"]`, `["y","z"]`, `[{"a":"x"}]`, `[{"a":"y"},{"a":"x"}]`, `[null]`, `[{}]`, `[{"a":1}]`, `[{"a":"x"},{"b":"y"}]`,
		`[{"a":"x","b":1}]`, `[{"a":"y","b":1},{"a":"x","b":2}]`, `[{"a":"z","b":2},{"a":"x","b":1}]`}
	texts := []string{`{}`}
	for _, value := range values {
		texts = append(texts, `{"v":`+value+`}`)
	}
	for _, schema := range []string{
		`{"type":"array","items":{"x-kubernetes-immutable":true}}`,
		`{"type":"array","items":{"properties":{"a":{"x-kubernetes-immutable":true}}}}`,
		`{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"],"items":{"properties":{"a":{"type":"string","x-kubernetes-immutable":true}}}}`,
		`{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"],"items":{"properties":{"a":{"type":"string"},"b":{"x-kubernetes-immutable":true}}},"x-fieldlock-update":["NoAddItem","NoRemoveItem"]}`,
		`{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"},"x-fieldlock-update":["NoRemoveItem"]}`,
		`{"properties":{"a":{"x-kubernetes-immutable":true}}}`,
		`{"additionalProperties":{"x-kubernetes-immutable":true},"x-fieldlock-update":["NoAddItem"]}`,
		`{"x-fieldlock-update":["NoSet"],"properties":{"a":{"x-kubernetes-immutable":true}}}`,
	} {
		c := compileText(t, `{"properties":{"v":`+schema+`}}`)
		for _, newText := range texts {
			for _, oldText := range texts {
				want := locks(c.Check(decoded(t, newText), decoded(t, oldText)))
				r, err := c.CheckJSON([]byte(newText), []byte(oldText))
				if got := locks(r); err != nil || !slices.Equal(got, want) {
					t.Errorf("%s: %s over %s: %q, %v, want %q", schema, newText, oldText, got, err, want)
				}
			}
		}
	}
}

// locks lists what a check refuses: the locks with their values, sorted.
func locks(r *Refused) (locks []string) {
	var visit func(f *Found)
	visit = func(f *Found) {
		for _, refusal := range f.Here {
			locks = append(locks, fmt.Sprint(refusal.Lock, " ", refusal.Note, " ", refusal.Old, " to ", refusal.New))
		}
		for _, below := range f.Below {
			visit(below.Found)
		}
	}
	if r != nil {
		visit(r.Found)
	}
	slices.Sort(locks)
	return locks
}
