package celexpr

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/fieldlock/fieldlock/internal/testing/setting"
)

// TestConjuncts: which expressions have one normal form, and which must not. T and U are total, the others may be
// errors.
func TestConjuncts(t *testing.T) {
	facts := func(x ast.Expr) Fact {
		switch {
		case IsIdent(x, "T"), IsIdent(x, "U"):
			return Total
		case IsIdent(x, "yes"):
			return Always
		case IsIdent(x, "no"):
			return Never
		}
		return Unknown
	}
	conjuncts := func(text string) []string {
		x, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return Conjuncts(x, facts)
	}
	for _, c := range []struct {
		a, b   string
		same   bool
		reason string
	}{
		{"a && b && c", "c && (b && a)", true, "&& has no order"},
		{"a || b || a", "b || a", true, "nor has ||, and a operand twice says no more"},
		{"a == b", "b == a", true, "nor has =="},
		{"a != b", "!(b == a)", true, ""},
		{"a == b", "a != b", false, ""},
		{"!(a && !b)", "!a || b", true, "De Morgan"},
		{"T ? a : true", "!T || a", true, "a total condition"},
		{"c ? a : true", "!c || a", false, "an error of the condition is an error of all"},
		{"T ? a : b", "(T && a) || (!T && b)", false, "the same, which it does not know"},
		{"!T || (T && a)", "!T || a", true, "what the first operand decides"},
		{"!c || (c && a)", "!c || a", false, "both can be errors"},
		{"T && U ? a : true", "!T || !U || a", true, ""},
		{"yes || a", "true", true, "what is always true"},
		{"yes && a", "a", true, ""},
		{"no || a", "a", true, "what never is"},
		{"no == yes", "false", true, ""},
		{"l.all(x, x in m)", "l.all(y, y in m)", true, "names of variables mean nothing"},
		{"l.all(x, x in m)", "l.all(y, x in m)", false, "unless it is another variable"},
		{"l.all(x, m.all(y, x == y))", "l.all(y, m.all(x, x == y))", true, ""},
		{"l.all(x, m.all(y, x in y))", "l.all(y, m.all(x, x in y))", false, ""},
		{"l.all(x, m.all(x, x in n))", "l.all(x, m.all(y, x in n))", false, "the inner variable hides the outer one"},
		{"!l.exists(x, !(x in m))", "l.all(x, x in m)", true, "none does not"},
		{"l.exists_one(x, x in m)", "l.exists(x, x in m)", false, ""},
		{"l.all(i, x, x in m)", "l.all(k, v, v in m)", true, "two variables"},
		{"l.map(x, x.f) == m.map(x, x.f)", "m.map(y, y.f) == l.map(z, z.f)", true, ""},
		{"l.map(x, p, x)", "l.map(x, q, x)", false, "a condition is not a variable"},
		{"f(a)", "a.f()", false, ""},
		{"f(a, b)", "f(b, a)", false, "functions have an order"},
		{"a.b == 'c'", "a.b == 'd'", false, ""},
		{"a.?b", "a.b", false, ""},
		{"l.all(self, yes)", "l.all(self, true)", false, "a variable that hides self: nothing is known"},
	} {
		if got := slices.Equal(conjuncts(c.a), conjuncts(c.b)); got != c.same {
			t.Errorf("%s is %s as %s: %q, %q (%s)", c.a, map[bool]string{true: "the same", false: "not the same"}[got], c.b, conjuncts(c.a), conjuncts(c.b), c.reason)
		}
	}
}

// truth is what CEL makes of a formula: false, true or an error.
type truth int

const (
	isFalse truth = iota
	isTrue
	fails
)

// eval evaluates a formula of && || ! ?: whose atoms have values.
func eval(x ast.Expr, values map[string]truth) truth {
	switch x.Kind() {
	case ast.IdentKind:
		return values[x.AsIdent()]
	case ast.LiteralKind:
		if x.AsLiteral().Value() == true {
			return isTrue
		}
		return isFalse
	}
	args := x.AsCall().Args()
	a := eval(args[0], values)
	decisive := isTrue
	switch x.AsCall().FunctionName() {
	case operators.LogicalNot:
		return map[truth]truth{isFalse: isTrue, isTrue: isFalse, fails: fails}[a]
	case operators.Conditional:
		return map[truth]truth{isFalse: eval(args[2], values), isTrue: eval(args[1], values), fails: fails}[a]
	case operators.LogicalAnd:
		decisive = isFalse
	}
	b := eval(args[1], values)
	switch {
	case a == decisive || b == decisive:
		return decisive
	case a == fails || b == fails:
		return fails
	}
	return 1 - decisive
}

// TestNormalFormHasTheValue: a random formula and its normal form have one value for all values of their atoms, errors
// too.
func TestNormalFormHasTheValue(t *testing.T) {
	r := rand.New(rand.NewPCG(setting.Seed(t), 1))
	total := []string{"T", "U"}
	var formula func(depth int) string
	formula = func(depth int) string {
		if depth == 0 || r.IntN(6) == 0 {
			return []string{"T", "U", "a", "b", "true", "false"}[r.IntN(6)]
		}
		x, y := formula(depth-1), formula(depth-1)
		return []string{"(" + x + " && " + y + ")", "(" + x + " || " + y + ")", "!(" + x + ")", "(" + x + " ? " + y + " : " + formula(depth-1) + ")"}[r.IntN(4)]
	}
	shorter := 0
	for range 3000 {
		text := formula(4)
		x, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		normal := strings.Join(append([]string{"true"}, Conjuncts(x, func(x ast.Expr) Fact {
			if x.Kind() == ast.IdentKind && slices.Contains(total, x.AsIdent()) {
				return Total
			}
			return Unknown
		})...), " && ")
		if strings.Contains(normal, "_?_") { // a condition that may fail stays as it is
			continue
		}
		y, err := Parse(normal)
		if err != nil {
			t.Fatalf("%s: %v", normal, err)
		}
		if len(normal) < len(text) {
			shorter++
		}
		for n := range 36 {
			values := map[string]truth{"T": truth(n % 2), "U": truth(n / 2 % 2), "a": truth(n / 4 % 3), "b": truth(n / 12)}
			if eval(x, values) != eval(y, values) {
				t.Fatalf("%s is %d, its normal form %s is %d, with %v", text, eval(x, values), normal, eval(y, values), values)
			}
		}
	}
	if shorter == 0 {
		t.Error("no formula became shorter")
	}
}
