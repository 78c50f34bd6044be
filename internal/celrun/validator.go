// Package celrun runs the CEL rules of a schema (x-kubernetes-validations) with the API server's own validator, as an
// update or create of a custom resource does: with its cost limits, messageExpression, fieldPath, reason,
// optionalOldSelf and ratcheting. It says which rule each error comes from, which the server's errors do not.
//
// It does not check that objects fit the schema: an API server runs no rule on an object with the wrong types, and so
// callers with objects of unknown origin validate these first.
package celrun

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	celcommon "k8s.io/apiserver/pkg/cel/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	kjson "sigs.k8s.io/json"

	"github.com/fieldlock/fieldlock/internal/canonical"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// RuleError is an error of the API server's validator about one rule.
type RuleError struct {
	// Rule is the rule that refuses; its Text is empty where the server's error concerns no single rule, as when the
	// cost of all rules together exceeds the budget.
	Rule Rule
	// Path is the field that the server names: the rule's fieldPath, otherwise the field that the rule is on; "" for
	// the whole object.
	Path    string
	Message string // the server's, without the path and the value
	Type    field.ErrorType
}

// Validator runs rules of one schema. It is safe for concurrent use.
type Validator struct {
	schema *spec.Schema
	rules  []Rule
	plain  bool    // some rule is not a transition rule, and ratcheting matters
	counts bool    // some rule compares quantities
	shared *Shared // nil unless it is strict

	program func() (*program, error)
	naming  func() (*program, error)
}

// New returns the validator of the rules of s that keep holds for, such as Transition; nil keeps all. It returns nil if
// there are no such rules, at the cost of one walk over s; the methods of a nil Validator accept everything. Rules are
// compiled at the first use, which takes milliseconds for each schema node with rules. s is not copied: do not change
// it.
func New(s *spec.Schema, keep func(Rule) bool) *Validator {
	rules := Rules(s)
	if keep != nil {
		rules = slices.DeleteFunc(rules, func(r Rule) bool { return !keep(r) })
	}
	if len(rules) == 0 {
		return nil
	}
	v := &Validator{
		schema: s, rules: rules,
		plain:  slices.ContainsFunc(rules, func(r Rule) bool { return !Transition(r) }),
		counts: slices.ContainsFunc(rules, func(r Rule) bool { return strings.Contains(r.Text, "quantity(") }),
	}
	v.program = sync.OnceValues(func() (*program, error) { return v.compile(v.rules, false) })
	v.naming = sync.OnceValues(func() (*program, error) {
		return v.compile(slices.DeleteFunc(slices.Clone(v.rules), func(r Rule) bool { return !r.hidesName() }), true)
	})
	return v
}

// Strict returns a validator of the same rules that does not ratchet: an update has to satisfy plain rules also where
// nothing changed. It is several times as fast on large schemas if the objects have few of their fields, and compiles
// no rule that shared has for a field of the same type.
func (v *Validator) Strict(shared *Shared) *Validator {
	if v == nil {
		return nil
	}
	strict := *v
	strict.plain, strict.shared = false, shared
	if len(v.rules) == len(Rules(v.schema)) && !inAllOf(v.rules) {
		strict.program = sync.OnceValues(strict.compileShared)
	}
	return &strict
}

// EditAt calls edit for the node of s that the names of a schema path lead to, if there is one.
func EditAt(s *structuralschema.Structural, names []string, edit func(*structuralschema.Structural)) {
	switch {
	case len(names) == 0:
		edit(s)
	case names[0] == "properties" && len(names) > 1:
		if property, ok := s.Properties[names[1]]; ok {
			EditAt(&property, names[2:], edit)
			s.Properties[names[1]] = property // which is a value
		}
	case names[0] == "additionalProperties" && s.AdditionalProperties != nil &&
		s.AdditionalProperties.Structural != nil:
		EditAt(s.AdditionalProperties.Structural, names[1:], edit)
	case names[0] == "items" && s.Items != nil:
		EditAt(s.Items, names[1:], edit)
	}
}

// Rules lists the rules that v runs, in the order of the function Rules.
func (v *Validator) Rules() []Rule {
	if v == nil {
		return nil
	}
	return slices.Clone(v.rules)
}

// compile compiles rules, each with its label as its message, and no others. Where named is set, a rule has nothing
// that could hide the label.
func (v *Validator) compile(rules []Rule, named bool) (*program, error) {
	labels := map[string]map[int]string{} // by schema path and index
	for i, r := range v.rules {
		if labels[r.SchemaPath] == nil {
			labels[r.SchemaPath] = map[int]string{}
		}
		if slices.Contains(rules, r) {
			labels[r.SchemaPath][r.Index] = label(i)
		}
	}
	changes := map[string]func(spec.Extensions) error{}
	for path, node := range schema.Nodes(v.schema) {
		if node.Extensions[schema.KeyValidations] != nil {
			changes[path] = func(e spec.Extensions) error { return relabel(e, labels[path], named) }
		}
	}
	labeled, err := schema.Edit(v.schema, changes)
	if err != nil {
		return nil, err
	}
	p, err := compile(labeled)
	if err != nil {
		return nil, err
	}
	p.together = inAllOf(rules)
	return p, nil
}

// relabel gives the rules of a schema node their labels by index, and drops those without.
func relabel(extensions spec.Extensions, labels map[int]string, named bool) error {
	entries, _ := extensions[schema.KeyValidations].([]any)
	var kept []any
	for i, entry := range entries {
		r, _ := entry.(map[string]any)
		text, ok := labels[i]
		if !ok {
			continue
		}
		r = maps.Clone(r)
		if r["message"] = text; named {
			delete(r, "messageExpression")
			delete(r, "reason")
		}
		kept = append(kept, r)
	}
	extensions[schema.KeyValidations] = kept
	return nil
}

// run validates an update, or with nil oldObj a create. Ratcheting forgives plain rules where nothing changed; it
// compares whole objects, so it is left out if there are no plain rules.
func (v *Validator) run(p *program, newObj, oldObj map[string]any) field.ErrorList {
	var old any
	var options []cel.Option
	if oldObj != nil {
		old = oldObj
	}
	if oldObj != nil && v.plain {
		options = append(options, cel.WithRatcheting(celcommon.NewCorrelatedObject(newObj, oldObj,
			&model.Structural{Structural: p.structural})))
	}
	var validator *cel.Validator
	if v.shared != nil && !p.together {
		validator = p.on(newObj, old, v.shared)
	} else {
		validator = p.validator()
	}
	errs, _ := validator.Validate(context.Background(), nil, nil, newObj, old, celconfig.RuntimeCELCostBudget,
		options...)
	for _, err := range errs {
		err.Detail = sharedLabel.ReplaceAllStringFunc(err.Detail, p.label)
	}
	return errs
}

// label is the message that stands for the i-th rule; no YAML or JSON of a CRD has such a message.
func label(i int) string { return "\x00" + strconv.Itoa(i) + "\x00" }

// labeled finds the label in a message.
var labeled = regexp.MustCompile("\x00([0-9]+)\x00")

// ValidateUpdate returns the violations of an update, or of a create where oldObj is nil, sorted by path; nil when all
// rules accept it. Transition rules do not run for a create, unless they have optionalOldSelf. Objects are as the
// server has them when it validates: decoded to the types of apimachinery's util/json, pruned, with defaults. They are
// not changed. The error is that the schema or a rule does not compile; an API server would refuse the CRD.
//
// A rule that compares amounts of millions of digits does not end: it counts as a violation, as the server's request
// would time out.
func (v *Validator) ValidateUpdate(newObj, oldObj map[string]any) ([]RuleError, error) {
	if v == nil {
		return nil, nil
	}
	if v.counts {
		if text := cmp.Or(canonical.Vast(newObj), canonical.Vast(oldObj)); text != "" {
			return []RuleError{{Message: "the rules cannot be evaluated: the amount " + text + " has too many digits",
				Type: field.ErrorTypeInvalid}}, nil
		}
	}
	p, err := v.program()
	if err != nil {
		return nil, err
	}
	errs := v.run(p, newObj, oldObj)
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
func sortViolations(violations []RuleError) {
	slices.SortStableFunc(violations, func(a, b RuleError) int {
		return cmp.Or(ComparePaths(a.Path, b.Path), strings.Compare(a.Rule.SchemaPath, b.Rule.SchemaPath),
			cmp.Compare(a.Rule.Index, b.Rule.Index))
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

// program is a compiled schema: the server's validator with some of the schema's rules.
type program struct {
	structural *structuralschema.Structural
	validator  func() *cel.Validator // it returns nil for a schema without rules
	together   bool                  // some rules are inside allOf: the server runs them only beside others

	mu     sync.Mutex
	shared *Shared // nil until it is needed, as the others
	ruled  *ruled
	alike  map[[sha256.Size]byte]int // how many schema nodes have a hash
	labels map[string]string         // by shared label
}

// Convert returns s as the API server's own code takes it. Keys that JSONSchemaProps does not know, such as locks, are
// dropped.
func Convert(s *spec.Schema) (*apiextensions.JSONSchemaProps, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var external apiextensionsv1.JSONSchemaProps
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &external); err != nil {
		return nil, err
	}
	internal := new(apiextensions.JSONSchemaProps)
	return internal, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&external, internal,
		nil)
}

// compile compiles s the way a schema takes through the API server: decoded, converted, made structural.
func compile(s *spec.Schema) (*program, error) {
	internal, err := Convert(s)
	if err != nil {
		return nil, err
	}
	return programOf(internal)
}

// programOf compiles a converted schema.
func programOf(internal *apiextensions.JSONSchemaProps) (*program, error) {
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil, fmt.Errorf("the schema is not structural: %w", err)
	}
	whole := sync.OnceValue(func() *cel.Validator { return cel.NewValidator(structural, true, celconfig.PerCallLimit) })
	return &program{structural: structural, validator: whole}, nil
}
