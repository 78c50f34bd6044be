package yamldoc_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// sameAsKubectl reads text as one document here and by sigs.k8s.io/yaml, which kubectl uses, and returns how the two
// differ: "" where they agree, and where this package refuses what it documents to refuse.
func sameAsKubectl(text string) string {
	data, wantErr := yaml.YAMLToJSON([]byte(text))
	documents, repeats, err := (&yamldoc.Shared{}).Read("f", []byte(text))
	if _, strictErr := yamldoc.Read("f", []byte(text)); err == nil && (strictErr != nil) != (len(repeats) > 0) {
		return fmt.Sprintf("%d repeats, strictly the error %v", len(repeats), strictErr)
	}
	switch {
	case err != nil && wantErr != nil, err != nil && stricter(err):
		return ""
	case err != nil:
		return fmt.Sprintf("error %v; kubectl reads %s", err, data)
	case wantErr != nil && len(documents) > 0:
		return fmt.Sprintf("read as %v; kubectl has the error %v", documents[0].Object, wantErr)
	case wantErr != nil:
		return ""
	}
	var want any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &want); err != nil {
		return fmt.Sprintf("the oracle's JSON: %v", err)
	}
	if len(documents) != 1 {
		return fmt.Sprintf("%d documents; kubectl reads %s", len(documents), data)
	}
	return cmp.Diff(numbersAsText(want), numbersAsText(documents[0].Object))
}

// stricter reports whether err is one that this package reports on purpose and kubectl does not.
func stricter(err error) bool {
	for _, message := range []string{" in JSON, first in line", "is a number that JSON does not have", "the document is not an object", "is not UTF-8", "stand for more than",
		"; a document is an object", "tag !!binary is on data", "too large a number for a key",
		"null is used as a key"} { // kubectl has this error too, but not in a value that a merge then replaces
		if strings.Contains(err.Error(), message) {
			return true
		}
	}
	return false
}

// numbersAsText writes numbers as JSON does, which kubectl sends: 1.0 is 1 there.
func numbersAsText(value any) any {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	if err := encoder.Encode(value); err != nil {
		return err.Error()
	}
	decoder := json.NewDecoder(&b)
	decoder.UseNumber()
	var decoded any
	if err := decoder.Decode(&decoded); err != nil {
		return err.Error()
	}
	return decoded
}

// choices turns the bytes of a fuzzer into decisions.
type choices struct{ data []byte }

func (c *choices) below(n int) int {
	if len(c.data) == 0 {
		return 0
	}
	b := int(c.data[0])
	c.data = c.data[1:]
	return b % n
}

func (c *choices) of(list ...string) string { return list[c.below(len(list))] }

// scalar writes a scalar: a property, or none, and a text in one of the styles.
func (c *choices) scalar(flow bool) string {
	text := c.of("a", "b", "1", "0", "80", "-1", "+1", "1.5", "1.0", ".5", "5.", "1e3", "1e400", "0x1F", "0o17", "017", "0b11", "0b+1", "0b-1", "-0b1", "-0b+1", "0b2",
		"1_000", "_1", "1__0", "0x_f", "9007199254740993", "9223372036854775807", "9223372036854775808", "18446744073709551616", "-9223372036854775809",
		"true", "yes", "on", "y", "N", "Off", "null", "~", "Null", "", "<<", ".inf", "-.INF", ".nan", "+.inf", "2001-01-01", "2001-99-99", "2001-01-01T00:00:00Z",
		"aGVsbG8=", "/w==", "x y", "a b", "1 2", "é", "\U0001F600", "\u00a0", "=", "-", "?x", ":x", "x:", "1:2", "190:20:30", "!", "a#b", "a'b", `a"b`, "10Gi", "0.1", "0.10")
	text += c.of("", "", "", "", c.of("0", ".", "e5", "_", "x", " z", "\t"))
	switch c.below(8) {
	case 0:
		text = "'" + strings.ReplaceAll(text, "'", "''") + "'"
	case 1:
		text = `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(text) + `"`
	case 2:
		text = `"` + c.of(`\x41`, `\u00e9`, `\n`, `\0`, `\e`, `\ `, `\L`, `\U0001F600`) + `"`
	case 3:
		if !flow {
			return c.property() + c.of("|", ">", "|-", ">-", "|+", ">+") + "\n    " + strings.TrimLeft(text, " \t") + "\n    b\n"
		}
	}
	return c.property() + text
}

// property writes a tag, or none.
func (c *choices) property() string {
	if c.below(3) > 0 {
		return ""
	}
	return c.of("! ", "!!str ", "!!int ", "!!float ", "!!bool ", "!!null ", "!!binary ", "!!timestamp ", "!!merge ", "!local ", "!!unknown ", "!!map ", "!!seq ",
		"!<tag:yaml.org,2002:int> ", "!<tag:yaml.org,2002:str> ", "!!set ", "!<!x> ")
}

// flow writes a value in flow style.
func (c *choices) flow(depth int) string {
	switch c.below(6) {
	case 0:
		if depth > 0 {
			return c.property() + "{" + c.scalar(true) + ": " + c.flow(depth-1) + ", " + c.of("k", c.scalar(true)) + ": " + c.flow(depth-1) + "}"
		}
	case 1:
		if depth > 0 {
			return c.property() + "[" + c.flow(depth-1) + ", " + c.flow(depth-1) + "]"
		}
	case 2:
		return c.of("*x", "&y 1", "*y")
	}
	return c.scalar(true)
}

// document writes a mapping.
func (c *choices) document() string {
	var b strings.Builder
	b.WriteString("x: &x " + c.flow(1) + "\n")
	for range 1 + c.below(4) {
		switch c.below(6) {
		case 0:
			b.WriteString("<<: {m: " + c.scalar(true) + ", n: 2}\n")
		case 1:
			b.WriteString("<<: [{m: 1}, {m: " + c.scalar(true) + "}]\n")
		case 2:
			b.WriteString(c.scalar(true) + ":\n  - " + c.flow(2) + "\n  - k: " + c.flow(1) + "\n")
		case 3:
			b.WriteString("m: " + c.flow(1) + "\n")
		default:
			b.WriteString(c.scalar(true) + ": " + c.scalar(false) + "\n")
		}
	}
	return b.String()
}

// TestLastWins: of a key with two values the last one counts, at any depth, and is told with its place.
func TestLastWins(t *testing.T) {
	for text, want := range map[string]string{ // what is told, as LINE KEY
		"a: 1\nb: 2\na: 3\n":                                         "3 a",
		"a: 1\na: 2\na: 1\n":                                         "2 a, 3 a",
		"a: {x: 1, y: 2}\nb: 1\na: {x: 3}\n":                         "3 a",
		"a:\n- {b: 1,\n   b: 2}\n":                                   "3 b",
		"<<: {x: 1}\na: 1\na: 2":                                     "3 a",
		"a: 1\n<<: {a: 2}\na: 3":                                     "3 a",
		"a: 1\na: 3\n<<: {a: 2}":                                     "2 a",
		"x: &x {a: 1,\n a: 2}\nb: *x\nc: [*x, *x]\n":                 "2 a",
		"&k a: 1\n*k : 2\n":                                          "2 a",
		"a: 1\n\"\\u0061\": 2\n":                                     "2 a",
		"0x1: a\n1: b\n":                                             "2 1",
		"a: {b: {c: 1}, b: {d: 1}}\n":                                "1 b",
		`{"a": 1, "b": {"c": [1], "c": [2]},` + "\n" + `"a": null}`:  "1 c, 2 a",
		`{"a": {"x": 1}, "\u0061": {"y": 1}}`:                        "1 a",
		"# c\n---\na: 1\na: 2\n":                                     "4 a",
		"\n{\"a\": 1,\n\"a\": 2}":                                    "3 a",
		`{"a": 1, "A": 2, "a": 1}`:                                   "",
		"a: [1, {b: 2}]\na: [1, {b: 2.0}]\n":                         "",
		`{"items": 1, "items": {"a": 1}, "kind": "x", "Items": "y"}`: "1 items",
	} {
		if diff := sameAsKubectl(text); diff != "" {
			t.Errorf("%q:\n%s", text, diff)
		}
		_, repeats, err := (&yamldoc.Shared{}).Read("f", []byte(text))
		var got []string
		for _, r := range repeats {
			got = append(got, fmt.Sprint(r.Line, " ", r.Key))
		}
		if err != nil || strings.Join(got, ", ") != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

// TestLastWinsPlaces: the place of a member that is there twice is that of the last one, in YAML and JSON; a document
// that is read again for another file has the repeats too.
func TestLastWinsPlaces(t *testing.T) {
	var shared yamldoc.Shared
	for _, text := range []string{"a: 1\nb: {c: 1}\nb:\n  c: 2\n", "{\"a\": 1,\n\"b\": {\"c\": 1},\n\"b\":\n{\"c\": 2}}"} {
		for i, file := range []string{"f", "g"} {
			documents, repeats, err := shared.Read(file, []byte("---\n"[:4*i]+text))
			if err != nil || len(documents) != 1 || len(repeats) != 1 {
				t.Fatalf("%q: %v, %v, %v", text, documents, repeats, err)
			}
			if got := documents[0].Position("b", "c").Line; got != 4+i {
				t.Errorf("%q: b.c is in line %d of %s", text, got, file)
			}
			if r := repeats[0]; r.Line != 3+i || r.File != file || r.Key != "b" || !r.Same(repeats[0]) {
				t.Errorf("%q: told %v", text, r)
			}
		}
	}
}

// TestRepeatedKeys: a key that is there twice with one value is read as kubectl reads it, and can be edited.
func TestRepeatedKeys(t *testing.T) {
	for _, text := range []string{
		"a: 1\nb: 2\na: 1\n", "a: {b: [1, {c: x}]}\na: {b: [1, {c: x}]}\n", "a: 1.0\na: 1\n", "<<: {a: 1}\na: 1\na: 1\n",
		"x: &x {a: 1}\nb: *x\nb: *x\n", "a: null\na: ~\n", "a: {b: 1, b: 1}\na: {b: 1}\n", `{"a": [1], "b": 2, "a": [1.0]}`,
	} {
		if diff := sameAsKubectl(text); diff != "" {
			t.Errorf("%q:\n%s", text, diff)
		}
		file, err := yamldoc.Parse("f", []byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		file.Documents[0].Object["a"] = "changed"
		if got, err := file.Bytes(); err != nil || sameAsKubectl(string(got)) != "" {
			t.Errorf("%q is changed to %q, error %v", text, got, err)
		}
	}
}

// TestAsKubectl reads many documents of tags, keys and styles, the same ones each time.
func TestAsKubectl(t *testing.T) {
	seed, compared := uint32(1), 0
	const documents = 4000
	for range documents {
		data := make([]byte, 60)
		for i := range data {
			seed = seed*1664525 + 1013904223
			data[i] = byte(seed >> 24)
		}
		text := (&choices{data}).document()
		if diff := sameAsKubectl(text); diff != "" {
			t.Fatalf("%q:\n%s", text, diff)
		}
		if _, err := yamldoc.Read("f", []byte(text)); err == nil {
			compared++
		}
	}
	if compared < documents/4 {
		t.Errorf("%d of %d documents can be read; the generator makes too many mistakes", compared, documents)
	}
}

func FuzzAsKubectl(f *testing.F) {
	f.Add([]byte("0123456789"))
	f.Add([]byte("zyxwvutsrqponmlkjihgfedcba9876543210"))
	f.Add([]byte("9000011901%0071")) // a null key in a value that a merge replaces
	f.Fuzz(func(t *testing.T, data []byte) {
		text := (&choices{data}).document()
		if diff := sameAsKubectl(text); diff != "" {
			t.Errorf("%q:\n%s", text, diff)
		}
	})
}
