package witness

import (
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/testing/golden"
)

var update = flag.Bool("update", false, "write testdata/steps.txt anew")

func show(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func textOf(p path) string {
	var steps []string
	for _, step := range p {
		steps = append(steps, strings.ReplaceAll(fmt.Sprint(step), anyStep, "*"))
	}
	return strings.Join(steps, "/")
}

func (c change) text() string {
	switch {
	case c.gone:
		return "- " + textOf(c.path)
	}
	return textOf(c.path) + " = " + show(c.value)
}

func changesText(list []change) string {
	var texts []string
	for _, c := range list {
		texts = append(texts, c.text())
	}
	return strings.Join(texts, ", ")
}

const stepsSchema = `{"type": "object", "properties": {
	"mode": {"type": "string", "enum": ["A", "B", "C"]}, "text": {"type": "string"}, "long": {"type": "string", "minLength": 2}, "n": {"type": "integer", "minimum": 1}, "on": {"type": "boolean"},
	"o": {"type": "object", "required": ["x"], "properties": {"x": {"type": "string"}, "z": {"type": "string"}}}, "m": {"type": "object", "additionalProperties": {"type": "integer"}},
	"l": {"type": "array", "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}}, "s": {"type": "array", "items": {"type": "string"}},
	"my-key": {"type": "string"}}}`

func versionOf(t *testing.T, text string) *Version {
	t.Helper()
	s := new(spec.Schema)
	if err := json.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	v := &Version{Schema: s}
	if err := v.compile(); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestSteps holds what the search tries against testdata/steps.txt: what a rule reads, and which values its fields are
// given.
func TestSteps(t *testing.T) {
	var b strings.Builder
	v := versionOf(t, stepsSchema)
	obj := map[string]any{"mode": "A", "s": []any{"a"}, "l": []any{map[string]any{"k": "a"}}, "m": map[string]any{"a": int64(1)}}
	for _, rule := range []string{
		"self.on", "!self.on", "self.mode == 'B'", "self.mode != 'B' || has(self.text)", "self.mode == 'B' && has(self.o.z)", "'B' == self.mode", "self.mode == oldSelf.mode", "self.n == oldSelf.n", "self.n > 3",
		"has(self.text) ? self.mode == 'B' : self.on", "has(self.text) == has(self.o)", "self.mode in ['B', 'C']", "self.text in ['x', 'y']", "size(self.s) > 2", "self.s.size() >= 1", "size(self.m) == 0", "size(self.long) > 3", "self.m.size() == 2",
		"self.?text.hasValue()", "self.?text.orValue('') == 'x'", "self.?o.?z.value() == 'q'", "self.text.startsWith('pre')", "self.text.endsWith('post')", "self.text.contains('mid')", "self.l.exists(i, i.k == 'x' && i.v == 3)", "self.l.all(i, i.k != 'a')", "self.s.exists(i, i == 'x')",
		"self.text.matches('^q+$')", "self.__none__ == 'a'", "self.my__dash__key == 'a'", "isURL(self.text) && url(self.text).getScheme() == 'https'", "self.l.map(i, i.k).size() > 1", "self.l.filter(i, i.v > 2).size() == 1", "self.m['a'] == 1 && 'b' in self.m", "quantity(self.text).isLessThan(quantity('5'))", "oldSelf.on && !self.on",
	} {
		reads := readsOf(rule)
		fmt.Fprintf(&b, "%s\n", rule)
		for _, pattern := range reads.patterns {
			fmt.Fprintf(&b, "  reads %s\n", strings.ReplaceAll(strings.Join(pattern, "/"), anyStep, "*"))
		}
		fmt.Fprintf(&b, "  constants %s, patterns %s\n", show(reads.literals), show(reads.regexes))
		for _, pattern := range reads.patterns {
			for _, at := range expand(obj, v.node(), nil, pattern) {
				if list := v.valuesFor(at, reads); len(list) > 0 && len(at) > 0 {
					fmt.Fprintf(&b, "  %s of %d: %s\n", textOf(at), len(list), show(list[:min(len(list), 12)]))
				}
				for _, set := range v.withMembers(obj, at, reads) {
					fmt.Fprintf(&b, "  with %s\n", changesText(set))
				}
			}
		}
	}
	for _, text := range []string{
		`{"type": "string"}`, `{"type": "string", "minLength": 3, "maxLength": 4}`, `{"type": "string", "pattern": "^[a-c]{2,3}(x|y)?$"}`, `{"type": "string", "pattern": "^v[0-9]+\\.[0-9]+$", "maxLength": 5}`, `{"type": "string", "format": "date"}`,
		`{"type": "integer", "minimum": 3, "maximum": 9, "multipleOf": 2}`, `{"type": "integer", "minimum": 1, "exclusiveMinimum": true}`, `{"type": "number", "maximum": 2.5}`, `{"type": "object", "required": ["a"], "properties": {"a": {"type": "boolean"}, "b": {"type": "string"}}}`,
		`{"type": "object", "minProperties": 1, "maxProperties": 2, "additionalProperties": {"type": "boolean"}}`, `{"type": "object", "minProperties": 1, "properties": {"a": {"type": "boolean"}, "b": {"type": "boolean"}}}`, `{"type": "object", "x-kubernetes-preserve-unknown-fields": true}`,
		`{"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "boolean"}}`, `{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "l"], "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "l": {"type": "integer"}}}}`, `{"x-kubernetes-int-or-string": true}`, `{"enum": [1, "a", null]}`, `{}`,
	} {
		s := new(spec.Schema)
		if err := json.Unmarshal([]byte(text), s); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n  smallest %s\n  others %s\n", text, show(smallest(&node{Schema: s})), show(values(&node{Schema: s})))
	}
	const file = "testdata/steps.txt"
	want := golden.Want(t, *update, file, b.String())
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestPaths: what no edit may change, the paths of errors, and patterns.
func TestPaths(t *testing.T) {
	type object = map[string]any
	for _, c := range []struct {
		p        path
		reserved bool
	}{{nil, true}, {path{"kind"}, true}, {path{"metadata", "labels"}, true}, {path{"metadata", "name"}, false}, {path{"a", "b"}, false}} {
		if reserved(c.p) != c.reserved {
			t.Errorf("%s is reserved: %v", c.p, !c.reserved)
		}
	}
	for text, want := range map[string]string{
		"a.b": "a.b", "a.b.c": "a.b/c", "l[1].c": "l/1/c", "l[0]": "l/0", "<nil>": "", "": "", "none": "", "l[x]": "l", "m[k.l]": "m", "s.t": "s/t", "[a].b": "a/b",
		"s.u.v": "s/u.v", "s.u.w": "s", "s.t[1].x": "s/t/1",
	} {
		s := versionOf(t, `{"type": "object", "properties": {"s": {"type": "object", "properties": {"t": {"type": "string"}, "u.v": {"type": "string"}}}}}`).node()
		if got := locate(object{"a": object{"b": 1}, "a.b": object{"c": 1}, "l": []any{1, object{"c": 1}}, "m": object{}}, s, text); textOf(got) != want {
			t.Errorf("%s is %s, want %s", text, textOf(got), want)
		}
	}
	var got []string
	for _, p := range expand(object{"m": object{"k": 1, "j": 2}, "l": []any{1, 2}}, versionOf(t, stepsSchema).node(), path{}, []string{"m", anyStep}) {
		got = append(got, textOf(p))
	}
	for _, c := range []struct{ in, at string }{{`{"l":[]}`, "l"}, {`{}`, "l"}, {`{}`, "m"}} {
		var v any
		if err := json.Unmarshal([]byte(c.in), &v); err != nil {
			t.Fatal(err)
		}
		for _, p := range expand(v, versionOf(t, stepsSchema).node(), path{}, []string{c.at, anyStep, "z"}) {
			got = append(got, textOf(p))
		}
	}
	if want := []string{"m/j", "m/k", "l/0/z", "l/0/z", "m/a/z"}; !slices.Equal(got, want) {
		t.Errorf("expanded to %q, want %q", got, want)
	}
}
