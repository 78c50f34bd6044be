package celrun

import (
	"cmp"
	"slices"
	"strings"
)

// ValidateUpdate returns the violations of an update, or of a create where oldObj is nil, sorted by path; nil when all
// rules accept it. Transition rules do not run for a create, unless they have optionalOldSelf. Objects are as the server
// has them when it validates: decoded to the types of apimachinery's util/json, pruned, with defaults. They are not
// changed. The error is that the schema or a rule does not compile; an API server would refuse the CRD.
func (v *Validator) ValidateUpdate(newObj, oldObj map[string]any) ([]Violation, error) {
	if v == nil {
		return nil, nil
	}
	p, err := v.program()
	if err != nil {
		return nil, err
	}
	errs := p.run(newObj, oldObj, v.plain)
	if len(errs) == 0 {
		return nil, nil
	}
	violations, err := v.attribute(errs, newObj, oldObj)
	if err != nil {
		return nil, err
	}
	sortViolations(violations)
	return violations, nil
}

// sortViolations sorts by path, then by the place of the rule.
func sortViolations(violations []Violation) {
	slices.SortStableFunc(violations, func(a, b Violation) int {
		return cmp.Or(ComparePaths(a.Path, b.Path), strings.Compare(a.Rule.SchemaPath, b.Rule.SchemaPath), cmp.Compare(a.Rule.Index, b.Rule.Index))
	})
}

// ComparePaths orders paths by their text, with numbers by their value: nodes[2] is before nodes[10].
func ComparePaths(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x > 0 && y > 0 {
			if c := cmp.Or(cmp.Compare(x, y), strings.Compare(a[:x], b[:y])); c != 0 {
				return c
			}
			a, b = a[x:], b[y:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits returns how many digits s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
