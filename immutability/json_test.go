package immutability_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
)

// jsonSchemas are schemas with every node that reads texts, in few names so that random documents meet them.
var jsonSchemas = []string{
	`{}`,
	`{"properties":{"a":{"x-kubernetes-immutable":true}}}`,
	`{"properties":{"a":{"properties":{"a":{"x-kubernetes-immutable":true},"b":{"properties":{"c":{"x-kubernetes-immutable":true}}}}},"b":{"x-fieldlock-update":["NoSet","NoUnset"]}}}`,
	`{"properties":{"a":{"x-fieldlock-update":["NoUnset"],"properties":{"a":{"x-fieldlock-update":["NoModify"]},"b":{"x-kubernetes-immutable":true}}},"b":{"x-fieldlock-update":["NoModify","NoSet"],"properties":{"c":{"x-fieldlock-update":["NoUnset"]}}}}}`,
	`{"properties":{"a":{"type":"array","items":{"properties":{"a":{"x-kubernetes-immutable":true}}}},"b":{"type":"array","items":{"type":"array","items":{"x-kubernetes-immutable":true}}}}}`,
	`{"properties":{"a":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"],"items":{"properties":{"a":{"type":"integer","default":1},"b":{"x-kubernetes-immutable":true}}}},"b":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a","b"],"x-kubernetes-immutable-keys":true,"items":{"properties":{"a":{"type":"string","x-kubernetes-immutable":true},"b":{"type":"integer","x-kubernetes-immutable":true}}}}}}`,
	`{"properties":{"a":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"],"x-fieldlock-update":["NoRemoveItem"],"items":{"x-kubernetes-immutable":true,"properties":{"a":{"type":"string"}}}},"b":{"type":"array","x-kubernetes-list-type":"set","x-kubernetes-deletion-only":true,"items":{}}}}`,
	`{"properties":{"a":{"additionalProperties":{"x-kubernetes-immutable":true},"x-kubernetes-addition-only":true},"b":{"properties":{"a":{"x-kubernetes-immutable":true}},"additionalProperties":{"properties":{"c":{"x-fieldlock-update":["NoSet"]}}}}}}`,
	`{"properties":{"a":{"properties":{"a":{"x-kubernetes-immutable":true,"x-kubernetes-normalize":"undefined"},"b":{"x-kubernetes-normalize":"undefined","properties":{"c":{"x-kubernetes-immutable":true,"x-kubernetes-normalize":"undefined"}}}}},"b":{"x-kubernetes-immutable":true,"type":"array","x-kubernetes-list-type":"set","items":{}}}}`,
	`{"properties":{"a":{"x-fieldlock-map-list-order":"ignored","x-kubernetes-immutable":true,"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"],"items":{"properties":{"a":{"type":"string"}}}},"\ufffd":{"x-kubernetes-immutable":true},"b\n":{"x-kubernetes-immutable":true}}}`,
	`{"properties":{"a":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["\ufffd"],"items":{"properties":{"\ufffd":{"type":"string"},"a":{"x-kubernetes-immutable":true}}}},"b":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["b\n"],"items":{"properties":{"b\n":{"type":"string"},"a":{"x-kubernetes-immutable":true}}}}}}`,
}

func compileJSON(t testing.TB, schema string) *immutability.Validator {
	t.Helper()
	var s spec.Schema
	if err := json.Unmarshal([]byte(schema), &s); err != nil {
		t.Fatal(err)
	}
	v, err := immutability.Compile(&s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// decodedRoute is CheckJSON by its definition.
func decodedRoute(v *immutability.Validator, newJSON, oldJSON []byte) (immutability.Report, error) {
	var newObj, oldObj map[string]any
	if err := utiljson.Unmarshal(newJSON, &newObj); err != nil {
		return immutability.Report{}, fmt.Errorf("the new object: %w", err)
	}
	if err := utiljson.Unmarshal(oldJSON, &oldObj); err != nil {
		return immutability.Report{}, fmt.Errorf("the old object: %w", err)
	}
	return v.Check(newObj, oldObj), nil
}

func compareRoutes(t *testing.T, v *immutability.Validator, newJSON, oldJSON []byte) {
	t.Helper()
	want, wantErr := decodedRoute(v, newJSON, oldJSON)
	got, err := v.CheckJSON(newJSON, oldJSON)
	if !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("new %q, old %q:\n got %v, %v\nwant %v, %v", clip(newJSON), clip(oldJSON), got, err, want, wantErr)
	}
}

func clip(text []byte) []byte { return text[:min(len(text), 2_000)] }

// writer writes random documents: few names, so that locks are met, and every spelling that JSON has.
type writer struct {
	*rand.Rand
	strings.Builder
}

func (w *writer) pick(texts ...string) string { return texts[w.IntN(len(texts))] }

func (w *writer) space() {
	if w.IntN(12) == 0 {
		w.WriteString(w.pick(" ", "\n", "\t\r", "  "))
	}
}

func (w *writer) scalar() {
	w.WriteString(w.pick("0", "1", "1.0", "1e0", "-0.0", "2", "1.5", "9007199254740993", "9007199254740992", "9223372036854775808",
		`""`, `"a"`, `"\u0061"`, `"1"`, `"b"`, "\"\xff\"", `"\ufffd"`, `"\ud800"`, `"😀"`, `"\ud83d\ude00"`, "null", "null", "true", "false",
		`"a long string that takes some words"`))
}

func (w *writer) value(depth int) {
	w.space()
	defer w.space()
	switch n := w.IntN(10); {
	case n < 4 && depth > 0:
		w.object(depth - 1)
	case n < 7 && depth > 0:
		w.WriteByte('[')
		for i := range w.IntN(4) {
			if i > 0 {
				w.WriteByte(',')
			}
			w.value(depth - 1)
		}
		w.WriteByte(']')
	default:
		w.scalar()
	}
}

func (w *writer) object(depth int) {
	w.WriteByte('{')
	for i := range w.IntN(5) {
		if i > 0 {
			w.WriteByte(',')
		}
		w.space()
		w.WriteString(w.pick(`"a"`, `"a"`, `"b"`, `"b"`, `"c"`, `"\u0061"`, `"d"`, "\"\xff\"", `"b\n"`, `""`))
		w.space()
		w.WriteByte(':')
		w.value(depth)
	}
	w.WriteByte('}')
}

// document writes an object with both names that the schemas lock, mostly.
func (w *writer) document() []byte {
	w.Reset()
	if w.IntN(20) == 0 {
		w.value(3)
		return []byte(w.String())
	}
	members := []string{`"a"`, `"b"`, w.pick(`"c"`, `"a"`, `"\ufffd"`)}
	w.Shuffle(len(members), func(i, j int) {
		if w.IntN(3) == 0 {
			members[i], members[j] = members[j], members[i]
		}
	})
	w.WriteByte('{')
	for i, name := range members {
		if i > 0 {
			w.WriteByte(',')
		}
		w.WriteString(name + ":")
		w.value(4)
	}
	w.WriteByte('}')
	return []byte(w.String())
}

// changed returns text with some of its tokens replaced, removed or repeated; mostly it is JSON still.
func (w *writer) changed(text []byte) []byte {
	out := string(text)
	for range 1 + w.IntN(3) {
		if out == "" {
			break
		}
		at := w.IntN(len(out))
		head, tail := out[:at], out[at:]
		switch w.IntN(8) {
		case 0:
			out = head + w.pick(" ", "\n", ",", `"`, "1") + tail
		case 1:
			out = head + strings.Replace(tail, ",", w.pick(`,"a":1,`, ",1,", ", ", `,{"a":1},`, `,"b":{},`), 1)
		case 2:
			out = head + strings.Replace(tail, w.pick("{", "["), w.pick(`{"a":1,`, `{"d":1,`, "[1,", "[[],"), 1)
		case 3:
			if w.IntN(4) == 0 {
				out = head
			}
		default:
			if token := tokens.FindStringIndex(tail); token != nil {
				out = head + tail[:token[0]] + w.pick("2", "1.0", "1", `"a"`, `"b"`, `"c"`, "null", "{}", "[]", `{"a":1}`) + tail[token[1]:]
			}
		}
	}
	return []byte(out)
}

var tokens = regexp.MustCompile(`"[^"]*"|[-.\w]+|\{\}|\[\]`)

func TestCheckJSONAgreesWithDecoding(t *testing.T) {
	validators := make([]*immutability.Validator, len(jsonSchemas))
	for i, schema := range jsonSchemas {
		validators[i] = compileJSON(t, schema)
	}
	// A key that is not UTF-8 is decoded to the one of the last schema.
	compareRoutes(t, validators[len(validators)-1], []byte("{\"a\":[{\"\xff\":\"x\",\"a\":1},{\"\xff\":\"y\",\"a\":2}]}"), []byte("{\"a\":[{\"\xff\":\"y\",\"a\":2},{\"\xff\":\"x\",\"a\":1}]}"))
	n := 20_000
	if testing.Short() {
		n = 4_000
	}
	broken := 0
	for seed := range n {
		w := &writer{Rand: rand.New(rand.NewPCG(uint64(seed), 0))}
		v := validators[seed%len(validators)]
		oldJSON := w.document()
		newJSON := w.changed(oldJSON)
		compareRoutes(t, v, newJSON, oldJSON)
		if r, err := v.CheckJSON(newJSON, oldJSON); err == nil && !r.Allowed() {
			broken++
		}
		compareRoutes(t, v, w.document(), oldJSON)
	}
	if broken < n/30 {
		t.Errorf("only %d of %d changes break a lock: the documents miss the locks", broken, n)
	}
}

// FuzzCheckJSON compares CheckJSON with decoding and checking, on the texts as they are and on documents made from
// seed.
func FuzzCheckJSON(f *testing.F) {
	validators := make([]*immutability.Validator, len(jsonSchemas))
	for i, schema := range jsonSchemas {
		validators[i] = compileJSON(f, schema)
	}
	for i := range jsonSchemas {
		w := &writer{Rand: rand.New(rand.NewPCG(uint64(i), 1))}
		old := w.document()
		f.Add(uint64(i), w.changed(old), old)
	}
	f.Fuzz(func(t *testing.T, seed uint64, newJSON, oldJSON []byte) {
		v := validators[seed%uint64(len(validators))]
		compareRoutes(t, v, newJSON, oldJSON)
		w := &writer{Rand: rand.New(rand.NewPCG(seed, 2))}
		compareRoutes(t, v, w.changed(newJSON), newJSON)
		made := w.document()
		compareRoutes(t, v, w.changed(made), made)
	})
}

// TestKeyedListsAsText compares the routes on long keyed lists, with keys that are written in several ways, missing,
// repeated, or of items that are not objects.
func TestKeyedListsAsText(t *testing.T) {
	schemas := []string{
		`"items":{"properties":{"k":{"type":"string"},"l":{"type":"integer","default":1},"x":{"x-kubernetes-immutable":true}}}`,
		`"x-fieldlock-update":["NoAddItem","NoRemoveItem"],"items":{"properties":{"k":{"type":"string"},"l":{"type":"integer","default":1},"x":{"x-fieldlock-update":["NoUnset"]}}}`,
		`"x-fieldlock-update":["NoRemoveItem"],"items":{"x-kubernetes-immutable":true,"properties":{"k":{"type":"string"},"l":{"type":"integer","default":1}}}`,
		`"items":{"properties":{"k":{"type":"string"},"l":{"type":"integer","default":1},"x":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"properties":{"k":{"type":"string"},"x":{"x-kubernetes-immutable":true}}}}}}`,
	}
	var validators []*immutability.Validator
	for _, s := range schemas {
		validators = append(validators, compileJSON(t, `{"properties":{"a":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k","l"],`+s+`}}}`))
	}
	rounds := 600
	if testing.Short() {
		rounds = 150
	}
	refused := 0
	for seed := range rounds {
		w := &writer{Rand: rand.New(rand.NewPCG(uint64(seed), 7))}
		item := func(i int) string {
			key := w.pick(`"k":"K"`, `"k":"K"`, `"k":"K"`, `"k":"\u004b"`, ` "k" : "K" `, `"\u006b":"K"`, `"k":"z","\u006b":"K"`, `"k":"é","k":"K"`)
			key = strings.ReplaceAll(key, "K", fmt.Sprint("K", i))
			key = strings.ReplaceAll(key, `\u004bK`, `\u004b`)
			switch w.IntN(60) {
			case 0:
				key = `"k":null`
			case 1:
				key = `"y":1`
			case 2:
				return w.pick("1", "null", "[]", `"a"`)
			}
			return "{" + key + w.pick("", "", `,"l":1`, `,"l":1.0`, `,"l":2`) + `,"x":[{"k":"a","x":` + w.pick("1", "1", "1", "1.0", "2") + `},{"k":"b"}]}`
		}
		var old, changed []string
		for i := range 10 + w.IntN(40) {
			old = append(old, item(i))
		}
		changed = append(changed, old...)
		for range w.IntN(4) {
			i, j := w.IntN(len(changed)), w.IntN(len(changed))
			switch w.IntN(6) {
			case 0:
				changed[i], changed[j] = changed[j], changed[i]
			case 1:
				changed = append(changed[:i], changed[i+1:]...)
			case 2:
				changed = append(changed, item(1_000+i))
			case 3:
				changed[i] = changed[j]
			case 4:
				changed[i] = strings.Replace(changed[i], `"x":1`, `"x":3`, 1)
			case 5:
				changed[i] = strings.Replace(changed[i], `{"k":"b"}`, `{"k":"b","y":1}`, 1)
			}
		}
		list := func(items []string) []byte { return []byte(`{"a":[` + strings.Join(items, w.pick(",", " , ")) + `]}`) }
		newJSON, oldJSON := list(changed), list(old)
		for _, v := range validators {
			compareRoutes(t, v, newJSON, oldJSON)
			if r, err := v.CheckJSON(newJSON, oldJSON); err == nil && !r.Allowed() {
				refused++
			}
		}
	}
	if refused < rounds/10 || refused > 3*rounds {
		t.Errorf("%d of %d updates are refused", refused, len(validators)*rounds)
	}
}
