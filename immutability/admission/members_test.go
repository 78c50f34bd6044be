package admission

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

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
		{"no object", "a list has no members", `[1]`, nil, "an object is expected"},
		{"nothing", "no document", ``, nil, "an object is expected"},
		{"more than one", "what follows would go unread", `{} {}`, nil, "nothing is expected after"},
		{"wrong bracket", "not JSON", `{"a":[1}}`, nil, "does not close"},
		{"no value", "not JSON", `{"a":}`, nil, "a value is expected"},
		{"no colon", "not JSON", `{"a" 1}`, nil, "a colon is expected"},
		{"trailing comma", "not JSON", `{"a":1,}`, []string{"a=1"}, "a member name is expected"},
		{"no name", "not JSON", `{1:1}`, nil, "a member name is expected"},
		{"cut in a string", "the document ends early", `{"a":"x\"`, nil, "ends in the middle"},
		{"cut in a list", "the document ends early", `{"a":[`, nil, "ends in the middle"},
		{"cut after a value", "the document ends early", `{"a":[]`, []string{"a=[]"}, "a comma or the end"},
		{"bad escape in a name", "not JSON", `{"\x":1}`, nil, "cannot be read"},
		{"two strings", "a value ends with its quote", `{"a":"x""y"}`, []string{`a="x"`}, "a comma or the end"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got []string
			err := members([]byte(row.doc), func(name, value []byte) error {
				got = append(got, string(name)+"="+string(value))
				return nil
			})
			if !slices.Equal(got, row.want) {
				t.Errorf("%q, want %q: %s", got, row.want, row.reason)
			}
			if (err != nil) != (row.wantError != "") || err != nil && !strings.Contains(err.Error(), row.wantError) {
				t.Errorf("error %v, want %q: %s", err, row.wantError, row.reason)
			}
		})
	}
}

func TestMembersReadsAnyDepth(t *testing.T) {
	const depth = 100_000
	doc := []byte(`{"a":` + strings.Repeat(`[`, depth) + strings.Repeat(`]`, depth) + `}`)
	if err := members(doc, func(_, _ []byte) error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestMembersAllocatesNothing(t *testing.T) {
	doc := []byte(`{"apiVersion":"v1","request":{"object":{"a":["x",1,{"b":"\""}]}},"kind":"K"}`)
	n := 0
	if allocs := testing.AllocsPerRun(100, func() {
		_ = members(doc, func(_, value []byte) error { n += len(value); return nil })
	}); allocs > 1 { // the stack of brackets
		t.Errorf("%v allocations", allocs)
	}
}

// FuzzMembers: on every JSON object, members finds what encoding/json finds.
func FuzzMembers(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":[{"c":"\"}"}],"\u0061b":null}`))
	f.Add([]byte(`{"a":"\\","b":{}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		got := map[string]string{}
		err := members(doc, func(name, value []byte) error {
			got[string(name)] = string(value)
			return nil
		})
		var want map[string]json.RawMessage
		if !json.Valid(doc) || json.Unmarshal(doc, &want) != nil || want == nil {
			return // any answer will do, but it came
		}
		if err != nil {
			t.Fatalf("%q: %v", doc, err)
		}
		text := map[string]string{}
		for name, value := range want {
			text[name] = string(value)
		}
		clean := func(m map[string]string) bool { // encoding/json repairs names that are no UTF-8
			for name := range m {
				if !bytes.Equal([]byte(name), bytes.ToValidUTF8([]byte(name), []byte("\uFFFD"))) {
					return false
				}
			}
			return true
		}
		if clean(got) && !maps.Equal(got, text) {
			t.Errorf("%q: %q, want %q", doc, got, text)
		}
	})
}

func TestClip(t *testing.T) {
	for _, row := range []struct {
		name, reason, text string
		limit              int
		want               string
	}{
		{"short", "unchanged", "spec: field is immutable", 100, "spec: field is immutable"},
		{"long", "both ends stay", "spec.class" + strings.Repeat("x", 50) + "-immutable", 25, "spec.class … -immutable"},
		{"runes", "no character is cut in half", "ääääääääää", 11, "ä … ä"},
		{"no room", "the gap alone", strings.Repeat("x", 50), 1, " … "},
	} {
		if got := clip(row.text, row.limit); got != row.want {
			t.Errorf("%s: %q, want %q: %s", row.name, got, row.want, row.reason)
		}
	}
}
