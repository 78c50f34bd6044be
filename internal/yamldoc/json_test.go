package yamldoc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// TestJSONPositions: JSON in any spelling, many objects in one List.
func TestJSONPositions(t *testing.T) {
	const text = `{"kind":"List" , "items":[
  {"kind":"A","spec":{"s\"]}": [1,{"b" : "x,]}\\"},[ ],{}, null ,-1.5e3],
    "caf\u00e9":true}},
  {"kind":"B","spec":{
    "n":[[1,2],[3,
      4]]}}]}
{"kind":"C","spec":{"z":0}}`
	documents, err := yamldoc.Read("list.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		document int
		steps    []any
		want     string
	}{
		{0, nil, "2:3"},
		{0, []any{"spec"}, "2:15"},
		{0, []any{"spec", `s"]}`}, "2:23"},
		{0, []any{"spec", `s"]}`, 0}, "2:33"},
		{0, []any{"spec", `s"]}`, 1}, "2:35"},
		{0, []any{"spec", `s"]}`, 1, "b"}, "2:36"},
		{0, []any{"spec", `s"]}`, 2}, "2:52"},
		{0, []any{"spec", `s"]}`, 5}, "2:66"},
		{0, []any{"spec", `s"]}`, 6}, "2:23"}, // none: its parent
		{0, []any{"spec", "café"}, "3:5"},
		{0, []any{"spec", 0}, "2:15"}, // no index in an object
		{1, []any{"spec", "n", 1, 1}, "6:7"},
		{1, []any{"spec", "n", 1, 1, "deeper"}, "6:7"}, // nothing in a number
		{2, []any{"spec", "z"}, "7:21"},
	} {
		if got := documents[c.document].Position(c.steps...).String(); got != c.want {
			t.Errorf("document %d, %v: got %s, want %s", c.document, c.steps, got, c.want)
		}
	}
}

func BenchmarkJSONPositions(b *testing.B) {
	var text strings.Builder
	text.WriteString(`{"kind":"List","items":[`)
	for i := range 2000 {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"kind":"A","spec":{"text":%q,"at":1}}`, strings.Repeat("x", 1000))
	}
	text.WriteString(`]}`)
	for b.Loop() {
		b.ReportAllocs()
		b.StopTimer()
		documents, err := yamldoc.Read("list.json", []byte(text.String()))
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		for _, d := range documents {
			if d.Position("spec", "at").Line != 1 {
				b.Fatal("wrong line")
			}
		}
	}
}

// jsonValue writes and decodes a value, so that values of different Go types compare; numbers stay text.
func jsonValue(t testing.TB, value any) any {
	t.Helper()
	return numbersAsText(value)
}
