package celrun

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	celcommon "k8s.io/apiserver/pkg/cel/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Violation is an error of the API server's validator about one rule.
type Violation struct {
	// Rule is the rule that refuses; its Text is empty where the server's error concerns no single rule, as when the cost
	// of all rules together exceeds the budget.
	Rule Rule
	// Path is the field that the server names: the rule's fieldPath, otherwise the field that the rule is on; "" for the
	// whole object.
	Path    string
	Message string // the server's, without the path and the value
	Type    field.ErrorType
}

// Validator runs rules of one schema. It is safe for concurrent use.
type Validator struct {
	schema *spec.Schema
	rules  []Rule
	plain  bool // some rule is not a transition rule, and ratcheting matters

	program func() (*program, error)
	naming  func() (*program, error)
}

// New returns the validator of the rules of s that keep holds for, such as Transition; nil keeps all. It returns nil
// where there is none, at the cost of one walk over s; the methods of a nil Validator accept everything. Rules are
// compiled at the first use, which takes milliseconds for each schema node with rules. s is not copied: do not change it.
func New(s *spec.Schema, keep func(Rule) bool) *Validator {
	rules := Rules(s)
	if keep != nil {
		rules = slices.DeleteFunc(rules, func(r Rule) bool { return !keep(r) })
	}
	if len(rules) == 0 {
		return nil
	}
	v := &Validator{schema: s, rules: rules, plain: slices.ContainsFunc(rules, func(r Rule) bool { return !Transition(r) })}
	v.program = sync.OnceValues(func() (*program, error) { return v.compile(v.rules, false) })
	v.naming = sync.OnceValues(func() (*program, error) {
		return v.compile(slices.DeleteFunc(slices.Clone(v.rules), func(r Rule) bool { return !r.hidesName() }), true)
	})
	return v
}

// Strict returns a validator of the same rules that does not ratchet: an update has to satisfy plain rules also where
// nothing changed. It is several times as fast on large schemas.
func (v *Validator) Strict() *Validator {
	if v == nil {
		return nil
	}
	strict := *v
	strict.plain = false
	return &strict
}

// Rules lists the rules that v runs, in the order of the function Rules.
func (v *Validator) Rules() []Rule {
	if v == nil {
		return nil
	}
	return slices.Clone(v.rules)
}

// compile compiles rules, each with its label as its message. Where named is set, a rule has nothing that could hide the
// label.
func (v *Validator) compile(rules []Rule, named bool) (*program, error) {
	labels := map[place]string{}
	for i, r := range v.rules {
		if slices.Contains(rules, r) {
			labels[place{r.SchemaPath, r.Index}] = label(i)
		}
	}
	return compile(v.schema, func(p place, r apiextensionsv1.ValidationRule) *apiextensionsv1.ValidationRule {
		text, ok := labels[p]
		if !ok {
			return nil
		}
		r.Message = text
		if named {
			r.MessageExpression, r.Reason = "", nil
		}
		return &r
	})
}

// run validates an update, or with nil oldObj a create. Ratcheting forgives plain rules where nothing changed; it looks at
// the whole object, so that it is left out where there are none.
func (p *program) run(newObj, oldObj map[string]any, ratchet bool) field.ErrorList {
	if p.validator == nil {
		return nil
	}
	var old any
	var options []cel.Option
	if oldObj != nil {
		old = oldObj
	}
	if oldObj != nil && ratchet {
		options = append(options, cel.WithRatcheting(celcommon.NewCorrelatedObject(newObj, oldObj, &model.Structural{Structural: p.structural})))
	}
	errs, _ := p.validator.Validate(context.Background(), nil, p.structural, newObj, old, celconfig.RuntimeCELCostBudget, options...)
	return errs
}

// label is the message that stands for the i-th rule; no YAML or JSON of a CRD has such a message.
func label(i int) string { return "\x00" + strconv.Itoa(i) + "\x00" }

// labeled finds the label in a message.
var labeled = regexp.MustCompile("\x00([0-9]+)\x00")
