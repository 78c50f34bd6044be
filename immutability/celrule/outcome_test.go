package celrule

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// TestOutcomes: the operators of CEL, where an operand that decides alone prevails over an error, and what is not known
// prevails over an error too.
func TestOutcomes(t *testing.T) {
	names := map[outcome]string{open: "open", opaque: "opaque", no: "no", yes: "yes", fails: "fails"}
	for _, c := range []struct{ a, b, and, or, same outcome }{
		{no, no, no, no, yes}, {no, yes, no, yes, no}, {no, fails, no, fails, fails}, {no, open, no, open, open}, {no, opaque, no, opaque, opaque},
		{yes, yes, yes, yes, yes}, {yes, fails, fails, yes, fails}, {yes, open, open, yes, open}, {yes, opaque, opaque, yes, opaque},
		{fails, fails, fails, fails, fails}, {fails, open, open, open, fails}, {fails, opaque, opaque, opaque, fails},
		{open, open, open, open, open}, {open, opaque, opaque, opaque, opaque}, {opaque, opaque, opaque, opaque, opaque},
	} {
		for _, p := range [][2]outcome{{c.a, c.b}, {c.b, c.a}} {
			a, b := p[0], p[1]
			if and(a, b) != c.and || or(a, b) != c.or || same(a, b) != c.same {
				t.Errorf("%s, %s: and %s, or %s, == %s", names[a], names[b], names[and(a, b)], names[or(a, b)], names[same(a, b)])
			}
		}
	}
	for o, want := range map[outcome][2]bool{open: {false, false}, opaque: {false, false}, no: {true, true}, yes: {true, false}, fails: {true, true}} {
		if o.known() != want[0] || o.refuses() != want[1] {
			t.Errorf("%s: known %v, refuses %v", names[o], o.known(), o.refuses())
		}
	}
}

// TestConjuncts: the conjuncts of random expressions are all true exactly when the expression is.
func TestConjuncts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	split := 0
	for range 400 {
		text := randomCondition(random, 4)
		x, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		parts := conjuncts(x)
		if len(parts) > maxConjuncts {
			t.Errorf("%s has %d conjuncts", text, len(parts))
		}
		if len(parts) > 1 {
			split++
		}
		for bits := range 16 {
			all := true
			for _, p := range parts {
				all = all && truthOf(t, p, bits)
			}
			if all != truthOf(t, x, bits) {
				t.Fatalf("%s is %v for %04b, its %d conjuncts together are not", text, !all, bits, len(parts))
			}
		}
	}
	if split < 100 {
		t.Errorf("only %d of 400 expressions have conjuncts", split)
	}
}

func randomCondition(random *rand.Rand, depth int) string {
	if depth == 0 || random.IntN(5) == 0 {
		return string("abcd"[random.IntN(4)])
	}
	x, y := randomCondition(random, depth-1), randomCondition(random, depth-1)
	switch random.IntN(4) {
	case 0:
		return fmt.Sprintf("(%s && %s)", x, y)
	case 1:
		return fmt.Sprintf("(%s || %s)", x, y)
	case 2:
		return fmt.Sprintf("!(%s)", x)
	}
	return fmt.Sprintf("(%s ? %s : %s)", randomCondition(random, depth-1), x, y)
}

// truthOf evaluates x, where bits are the values of a to d.
func truthOf(t *testing.T, x ast.Expr, bits int) bool {
	t.Helper()
	if x.Kind() == ast.IdentKind {
		return bits>>(x.AsIdent()[0]-'a')&1 == 1
	}
	args := x.AsCall().Args()
	switch x.AsCall().FunctionName() {
	case operators.LogicalAnd:
		return truthOf(t, args[0], bits) && truthOf(t, args[1], bits)
	case operators.LogicalOr:
		return truthOf(t, args[0], bits) || truthOf(t, args[1], bits)
	case operators.LogicalNot:
		return !truthOf(t, args[0], bits)
	case operators.Conditional:
		if truthOf(t, args[0], bits) {
			return truthOf(t, args[1], bits)
		}
		return truthOf(t, args[2], bits)
	}
	t.Fatalf("%v is not a condition", x)
	return false
}
