package celrule

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/celexpr"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// alternative returns why removing l may be meant, "" if nothing hints at that: the parent is a union, a rule excludes
// l beside another field, l is deprecated, or, unless l is locked itself, the parent has another optional object of the
// same sort, or a rule asks for l only where another field has a certain value.
func (a *auditor) alternative(l *schema.Location, locked bool) string {
	parent := l.Parent()
	name := displayPath(l)
	switch s := parent.Schema; {
	case s.MaxProperties != nil && *s.MaxProperties < int64(len(s.Properties)):
		return fmt.Sprintf("%s takes %d of its fields", displayPath(parent), *s.MaxProperties)
	case oneOfFields.MatchString(a.description(parent)):
		return fmt.Sprintf("the description of %s says that it takes one of its fields", displayPath(parent))
	case anywhereRequired(l):
		return fmt.Sprintf("the schema of %s offers a choice between %s and others", displayPath(parent), l.Name)
	case deprecated.MatchString(a.description(l)):
		return "the description of " + name + " describes another way"
	case a.choiceOf(l) != "":
		return fmt.Sprintf("the description of %s describes a choice between it and %s", name, a.choiceOf(l))
	}
	if why := a.doneWithout(l); why != "" {
		return why
	}
	if locked {
		return ""
	}
	if versionName.MatchString(l.Name) {
		return l.Name + " looks like a version of the API behind it, and objects may move to another"
	}
	if sibling := twin(l); sibling != "" {
		return fmt.Sprintf("%s and %s look like a choice", l.Name, sibling)
	}
	for _, r := range a.all {
		*a.steps++
		if !r.Transition && within(l, r.at) && neededSometimes(r.Rule, r.expr, l, true) {
			return fmt.Sprintf("the rule %q asks for %s only where another field has a certain value", r.Text, l.Name)
		}
	}
	return ""
}

// doneWithout returns why a plain rule, which reads other fields, may ask for objects without l; "" if none does.
func (a *auditor) doneWithout(l *schema.Location) string {
	for _, r := range a.all {
		*a.steps++
		switch {
		case r.Transition || !within(l, r.at):
		case a.excludes(r, l):
			return fmt.Sprintf("the rule %q requires %s to be absent when another field is set", r.Text, l.Name)
		case offersInstead(r.Rule, r.expr, l, true):
			return fmt.Sprintf("the rule %q accepts another field in place of %s", r.Text, l.Name)
		}
	}
	return ""
}

// deprecated finds descriptions of fields that users move away from, or that exclude others.
var deprecated = regexp.MustCompile(`(?i)\bdeprecated\b|\bmigrat|mutually exclusive|\b(exactly|only|at most) one of\b|\bunion\b`)

// oneOfFields finds descriptions of objects of which only one field is set: "At most one versioned spec can be set".
var oneOfFields = regexp.MustCompile(`(?i)\b(at most|only|exactly) one\b[^.]{0,40}\b(can|may|must|should) be (set|specified|used|given|provided|present)\b`)

// versionName matches a field that is named for a version: v1beta2, v20250312.
var versionName = regexp.MustCompile(`^v\d+((alpha|beta)\d*)?$`)

// choiceOf returns the name of a field beside l, or beside an object around it, that its description presents as
// another choice: "either zoneNames or zoneCount must be set" and "ignored if zoneNames is set". It returns "" if there
// is none. A name that may be a plain word counts in quotes only.
func (a *auditor) choiceOf(l *schema.Location) string {
	isField := func(name string) bool {
		for around := l.Parent(); around != nil; around = around.Parent() {
			if _, ok := around.Schema.Properties[name]; ok {
				return name != l.Name
			}
		}
		return false
	}
	for _, sentence := range sentenceEnd.Split(a.description(l), -1) {
		if !choice.MatchString(sentence) {
			continue
		}
		for _, word := range nameLike.FindAllString(sentence, -1) {
			name := strings.Trim(word, "`'\"")
			if name == word && strings.ToLower(name[1:]) == name[1:] {
				continue
			}
			for _, name := range []string{name, strings.ToLower(name[:1]) + name[1:]} {
				if isField(name) {
					return name
				}
			}
		}
	}
	return ""
}

var (
	choice = regexp.MustCompile(`(?i)\b(either|instead|alternative|in place of|ignored|overrid(es?|den|ing)|precedence|conflicts?|required (if|when|unless)` +
		`|(cannot|can not|can't|must not|may not) be (set|used|specified|combined))\b`)
	nameLike = regexp.MustCompile("[`'\"]?[A-Za-z][A-Za-z0-9]+[`'\"]?")
)

// anywhereRequired reports whether a combination of schemas at the parent of l asks for l.
func anywhereRequired(l *schema.Location) bool {
	s := l.Parent().Schema
	for _, list := range [][]spec.Schema{s.AnyOf, s.OneOf, s.AllOf} {
		for i := range list {
			if asksFor(&list[i], l.Name) {
				return true
			}
		}
	}
	return s.Not != nil && asksFor(s.Not, l.Name)
}

// asksFor reports whether s or a combination in it requires a property.
func asksFor(s *spec.Schema, name string) bool {
	found := slices.Contains(s.Required, name) || s.Not != nil && asksFor(s.Not, name)
	for _, list := range [][]spec.Schema{s.AnyOf, s.OneOf, s.AllOf} {
		for i := range list {
			found = found || asksFor(&list[i], name)
		}
	}
	return found
}

// excludes reports whether r, a plain rule, may refuse an object with l and accept it without, and reads l for nothing
// but its presence, beside other fields.
func (a *auditor) excludes(r *readRule, l *schema.Location) bool {
	others := false
	reads := false
	for _, at := range r.reads {
		switch {
		case at == l:
			reads = true
		case within(at, l):
			return false
		case !within(l, at):
			others = true
		}
	}
	return reads && others && wantsAbsent(r.Rule, r.expr, l, true)
}

// offersInstead reports whether a condition of r that asks for l, or its negation if wanted is false, accepts another
// field in its place: has(self.l) || has(self.other) does, and !has(self.other) || has(self.l) does not.
func offersInstead(r *Rule, x ast.Expr, l *schema.Location, wanted bool) bool {
	parts := disjuncts(x, wanted)
	asked := func(d disjunct) *schema.Location {
		if t, ok := askedFor(r, d.expr); ok && !d.negated {
			return t.at
		}
		return nil
	}
	isL := func(d disjunct) bool { return asked(d) == l }
	isOther := func(d disjunct) bool { at := asked(d); return at != nil && !within(at, l) && !within(l, at) }
	if slices.ContainsFunc(parts, isL) && slices.ContainsFunc(parts, isOther) {
		return true
	}
	return slices.ContainsFunc(parts, func(d disjunct) bool {
		if d.expr.Kind() != ast.CallKind || !isConjunction(d) {
			return false
		}
		args := d.expr.AsCall().Args()
		return offersInstead(r, args[0], l, !d.negated) || offersInstead(r, args[1], l, !d.negated)
	})
}

// neededSometimes reports whether a condition of r, or its negation if wanted is false, asks for l only where the value
// of another field wants it: self.mode != 'Enabled' || has(self.l) does.
func neededSometimes(r *Rule, x ast.Expr, l *schema.Location, wanted bool) bool {
	parts := disjuncts(x, wanted)
	isL := func(d disjunct) bool {
		t, ok := askedFor(r, d.expr)
		return ok && t.at == l && !d.negated
	}
	isValue := func(d disjunct) bool {
		_, asked := askedFor(r, d.expr)
		return !asked && slices.ContainsFunc(termsIn(r, d.expr), func(t term) bool {
			return !within(t.at, l) && !within(l, t.at)
		})
	}
	if slices.ContainsFunc(parts, isL) && slices.ContainsFunc(parts, isValue) {
		return true
	}
	return slices.ContainsFunc(parts, func(d disjunct) bool {
		if d.expr.Kind() != ast.CallKind || !isConjunction(d) {
			return false
		}
		args := d.expr.AsCall().Args()
		return neededSometimes(r, args[0], l, !d.negated) || neededSometimes(r, args[1], l, !d.negated)
	})
}

// isConjunction reports whether d holds only if both of its operands do, or do not.
func isConjunction(d disjunct) bool {
	name := d.expr.AsCall().FunctionName()
	return name == operators.LogicalAnd && !d.negated || name == operators.LogicalOr && d.negated
}

// wantsAbsent reports whether the absence of l can make a condition of r true, or false if wanted is false: has(self.l)
// does in !has(self.l) || has(self.other), and not in has(self.l) || has(self.other).
func wantsAbsent(r *Rule, x ast.Expr, l *schema.Location, wanted bool) bool {
	if t, ok := askedFor(r, x); ok {
		return t.at == l && !wanted
	}
	if x.Kind() != ast.CallKind {
		return false
	}
	args := x.AsCall().Args()
	switch x.AsCall().FunctionName() {
	case operators.LogicalNot:
		return wantsAbsent(r, args[0], l, !wanted)
	case operators.LogicalAnd, operators.LogicalOr:
		return wantsAbsent(r, args[0], l, wanted) || wantsAbsent(r, args[1], l, wanted)
	case operators.Conditional:
		return asksWhether(r, args[0], l) || wantsAbsent(r, args[1], l, wanted) || wantsAbsent(r, args[2], l, wanted)
	}
	return asksWhether(r, x, l)
}

// asksWhether reports whether x asks somewhere whether l is there.
func asksWhether(r *Rule, x ast.Expr, l *schema.Location) bool {
	asks := false
	celexpr.Visit(x, func(x ast.Expr) bool {
		t, ok := askedFor(r, x)
		asks = asks || ok && t.at == l
		return !asks
	})
	return asks
}

// twin returns the name of an optional object beside the object l that looks like another choice: with the same last
// word (flexSpec and deploymentSpec), the same fields and perhaps more (rbd and cephFs), or the value of an enum beside
// it ("aws" of provider).
func twin(l *schema.Location) string {
	if len(l.Schema.Properties) == 0 {
		return ""
	}
	parent := l.Parent().Schema
	for _, name := range slices.Sorted(maps.Keys(parent.Properties)) {
		other := parent.Properties[name]
		if slices.ContainsFunc(other.Enum,
			func(v any) bool { s, _ := v.(string); return strings.EqualFold(s, l.Name) }) {
			return "the values of " + name
		}
		if name == l.Name || len(other.Properties) == 0 || slices.Contains(parent.Required, name) {
			continue
		}
		if word := lastWord(name); word != "" && word == lastWord(l.Name) {
			return name
		}
		if hasFieldsOf(l.Schema, &other) || hasFieldsOf(&other, l.Schema) {
			return name
		}
	}
	return ""
}

// hasFieldsOf reports whether s has the fields of another object, which are the same or several: one alone, such as
// name, says nothing.
func hasFieldsOf(s, other *spec.Schema) bool {
	for name := range other.Properties {
		if _, ok := s.Properties[name]; !ok {
			return false
		}
	}
	return len(other.Properties) > 1 || len(other.Properties) == len(s.Properties)
}

var words = regexp.MustCompile(`[a-z0-9]([A-Z][a-z0-9]+)$`)

// lastWord returns the last word of a name in camel case with several words, "" for others.
func lastWord(name string) string {
	if match := words.FindStringSubmatch(name); match != nil {
		return match[1]
	}
	return ""
}
