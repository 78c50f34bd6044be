package jsonscan

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// members reads an object as a caller does.
func members(doc string) (list []string, err error) {
	t := NewText([]byte(doc))
	for m := range t.Members() {
		list = append(list, string(m.Name)+"="+string(t.Skip()))
		if t.Failed() {
			list = list[:len(list)-1]
		}
	}
	return list, t.End()
}

func TestMembers(t *testing.T) {
	for _, row := range []struct {
		name, reason, doc string
		want              []string // name=value
		wantError         string
	}{
		{"empty", "an object without members", ` { } `, nil, ""},
		{"kinds", "values are cut at their ends, white space left out", `{"a": 1 ,"b":"x","c":[1,{"d":2}] , "e":{"f":null},"g":true}`,
			[]string{"a=1", `b="x"`, `c=[1,{"d":2}]`, `e={"f":null}`, "g=true"}, ""},
		{"strings that look like structure", "brackets, commas and quotes inside strings are text", `{"a":"}],{\"","b\"":"\\","c":["]\\\"}"]}`,
			[]string{`a="}],{\""`, `b"="\\"`, `c=["]\\\"}"]`}, ""},
		{"escaped name", "the same name in other letters", `{"\u0061":1}`, []string{"a=1"}, ""},
		{"not an object", "a list has no members", `[1]`, nil, "another kind of value"},
		{"nothing", "no document", ``, nil, "unexpected end"},
		{"more than one", "what follows would go unread", `{} {}`, nil, "after top-level value"},
		{"a byte after the end", "what follows would go unread", "{}\x00", nil, "after top-level value"},
		{"wrong bracket", "not JSON", `{"a":[1}}`, nil, "invalid character '}'"},
		{"no value", "not JSON", `{"a":}`, nil, "invalid character '}'"},
		{"no colon", "not JSON", `{"a" 1}`, nil, "after object key"},
		{"trailing comma", "not JSON", `{"a":1,}`, []string{"a=1"}, "beginning of object key"},
		{"no comma", "not JSON", `{"a":1 "b":2}`, []string{"a=1"}, "after object key:value pair"},
		{"number as a name", "not JSON", `{1:1}`, nil, "beginning of object key"},
		{"cut in a string", "the document ends early", `{"a":"x\"`, nil, "unexpected end"},
		{"cut in a list", "the document ends early", `{"a":[`, nil, "unexpected end"},
		{"cut after a value", "the document ends early", `{"a":[]`, []string{"a=[]"}, "unexpected end"},
		{"bad escape in a name", "not JSON", `{"\x":1}`, nil, "invalid character 'x'"},
		{"bad number", "the values are read too", `{"a":01}`, []string{"a=0"}, "invalid character '1'"},
		{"too large a number", "util/json cannot decode it", `{"a":[1e999]}`, nil, "1e999"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := members(row.doc)
			if !slices.Equal(got, row.want) {
				t.Errorf("%q, want %q: %s", got, row.want, row.reason)
			}
			if (err != nil) != (row.wantError != "") || err != nil && !strings.Contains(err.Error(), row.wantError) {
				t.Errorf("error %v, want %q: %s", err, row.wantError, row.reason)
			}
		})
	}
}

// TestTextWalk goes into members and items, leaves some unread, and goes back to one.
func TestTextWalk(t *testing.T) {
	doc := `{"skipped": {"x": [1, 2]}, "list": [ 10, {"deep": "a"}, [ ] ], "last": true}`
	text := NewText([]byte(doc))
	var offsets []int
	var names []string
	again := 0
	for m := range text.Members() {
		names = append(names, string(m.Name))
		if doc[m.At] != '"' || m.Value != strings.Index(doc, `"`+string(m.Name)+`":`)+len(m.Name)+4 {
			t.Errorf("the member %q is said to be at %d and its value at %d", m.Name, m.At, m.Value)
		}
		if string(m.Name) != "list" {
			continue
		}
		again = m.Value
		for at := range text.Items() {
			offsets = append(offsets, at)
			for inner := range text.Members() {
				_ = inner
			}
			break
		}
		break
	}
	if text.Failed() == false {
		t.Error("a number was read as an object, and nothing failed")
	}
	text = NewText([]byte(doc))
	text.Seek(again)
	offsets = nil
	for at := range text.Items() {
		offsets = append(offsets, at)
	}
	if want := []int{strings.Index(doc, "10"), strings.Index(doc, `{"deep`), strings.Index(doc, "[ ]")}; !slices.Equal(offsets, want) || !slices.Equal(names, []string{"skipped", "list"}) {
		t.Errorf("items at %v, want %v; members %q", offsets, want, names)
	}
}

// TestTextWide: objects side by side are not nested, however many there are.
func TestTextWide(t *testing.T) {
	text := NewText([]byte("[" + strings.Repeat("{},", 2*maxDepth) + "{}]"))
	items := 0
	for range text.Items() {
		for range text.Members() {
			t.Fatal("a member in an empty object")
		}
		items++
	}
	if err := text.End(); err != nil || items != 2*maxDepth+1 {
		t.Errorf("%d items, %v", items, err)
	}
}

func TestMembersAllocatesNothing(t *testing.T) {
	doc := []byte(`{"apiVersion":"v1","request":{"object":{"a":["x",1,{"b":"\""}]}},"kind":"K"}`)
	n := 0
	if allocs := testing.AllocsPerRun(100, func() {
		text := NewText(doc)
		for range text.Members() {
			n += len(text.Skip())
		}
	}); allocs > 1 { // the text
		t.Errorf("%v allocations", allocs)
	}
}

// FuzzMembers: on every text, Members finds what encoding/json finds, or both fail.
func FuzzMembers(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
		f.Add([]byte(`{"a":` + text + `,"b":[{"c":"\"}"}],"\u0061b":null}`))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		got := map[string]string{}
		text := NewText(doc)
		for m := range text.Members() {
			got[string(m.Name)] = string(text.Skip())
		}
		err := text.End()
		var want map[string]json.RawMessage
		wantErr := json.Unmarshal(doc, &want)
		if value, decodeErr := decode(string(doc)); decodeErr != nil || value == nil {
			wantErr = json.Unmarshal([]byte("{"), &want)
		}
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("%q: %v, want %v", doc, err, wantErr)
		}
		if err != nil {
			return
		}
		texts := map[string]string{}
		for name, value := range want {
			texts[name] = string(value)
		}
		if !maps.Equal(got, texts) {
			t.Errorf("%q: %q, want %q", doc, got, texts)
		}
	})
}
