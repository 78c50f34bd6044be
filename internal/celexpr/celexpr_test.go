package celexpr

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/common/operators"
)

// TestMentions: a variable is found in every kind of expression.
func TestMentions(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{"v", true}, {"w", false}, {"v.a.b", true}, {"w.v", false}, {"f(w, v)", true}, {"v.f()", true}, {"w.f(v)", true}, {"w.f()", false},
		{"[w, v]", true}, {"[w]", false}, {"{v: w}", true}, {"{w: v}", true}, {"{w: 'v'}", false}, {"T{a: w, b: v}", true}, {"T{v: w}", false},
		{"w.?v", false}, {"v.?w", true}, {"w[v]", true}, {"!v", true}, {"w ? w : v", true}, {"w.all(x, x == v)", true}, {"'v'", false}, {".v.a", true},
	} {
		x, err := Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Mentions(x, "v"); got != c.want {
			t.Errorf("%s mentions v: %v", c.text, got)
		}
	}
	if _, err := Parse("a =="); err == nil || !strings.Contains(err.Error(), "does not parse: ") || strings.HasSuffix(err.Error(), ": ") {
		t.Errorf("an unfinished expression: %v", err)
	}
}

// TestMacros: which calls are macros; a call with other arguments is not.
func TestMacros(t *testing.T) {
	for _, c := range []struct{ text, macro string }{
		{"w.all(x, v)", "x v"}, {"w.exists(x, v)", "x v"}, {"all(x, v)", ""}, {"w.all(v)", ""}, {"w.all('x', v)", ""}, {"w.all(x, y, v)", "x y v"}, {"w.all(x, 'y', v)", ""},
		{"w.map(x, v, v)", "x v v"}, {"w.transformMap(x, y, v, v)", "x y v v"}, {"w.transformList(x, v)", ""}, {"w.optMap(x, v)", "x v"},
		{"w.contains(x, v)", ""}, {"w.all(x, y, v, v)", ""},
	} {
		x, err := Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		m, ok := MacroOf(x.AsCall())
		words := slices.Clone(m.Variables)
		for _, body := range m.Body {
			words = append(words, body.AsIdent())
		}
		if got := strings.Join(words, " "); ok != (c.macro != "") || got != c.macro {
			t.Errorf("%s is a macro of %q: %v", c.text, got, ok)
		}
	}
}

// TestOperands: operands of nested calls of one operator are one list.
func TestOperands(t *testing.T) {
	x, err := Parse("a && b || c && (d || e)")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(Operands(x, operators.LogicalOr)); n != 2 {
		t.Errorf("%d operands of ||", n)
	}
	if n := len(Operands(x, operators.LogicalAnd)); n != 1 {
		t.Errorf("%d operands of &&", n)
	}
}
