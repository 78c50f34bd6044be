package document

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func load(t *testing.T, text string) *yaml.Node {
	t.Helper()
	n, err := Load([]byte(text))
	if err != nil || n == nil {
		t.Fatalf("%q: %v, %v", text, n, err)
	}
	return n
}

// TestAttributes: a key that is probably meant for a known one is found out, and others are left alone.
func TestAttributes(t *testing.T) {
	for _, row := range []struct{ key, reason, meant string }{
		{"immutable", "known", ""},
		{"imutable", "one letter is missing", "immutable"},
		{"imutabel", "a letter is missing and two are swapped: two edits", "immutable"},
		{"imutabl", "two letters are missing", "immutable"},
		{"immutablexy", "two letters too many", "immutable"},
		{"immutablexyz", "three letters too many", ""},
		{"mutabl", "three edits", ""},
		{"Immutable", "another letter case", "immutable"},
		{"IMUTABLE", "another letter case and an edit", "immutable"},
		{"nam", "one edit of a short name", "name"},
		{"naem", "two letters are swapped", "name"},
		{"nm", "two edits of a short name are too many", ""},
		{"amen", "the same letters", ""},
		{"same", "one letter is replaced", "name"},
		{"grou", "two letters of six are missing", "groups"},
		{"labex", "one letter of five is replaced", "label"},
		{"labxy", "two letters of five are replaced", ""},
		{"", "no letters", ""},
	} {
		found, misspelled := Attributes(load(t, fmt.Sprintf("%q: x", row.key)), "name", "immutable", "groups", "label")
		if (len(misspelled) == 1) != (row.meant != "") || row.meant != "" && (misspelled[0].Meant != row.meant || misspelled[0].Written != row.key || misspelled[0].Line != 1) {
			t.Errorf("%q: %v, want it to be meant for %q: %s", row.key, misspelled, row.meant, row.reason)
		}
		if _, err := Strict(load(t, fmt.Sprintf("%q: x", row.key)), "name", "immutable", "groups", "label"); (err != nil) != (row.meant != "") {
			t.Errorf("%q: Strict: %v: %s", row.key, err, row.reason)
		}
		if read := strings.EqualFold(row.key, "immutable"); (found["immutable"] != nil) != read {
			t.Errorf("%q is read: %t", row.key, !read)
		}
	}
	found, misspelled := Attributes(load(t, "Name: b\nname: a\nother: c"), "name", "other")
	if len(misspelled) != 1 || found["name"].Value != "a" || found["other"].Value != "c" {
		t.Errorf("%v, %v: the exact key counts", found, misspelled)
	}
}

func TestTextAndBool(t *testing.T) {
	for text, want := range map[string]string{"a": "a", "0755": "0755", "'x'": "x", "1.0": "1.0", "null": "", "~": "", "[a]": "error", "{a: b}": "error"} {
		got, err := Text(load(t, "k: "+text).Content[1], "k")
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s is the text %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"true": "true", "True": "true", "TRUE": "true", "tRue": "error", "yes": "true", "on": "true", "y": "true", "Y": "true", "false": "false", "no": "false", "off": "false", "n": "false", "N": "false",
		"'true'": "true", `"False"`: "false", "'yes'": "error", `"on"`: "error", "1": "error", "[true]": "error", "''": "error", "null": "fallback", "t": "error",
	} {
		for _, fallback := range []bool{true, false} {
			got, err := Bool(load(t, "k: "+text).Content[1], "k", fallback)
			is := fmt.Sprint(got)
			switch {
			case err != nil && strings.Contains(err.Error(), "it should be true or false") && !got:
				is = "error"
			case want == "fallback" && got == fallback:
				is = "fallback"
			}
			if is != want {
				t.Errorf("%s is %s, want %s: %v", text, is, want, err)
			}
		}
	}
	if got, err := Bool(nil, "k", true); !got || err != nil {
		t.Errorf("an attribute that is absent is its fallback: %v, %v", got, err)
	}
}

// TestLoad: what the tree holds, or why it is refused and in which line.
func TestLoad(t *testing.T) {
	for _, row := range []struct{ name, text, want, refused string }{
		{"empty", "", "null", ""},
		{"comments", "# a\n---\n# b\n", "null", ""},
		{"null", "null", "null", ""},
		{"one document after an empty one", "---\n---\na: 1", `{"a":1}`, ""},
		{"alias", "a: &x [1, 2]\nb: *x", `{"a":[1,2],"b":[1,2]}`, ""},
		{"merged", "a: &x {k: 1, l: 2}\nb: {<<: *x, l: 3}", `{"a":{"k":1,"l":2},"b":{"k":1,"l":3}}`, ""},
		{"merged list", "a: &x {k: 1, l: 2}\nb: &y {k: 5, m: 6}\nc: {<<: [*x, *y], n: 7}", `{"a":{"k":1,"l":2},"b":{"k":5,"m":6},"c":{"k":1,"l":2,"m":6,"n":7}}`, ""},
		{"tags that say what is there", "a: !!str 1\nb: !!int 1\nc: !!float 1\nd: !!bool true\ne: !!null null", `{"a":"1","b":1,"c":1,"d":true,"e":null}`, ""},
		{"numbers that JSON cannot write", "a: 0x10\nb: 1_000\nc: .5\nd: .inf", `{"a":"0x10","b":"1_000","c":".5","d":".inf"}`, ""},
		{"times", "a: 2026-01-02", `{"a":"2026-01-02"}`, ""},
		{"two documents", "a: 1\n---\nb: 2", "", "line 3: a second document begins here"},
		{"malformed", "a: 1\nb: [", "", "line 2: did not find"},
		{"a key twice", "a: 1\nb: 2\na: 3", "", `line 3: the key "a" is given a second time`},
		{"a key twice with one value", "a: {k: [1, x]}\nb: 2\na: {k: [1, x]}", `{"a":{"k":[1,"x"]},"b":2}`, ""},
		{"a key twice with one text of two types", "a: 1\na: '1'", "", `line 2: the key "a" is given a second time, with another value`},
		{"a key that is a list", "? [a]\n: 1", "", "a key is a list: it is a name"},
		{"a key that is an alias twice", "&k a: 1\n*k : 2", "", `the key "a" is given a second time`},
		{"an anchor in itself", "a: &x [*x]", "", `the anchor "x" contains itself`},
		{"a merge of a text", "a: {<<: x}", "", `the merge key << has "x": it takes a mapping`},
		{"a merge of a list with a text", "a: {<<: [{b: 1}, x]}", "", `the merge key << has "x"`},
		{"a merge key as a value", "a: <<", "", "the merge key << is not a value"},
		{"a tag of another type", "a: !!int x", "", `"x" is tagged !!int, which it is not`},
		{"an integer that is a float", "a: !!int 1.5", "", `"1.5" is tagged !!int`},
		{"a tag of one's own", "a: !secret x", "", "the tag !secret is not supported"},
		{"binary", "a: !!binary aGk=", "", "is not supported"},
		{"deep", strings.Repeat("[", 101) + strings.Repeat("]", 101), "", "nested deeper than 100 levels"},
		{"wide", "a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e]", "", "more than 200000 nodes"},
	} {
		t.Run(row.name, func(t *testing.T) {
			n, err := Load([]byte(row.text))
			if row.refused != "" {
				if err == nil || !strings.Contains(err.Error(), row.refused) {
					t.Errorf("%v, want %q", err, row.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var data any
			if n != nil {
				data = decoded(n)
			}
			if got, _ := json.Marshal(data); string(got) != row.want {
				t.Errorf("%s, want %s", got, row.want)
			}
		})
	}
	if _, err := Load([]byte(strings.Repeat("[", 100) + strings.Repeat("]", 100))); err != nil {
		t.Errorf("100 levels: %v", err)
	}
}

// TestValues: scalars keep their text, lists and maps have one text for one content.
func TestValues(t *testing.T) {
	values, err := Values(load(t, `{text: 0755, quoted: "a", none: null, list: [b, {z: 1, a: 'x'}], map: {z: [1], a: "y"}, flow: {a: y, z: [1]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"text": "0755", "quoted": "a", "none": "null", "list": "- b\n- a: x\n  z: 1\n", "map": "a: \"y\"\nz:\n- 1\n", "flow": "a: \"y\"\nz:\n- 1\n"} {
		if got := values[name].Text; got != want && strings.ReplaceAll(got, `"`, "") != strings.ReplaceAll(want, `"`, "") {
			t.Errorf("%s has the text %q, want %q", name, got, want)
		}
	}
	if values["map"].Text != values["flow"].Text || !values["none"].IsNull() || values["text"].IsNull() || !reflect.DeepEqual(values["list"].Data, []any{"b", map[string]any{"z": json.Number("1"), "a": "x"}}) {
		t.Errorf("%#v", values)
	}
	if _, err := Values(load(t, "[a]")); err == nil || !strings.Contains(err.Error(), "the values are a list: they should be a mapping") {
		t.Errorf("values that are a list: %v", err)
	}
	if _, err := Values(load(t, "null: 1\na: [\"\\uFFFE\"]")); err != nil && !strings.Contains(err.Error(), "cannot be written as text") {
		t.Error(err)
	}
}

func TestDescribe(t *testing.T) {
	for text, want := range map[string]string{"[a]": "a list", "{a: 1}": "a mapping", "x": `"x"`, "1": `"1"`, "''": `""`, "~": "empty"} {
		if got := Describe(load(t, "k: "+text).Content[1]); got != want {
			t.Errorf("%s is described as %s, want %s", text, got, want)
		}
	}
}

func TestLoadMapping(t *testing.T) {
	for text, want := range map[string]string{"a: 1": "", "": "the document is empty: it should be a package", "[a]": "the document is a list: it should be a package", "{": "line 1"} {
		if _, err := LoadMapping([]byte(text), "a package"); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
