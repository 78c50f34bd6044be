package celrule

// condition is what a search wants of a scenario: yes if it is satisfied, open if that is not decided.
type condition func(*scenario) outcome

// verdict is the result of a search.
type verdict int

const (
	refuted   verdict = iota // no scenario satisfies the conditions
	found                    // the scenario satisfies them
	undecided                // the search was given up, or the audit has no steps left
)

// maxSteps bounds a search.
const maxSteps = 1000

// possible reports whether m can satisfy all conditions, and whether that is sure: not if the search was given up, or m
// had to assume something of an expression that is not understood.
func possible(m *scenario, conditions []condition) (sure, possible bool) {
	result := search(m, conditions)
	return result == found && m.sure(), result != refuted
}

// search completes m until all conditions are satisfied. It answers one question after the other, the first one that a
// condition asks, and goes back when a condition fails. For "f is in object 0, not in 1, and in 2 with another value"
// and the rule self == oldSelf on f, the conditions ask for the values of f in objects 0 and 2, and no more.
func search(m *scenario, conditions []condition) verdict {
	budget := maxSteps
	return solve(m, conditions, &budget)
}

func solve(m *scenario, conditions []condition, budget *int) verdict {
	if *budget--; *budget < 0 || m.effort.over() {
		return undecided
	}
	var next *question
	var choices []any
	var left []condition // what is satisfied stays so, whatever else is answered
	m.effort.spend(len(conditions))
	for _, holds := range conditions {
		m.pending, m.choices = nil, nil
		switch holds(m) {
		case no, fails:
			return refuted
		case yes:
		default:
			left = append(left, holds)
			if next == nil && m.pending != nil {
				next, choices = m.pending, m.choices
			}
		}
	}
	if next == nil {
		return found
	}
	for _, choice := range choices {
		m.answers[*next] = choice
		if result := solve(m, left, budget); result != refuted {
			return result
		}
		delete(m.answers, *next)
	}
	return refuted
}
