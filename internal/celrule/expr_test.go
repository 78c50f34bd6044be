package celrule

import (
	"strings"
	"testing"

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

// TestMacros: which calls are macros; a call with other arguments is not.
func TestMacros(t *testing.T) {
	for _, c := range []struct{ text, macro string }{
		{"w.all(x, v)", "x v"}, {"w.exists(x, v)", "x v"}, {"all(x, v)", ""}, {"w.all(v)", ""}, {"w.all('x', v)", ""}, {"w.all(x, v, v)", ""},
	} {
		x, err := celexpr.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		variable, body, ok := macro(x.AsCall())
		if ok != (c.macro != "") || ok && variable+" "+body.AsIdent() != c.macro {
			t.Errorf("%s is a macro over %q: %v", c.text, variable, ok)
		}
	}
}

// TestOperands: operands of nested calls of one operator are one list.
func TestOperands(t *testing.T) {
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
