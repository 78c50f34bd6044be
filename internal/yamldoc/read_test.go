package yamldoc_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Scalars mean what kubectl makes of them; sigs.k8s.io/yaml, which kubectl uses, is the oracle.
func TestScalarsAsKubectl(t *testing.T) {
	scalars := []string{
		// null and booleans of YAML 1.1
		"", "~", "null", "Null", "NULL", "nUll", "y", "Y", "yes", "Yes", "YES", "yEs", "n", "N", "no", "No", "NO", "on", "On", "ON",
		"off", "Off", "OFF", "true", "True", "TRUE", "tRue", "false", "False", "FALSE", "none", "nil", "t", "f", "<<",
		// integers
		"0", "1", "-1", "+1", "007", "08", "0o17", "0O17", "0x1F", "0X1f", "-0x1F", "0b11", "-0b11", "0b12", "1_000", "_1", "1_", "0x_f",
		"9223372036854775807", "-9223372036854775808", "9007199254740993", "190:20:30", "+", "-", "--1", "0x", "0b", "00", "-0", "+0",
		// floats
		"1.0", "1.5", "1.123456789", "-1.5", "+1.5", ".5", "-.5", "+.5", "5.", "1e3", "1E3", "1e+3", "1e-3", "1.e3", ".5e1", "1e", "e1", "1e400", "-0.0",
		"1.2.3", ".", "..", ".e1", ".x", ".1_0", "1_0.5", "0x1p-2", ".5_5", ".Inf5", "1f",
		// dates and the like are text
		"2001-01-01", "2001-1-1", "2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43.10", "2001-99-99", "1234-", "12:30:45", "2001-01",
		// text
		"a", "a b", "'1'", `"1"`, "'true'", `"null"`, "!!str 1", "!!str true", "!!str null", "!!int 1", "!!float 1", "!!float 1.5", "!!bool yes",
		"!!null ~", "!!binary aGVsbG8=", "=", "0.1.2", "1 2", "10Gi", "1m", "éa", "\"\\u00e9\"", "\"\\U0001F600\"", "|\n  a\n  b", ">\n  a\n  b",
	}
	for _, scalar := range scalars {
		t.Run(scalar, func(t *testing.T) {
			for _, text := range []string{"a: " + scalar + "\n", "a: [" + scalar + "]\n", scalar + ": a\n"} {
				if strings.Contains(scalar, "\n") && !strings.HasPrefix(text, "a: "+scalar) {
					continue // block scalars stand in blocks, as values
				}
				want, wantErr := yaml.YAMLToJSON([]byte(text))
				documents, err := yamldoc.Read("f", []byte(text))
				if err != nil || wantErr != nil {
					if (err == nil) != (wantErr == nil) {
						t.Errorf("%q: error %v, the oracle has %v", text, err, wantErr)
					}
					continue
				}
				if len(documents) != 1 {
					t.Fatalf("%q: %d documents, want 1", text, len(documents))
				}
				if diff := cmp.Diff(jsonValue(t, json.RawMessage(want)), jsonValue(t, documents[0].Object)); diff != "" {
					t.Errorf("%q (-oracle +got):\n%s", text, diff)
				}
			}
		})
	}
}

// What the oracle lets pass and this package does not, or reads otherwise, each for a reason.
func TestStricterThanKubectl(t *testing.T) {
	for _, c := range []struct{ name, reason, text, want string }{
		{"infinity", "JSON has no such number", "a: .inf", "f:1: document 1: .inf is a number that JSON does not have"},
		{"not a number", "JSON has no such number", "a: -.Inf", "a number that JSON does not have"},
		{"tag that does not fit", "the writer means a number", "a: !!int b", `the tag !!int is on "b"`},
		{"two keys of one name", "kubectl takes any of the two", "1: a\n'1': b", `f:2: document 1: the mapping has two keys that are "1" in JSON, first in line 1; remove one`},
		{"two floats of one name", "they differ in YAML", "0.1: a\n0.10000000001: b", `f:2: document 1: the mapping has two keys that are "0.1" in JSON, first in line 1`},
		{"same key twice", "one of them would be lost", "a: 1\nb: 2\na: 3", `f:3: document 1: the mapping has the key "a" twice, with two values, first in line 1`},
		{"same key twice, the second of the keys", "the line is that of the same key", "b: 1\na: 2\na: 3", `f:3: document 1: the mapping has the key "a" twice, with two values, first in line 2`},
		{"same key twice after a merge", "a merge key does not make room for two", "<<: {x: 1}\na: 1\na: 2", `f:3: document 1: the mapping has the key "a" twice, with two values, first in line 2`},
		{"same key before and after a merge", "the same", "a: 1\n<<: {x: 1}\na: 2", `f:3: document 1: the mapping has the key "a" twice, with two values, first in line 1`},
		{"merge of a list of scalars", "there is nothing to merge", "<<: [{b: 1}, 1]\na: 1", "the merge key << does not have a mapping"},
		{"one alias many times", "a few lines must not fill the memory", "a: &x [" + strings.Repeat("1,", 1_100) + "]\nb: [" + strings.Repeat("*x,", 1_000) + "]", "the aliases of this document stand for more than"},
		{"same key twice, deep", "one of them would be lost", "a:\n- b: {c: 1, c: 2}", `f:2: document 1: the mapping has the key "c" twice, with two values, first in line 2`},
		{"large number as key", "it would be rounded", "9223372036854775808: a", "9223372036854775808 is too large a number for a key; quote it"},
		{"null key", "JSON has no such key", "~: a", "null is used as a key"},
		{"list as key", "JSON has no such key", "? [a]\n: b", "a mapping or list is used as a key"},
		{"broken", "the line helps", "a: 1\nb: [\n", "f:2: document 1: the YAML is malformed"},
		{"broken in the second document", "nothing of the file is used", "a: 1\n---\nb: c: d\n", "f:3: document 2: the YAML is malformed"},
		{"not UTF-8", "replaced bytes would make different texts equal", "a: 1\nb: \"\xff\"\n", "f:2: the text is not UTF-8"},
		{"UTF-16", "the text is not UTF-8", "\xfe\xff\x00a", "f:1: the text is not UTF-8"},
		{"scalar document", "no object", "a: 1\n---\nhello\n", `f:3: document 2: it is the string "hello"; a document is an object`},
		{"list document", "no object", "- a\n", "f:1: document 1: it is a list; a document is an object"},
		{"anchor in itself", "it has no end", "a: &a [*a]", "the nesting is deeper than"},
		{"merge of itself", "it has no end", "a: &a {<<: *a}", "the nesting is deeper than"},
		{"merge of a scalar", "there is nothing to merge", "<<: 1\na: 1", "the merge key << does not have a mapping"},
		{"unknown anchor", "there is nothing to follow", "a: *b", "unknown anchor 'b' referenced"},
		{"billion laughs", "a few lines must not fill the memory", laughs(), "the aliases of this document stand for more than"},
		{"JSON, same name twice", "one of them would be lost", `{"a": {"b": 1, "b": 2}}`, `f:1: document 1: an object has the member "b" twice`},
		{"JSON, same name twice, escaped", "the escape spells the same name", `{"a": 1, "\u0061": 2}`, `an object has the member "a" twice`},
		{"JSON, broken", "the line helps", "{\"a\": 1,\n\"b\": ]}\n", "f:2: document 1: the JSON is malformed"},
		{"JSON, cut off", "half an object is not an object", `{"a": 1`, "f:1: document 1: the JSON is malformed: the text ends; expected a comma or } after a member"},
		{"JSON, a marker behind it", "a marker begins a line", `{"a": 1} ---`, "the JSON is malformed"},
		{"binary that is no text", "JSON has no bytes", "a: !!binary /w==", "the tag !!binary is on data that is not UTF-8 text"},
		{"binary that is no base64", "it means nothing", "a: !!binary '*'", `the tag !!binary is on "*", which is not base64`},
		{"JSON list", "no object", ` [{"a": 1}]`, "it is a list; a document is an object"},
		{"document after a broken one", "the error names one, the others are read", "a: [\n---\nb: 1\n---\nb: {c\n", "f:1: document 1: the YAML is malformed: did not find expected node content\nf:5: document 3: the YAML is malformed"},
		{"item of a List", "no object", "kind: List\nitems:\n- a: 1\n- b\n", `f:4: document 1, List: items[1]: it is the string "b"; the items of a List are objects`},
	} {
		t.Run(c.name, func(t *testing.T) {
			documents, err := yamldoc.Read("f", []byte(c.text))
			if strings.HasPrefix(c.name, "document after") && len(documents) != 1 {
				t.Errorf("%d documents, want 1", len(documents))
			}
			if err == nil {
				t.Fatalf("%d documents and no error, want one that says %q: %s", len(documents), c.want, c.reason)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q does not say %q", err, c.want)
			}
		})
	}
}

// laughs is a document whose aliases double twenty-four times.
func laughs() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x]\n")
	for i := range 24 {
		n, m := string(rune('a'+i)), "a0"
		if i > 0 {
			m = string(rune('a' + i - 1))
		}
		b.WriteString(n + ": &" + n + " [*" + m + ", *" + m + "]\n")
	}
	return b.String()
}

func TestReadDocuments(t *testing.T) {
	for _, c := range []struct {
		name, reason, text string
		want               []any
	}{
		{"empty", "no document", "", nil},
		{"comments", "no document", "# nothing\n---\n# here\n", nil},
		{"several", "empty ones are left out", "a: 1\n---\n---\nb: 2\n...\n", []any{map[string]any{"a": int64(1)}, map[string]any{"b": int64(2)}}},
		{"byte order mark", "editors write it", "\ufeffa: 1", []any{map[string]any{"a": int64(1)}}},
		{"windows line ends", "editors write them", "a: 1\r\nb: x\r\n", []any{map[string]any{"a": int64(1), "b": "x"}}},
		{"above 2^53", "float64 would round it", "a: 9007199254740993", []any{map[string]any{"a": int64(9007199254740993)}}},
		{"JSON above 2^53", "float64 would round it", `{"a": 9007199254740993}`, []any{map[string]any{"a": int64(9007199254740993)}}},
		{"JSON beyond int64", "it is a float64 on the API server too", `{"a": 9223372036854775808}`, []any{map[string]any{"a": float64(1 << 63)}}},
		{"beyond int64", "as JSON", `a: 9223372036854775808`, []any{map[string]any{"a": float64(1 << 63)}}},
		{"fraction", "a float stays one", `{"a": 1.0}`, []any{map[string]any{"a": float64(1)}}},
		{"JSON stream", "kubectl reads it", "{\"a\": 1}\n{\"a\": 2}", []any{map[string]any{"a": int64(1)}, map[string]any{"a": int64(2)}}},
		{"JSON surrogates", "YAML cannot spell them", `{"a": "\ud83d\ude00\/"}`, []any{map[string]any{"a": "😀/"}}},
		{"flow style", "it starts like JSON", "{a: 1, b: [x]}", []any{map[string]any{"a": int64(1), "b": []any{"x"}}}},
		{"JSON documents", "YAML separates them", "{\"a\": 1}\n---\n{\"a\": 2}", []any{map[string]any{"a": int64(1)}, map[string]any{"a": int64(2)}}},
		{"anchor", "it stands for its value", "a: &x {b: 1}\nc: *x", []any{map[string]any{"a": map[string]any{"b": int64(1)}, "c": map[string]any{"b": int64(1)}}}},
		{"merge", "an own key wins, then the earlier source", "a: {<<: [{x: 1, w: 1}, {x: 2, z: 2}], w: 3}",
			[]any{map[string]any{"a": map[string]any{"x": int64(1), "w": int64(3), "z": int64(2)}}}},
		{"List", "its items are the objects", "kind: List\napiVersion: v1\nitems:\n- {kind: A}\n- {kind: B}\n",
			[]any{map[string]any{"kind": "A"}, map[string]any{"kind": "B"}}},
		{"typed list", "its items may leave out what the list says", "kind: AList\napiVersion: x/v1\nmetadata: {}\nitems:\n- {a: 1}\n",
			[]any{map[string]any{"kind": "A", "apiVersion": "x/v1", "a": int64(1)}}},
		{"list in list", "each level opens", "kind: List\nitems:\n- kind: AList\n  items:\n  - {kind: A}\n", []any{map[string]any{"kind": "A"}}},
		{"List with a name", "kubectl opens it all the same", "kind: List\napiVersion: v1\nmetadata: {name: a}\nitems:\n- {kind: A}\n", []any{map[string]any{"kind": "A"}}},
		{"typed list with a name", "as does the API server's decoder", "kind: AList\nmetadata: {name: a}\nitems: [{b: 1}]", []any{map[string]any{"kind": "A", "b": int64(1)}}},
		{"object with objects as items", "kubectl opens it", "kind: A\napiVersion: x/v1\nitems: [{kind: B, apiVersion: v1}]", []any{map[string]any{"kind": "B", "apiVersion": "v1"}}},
		{"object with items", "the items are not objects of their own", "kind: A\nitems: [{b: 1}]", []any{map[string]any{"kind": "A", "items": []any{map[string]any{"b": int64(1)}}}}},
		{"byte order mark before the second document", "files were joined", "a: 1\n---\n\ufeffb: 2", []any{map[string]any{"a": int64(1)}, map[string]any{"b": int64(2)}}},
		{"byte order mark before the marker", "files were joined", "a: 1\n\ufeff---\nb: 2", []any{map[string]any{"a": int64(1)}, map[string]any{"b": int64(2)}}},
		{"byte order mark in JSON", "files were joined", "\ufeff{\"a\": 1}\n\ufeff{\"a\": 2}", []any{map[string]any{"a": int64(1)}, map[string]any{"a": int64(2)}}},
		{"not specific tag", "kubectl takes it for text", "a: ! 80", []any{map[string]any{"a": "80"}}},
		{"tag of a float", "kubectl rounds it", "a: !!float 9007199254740993", []any{map[string]any{"a": float64(1 << 53)}}},
		{"sign after the prefix", "kubectl reads a number", "a: 0b+1", []any{map[string]any{"a": int64(1)}}},
		{"tag of another program", "kubectl takes it for text", "a: !secret 1", []any{map[string]any{"a": "1"}}},
		{"two merge keys", "an own key is no second one of what they bring in", "a: {<<: {x: 1, w: 1}, <<: {w: 2}, x: 3}", []any{map[string]any{"a": map[string]any{"x": int64(3), "w": int64(2)}}}},
		{"object with items without a kind", "kubectl opens it, and refuses such an item", "kind: A\napiVersion: x/v1\nitems: [{apiVersion: v1}]", []any{map[string]any{"apiVersion": "v1", "kind": "A"}}},
		{"object with items, one without a kind", "kubectl opens it", "kind: A\napiVersion: x/v1\nitems: [{kind: B, apiVersion: v1}, {b: 1}]",
			[]any{map[string]any{"kind": "B", "apiVersion": "v1"}, map[string]any{"kind": "A", "apiVersion": "x/v1", "b": int64(1)}}},
		{"object without apiVersion, with objects as items", "kubectl needs only the kind", "kind: A\nitems: [{kind: B, apiVersion: v1}, {b: 1}]",
			[]any{map[string]any{"kind": "B", "apiVersion": "v1"}, map[string]any{"kind": "A", "b": int64(1)}}},
		{"object with empty items", "kubectl applies nothing of it", "kind: A\napiVersion: x/v1\nitems: []", nil},
		{"object with items that are null", "it is no list; Argo CD and Flux apply it", "kind: A\napiVersion: x/v1\nitems: ~", []any{map[string]any{"kind": "A", "apiVersion": "x/v1", "items": nil}}},
		{"object with texts as items", "kubectl refuses it", "kind: A\napiVersion: x/v1\nitems: [a]", []any{map[string]any{"kind": "A", "apiVersion": "x/v1", "items": []any{"a"}}}},
		{"items without a kind above them", "kubectl refuses them", "apiVersion: v1\nitems: [{kind: B, apiVersion: v1}]", []any{map[string]any{"apiVersion": "v1", "items": []any{map[string]any{"kind": "B", "apiVersion": "v1"}}}}},
		{"item whose kind is null", "it takes the kind of the list", "kind: AList\napiVersion: x/v1\nitems: [{kind: ~, apiVersion: ~}, {kind: '', a: 1}, {kind: 5, b: 1}]",
			[]any{map[string]any{"kind": "A", "apiVersion": "x/v1"}, map[string]any{"kind": "A", "apiVersion": "x/v1", "a": int64(1)}, map[string]any{"kind": "A", "apiVersion": "x/v1", "b": int64(1)}}},
		{"a line that begins like a directive", "it is part of a text", "\ufeffa: \"x\n%y\"\n---\n\ufeffb: 2\n", []any{map[string]any{"a": "x %y"}, map[string]any{"b": int64(2)}}},
		{"directives of two documents", "each belongs to the document after it", "%YAML 1.1\n# c\n---\na: 1\n...\n\n%YAML 1.1\n---\nb: 2\n---\nc: 3\n",
			[]any{map[string]any{"a": int64(1)}, map[string]any{"b": int64(2)}, map[string]any{"c": int64(3)}}},
		{"merge after a key", "for kubectl, what comes later wins", "a: {x: 1, <<: {x: 2}}", []any{map[string]any{"a": map[string]any{"x": int64(2)}}}},
		{"marker alone", "no document", "---", nil},
		{"marker at the end", "no document after it", "{\"a\": 1}\n---", []any{map[string]any{"a": int64(1)}}},
		{"almost a decimal", "kubectl takes it for text", "a: 1.x\nb: 1.5e\nc: 1e5x\nd: .e1\ne: 1.5.2", []any{map[string]any{"a": "1.x", "b": "1.5e", "c": "1e5x", "d": ".e1", "e": "1.5.2"}}},
		{"directive", "it belongs to the document", "%YAML 1.1\n---\na: 1", []any{map[string]any{"a": int64(1)}}},
		{"document on the line of its marker", "YAML allows it", "--- {a: 1}\n--- # comment\nb: 2", []any{map[string]any{"a": int64(1)}, map[string]any{"b": int64(2)}}},
		{"marker within a text", "it is indented", "a: |\n  ---\n  b\n", []any{map[string]any{"a": "---\nb\n"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			documents, err := yamldoc.Read("f", []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			var got []any
			for _, d := range documents {
				got = append(got, d.Object)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestErrorsAreSorted: the mistakes of a file come in the order of its lines, and name their documents.
func TestErrorsAreSorted(t *testing.T) {
	documents, err := yamldoc.Read("f", []byte("- a\n---\nkind: A\n---\nb: [\n---\n5\n---\nc: {d\n---\nx\n"))
	if len(documents) != 1 || err == nil {
		t.Fatalf("%v, %v", documents, err)
	}
	var begins []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		at, _, _ := strings.Cut(line, ": ")
		begins = append(begins, at)
	}
	if !slices.IsSortedFunc(begins, func(a, b string) int {
		number := func(s string) int { n, _ := strconv.Atoi(strings.TrimPrefix(s, "f:")); return n }
		return number(a) - number(b)
	}) || len(begins) != 5 {
		t.Errorf("%s", err)
	}
}

// TestJSONMistakes: the line of the mistake and what would be right.
func TestJSONMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`{"a"` + "\n" + ` 1}`:         "f:2: document 1: the JSON is malformed: found \"1\"; expected a colon after a member name",
		`{"a": 1` + "\n" + ` "b": 2}`: "f:2: document 1: the JSON is malformed: found \"\\\"\"; expected a comma or } after a member",
		`{"a": 1} {"b" 2}`:            "document 2: the JSON is malformed: found \"2\"; expected a colon",
		`{"a": "\x"}`:                 "expected a value",
		`{"a": 1, "a": 2}`:            "has the member \"a\" twice",
		"{\"a\": 1,\n \"b\" : [}":     "f:2: ",
	} {
		if _, err := yamldoc.Read("f", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestManyDocuments: a large file is read in parts at the same time, and its documents keep their order and lines.
func TestManyDocuments(t *testing.T) {
	var text strings.Builder
	const n = 6_000
	for i := range n {
		fmt.Fprintf(&text, "---\nkind: A\nnumber: %d\n", i)
	}
	text.WriteString("---\nbroken: [\n")
	documents, err := yamldoc.Read("f", []byte(text.String()))
	if len(documents) != n || err == nil || !strings.Contains(err.Error(), fmt.Sprintf("document %d", n+1)) {
		t.Fatalf("%d documents, %v", len(documents), err)
	}
	for i, d := range documents {
		if d.Object["number"] != int64(i) || d.Number != i+1 || d.Position("number").Line != 3*i+3 {
			t.Fatalf("document %d: %v, number %d, line %d", i, d.Object, d.Number, d.Position("number").Line)
		}
	}
}

func TestPositions(t *testing.T) {
	const yamlText = `# comment
kind: A
spec: &s
  nodes:
  - zone: a
  - {zone: b, "a.b": 1}
  labels:
    app.kubernetes.io/name: x
    x[y]: z
  on: 1
---
kind: List
items:
- kind: B
  spec: {<<: {merged: 1}, own: 2}
`
	const jsonText = `
{"kind": "A", "spec": {
  "nodes": [{"zone": "a"}, {"zone": "b",
     "a.b": 1}],
  "labels": {"app.kubernetes.io/name": "x", "x[y]": "z"},
  "true": 1}}
`
	for _, c := range []struct {
		name, reason, text string
		document           int
		path               string
		want               string
	}{
		{"root", "the first key", yamlText, 0, "", "2:1"},
		{"member", "the place of its name", yamlText, 0, "spec", "3:1"},
		{"item", "the place of the item", yamlText, 0, "spec.nodes[0]", "5:5"},
		{"below an item", "indices and names mix", yamlText, 0, "spec.nodes[1].zone", "6:6"},
		{"dotted name", "the name that the object has wins", yamlText, 0, "spec.nodes[1].a.b", "6:15"},
		{"key in brackets", "as field.Path prints keys", yamlText, 0, "spec.labels[app.kubernetes.io/name]", "8:5"},
		{"brackets in a key", "the name that the object has wins", yamlText, 0, "spec.labels[x[y]]", "9:5"},
		{"old boolean", "the member is named true", yamlText, 0, "spec.true", "10:3"},
		{"absent", "the last value that exists", yamlText, 0, "spec.labels.nope", "7:3"},
		{"absent item", "the last value that exists", yamlText, 0, "spec.nodes[7].zone", "4:3"},
		{"item of a List", "paths start at the item", yamlText, 1, "spec.own", "15:27"},
		{"merged", "the place where it is written", yamlText, 1, "spec.merged", "15:15"},
		{"the longest name", "a shorter one begins the path, too", "a: {b: 1}\na.b: {c: 2}\n", 0, "a.b.c", "2:7"},
		{"the longest name in brackets", "a shorter one begins the path, too", "a: {b: 1}\n'a[b': 1\n", 0, "a[b", "2:1"},
		{"an index with a sign", "field.Path prints none", "a: [1, 2]\n", 0, "a[+1]", "1:1"},
		{"an index of an object", "it has no item", "a: {b: 1}\n", 0, "a[0]", "1:1"},
		{"a byte order mark", "it takes no column", "\ufeffa: 1\n", 0, "a", "1:1"},
		{"the second document of a part", "a directive keeps the documents together", "%YAML 1.1\n---\na: 1\n---\nb: 2\n", 1, "b", "5:1"},
		{"an alias", "the place where it is used, and below it where it is written", "a: &x {b: 1}\nc: *x\n", 0, "c", "2:1"},
		{"below an alias", "it is written where the anchor is", "a: &x {b: 1}\nc: *x\n", 0, "c.b", "1:8"},
		{"merged from the second of two", "the first one does not have it", "<<: [{a: 1}, {b: 1}]\n", 0, "b", "1:15"},
		{"merged from the first of two", "it wins", "<<: [{a: 1}, {a: 2}]\n", 0, "a", "1:7"},
		{"JSON root", "the brace", jsonText, 0, "", "2:1"},
		{"JSON member", "the place of its name", jsonText, 0, "spec", "2:15"},
		{"JSON item", "the place of the item", jsonText, 0, "spec.nodes[1]", "3:28"},
		{"JSON below an item", "later members count too", jsonText, 0, "spec.nodes[1].a.b", "4:6"},
		{"JSON key in brackets", "as field.Path prints keys", jsonText, 0, "spec.labels[app.kubernetes.io/name]", "5:14"},
		{"JSON absent", "the last value that exists", jsonText, 0, "spec.nope", "2:15"},
	} {
		t.Run(c.name, func(t *testing.T) {
			documents, err := yamldoc.Read("f", []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if got := documents[c.document].Position(fieldpath.Resolve(c.path, documents[c.document].Object)...).String(); got != c.want {
				t.Errorf("%s is at %q, want %q: %s", c.path, got, c.want, c.reason)
			}
		})
	}
	documents, err := yamldoc.Read("f", []byte(yamlText))
	if err != nil {
		t.Fatal(err)
	}
	for _, steps := range [][]any{{"spec", 0}, {"spec", "nodes", -1}, {"spec", "nodes", "zone"}} {
		if got, want := documents[0].Position(steps...), documents[0].Position(steps[:len(steps)-1]...); got != want {
			t.Errorf("%v is at %v, want %v: there is nothing, so it is where its parent is", steps, got, want)
		}
	}
}

func FuzzReadDocuments(f *testing.F) {
	for _, text := range []string{"a: 1", "{\"a\": [1, 2.5, null]}", "a: &x [1]\nb: *x", "kind: List\nitems: [{a: 1}]", "? a\n: b", "a: !!int 1", "- |\n x", laughs()[:80]} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		documents, err := yamldoc.Read("f", []byte(text))
		if err != nil {
			return
		}
		for _, d := range documents {
			d.Position("spec", "a", 0)
			jsonValue(t, d.Object) // every value is one of JSON's
		}
	})
}

// TestReadSome: the documents that are wanted are what Read returns of them, with their places and numbers. Texts that
// may hold several documents are read whatever is wanted, and mistakes in what is not read are not found.
func TestReadSome(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []int // numbers of the documents
	}{
		{"some", "# first\nkind: A\n---\nkind: Want\n---\nkind: B\n---\nkind: Want\n", []int{2, 4}},
		{"a list", "kind: A\n---\nkind: List\nitems: [{kind: Want}, {kind: C}]\n", []int{2, 2}},
		{"the end of a document", "kind: A\n...\n# more\n---\nkind: Want\n", []int{1, 2}},
		{"JSON", "{\"kind\": \"A\"} {\"kind\": \"B\"}\n---\nkind: Want\n", []int{1, 2, 3}},
		{"a mistake elsewhere", "kind: [\n---\nkind: Want\n", []int{2}},
		{"none", "kind: A\n---\n- list\n", nil},
	} {
		all, _, _ := (&yamldoc.Shared{}).Read("f", []byte(c.text))
		some, _, err := (&yamldoc.Shared{}).ReadSome("f", []byte(c.text), func(text []byte) bool { return bytes.Contains(text, []byte("Want")) })
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var numbers []int
		for _, d := range some {
			numbers = append(numbers, d.Number)
			if !slices.ContainsFunc(all, func(a *yamldoc.Document) bool {
				return a.Number == d.Number && a.Position("kind") == d.Position("kind") && reflect.DeepEqual(a.Object, d.Object)
			}) {
				t.Errorf("%s: document %d is %v at %v", c.name, d.Number, d.Object, d.Position("kind"))
			}
		}
		if !slices.Equal(numbers, c.want) {
			t.Errorf("%s: got the documents %v, want %v", c.name, numbers, c.want)
		}
	}
}

// TestShared: documents with the same text have one value, and places of their own.
func TestShared(t *testing.T) {
	const one = "---\nkind: A\nmetadata: {name: x}\n"
	list := "---\nkind: List\nitems: [{kind: A}]\n"
	var shared yamldoc.Shared
	first, _, err := shared.Read("a", []byte(one+list+`---
{"kind": "B", "n": 1}
`))
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := shared.Read("b", []byte("# a comment\n"+list+one+"---\nkind: C\n---\n{\"kind\": \"B\", \"n\": 1}\n"))
	if err != nil {
		t.Fatal(err)
	}
	alike := func(a, b *yamldoc.Document) bool {
		return reflect.ValueOf(a.Object).Pointer() == reflect.ValueOf(b.Object).Pointer()
	}
	if !alike(first[0], second[1]) || !alike(first[2], second[3]) || alike(first[1], second[0]) {
		t.Errorf("got %v and %v", first, second)
	}
	for i, want := range []yamldoc.Position{{Line: 3, Column: 1}, {Line: 7, Column: 1}} {
		d := []*yamldoc.Document{first[0], second[1]}[i]
		if got := d.Position("metadata"); got != want || d.File != []string{"a", "b"}[i] {
			t.Errorf("%s: metadata is at %v, want %v", d.File, got, want)
		}
	}
	if got, want := second[3].Position("n").Line, 11; got != want {
		t.Errorf("n is in line %d, want %d", got, want)
	}
	for text, want := range map[string]int{"{\"kind\": \"A\"} {": 1, "{\"kind\": \"A\"}{\"kind\": \"B\"}": 2, "%YAML 1.1\n---\nkind: A\n---\nkind: B\n": 2, "%YAML 1.1\n---\nkind: A\n---\nb: [\n": 1} {
		for _, name := range []string{"a", "b"} {
			documents, _, err := shared.Read(name, []byte(text))
			if len(documents) != want || (err != nil) != (want == 1) || err != nil && !strings.HasPrefix(err.Error(), name+":") {
				t.Errorf("%s, %q: %d documents, %v", name, text, len(documents), err)
			}
		}
	}
}

// TestReadJSON: one value of JSON, and nothing else.
func TestReadJSON(t *testing.T) {
	for text, want := range map[string]any{
		` {"a": [1, 1.5, null, true, "x"]} `: map[string]any{"a": []any{int64(1), 1.5, nil, true, "x"}},
		"5":                                  int64(5),
		`{"a": 1} {`:                         `the JSON is malformed: found "{"; there is something after the value`,
		`{"a": 1}]`:                          `the JSON is malformed: found "]"; there is something after the value`,
		`{"a": }`:                            `the JSON is malformed: found "}"; expected a value: an object, a list, a string in double quotes, a number, true, false or null`,
		`{"a": 1, "a": 2}`:                   `an object has the member "a" twice, with two values; remove one`,
		"":                                   "the JSON is malformed: the text ends; a value is missing",
		"[1 2]":                              `the JSON is malformed: found "2"; expected a comma or ] after an item`,
		"[1,]":                               `the JSON is malformed: found "]"; expected a value: an object, a list, a string in double quotes, a number, true, false or null`,
		"[1":                                 "the JSON is malformed: the text ends; expected a comma or ] after an item",
		`{"a": 1 "b": 2}`:                    `the JSON is malformed: found "\""; expected a comma or } after a member`,
		`{"a": 1,}`:                          `the JSON is malformed: found "}"; expected a member name in double quotes`,
		"{a: 1}":                             `the JSON is malformed: found "a"; expected a member name in double quotes`,
		`["a`:                                "the JSON is malformed: found \"\\\"\"; expected a value: an object, a list, a string in double quotes, a number, true, false or null",
		strings.Repeat("[", 10_002):          "the nesting is deeper than 10000",
	} {
		got, err := yamldoc.ReadJSON([]byte(text))
		if err != nil {
			got = err.Error()
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%.40q: %v, want %v", text, got, want)
		}
	}
}

// TestNames: how messages name objects, values and paths.
func TestNames(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{yamldoc.NameOf(object{"kind": "A", "metadata": object{"name": "x", "namespace": "ns"}}), "A ns/x"},
		{yamldoc.NameOf(object{"kind": "A", "metadata": object{"namespace": "ns"}}), "A"},
		{yamldoc.NameOf(object{"metadata": object{"name": "x"}}), "x"},
		{yamldoc.NameOf(object{"kind": 1, "metadata": "x"}), ""},
		{yamldoc.Describe(nil), "null"},
		{yamldoc.Describe(true), "the boolean true"},
		{yamldoc.Describe("x"), `the string "x"`},
		{yamldoc.Describe(strings.Repeat("x", 41)), "a string"},
		{yamldoc.Describe(int64(1)), "the number 1"},
		{yamldoc.Describe(1.5), "the number 1.5"},
		{yamldoc.Describe([]any{}), "a list"},
		{yamldoc.Describe(object{}), "an object"},
		{yamldoc.Describe(5), "a Go value of type int"},
		{(&yamldoc.Error{File: "f", Line: 3, Document: 2, Object: "A x", Path: "spec", Message: "wrong"}).Error(), "f:3: document 2, A x: spec: wrong"},
		{(&yamldoc.Error{File: "f", Object: "A x", Message: "wrong"}).Error(), "f: A x: wrong"},
		{(&yamldoc.Error{Line: 3, Document: 2, Message: "wrong"}).Error(), "document 2: wrong"},
		{yamldoc.Position{Line: 1, Column: 2}.String(), "1:2"},
		{yamldoc.Position{}.String(), ""},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// TestBounded: a small file cannot fill the memory.
func TestBounded(t *testing.T) {
	for _, test := range []struct {
		name, reason, text string
		documents          int
		err                string
	}{
		{"empty documents", "they take no room", strings.Repeat("---\n# nothing\n\n", 300_000) + "---\nkind: A\n", 1, ""},
		{"empty objects", "each is a document", strings.Repeat("--- {}\n", 100_001), 0, "f:100001: the file has more than 100000 documents; split it"},
		{"JSON in a row", "so is each of these", strings.Repeat("{}", 100_001), 0, "f:1: the file has more than 100000 documents; split it"},
		{"items", "the parser takes hundreds of bytes for each", strings.Repeat("- a\n", 2_000_001), 0, "the limit for YAML is 2000000; split it"},
		{"a long flow list", "on one line too", "a: [" + strings.Repeat("1,", 2_000_001) + "]", 0, "the limit for YAML is 2000000; split it"},
		{"an alias before many values", "only what aliases stand for is counted", "a: &x 1\nb: *x\nc: [" + strings.Repeat("1,", 1_100_000) + "1]", 1, ""},
		{"a long JSON list", "JSON takes less", `{"a": [` + strings.Repeat("1,", 2_000_001) + "1]}", 1, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			documents, err := yamldoc.Read("f", []byte(test.text))
			if len(documents) != test.documents || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: got %d documents, %.300v", test.reason, len(documents), err)
			}
		})
	}
}
