package jsonscan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
)

// texts are values, right and wrong, at the borders of the grammar.
var texts = []string{
	`{}`, `[]`, `null`, `true`, `false`, `0`, `-0`, `1`, `-1.5e3`, `1E+2`, `1e-400`, `1e400`, `""`, `"a"`,
	`{"a":1}`, `{"a" : 1 , "b":[1,2, {"c":null}]}`, ` [ 1 , 2 ] `, "\t{\r\n}", `[[[[]]]]`, `[{},[],{}]`,
	`{"a":1,"a":2}`, `{"\u0061":1,"a":2}`, `"\ud83d\ude00"`, `"\ud83d\ude00xy"`, `"\ud83d"`, `"\ud83dx"`, `"\ude00\ud83d"`, `"\b\f\n\r\t\/\\\""`,
	"\"\xff\"", "\"a\xe2\x82\"", "{\"\xff\":1}", `"` + strings.Repeat("x", 100) + `"`, strings.Repeat("1", 310), strings.Repeat("1", 301),
	`9223372036854775807`, `9223372036854775808`, `-9223372036854775808`, `1.0`, `100000000000000000000`,
	``, ` `, `{`, `[`, `}`, `]`, `{]`, `[}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `[1,]`, `[,1]`, `[1 2]`, `{"a" 1}`, `{"a":1 "b":2}`,
	`{a:1}`, `{1:1}`, `{"a" 12}`, `{"a"x1}`, `{"a"=12}`, `[1;2]`, `{"a":1;"b":2}`, `01`, `-`, `+1`, `.5`, `1.`, `1.e1`, `1e`, `1e+`, `--1`, `0x1`, `nul`, `nulll`, `True`, `tru`, `fals`, `"a`, `"\x"`, `"\u12"`, `"\u12g4"`, `"\`,
	"\"\n\"", "\"a\x00\"", `1 2`, `{} {}`, `{}x`, `[1]]`, `'a'`, `NaN`, "\ufeff{}", "{}\x00", `"\'"`, "\v1", `[1,2`, `{"a":1`, `[null`, `{"a":{"b":[1,{"c":"d`,
}

func nested(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }

func decode(text string) (any, error) {
	var v any
	err := json.Unmarshal([]byte(text), &v)
	return v, err
}

// compare checks what a Pair says of two texts against what util/json does.
func compare(t *testing.T, a, b string) {
	t.Helper()
	va, erra := decode(a)
	vb, errb := decode(b)
	p := NewPair(slices.Clip([]byte(a)), slices.Clip([]byte(b))) // so that reading beyond the end panics
	start := p.Here()
	equal := p.Skip()
	if ok := p.End(); ok != (erra == nil && errb == nil) {
		t.Fatalf("%q and %q: read %v, want errors %v, %v", a, b, ok, erra, errb)
	} else if !ok {
		return
	}
	if equal && !reflect.DeepEqual(va, vb) {
		t.Fatalf("%q and %q are not equal", a, b)
	}
	if !equal && a == b && isContainer(va) {
		t.Fatalf("%q is not equal to itself", a)
	}
	if got := p.NewValue(start); !reflect.DeepEqual(got, va) {
		t.Fatalf("%q: built %#v, want %#v", a, got, va)
	}
	if got := p.OldValue(start); !reflect.DeepEqual(got, vb) {
		t.Fatalf("%q: built %#v, want %#v", b, got, vb)
	}
}

func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

func TestPairAgreesWithDecoding(t *testing.T) {
	for _, a := range texts {
		for _, b := range texts {
			compare(t, a, b)
			compare(t, `{"k":`+a+`,"l":1}`, `{"k":`+b+`,"l":1}`)
			compare(t, `[`+a+`]`, `[`+b+`,2]`)
		}
	}
}

func TestPairDepth(t *testing.T) {
	for _, n := range []int{9_999, 10_000, 10_001, 100_000} {
		compare(t, nested(n), nested(n))
		compare(t, nested(n), `[1]`)
		compare(t, `[[2]]`, nested(n))
		compare(t, `{"a":`+nested(n)+`}`, `{"b":`+nested(n)+`}`)
	}
}

// Objects and lists in each other, around the depths where the kinds of the outer ones are put aside. Among them one is
// closed by the wrong byte, or has a member more in one text, so that each text is read to the end of it on its own.
func TestPairMixedNesting(t *testing.T) {
	mixed := func(depth int, leaf string, at int, more string) string {
		text := leaf
		for i := depth; i > 0; i-- {
			extra := ""
			if i == at {
				extra = more
			}
			if i*i%7 < 3 {
				text = `{"k":` + text + strings.ReplaceAll(extra, "?", `,"l":[{},2]`) + `}`
			} else {
				text = `[1,` + text + strings.ReplaceAll(extra, "?", `,{"l":[]}`) + `]`
			}
		}
		return text
	}
	for _, depth := range []int{1, 2, 62, 63, 64, 65, 66, 127, 128, 129, 130, 192, 200} {
		old := mixed(depth, `"a"`, 0, "")
		compare(t, old, old)
		compare(t, mixed(depth, `{"b":[]}`, 0, ""), old)
		for at := max(1, depth-70); at <= depth; at++ {
			longer := mixed(depth, `"a"`, at, "?")
			compare(t, longer, old)
			compare(t, old, longer)
			compare(t, longer, mixed(depth, `[{}]`, at/2, "?"))
			compare(t, mixed(depth, `"a"`, at, "}"), old)
			compare(t, old, mixed(depth, `2`, at, "]"))
		}
	}
}

// TestValue: a value somewhere in a text is what util/json makes of it.
func TestValue(t *testing.T) {
	for _, text := range texts {
		want, err := decode(text)
		if err != nil {
			continue
		}
		data := []byte(`[` + text + `]`)
		if got := Value(data, Space(data, 1)); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %#v, want %#v", text, got, want)
		}
	}
	if n := NewPair([]byte(`{"a":1}`), []byte(`[]`)).Len(); n != 9 {
		t.Errorf("the length of both texts is %d", n)
	}
}

// TestWalkEndsAtAFailure: there is no further item or member after what cannot be read.
func TestWalkEndsAtAFailure(t *testing.T) {
	for _, broken := range []string{`[tru,1]`, `[1,tru,2]`, `[1`} {
		for _, pair := range [][2]string{{broken, `[1,2,3]`}, {`[1,2,3]`, broken}} {
			p, steps := NewPair([]byte(pair[0]), []byte(pair[1])), 0
			for it := p.Items(); it.Next() && steps < 10; steps++ {
				if it.In == Both {
					p.Skip()
				} else {
					p.SkipOne(it.In)
				}
			}
			if steps == 10 || !p.Failed() {
				t.Errorf("%q: %d items", pair, steps)
			}
		}
	}
	for _, broken := range []string{`{"a":tru,"b":1}`, `{"a":1,"b":tru,"c":2}`, `{"a":1`, `{"a":1,"b"`} {
		for _, pair := range [][2]string{{broken, `{"a":1,"b":2,"c":3}`}, {`{"a":1,"b":2,"c":3}`, broken}} {
			p, steps := NewPair([]byte(pair[0]), []byte(pair[1])), 0
			for m := p.Members(); m.Next() && steps < 10; steps++ {
				if m.In == Both {
					p.Skip()
				} else {
					p.SkipOne(m.In)
				}
			}
			if steps == 10 || !p.Failed() {
				t.Errorf("%q: %d members", pair, steps)
			}
		}
	}
}

// FuzzPair compares a Pair with util/json.
func FuzzPair(f *testing.F) {
	for i, a := range texts {
		f.Add(a, texts[(i*7+3)%len(texts)])
		f.Add(`{"a":`+a+`,"b":[1,{"c":"d"}]}`, `{"a":`+a+`,"b":[1,{"c":"e"},3]}`)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		compare(t, a, b)
		compare(t, a, a)
		walk(t, a, b)
	})
}

// walk checks that walking members and items meets those that decoding finds.
func walk(t *testing.T, a, b string) {
	t.Helper()
	va, erra := decode(a)
	vb, errb := decode(b)
	p := NewPair([]byte(a), []byte(b))
	switch x, y := p.Kinds(); {
	case x == '{' && y == '{':
		news, olds := map[string]any{}, map[string]any{}
		for m := p.Members(); m.Next(); {
			name, at := string(m.Name()), p.Here()
			if m.In == Both {
				p.Skip()
			} else {
				p.SkipOne(m.In)
			}
			if p.Failed() {
				break
			}
			if m.In != Old {
				news[name] = p.NewValue(at)
			}
			if m.In != New {
				olds[name] = p.OldValue(at)
			}
		}
		checkWalk(t, p, a, b, erra, errb, va, vb, news, olds)
	case x == '[' && y == '[':
		news, olds := []any{}, []any{}
		for it := p.Items(); it.Next(); {
			at := p.Here()
			if it.In == Both {
				p.Skip()
			} else {
				p.SkipOne(it.In)
			}
			if p.Failed() {
				break
			}
			if it.In != Old {
				news = append(news, p.NewValue(at))
			}
			if it.In != New {
				olds = append(olds, p.OldValue(at))
			}
		}
		checkWalk(t, p, a, b, erra, errb, va, vb, news, olds)
	}
}

func checkWalk(t *testing.T, p *Pair, a, b string, erra, errb error, va, vb, news, olds any) {
	t.Helper()
	if ok := p.End(); ok != (erra == nil && errb == nil) {
		t.Fatalf("%q and %q: walked %v, want errors %v, %v", a, b, ok, erra, errb)
	} else if ok && (!reflect.DeepEqual(va, news) || !reflect.DeepEqual(vb, olds)) {
		t.Fatalf("%q and %q: walked %v and %v", a, b, news, olds)
	}
}

func TestWalkAgreesWithDecoding(t *testing.T) {
	for _, a := range texts {
		for _, b := range texts {
			walk(t, a, b)
			walk(t, `{"k":`+a+`,"l":1}`, `{"j":4,"k":`+b+`,"l":2}`)
			walk(t, `{"k":`+a+`,"l":1}`, `{"k":`+a+`,"l":`+b+`}`)
			walk(t, `[`+a+`]`, `[`+b+`,2]`)
		}
	}
}

// Walking goes as deep as decoding: util/json refuses what is nested deeper than 10,000.
func TestWalkDepth(t *testing.T) {
	for _, n := range []int{10_000, 10_001} {
		lists, objects := nested(n), strings.Repeat(`{"a":`, n-1)+`{}`+strings.Repeat(`}`, n-1)
		for _, text := range []string{lists, objects} {
			p := NewPair([]byte(text), []byte(text))
			for range n {
				if kind, _ := p.Kinds(); kind == '{' {
					if m := p.Members(); !m.Next() {
						break
					}
				} else if it := p.Items(); !it.Next() {
					break
				}
			}
			if _, err := decode(text); (err != nil) != p.Failed() {
				t.Errorf("%.20q… nested %d deep: failed %v, but decoding says %v", text, n, p.Failed(), err)
			}
		}
	}
	wide := []byte(` [` + strings.Repeat(`{},[],`, 10_001) + `0]`) // which is not deep
	p := NewPair(wide, wide)
	for it := p.Items(); it.Next(); {
		switch kind, _ := p.Kinds(); kind {
		case '{':
			for m := p.Members(); m.Next(); {
				t.Fatal("an empty object has a member")
			}
		case '[':
			for below := p.Items(); below.Next(); {
				t.Fatal("an empty list has an item")
			}
		default:
			p.Skip()
		}
	}
	if !p.End() {
		t.Error("many objects and lists beside each other count as deep")
	}
}

// A pair that failed has no object, so that nobody takes the empty span for one.
func TestObjectOfAFailedPair(t *testing.T) {
	p := NewPair([]byte(`[`), []byte(`[`))
	p.Skip()
	if _, _, ok := p.Object(nil, nil); ok || !p.Failed() {
		t.Errorf("an object after a failure: %t, failed %t", ok, p.Failed())
	}
}

func BenchmarkSkip(b *testing.B) {
	var items []string
	for i := range 1000 {
		items = append(items, fmt.Sprintf(`{"name":"node-%d","zone":"europe-west-%d","size":%d,"labels":{"app":"web","tier":"front-%d"},"taints":["a","b"],"enabled":true}`, i, i%7, i*13, i))
	}
	text := []byte(`{"spec":{"nodes":[` + strings.Join(items, ",") + `]}}`)
	other := append([]byte(`{"spec":{"nodes":[ `), text[18:]...)
	for name, old := range map[string][]byte{"same": text, "shifted": other} {
		b.Run("operation=skip/text="+name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				p := NewPair(text, old)
				p.Skip()
				if !p.End() {
					b.Fatal("no JSON")
				}
			}
		})
	}
	b.Run("operation=decode", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			var v map[string]any
			if err := json.Unmarshal(text, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("operation=build", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			Value(text, 0)
		}
	})
}
