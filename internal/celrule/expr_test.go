package celrule

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/fieldlock/fieldlock/internal/celexpr"
)

// TestMentions: a variable is found in every kind of expression.
func TestMentions(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{"v", true}, {"w", false}, {"v.a.b", true}, {"w.v", false}, {"f(w, v)", true}, {"v.f()", true}, {"w.f(v)", true}, {"w.f()", false},
		{"[w, v]", true}, {"[w]", false}, {"{v: w}", true}, {"{w: v}", true}, {"{w: 'v'}", false}, {"T{a: w, b: v}", true}, {"T{v: w}", false},
		{"w.?v", false}, {"v.?w", true}, {"w[v]", true}, {"!v", true}, {"w ? w : v", true}, {"w.all(x, x == v)", true}, {"'v'", false},
	} {
		x, err := celexpr.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := celexpr.Mentions(x, "v"); got != c.want {
			t.Errorf("%s mentions v: %v", c.text, got)
		}
	}
	if _, err := celexpr.Parse("a =="); err == nil || !strings.Contains(err.Error(), "does not parse: ") || strings.HasSuffix(err.Error(), ": ") {
		t.Errorf("an unfinished expression: %v", err)
	}
}

// TestCallForms: what size() measures, and which calls are macros; a call with other arguments is neither.
func TestCallForms(t *testing.T) {
	for _, c := range []struct{ text, sized, macro string }{
		{"size(v)", "v", ""}, {"v.size()", "v", ""}, {"size(v, v)", "", ""}, {"size()", "", ""}, {"v.size(v)", "", ""}, {"length(v)", "", ""}, {"v", "", ""},
		{"w.all(x, v)", "", "x v"}, {"w.exists(x, v)", "", "x v"}, {"all(x, v)", "", ""}, {"w.all(v)", "", ""}, {"w.all('x', v)", "", ""}, {"w.all(x, v, v)", "", ""},
	} {
		x, err := celexpr.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		of, ok := sized(x)
		if ok != (c.sized != "") || ok && !celexpr.IsIdent(of, c.sized) {
			t.Errorf("%s measures %v, %v", c.text, of, ok)
		}
		if x.Kind() != ast.CallKind {
			continue
		}
		variable, body, ok := macro(x.AsCall())
		if ok != (c.macro != "") || ok && variable+" "+body.AsIdent() != c.macro {
			t.Errorf("%s is a macro over %q: %v", c.text, variable, ok)
		}
	}
	for function, want := range map[string]string{operators.Equals: "==", operators.LogicalAnd: "&&", operators.In: "in", "matches": "matches()"} {
		if got := written(function); got != want {
			t.Errorf("%s is written %q, want %q", function, got, want)
		}
	}
	x, err := celexpr.Parse("a && b || c && (d || e)")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(celexpr.Operands(x, operators.LogicalOr)); n != 2 {
		t.Errorf("%d operands of ||", n)
	}
	if n := len(celexpr.Operands(x, operators.LogicalAnd)); n != 1 {
		t.Errorf("%d operands of &&", n)
	}
}

// TestLiterals: the constants that a rule compares a field with, by the type of the field; and the values that are enough
// to tell apart what such a rule can.
func TestLiterals(t *testing.T) {
	for _, c := range []struct {
		name, rule, schema string
		limit              int
		literals, values   []any
	}{
		{"words", "self == 'a' || self in ['b', 'a'] || size(self) > 0", `{"type": "string"}`, 9, []any{"a", "b", ""}, []any{fresh(0), fresh(1), "a", "b", ""}},
		{"words up to a limit", "self == 'a' || self in ['b', 'c']", `{"type": "string"}`, 2, []any{"a", "b"}, []any{fresh(0), fresh(1), "a", "b"}},
		{"words beside a number and a boolean", "self == 'a' && other == 1 && third == true", `{"type": "string"}`, 9, []any{"a"}, []any{fresh(0), fresh(1), "a"}},
		{"words that the schema excludes", "self == 'a' || self == 'bb'", `{"type": "string", "minLength": 2}`, 9, []any{"a", "bb"}, []any{fresh(0), fresh(1), "bb"}},
		{"words of an enum", "self == 'b'", `{"type": "string", "enum": ["a", "b", "c", "d", "e", "f"]}`, 9, []any{"b"}, []any{"a", "b", "c", "d"}},
		{"words of a short enum", "self == 'b'", `{"type": "string", "enum": ["a", "b"]}`, 9, []any{"b"}, []any{"a", "b"}},
		{"numbers", "self == 7 || other == 'a'", `{"type": "integer"}`, 9, []any{int64(7)}, []any{int64(1), int64(2), int64(3), int64(0), int64(-1), int64(7), int64(8), int64(6)}},
		{"numbers beside a boolean", "self == 7 && other == true", `{"type": "integer", "minimum": 6, "maximum": 8}`, 9, []any{int64(7)}, []any{int64(6), int64(7), int64(8)}},
		{"numbers from a minimum on", "self == 7", `{"type": "integer", "minimum": 6}`, 9, []any{int64(7)}, []any{int64(6), int64(7), int64(8)}},
		{"numbers up to a maximum", "self == 0", `{"type": "integer", "maximum": -5}`, 9, []any{int64(0)}, []any{int64(-5), int64(-6), int64(-7)}},
		{"numbers within bounds", "self == 0", `{"type": "integer", "minimum": 2, "maximum": 3}`, 9, []any{int64(0)}, []any{int64(2), int64(3)}},
		{"booleans", "self", `{"type": "boolean"}`, 9, []any{false, true}, []any{false, true}},
		{"int-or-string", "self == 1 || self == 'a'", `{"x-kubernetes-int-or-string": true}`, 9, []any{int64(1), "a"}, []any{fresh(0), fresh(1), int64(1), "a"}},
		{"a list", "size(self) == 1", `{"type": "array", "items": {"type": "string"}}`, 9, nil, []any{fresh(0), fresh(1), emptyValue{}}},
		{"a list that is never empty", "size(self) == 1", `{"type": "array", "minItems": 1, "items": {"type": "string"}}`, 9, nil, []any{fresh(0), fresh(1)}},
		{"a map", "size(self) == 1", `{"type": "object", "minProperties": 0}`, 9, nil, []any{fresh(0), fresh(1), emptyValue{}}},
		{"a map that is never empty", "size(self) == 1", `{"type": "object", "minProperties": 1}`, 9, nil, []any{fresh(0), fresh(1)}},
	} {
		x, err := celexpr.Parse(c.rule)
		if err != nil {
			t.Fatal(err)
		}
		s := decodeSchema(t, []byte(c.schema))
		literals := literalsIn(x, s, c.limit)
		if !slices.Equal(literals, c.literals) {
			t.Errorf("%s: literals %v, want %v", c.name, literals, c.literals)
		}
		if got := domain(s, literals, 1); !slices.Equal(got, c.values) {
			t.Errorf("%s: values %v, want %v", c.name, got, c.values)
		}
	}
}
