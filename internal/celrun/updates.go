package celrun

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/celexpr"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Updates runs rules of one schema on updates, with the verdict of a Validator that has all of them. It compiles and runs
// only what an update can break: a rule that is true wherever its field is equal on both sides, such as self == oldSelf,
// waits for an update of its field, or for a value that it cannot compare. Most rules are like that, and most updates leave
// their fields alone. A rule reads the field that it is on and what is below it, nothing else, so other fields cannot make it
// false.
//
// It is safe for concurrent use.
type Updates struct {
	always *Validator // of the rules that can be false where nothing has changed
	steady []*steady
	rules  []Rule
}

// steady are the rules of one schema node that are true where the value there is equal on both sides.
type steady struct {
	*Validator
	form  func() *form // of the whole object, reduced to the way to the node
	steps []string     // of the node's schema path
	keyed bool         // a list on the way or below the node is a list-type map
}

// NewUpdates returns the rules of s that keep holds for; nil keeps all. It returns nil where there is none; a nil Updates
// accepts everything. s is not copied: do not change it.
func NewUpdates(s *spec.Schema, keep func(Rule) bool) *Updates {
	rules := Rules(s)
	together := inAllOf(rules)
	if keep != nil {
		rules = slices.DeleteFunc(rules, func(r Rule) bool { return !keep(r) })
	}
	if len(rules) == 0 {
		return nil
	}
	u := &Updates{rules: rules}
	byPath := map[string]map[int]bool{} // the steady rules of each node
	var paths []string
	for _, r := range rules {
		if together || r.OptionalOldSelf || !trueWhenEqual(r.Text) {
			continue
		}
		if byPath[r.SchemaPath] == nil {
			byPath[r.SchemaPath] = map[int]bool{}
			paths = append(paths, r.SchemaPath)
		}
		byPath[r.SchemaPath][r.Index] = true
	}
	for _, path := range paths {
		steps := pointer.Names(path)
		way := narrow(s, steps)
		u.steady = append(u.steady, &steady{
			Validator: New(way, func(r Rule) bool { return r.SchemaPath == path && byPath[path][r.Index] }),
			form:      sync.OnceValue(func() *form { return formOf(way) }), steps: steps, keyed: schema.HasMapList(way),
		})
	}
	u.always = New(s, func(r Rule) bool { return (keep == nil || keep(r)) && !byPath[r.SchemaPath][r.Index] })
	return u
}

// inAllOf reports whether some of rules are inside allOf. The server runs these only beside others, so then all stay together.
func inAllOf(rules []Rule) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool { return slices.Contains(pointer.Names(r.SchemaPath), "allOf") })
}

// Rules lists the rules that u runs, in the order of the function Rules.
func (u *Updates) Rules() []Rule {
	if u == nil {
		return nil
	}
	return slices.Clone(u.rules)
}

// ValidateUpdate is Validator.ValidateUpdate for an update; neither object is nil.
func (u *Updates) ValidateUpdate(newObj, oldObj map[string]any) ([]Violation, error) {
	if u == nil {
		return nil, nil
	}
	violations, err := u.always.ValidateUpdate(newObj, oldObj)
	if err != nil {
		return nil, err
	}
	for _, s := range u.steady {
		if !s.due(s.form(), newObj, oldObj, s.steps) {
			continue
		}
		more, err := s.ValidateUpdate(newObj, oldObj)
		if err != nil {
			return nil, err
		}
		violations = append(violations, more...)
	}
	sortViolations(violations)
	return violations, nil
}

// due reports whether the rules can be false: a value of their field differs, or equal lists have a key twice, whose items
// the server does not pair with themselves, or the server cannot read the value.
func (s *steady) due(at *form, newVal, oldVal any, steps []string) bool {
	if newVal == nil || oldVal == nil {
		return false // the server runs them on values that both sides have
	}
	newFields, isObject := newVal.(map[string]any)
	oldFields, wasObject := oldVal.(map[string]any)
	if len(steps) < 2 || steps[0] != "properties" || !isObject || !wasObject {
		return !jsonvalue.Equal(newVal, oldVal) || s.keyed && at.repeats(newVal) || at.misfits(newVal)
	}
	return s.due(at.properties[steps[1]], newFields[steps[1]], oldFields[steps[1]], steps[2:])
}

// narrow returns s with nothing but the way to the node that steps lead to, and all that is below it. Only the node and what
// is below it have rules.
func narrow(s *spec.Schema, steps []string) *spec.Schema {
	if len(steps) == 0 {
		return s
	}
	way := &spec.Schema{SchemaProps: spec.SchemaProps{Type: s.Type, Nullable: s.Nullable}}
	way.Extensions = maps.Clone(s.Extensions)
	delete(way.Extensions, schema.KeyValidations)
	switch steps[0] {
	case "properties":
		property := s.Properties[steps[1]]
		way.Properties = map[string]spec.Schema{steps[1]: *narrow(&property, steps[2:])}
	case "additionalProperties":
		way.AdditionalProperties = &spec.SchemaOrBool{Schema: narrow(s.AdditionalProperties.Schema, steps[1:])}
	case "items":
		way.Items = &spec.SchemaOrArray{Schema: narrow(s.Items.Schema, steps[1:])}
	}
	return way
}

// form is what a schema says about the form of a value. A nil form says nothing.
type form struct {
	schema     *spec.Schema
	typed      bool
	keys       []string // of a list-type map, nil for others
	properties map[string]*form
	rest       *form // of the other members, or of the items
}

func formOf(s *spec.Schema) *form {
	intOrString, _ := s.Extensions[schema.KeyIntOrString].(bool)
	f := &form{schema: s, typed: len(s.Type) > 0 || intOrString, properties: make(map[string]*form, len(s.Properties))}
	for name, property := range s.Properties {
		f.properties[name] = formOf(&property)
	}
	switch {
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		f.rest = formOf(s.AdditionalProperties.Schema)
	case s.Items != nil && s.Items.Schema != nil:
		f.rest = formOf(s.Items.Schema)
	}
	if marks, _ := schema.ReadMarks(s.Extensions); marks.ListType == schema.ListMap {
		f.keys = append([]string{}, marks.ListMapKeys...)
	}
	return f
}

// member returns the form of a member of an object.
func (f *form) member(name string) *form {
	if property, ok := f.properties[name]; ok {
		return property
	}
	return f.rest
}

// repeats reports whether a list-type map in v has two items with the same keys.
func (f *form) repeats(v any) bool {
	if f == nil {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if f.member(name).repeats(member) {
				return true
			}
		}
	case []any:
		known := map[string]bool{}
		for _, item := range v {
			if f.rest.repeats(item) {
				return true
			}
			if f.keys == nil {
				continue
			}
			key := keyText(item, f.keys)
			if known[key] {
				return true
			}
			known[key] = true
		}
	}
	return false
}

// misfits reports whether something in v is of another type or format than the schema says, as in an object that was stored before its
// CRD said so. The server forgives what an update leaves as it was, and rules that compare it fail all the same.
func (f *form) misfits(v any) bool {
	if f == nil || !f.typed {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if f.member(name).misfits(member) {
				return true
			}
		}
		return !f.schema.Type.Contains("object")
	case []any:
		for _, item := range v {
			if f.rest.misfits(item) {
				return true
			}
		}
	case string:
		if f.schema.Format == "" && f.schema.Type.Contains("string") {
			return false
		}
	case int64:
		if f.schema.Type.Contains("integer") {
			return false
		}
	}
	return types.IsError(openapi.UnstructuredToVal(v, f.schema))
}

// keyText is equal for items with the same keys.
func keyText(item any, keys []string) string {
	fields, _ := item.(map[string]any)
	values := make([]any, len(keys))
	for i, key := range keys {
		values[i] = fields[key]
	}
	text, err := json.Marshal(values)
	if err != nil {
		return "" // decoded JSON always encodes
	}
	return string(text)
}

// trueWhenEqual reports whether a rule without optionalOldSelf is true, without an error, wherever self and oldSelf are
// equal. False means unknown.
func trueWhenEqual(text string) bool {
	if !strings.Contains(text, "oldSelf") {
		return false
	}
	x, err := celexpr.Parse(text)
	return err == nil && isTrueWhenEqual(x)
}

func isTrueWhenEqual(x ast.Expr) bool {
	if x.Kind() != ast.CallKind || len(x.AsCall().Args()) != 2 {
		return false
	}
	a, b := x.AsCall().Args()[0], x.AsCall().Args()[1]
	switch x.AsCall().FunctionName() {
	case operators.Equals:
		return celexpr.IsIdent(a, "self") && celexpr.IsIdent(b, "oldSelf") || celexpr.IsIdent(a, "oldSelf") && celexpr.IsIdent(b, "self")
	case operators.LogicalOr: // true also where the other side fails
		return isTrueWhenEqual(a) || isTrueWhenEqual(b)
	case operators.LogicalAnd:
		return isTrueWhenEqual(a) && isTrueWhenEqual(b)
	}
	return false
}

// Rule is one entry of x-kubernetes-validations.
type Rule struct {
	SchemaPath string // of its schema node, a JSON pointer
	Index      int    // among the rules of its node
	Text       string // the CEL expression

	Message           string
	MessageExpression string
	FieldPath         string
	Reason            string
	OptionalOldSelf   bool
}

// Rules lists the rules of s that an API server runs: those of properties, additionalProperties and items, and those
// inside allOf. Parents come before children, properties in the order of their names. Entries that are not rules are
// skipped; an API server refuses the CRD. Nil s has none.
func Rules(s *spec.Schema) []Rule {
	var rules []Rule
	for path, node := range schema.Nodes(s) {
		entries, _ := node.Extensions[schema.KeyValidations].([]any)
		for i, entry := range entries {
			fields, _ := entry.(map[string]any)
			r := Rule{SchemaPath: path, Index: i}
			var ok bool
			if r.Text, ok = fields["rule"].(string); !ok {
				continue
			}
			r.Message, _ = fields["message"].(string)
			r.MessageExpression, _ = fields["messageExpression"].(string)
			r.FieldPath, _ = fields["fieldPath"].(string)
			r.Reason, _ = fields["reason"].(string)
			r.OptionalOldSelf, _ = fields["optionalOldSelf"].(bool)
			rules = append(rules, r)
		}
	}
	return rules
}

// Transition reports whether r is a transition rule: one that reads oldSelf. A rule that does not parse is not one.
func Transition(r Rule) bool {
	if !strings.Contains(r.Text, "oldSelf") {
		return false
	}
	x, err := celexpr.Parse(r.Text)
	return err == nil && celexpr.Mentions(x, "oldSelf")
}

// text is how the server's messages quote r.
func (r *Rule) text() string {
	if r.Message != "" {
		return strings.TrimSpace(r.Message)
	}
	return strings.TrimSpace(r.Text)
}

// Says returns what the server says when r is false and has no messageExpression.
func (r *Rule) Says() string {
	if r.Message != "" {
		return strings.TrimSpace(r.Message)
	}
	return "failed rule: " + r.text()
}

// hidesName reports whether an error of r may lack its label.
func (r *Rule) hidesName() bool {
	return r.MessageExpression != "" || r.Reason == string(field.ErrorTypeDuplicate)
}
