package witness

import (
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// effort counts the steps of all searches of a kind. A nil effort counts nothing and never ends.
type effort struct{ spent, ceiling int }

func (e *effort) spend(n int) {
	if e != nil {
		e.spent += n
	}
}

// over reports whether no steps are left.
func (e *effort) over() bool { return e != nil && e.spent >= e.ceiling }

// Allow lets the searches of k take n more steps, whatever is left of those before. A step is about as much work as it is
// to look at one value of an object. Without Allow each search is bounded, but not all of them together.
func (k *Kind) Allow(n int) {
	if k.effort == nil {
		k.effort = &effort{}
		for _, v := range k.Versions {
			v.effort = k.effort
		}
	}
	k.effort.ceiling = k.effort.spent + n
}

// Over reports whether the searches of k have taken all steps that Allow let them take. Then they find nothing more.
func (k *Kind) Over() bool { return k.effort.over() }

// Steps returns how many steps the searches of k have taken since the first Allow.
func (k *Kind) Steps() int {
	if k.effort == nil {
		return 0
	}
	return k.effort.spent
}

// How many steps it takes to run a rule, and to compare a value with one of an enum or of a combination of schemas.
const (
	stepsPerRule    = 40
	charactersAStep = 4 // of a rule
	stepsPerBranch  = 10
)

// weight is about how many steps it takes to judge v, which is depth levels below the root: each value with its path, what
// it is compared with, and the rules, whose errors spell out the values that they are on.
func weight(v any, s *structuralschema.Structural, depth int) int {
	n := 1 + depth
	if s == nil {
		s = &structuralschema.Structural{}
	}
	if of := s.ValueValidation; of != nil {
		n += len(of.Enum) + stepsPerBranch*(len(of.AllOf)+len(of.AnyOf)+len(of.OneOf)) + len(of.Required)
	}
	switch v := v.(type) {
	case map[string]any:
		for name, child := range v {
			if at, ok := s.Properties[name]; ok {
				n += weight(child, &at, depth+1)
			} else if s.AdditionalProperties != nil {
				n += weight(child, s.AdditionalProperties.Structural, depth+1)
			} else {
				n += weight(child, nil, depth+1)
			}
		}
	case []any:
		for _, item := range v {
			n += weight(item, s.Items, depth+1)
		}
	}
	values := n
	for i := range s.XValidations {
		n += stepsPerRule + len(s.XValidations[i].Rule)/charactersAStep + values
	}
	return n
}
