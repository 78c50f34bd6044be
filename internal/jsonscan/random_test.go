package jsonscan

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// writer writes random documents, with white space and names in several spellings.
type writer struct {
	*rand.Rand
	strings.Builder
}

func (w *writer) pick(texts ...string) { w.WriteString(texts[w.IntN(len(texts))]) }

func (w *writer) space() { w.pick("", "", "", "", " ", "\n\t", "  \r\n") }

func (w *writer) value(depth int) {
	w.space()
	defer w.space()
	kind := w.IntN(6)
	if depth == 0 {
		kind = w.IntN(2)
	}
	switch kind {
	case 0:
		w.pick("1", "-2.5e1", "0", "true", "false", "null", "123456789012345678901234567890", "1.0")
	case 1:
		w.pick(`"a"`, `""`, `"é"`, `"\u0061"`, `"\\\""`, `"`+strings.Repeat("long ", w.IntN(30))+`"`)
	case 2, 3:
		w.object(depth)
	default:
		w.WriteByte('[')
		for i := range w.IntN(5) {
			if i > 0 {
				w.WriteByte(',')
			}
			w.value(depth - 1)
		}
		w.space()
		w.WriteByte(']')
	}
}

func (w *writer) object(depth int) {
	w.WriteByte('{')
	for i := range w.IntN(5) {
		if i > 0 {
			w.WriteByte(',')
		}
		w.space()
		w.pick(`"a"`, `"b"`, `"\u0062"`, `"key"`, `"é"`, fmt.Sprintf(`"m%d"`, i))
		w.space()
		w.WriteByte(':')
		w.value(depth - 1)
	}
	w.space()
	w.WriteByte('}')
}

// edited returns text with a piece that is cut, doubled, or replaced by a piece of other.
func edited(r *rand.Rand, text, other string) string {
	piece := func(s string) (int, int) {
		from := r.IntN(len(s) + 1)
		return from, from + r.IntN(min(len(s)-from, 12)+1)
	}
	from, to := piece(text)
	switch r.IntN(4) {
	case 0:
		return text[:from] + text[to:]
	case 1:
		return text[:to] + text[from:]
	case 2:
		f, t := piece(other)
		return text[:from] + other[f:t] + text[to:]
	}
	return text[:from] + string(rune("{}[],:\"\\ 019-.eatrfn"[r.IntN(20)])) + text[min(from+1, len(text)):]
}

// TestRandomTexts: documents against edited ones, most of which are no JSON.
func TestRandomTexts(t *testing.T) {
	rounds := 6_000
	if testing.Short() {
		rounds = 1_000
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range rounds {
		a, b := writer{Rand: r}, writer{Rand: r}
		a.value(4)
		b.value(4)
		text := edited(r, a.String(), b.String())
		compare(t, a.String(), text)
		compare(t, text, a.String())
		compare(t, a.String(), b.String())
		walk(t, a.String(), text)
		walk(t, text, text)
	}
}

// TestFirstDifference: two long texts that differ in one byte, at every place, or in their length.
func TestFirstDifference(t *testing.T) {
	for _, n := range []int{1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 100, 300, 1_100} {
		text := `["` + strings.Repeat("x", n) + `"]`
		for at := range n {
			if n > 400 && at%97 > 2 {
				continue
			}
			compare(t, text, text[:2+at]+"y"+text[3+at:])
		}
		compare(t, text, `["`+strings.Repeat("x", n+1)+`"]`)
		compare(t, text+" ", text)
	}
	long := strings.Repeat("x", 20_000)
	for _, at := range []int{0, 1_023, 1_024, 1_055, 1_056, 4_095, 4_096, 5_119, 5_120, 8_191, 9_216, 19_999} {
		compare(t, `["`+long+`"]`, `["`+long[:at]+"y"+long[at+1:]+`"]`)
	}
}

// TestSkipSeesOnlyTokens: texts that differ in white space are equal, and those that differ in a token are not.
func TestSkipSeesOnlyTokens(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1}`, ` { "a" : 1 } `, true},
		{`[1,2,{"a":[]}]`, "[\n1 ,\t2, {\"a\" :[ ]\r}]", true},
		{`{"a":"x y"}`, `{"a":"x  y"}`, false},
		{`[1,2]`, `[1, 3]`, false},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, false},
		{`{"a":{"b":[1,{"c":null}]},"d":2}`, `{"a": {"b":[1,{"c":null}]},"d":2}`, true},
		{`{"a":{"b":[1,{"c":null}]},"d":2}`, `{"a": {"b":[1,{"c":true}]},"d":2}`, false},
	} {
		p := NewPair([]byte(row.a), []byte(row.b))
		if got := p.Skip(); got != row.want || !p.End() {
			t.Errorf("%q and %q: equal %t, want %t", row.a, row.b, got, row.want)
		}
	}
}

// TestDepthWithSpaces: the limit of the depth holds where texts are not the same bytes, one of them or both.
func TestDepthWithSpaces(t *testing.T) {
	for _, n := range []int{9_999, 10_000, 10_001} {
		spaced := strings.Repeat("[ ", n) + strings.Repeat("]", n)
		objects := strings.Repeat(`{"a":`, n-1) + `{}` + strings.Repeat("}", n-1)
		compare(t, nested(n), spaced)
		compare(t, spaced, nested(n))
		compare(t, spaced, spaced)
		compare(t, objects, strings.ReplaceAll(objects, ":", ": "))
		for _, text := range []string{nested(n), spaced} {
			var down func(t *Text)
			down = func(text *Text) {
				for range text.Items() {
					down(text)
				}
			}
			reader := NewText([]byte(text))
			down(reader)
			if err := reader.End(); (err == nil) != (n <= 10_000) {
				t.Errorf("%d lists inside each other, walked one by one: %v", n, err)
			}
			reader = NewText([]byte(`{"a":` + text + `}`))
			for range reader.Members() {
				reader.Skip()
			}
			if err := reader.End(); (err == nil) != (n < 10_000) {
				t.Errorf("%d lists in an object: %v", n, err)
			}
		}
	}
}

// TestObjectNotes: the named members of an object are found, however they are written, the last of several.
func TestObjectNotes(t *testing.T) {
	objects := []string{
		`{}`, `{"a":1}`, `{"b":"x","a":{"a":2}}`, ` {"a" : [1] , "b":null}`, `{"a":1,"a":2}`, `{"\u0061":1,"b":"\u0062"}`, `{"a":1,"\u0061":2}`, `{"\u0061":2,"a":1}`,
		`{"c":{"a":1,"b":2}}`, `{"c":[{"a":1}],"b":-1.5e3}`, `{"aa":1,"":2,"b":true}`, `{"a":"\"a\":1","b":false}`, `1`, `"a"`, `[{"a":1}]`, `null`,
	}
	names := []string{"a", "b"}
	for _, a := range objects {
		for _, b := range objects {
			text := func(s string) string { return `[0,` + s + `,{"a":9}]` }
			p := NewPair([]byte(text(a)), []byte(text(b)))
			items := p.Items()
			items.Next()
			p.Skip()
			items.Next()
			news, olds := make([]int, 2), make([]int, 2)
			newSpan, same, newOK := p.Object(names, news)
			if !same {
				oldSpan, oldOK := p.ObjectOne(Old, names, olds)
				checkNotes(t, b, p.old, oldSpan, oldOK, names, olds)
			}
			checkNotes(t, a, p.new, newSpan, newOK, names, news)
			if same && a != b || !same && a == b && !slices.Contains([]string{"1", "null"}, a) {
				t.Errorf("%s and %s: same bytes %t", a, b, same)
			}
			if !items.Next() {
				t.Fatalf("%s and %s: no item is left", a, b)
			}
			p.Skip()
			if items.Next() || !p.End() {
				t.Errorf("%s and %s: not read to the end", a, b)
			}
		}
	}
}

func checkNotes(t *testing.T, object string, data []byte, span Span, ok bool, names []string, at []int) {
	t.Helper()
	value, err := decode(object)
	if err != nil {
		t.Fatal(err)
	}
	members, isObject := value.(map[string]any)
	if ok != isObject || strings.TrimSpace(string(data[span.From:span.To])) != strings.TrimSpace(object) {
		t.Errorf("%s: an object %t, its text is %s", object, ok, data[span.From:span.To])
	}
	if !ok {
		return
	}
	for k, name := range names {
		want, has := members[name]
		if (at[k] != 0) != has {
			t.Errorf("%s: %s is noted at %d", object, name, at[k])
		}
		if !has || at[k] == 0 {
			continue
		}
		if got, err := decode(string(MemberValue(data, at[k]))); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the value of %s is read as %v, %v", object, name, got, err)
		}
	}
}

// TestAgain: a pair goes back and on again, but never reads much more than its texts once more.
func TestAgain(t *testing.T) {
	text := `{"a":[1,2,3],"b":[4,5,6]}`
	p := NewPair([]byte(text), []byte(text))
	m := p.Members()
	m.Next()
	first := p.Here()
	p.Skip()
	m.Next()
	for round := range 20 {
		here, ok := p.Again(first)
		if !ok {
			if round == 0 {
				t.Error("nothing can be read again")
			}
			break
		}
		if round > 4 {
			t.Fatal("much is read again and again")
		}
		at := p.Here()
		p.Skip()
		if got := p.NewValue(at); !reflect.DeepEqual(got, []any{int64(1), int64(2), int64(3)}) {
			t.Errorf("read again: %v", got)
		}
		p.Resume(here)
	}
	at := p.Here()
	p.Skip()
	if got := p.OldValue(at); !reflect.DeepEqual(got, []any{int64(4), int64(5), int64(6)}) {
		t.Errorf("gone on: %v", got)
	}
	if m.Next() || !p.End() {
		t.Error("not read to the end")
	}
}

// TestScalarAndString: one value at an offset, with the offset after it.
func TestScalarAndString(t *testing.T) {
	for _, row := range []struct {
		text string
		want any
		end  int
	}{
		{`"a\u0062" x`, "ab", 9}, {`1.5,`, 1.5, 3}, {`12`, int64(12), 2}, {`true]`, true, 4}, {`null`, nil, 4}, {`false `, false, 5},
		{`nul`, nil, -1}, {`"a`, "", -1}, {`{}`, nil, -1}, {`01`, int64(0), 1}, {`x`, nil, -1},
	} {
		got, end := Scalar([]byte(" "+row.text), 1)
		if want := max(row.end+1, -1); row.end >= 0 && (end != want || got != row.want) || row.end < 0 && end != -1 {
			t.Errorf("%s: %v up to %d, want %v up to %d", row.text, got, end, row.want, row.end)
		}
	}
	if s, end := String([]byte(`x"\n"y`), 1); s != "\n" || end != 5 {
		t.Errorf("%q up to %d", s, end)
	}
	if Space([]byte("a \t\r\nb"), 1) != 5 || Space([]byte("  "), 0) != 2 || Space([]byte("a"), 0) != 0 {
		t.Error("white space ends elsewhere")
	}
}
