package celrule

// outcome is what a CEL expression evaluates to when only part of its input is known.
type outcome int

const (
	open   outcome = iota // not known yet
	opaque                // the expression is not understood
	no                    // false
	yes                   // true
	fails                 // an evaluation error
)

func of(b bool) outcome {
	if b {
		return yes
	}
	return no
}

// known reports whether o is a result of CEL.
func (o outcome) known() bool { return o >= no }

// refuses reports whether a rule with the outcome o refuses the update.
func (o outcome) refuses() bool { return o == no || o == fails }

// not, and, or follow CEL: an operand that decides alone prevails over an error.
func not(a outcome) outcome {
	switch a {
	case yes:
		return no
	case no:
		return yes
	}
	return a
}

func and(a, b outcome) outcome {
	switch {
	case a == no || b == no:
		return no
	case a == opaque || b == opaque:
		return opaque
	case a == open || b == open:
		return open
	case a == fails || b == fails:
		return fails
	}
	return yes
}

func or(a, b outcome) outcome { return not(and(not(a), not(b))) }

// same is == on booleans. Like every other function of CEL, it fails if an operand does.
func same(a, b outcome) outcome {
	if worst := strict(a, b); worst != yes {
		return worst
	}
	return of(a == b)
}

// strict returns yes if both operands are known and do not fail, otherwise what prevents that.
func strict(a, b outcome) outcome {
	switch {
	case a == fails || b == fails:
		return fails
	case a == opaque || b == opaque:
		return opaque
	case a == open || b == open:
		return open
	}
	return yes
}

// choose is the operator ?:.
func choose(condition outcome, then, otherwise func() outcome) outcome {
	switch condition {
	case yes:
		return then()
	case no:
		return otherwise()
	}
	return condition
}
