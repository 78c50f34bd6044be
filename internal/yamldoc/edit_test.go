package yamldoc_test

import (
	"io/fs"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/testing/modulefs"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// object is what a change is made in.
type object = map[string]any

// in returns the object at the end of a path.
func in(o object, path string) object {
	return fieldpath.Value(o, fieldpath.Resolve(path, o)...).(object)
}

func TestEdit(t *testing.T) {
	const crd = `# head
metadata:
  name: a  # the name
spec:
  # about b
  b:
    type: string
    description: >-
      folded text
      of two lines

  # about c
  c:
    items: {type: string}
    x-kubernetes-validations:
    - message: one
      rule: 'self == oldSelf' # first
    # about two
    - rule: "has(self.x)"
    - {rule: "3"}
  keep: |+
    text

  z: [a, b]
`
	for _, c := range []struct {
		name, reason, text string
		change             func(o object)
		want               [][2]string // what is replaced in text
	}{
		{"nothing", "the very text", crd, func(object) {}, nil},
		{"scalar", "the comment stays", crd, func(o object) { in(o, "metadata")["name"] = "b" }, [][2]string{{"name: a ", "name: b "}}},
		{"new member between", "in the order of names, above the comment of the next", crd, func(o object) { in(o, "spec")["bb"] = true },
			[][2]string{{"\n\n  # about c", "\n  bb: true\n\n  # about c"}}},
		{"new first member", "it begins the mapping", crd, func(o object) { in(o, "metadata")["annotations"] = map[string]string{"x/y": `{"a":1}`, "x/a": ""} },
			[][2]string{{"  name: a", "  annotations:\n    x/a: ''\n    x/y: '{\"a\":1}'\n  name: a"}}},
		{"new last member", "after the last", crd, func(o object) { in(o, "spec.b")["x"] = "1" },
			[][2]string{{"of two lines\n", "of two lines\n    x: '1'\n"}}},
		{"member goes", "with the comment behind it", crd, func(o object) { delete(in(o, "metadata"), "name"); in(o, "metadata")["b"] = int64(1) }, [][2]string{{"name: a  # the name", "b: 1"}}},
		{"middle member goes", "comments above stay", crd, func(o object) { delete(in(o, "spec"), "c") },
			[][2]string{{"  c:\n    items: {type: string}\n    x-kubernetes-validations:\n    - message: one\n      rule: 'self == oldSelf' # first\n    # about two\n    - rule: \"has(self.x)\"\n    - {rule: \"3\"}\n", ""}}},
		{"last member goes", "the text before it stays", crd, func(o object) { delete(in(o, "spec"), "z") }, [][2]string{{"  z: [a, b]\n", ""}}},
		{"kept line breaks", "a text may end with several", crd, func(o object) { in(o, "spec")["l"] = "x" }, [][2]string{{"\n  z:", "\n  l: x\n  z:"}}},
		{"first rule goes", "the others keep their form", crd, func(o object) {
			rules := in(o, "spec.c")["x-kubernetes-validations"].([]any)
			in(o, "spec.c")["x-kubernetes-validations"] = rules[1:]
		}, [][2]string{{"    - message: one\n      rule: 'self == oldSelf' # first\n    # about two\n", "    # about two\n"}}},
		{"rule added", "at the end of its list", crd, func(o object) {
			c := in(o, "spec.c")
			c["x-kubernetes-validations"] = append(c["x-kubernetes-validations"].([]any), object{"rule": "self == oldSelf", "message": "it: stays"})
		}, [][2]string{{"    - {rule: \"3\"}\n", "    - {rule: \"3\"}\n    - message: 'it: stays'\n      rule: self == oldSelf\n"}}},
		{"list of rules added", "the lists of the file are not indented", crd, func(o object) {
			in(o, "spec.b")["x-kubernetes-validations"] = []any{object{"rule": "has(self.a)\n&& true"}}
		}, [][2]string{{"of two lines\n", "of two lines\n    x-kubernetes-validations:\n    - rule: |-\n        has(self.a)\n        && true\n"}}},
		{"rule changed", "within its object", crd, func(o object) {
			in(o, "spec.c.x-kubernetes-validations[0]")["rule"] = "true"
		}, [][2]string{{"'self == oldSelf'", "'true'"}}},
		{"flow list", "its style stays", crd, func(o object) { in(o, "spec")["z"] = []any{"b", "c"} }, [][2]string{{"[a, b]", `[b, "c"]`}}},
		{"flow object", "its style stays", crd, func(o object) { in(o, "spec.c.items")["x"] = true }, [][2]string{{"{type: string}", `{type: string, "x": true}`}}},
		{"scalar becomes an object", "on lines of its own", "a: 1 # one\nb: 2\n", func(o object) { o["a"] = object{"c": nil} }, [][2]string{{"a: 1 # one\n", "a:\n  c: null\n"}}},
		{"object becomes a scalar", "its lines go", "a:\n  b: 1\nc: 2\n", func(o object) { o["a"] = "x" }, [][2]string{{"a:\n  b: 1", "a: x"}}},
		{"null becomes an object", "after the colon", "a:\nc: 2\n", func(o object) { o["a"] = object{"b": "y"} }, [][2]string{{"a:\n", "a:\n  b: 'y'\n"}}},
		{"empty object in a block", "it gets lines", "a: {}\nc: 2\n", func(o object) { o["a"] = object{"b": 1} }, [][2]string{{"{}", "\n  b: 1"}, {": \n", ":\n"}}},
		{"object becomes empty", "braces", "a:\n  b: 1\n", func(o object) { o["a"] = object{} }, [][2]string{{"a:\n  b: 1", "a: {}"}}},
		{"indented lists", "new ones are too", "a:\n  - b: 1\n    c: 2\n", func(o object) {
			in(o, "a[0]")["d"] = []any{"x"}
			delete(in(o, "a[0]"), "b")
		}, [][2]string{{"- b: 1\n    c: 2", "- c: 2\n    d:\n      - x"}}},
		{"anchor", "what nobody changes stays", "a: &x {b: 1}\nc: *x\nd: 1\n", func(o object) { o["d"] = 2 }, [][2]string{{"d: 1", "d: 2"}}},
		{"anchor of a block", "it stays with what it names", "a: &x\n  b: 1\nl: &y # why\n- 1\nc: *y\n", func(o object) { in(o, "a")["b"] = 2; o["l"] = []any{1, 2}; o["c"] = []any{1, 2} },
			[][2]string{{"b: 1", "b: 2"}, {"- 1\nc: *y", "- 1\n- 2\nc:\n- 1\n- 2"}}},
		{"merge key", "members that came in stay there", "a: &x {b: 1}\nc:\n  <<: *x\n  d: 1\n", func(o object) { in(o, "c")["e"] = 2 }, [][2]string{{"  d: 1", "  d: 1\n  e: 2"}}},
		{"alias", "it is written out where the value changes", "a: &x {b: 1}\nc: *x\n", func(o object) { o["c"] = object{"b": 2} }, [][2]string{{"*x", "\n  b: 2"}, {"c: \n", "c:\n"}}},
		{"windows line ends", "new lines have them too", "a: 1\r\nc: 2\r\n", func(o object) { o["b"] = object{"x": "z"} }, [][2]string{{"c: 2", "b:\r\n  x: z\r\nc: 2"}}},
		{"no line end", "none is added", "a: 1", func(o object) { o["b"] = 1 }, [][2]string{{"a: 1", "a: 1\nb: 1"}}},
		{"JSON", "members on lines of their own", "{\n  \"a\": 1,\n  \"c\": {}\n}\n", func(o object) { o["b"] = object{"x": []any{"<"}} },
			[][2]string{{"\"a\": 1,\n", "\"a\": 1,\n  \"b\": {\n    \"x\": [\n      \"<\"\n    ]\n  },\n"}}},
		{"the first of several items goes", "the others keep their comments", "a:\n- 1 # one\n- 2 # two\n- 3 # three\n", func(o object) { o["a"] = o["a"].([]any)[1:] }, [][2]string{{"- 1 # one\n", ""}}},
		{"an item in front", "the others keep their comments", "a:\n- 1 # one\n- 2 # two\n- 3 # three\n", func(o object) { o["a"] = append([]any{0}, o["a"].([]any)...) }, [][2]string{{"a:\n", "a:\n- 0\n"}}},
		{"an item between", "the others keep their comments", "a:\n- 1 # one\n- 2 # two\n- 3 # three\n", func(o object) { o["a"] = []any{1, 5, 2, 4, 3} }, [][2]string{{"# one\n", "# one\n- 5\n"}, {"# two\n", "# two\n- 4\n"}}},
		{"an equal number", "a whole float is the same number", "a: 1\nb: 2.0\nc: 3\n", func(o object) { o["a"], o["b"], o["c"] = 1.0, 2, 4 }, [][2]string{{"c: 3", "c: 4"}}},
		{"another number", "a fraction is not", "a: 1\nb: 2.5\n", func(o object) { o["a"], o["b"] = 1.5, 2 }, [][2]string{{"a: 1", "a: 1.5"}, {"b: 2.5", "b: 2"}}},
		{"texts that need no quotes", "they look like nothing else", "a: 1\n", func(o object) { o["a"] = []any{"_x", "/x", "(x", "$x", ".x", "x:y", "x#y", "x-y", "a\\b"} },
			[][2]string{{"a: 1", "a:\n- _x\n- /x\n- (x\n- $x\n- .x\n- x:y\n- x#y\n- x-y\n- a\\b"}}},
		{"texts that need escapes", "YAML has no other form of them", "a: 1\n", func(o object) { o["a"] = []any{"\u2028", "\u2029", "\ufeff", "\u0085", "\r", "\ufffd"} },
			[][2]string{{"a: 1", "a:\n- \"\\u2028\"\n- \"\\u2029\"\n- \"\\ufeff\"\n- \"\\u0085\"\n- \"\\r\"\n- \"\\ufffd\""}}},
		{"a text in flow style", "in double quotes, with escapes", "{a: 1}\n", func(o object) { o["a"] = "\\ \" \t" }, [][2]string{{"a: 1", `a: "\\ \" \t"`}}},
		{"a tag and an anchor", "they go with the value", "a: !t &x [1]\nb: &y !t {c: 1}\nc: !t\n", func(o object) { o["a"].([]any)[0] = 2; in(o, "b")["c"] = 3; o["c"] = "y" },
			[][2]string{{"[1]", "[2]"}, {"{c: 1}", "{c: 3}"}, {"c: !t\n", "c: 'y'\n"}}},
		{"empty values with tags", "what follows is another node", "a: [!!str , &x ]\nb: {c: !!str , d: 1}\n", func(o object) { in(o, "b")["d"] = 2 }, [][2]string{{"d: 1", "d: 2"}}},
		{"empty containers in a list", "they are written in flow style", "a: 1\n", func(o object) { o["a"] = []any{[]any{}, object{}, []any{1}} }, [][2]string{{"a: 1", "a:\n- []\n- {}\n- - 1"}}},
		{"a backslash and quotes", "a backslash escapes in double quotes only", "a: ['x\\', \"y\\\"\", 'z''w']\nb: 1\n", func(o object) { o["b"] = 2 }, [][2]string{{"b: 1", "b: 2"}}},
		{"a member of compact JSON", "what separates two others separates it, too", `{"a":1,"b":2}`, func(o object) { o["c"] = 3 }, [][2]string{{`"b":2`, `"b":2,"c": 3`}}},
		{"a comma at the end of a list", "it stays", "a: [1, 2, ]\nb: 1\n", func(o object) { o["a"] = []any{1, 3} }, [][2]string{{"2, ", "3, "}}},
		{"a single pair in a list", "it has no braces", "a: [b: 1, c]\nd: 1\n", func(o object) { o["a"] = []any{object{"b": 2}, "c"} }, [][2]string{{"b: 1", `{"b": 2}`}}},
		{"JSON on one line", "it stays one", `{"a":[1,{"x":"\/"}],"b":2}`, func(o object) { delete(o, "b"); in(o, "a[1]")["y"] = "é\u2028" }, [][2]string{{`,"b":2`, ""}, {`"\/"`, `"\/", "y": "é\u2028"`}}},
		{"strings that look like others", "they are quoted", "a: 1\n", func(o object) {
			o["a"] = []any{"0b+1", "on", "~", "", "-", "a: b", "x #", "1_0", "!t", "é", "\x7f", "a'b", "\ttab", "<<", "---"}
		}, [][2]string{{"a: 1", "a:\n- '0b+1'\n- 'on'\n- '~'\n- ''\n- '-'\n- 'a: b'\n- 'x #'\n- '1_0'\n- '!t'\n- 'é'\n- \"\\u007f\"\n- a'b\n- \"\\ttab\"\n- '<<'\n- '---'"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			file, err := yamldoc.Parse("f", []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			c.change(file.Documents[0].Object)
			got, err := file.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			want := c.text
			for _, replaced := range c.want {
				if strings.Count(want, replaced[0]) != 1 {
					t.Fatalf("%q is in the text %d times", replaced[0], strings.Count(want, replaced[0]))
				}
				want = strings.Replace(want, replaced[0], replaced[1], 1)
			}
			if string(got) != want {
				t.Errorf("%s: got\n%s\nwant\n%s", c.reason, got, want)
			}
		})
	}
}

// TestEditAfterLineBreaks: the parser knows more line breaks than the newline.
func TestEditAfterLineBreaks(t *testing.T) {
	for _, lineBreak := range []string{"\n", "\r\n", "\r", "\u0085", "\u2028", "\u2029", "\n\r"} {
		for _, text := range []string{"# one" + lineBreak + "a: 1\nb: 2\n", "a: 1 # é \u00a0 \u2030" + lineBreak + "b: 2" + lineBreak, "a: 1" + lineBreak + "# one" + lineBreak + "b: 2"} {
			file, err := yamldoc.Parse("f", []byte(text))
			if err != nil || len(file.Documents) != 1 {
				t.Fatalf("%q: %v", text, err)
			}
			file.Documents[0].Object["b"] = 3
			if got, err := file.Bytes(); err != nil || string(got) != strings.Replace(text, "b: 2", "b: 3", 1) {
				t.Errorf("%q: %q, %v", text, got, err)
			}
		}
	}
}

// TestEditRealCRDs locks every property of real CRDs, and frees them again: the text is the one before.
func TestEditRealCRDs(t *testing.T) {
	module, err := modulefs.Open("sigs.k8s.io/gateway-api@v1.7.0")
	if err != nil {
		t.Skip(err)
	}
	defer module.Close()
	files, err := fs.Glob(module, "config/crd/standard/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("files %v, error %v", files, err)
	}
	for _, name := range files {
		data, err := fs.ReadFile(module, name)
		if err != nil {
			t.Fatal(err)
		}
		edit := func(data []byte, change func(schema object)) []byte {
			file, err := yamldoc.Parse(name, data)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Documents {
				inSchemas(d.Object["spec"], change)
			}
			if data, err = file.Bytes(); err != nil {
				t.Fatal(err)
			}
			return data
		}
		locked := edit(data, func(schema object) { schema["x-kubernetes-immutable"] = true; schema["a"] = []string{"x: y"} })
		if added := strings.Count(string(locked), "\n") - strings.Count(string(data), "\n"); added < 10 && strings.Contains(string(data), "kind: CustomResourceDefinition") {
			t.Errorf("%s: %d lines were added", name, added)
		}
		free := edit(locked, func(schema object) { delete(schema, "x-kubernetes-immutable"); delete(schema, "a") })
		if string(free) != string(data) {
			t.Errorf("%s: the text has changed: %s", name, cmp.Diff(string(data), string(free)))
		}
	}
}

// inSchemas calls change for every object with a type, below value.
func inSchemas(value any, change func(schema object)) {
	switch value := value.(type) {
	case object:
		for _, member := range value {
			inSchemas(member, change)
		}
		if _, ok := value["type"].(string); ok {
			change(value)
		}
	case []any:
		for _, item := range value {
			inSchemas(item, change)
		}
	}
}

// What cannot be written in the layout of a file is an error, and the file stays as it is.
func TestEditRefused(t *testing.T) {
	for _, c := range []struct {
		name, text string
		change     func(o object)
	}{
		{"anchor that an alias needs", "a: &x {b: 1}\nc: *x\n", func(o object) { delete(o, "a") }},
		{"another number of objects", "kind: A\n", func(o object) { o["kind"], o["items"] = "List", []any{object{"kind": "B"}, object{"kind": "C"}} }},
		{"infinite number", "a: 1\n", func(o object) { o["a"] = math.Inf(1) }},
		{"no JSON value in a list", "a: 1\n", func(o object) { o["a"] = []any{1, struct{}{}} }},
		{"no JSON value in an object", "a: 1\n", func(o object) { o["a"] = object{"b": struct{}{}} }},
		{"no JSON value", "a: 1\n", func(o object) { o["a"] = struct{}{} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			file, err := yamldoc.Parse("f", []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			c.change(file.Documents[0].Object)
			if got, err := file.Bytes(); err == nil || !strings.HasPrefix(err.Error(), "f: ") {
				t.Errorf("got %q and error %v, want an error that names the file", got, err)
			}
		})
	}
}

// TestParse: documents that are not objects stay as they are; a file with any other mistake is not edited.
func TestParse(t *testing.T) {
	const text = "5\n---\na: 1\n---\n- b\n"
	file, err := yamldoc.Parse("f", []byte(text))
	if err != nil || len(file.Documents) != 1 {
		t.Fatalf("%v, %v", file, err)
	}
	file.Documents[0].Object["a"] = 2
	if got, err := file.Bytes(); err != nil || string(got) != strings.Replace(text, "a: 1", "a: 2", 1) {
		t.Errorf("%q, %v", got, err)
	}
	if values, err := file.Values(); err != nil || !reflect.DeepEqual(values, []any{int64(5), object{"a": int64(2)}, []any{"b"}}) {
		t.Errorf("the values are %v, %v", values, err)
	}
	for _, wrong := range []string{"a: [", "5\n---\na: [", "a: 1\n---\n5\n---\n{\"b\": [", "{\"a\": ["} {
		if file, err := yamldoc.Parse("f", []byte(wrong)); err == nil {
			t.Errorf("%q is read: %v", wrong, file)
		}
	}
}

// TestEditDocuments changes several documents of one file.
func TestEditDocuments(t *testing.T) {
	const text = "a: 1\n---\n# two\nkind: List\nitems:\n- kind: A\n  x: 1\n- kind: B\n---\nb: 2\n"
	file, err := yamldoc.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	file.Documents[1].Object["z"] = "new"
	file.Documents[3].Object = object{"b": 3}
	got, err := file.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.NewReplacer("x: 1", "x: 1\n  z: new", "b: 2", "b: 3").Replace(text); string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A random member of a random document goes or comes, and what is read back is what was asked for: Bytes checks it.
func FuzzEdit(f *testing.F) {
	f.Add("a: 1\nb:\n- c: {d: 1}\n  e: |\n    x\n", uint8(3), "x", "y z")
	f.Add("{\"a\": [1, {\"b\": null}]}", uint8(1), "a", "1")
	f.Add("? 000000", uint8(1), "0", "0") // a member without a colon, at the end of a text without room for more
	f.Fuzz(func(t *testing.T, text string, choice uint8, name, value string) {
		file, err := yamldoc.Parse("f", []byte(text))
		if err != nil || len(file.Documents) == 0 {
			return
		}
		at := file.Documents[0].Object
		for range choice % 4 {
			for _, inner := range at {
				if o, ok := inner.(object); ok {
					at = o
				}
			}
		}
		if choice%2 == 0 {
			delete(at, name)
		} else {
			at[name] = []any{value, object{value: value}}
		}
		if _, err := file.Bytes(); err != nil && !strings.Contains(err.Error(), "layout") {
			t.Errorf("%q: %v", text, err)
		}
	})
}
