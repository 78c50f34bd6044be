package celrule

import (
	"cmp"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// orders tells for each comparison operator which signs of the difference satisfy it.
var orders = map[string]func(sign int) bool{
	operators.Less:          func(sign int) bool { return sign < 0 },
	operators.LessEquals:    func(sign int) bool { return sign <= 0 },
	operators.Greater:       func(sign int) bool { return sign > 0 },
	operators.GreaterEquals: func(sign int) bool { return sign >= 0 },
}

func equalSign(sign int) bool { return sign == 0 }

// ordered evaluates a comparison of x with y, both numbers or sizes; holds tells which signs of their difference satisfy
// it.
func ordered(f *fields, x, y ast.Expr, holds func(sign int) bool) outcome {
	a, sizeA := sizeOf(f, x)
	b, sizeB := sizeOf(f, y)
	v, isLiteral := literalOf(y)
	n, isInt := v.(int64)
	switch {
	case sizeA && sizeB:
		return compareSizes(f, a, b, holds)
	case sizeA && isLiteral && isInt:
		return compareSize(f, a, n, holds)
	case sizeB && x.Kind() == ast.LiteralKind:
		return ordered(f, y, x, func(sign int) bool { return holds(-sign) })
	}
	m, known := numberOf(f, x)
	if known != yes {
		return known
	}
	n, known = numberOf(f, y)
	if known != yes {
		return known
	}
	return of(holds(cmp.Compare(m, n)))
}

// sizeOf returns the field that x is the size of.
func sizeOf(f *fields, x ast.Expr) (term, bool) {
	of, ok := sized(x)
	if !ok {
		return term{}, false
	}
	t, ok := f.term(of)
	return t, ok && t.optional == nil && hasSize(t.at.Schema)
}

// compareSizes compares the sizes of one list or map in the new and the old object.
func compareSizes(f *fields, a, b term, holds func(sign int) bool) outcome {
	if there := strict(f.value(a), f.value(b)); there != yes {
		return there
	}
	if a.at != b.at || a.side == b.side || keysOf(a.at) == noKeys {
		return f.because("it compares sizes")
	}
	added, removed := f.added(a.at), f.removed(a.at)
	if known := strict(added, removed); known != yes {
		return known
	}
	sign := 0
	switch {
	case added == yes && removed == yes:
		return f.because("it compares sizes")
	case added == yes:
		sign = 1
	case removed == yes:
		sign = -1
	}
	if a.side == oldSide {
		sign = -sign
	}
	return of(holds(sign))
}

// compareSize compares the size of t with n. Whether a value is empty decides comparisons with 0, and some with 1.
func compareSize(f *fields, t term, n int64, holds func(sign int) bool) outcome {
	if there := f.value(t); there != yes {
		return there
	}
	empty := f.empty(t.side, t.at)
	switch {
	case !empty.known():
		return empty
	case empty == yes:
		return of(holds(cmp.Compare(0, n)))
	case n <= 0:
		return of(holds(1))
	case n == 1 && holds(0) == holds(1):
		return of(holds(0))
	}
	return f.because("it compares a size with a number")
}

func numberOf(f *fields, x ast.Expr) (int64, outcome) {
	if v, ok := literalOf(x); ok {
		if n, ok := v.(int64); ok {
			return n, yes
		}
	}
	t, ok := f.term(x)
	if !ok {
		return 0, f.because("it orders values")
	}
	if there := f.value(t); there != yes {
		return 0, there
	}
	n, known := f.number(t.side, t.at)
	if known == opaque {
		f.because("it orders values")
	}
	return n, known
}
