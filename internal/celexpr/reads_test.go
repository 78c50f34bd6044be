package celexpr

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestReads: what an expression reads; what it only asks for has a question mark.
func TestReads(t *testing.T) {
	for _, c := range []struct{ text, want, reason string }{
		{"self.a.b == oldSelf.a", "self.a.b oldSelf.a", ""},
		{"self == oldSelf", "self oldSelf", "as a whole"},
		{"self.a__dash__b", "self.a-b", "as fields of a schema are written"},
		{"self.__namespace__", "self.namespace", ""},
		{"self['a__dash__b']['c']", "self.a__dash__b.c", "a key is written as it is"},
		{"self.?a.?b.c", "self.a.b.c", ""},
		{"self.m[?'k'].orValue(oldSelf.d).c", "oldSelf.d self.m.k.c", "the other value is read too"},
		{"oldSelf.value().a", "oldSelf.a", ""},
		{"self.l[0].a", "self.l.*.a", ""},
		{"self.m[self.i].a", "self.i self.m.*.a", "an index"},
		{"has(self.a.b) || self.c == null", "self.a.b? self.c?", ""},
		{"has(self.a) && self.a.b", "self.a? self.a.b", ""},
		{"self.m[self.k] == null", "self.k self.m.*", "which key it asks for depends on others"},
		{"f(self.a).b", "self.a", "what a function returns"},
		{"self.l.all(x, x.a == oldSelf.b)", "self.l self.l.*.a oldSelf.b", "the variable of a macro"},
		{"self.l.all(i, x, x.a > i)", "self.l self.l.*.a self.l.*", "two variables"},
		{"self.l.filter(x, x.a)[0].b", "self.l self.l.*.a self.l.*.b", "some of the items"},
		{"self.l.map(x, x.a).all(y, y == self.b)", "self.l self.l.*.a self.b", "new items"},
		{"self.l.all(self, self.a)", "self.l self.l.*.a", "a variable that hides another one"},
		{"self.l.all(self, .self.a)", "self.l self.a", "and the name of the hidden one"},
		{"self.l.all(x, x.l.all(x, x.a)) && x", "self.l self.l.*.l self.l.*.l.*.a x", "the inner variable, and one outside"},
		{"[self, oldSelf].all(x, x.a)", "self oldSelf", "as a whole"},
		{"self.?a.optMap(v, v.b).orValue(1)", "self.a self.a.b", ""},
		{"{self.a: self.b}.size() == [self.c].size()", "self.a self.b self.c", ""},
	} {
		x, err := Parse(c.text)
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		var got []string
		for _, r := range Reads(x) {
			text := strings.Join(append([]string{r.Variable}, r.Properties()...), ".")
			if r.Tests {
				text += "?"
			}
			got = append(got, strings.ReplaceAll(text, AnyStep, "*"))
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s reads %s, want %s (%s)", c.text, got, c.want, c.reason)
		}
	}
}

// TestSelected: which expressions are selections, and how each step is written.
func TestSelected(t *testing.T) {
	for text, want := range map[string]string{
		"self":                    "self []",
		".self.a":                 "self [{0 a false}]",
		"self.?a['b'].value()[i]": "self [{0 a true} {1 b false} {3 value false} {2  false}]",
		"self[?1]":                "self [{2  true}]",
		"f(self.a).b":             "",
		"[self].a":                "",
		"self.a + 1":              "",
	} {
		x, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if s, ok := Selected(x); ok {
			got = fmt.Sprint(s.Variable, " ", s.Steps)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestLiterals: names are no constants.
func TestLiterals(t *testing.T) {
	x, err := Parse("self.m['a'].?b == 'c' || self.l[1] in [2.5, true, null, b'x'] || f('d')['e'].all(x, x == 'f')")
	if err != nil {
		t.Fatal(err)
	}
	if got := Literals(x); !slices.Equal(got, []any{"c", int64(1), 2.5, true, "d", "f"}) {
		t.Error(got)
	}
}
