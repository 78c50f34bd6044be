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

// What an author allows is not a hole to close. For the optional object pinning, the rule
//
//	!has(oldSelf.pinning) || !has(self.pinning) || self.pinning.zones == oldSelf.pinning.zones
//
// asks whether the new object has pinning and accepts an update without it, so its author thought of the removal and allows
// it. A message such as "remove pinning, then add it again" and a description such as "may be removed" say it in words. A
// way around that only such removals open is a note without a fix.

// unmeant returns the guarded fields of a way around on which l is absent for a while, without those whose author allows a
// removal on the way, and why one of these may be removed.
func (a *auditor) unmeant(l *schema.Location, around []guard) (rest []guard, meant string) {
	for _, g := range around {
		why := a.allowedOnTheWay(g, l)
		if why == "" {
			rest = append(rest, g)
		} else if meant == "" {
			meant = why
		}
	}
	return rest, meant
}

// allowedOnTheWay returns why the removal of l, or of a field between l and the field that g guards, is allowed; "" if it is
// not. A field below l counts only if its removal gets around the rule, too: another rule may keep it.
func (a *auditor) allowedOnTheWay(g guard, l *schema.Location) string {
	for at := g.at; ; at = at.Parent() {
		if why := g.by.allowsRemoval(at); why != "" && (at == l || a.removalGetsAround(g, at)) {
			return why
		}
		if at == l {
			return ""
		}
	}
}

// removalGetsAround reports whether objects have shown that updates get around the rule of g while l is absent.
func (a *auditor) removalGetsAround(g guard, l *schema.Location) bool {
	w := a.detours[l]
	return w != nil && slices.ContainsFunc(w.Around, func(other *Guarded) bool { return other.Shown && other.by == g.by })
}

// allowsRemoval returns why updates may remove the property l, as far as the author of r says so; "" if nothing says it. Some
// update that removes l is known to be accepted by r.
func (r *readRule) allowsRemoval(l *schema.Location) string {
	switch {
	case l.Role != schema.Property:
		return ""
	case r.asksForNew(l):
		return fmt.Sprintf("the rule on %s asks for %s and accepts an update without it", displayPath(r.at), l.Name)
	case speaksOfRemoval(r.Message(), l.Name):
		return fmt.Sprintf("the message of the rule on %s allows its removal", displayPath(r.at))
	case speaksOfRemoval(l.Schema.Description, l.Name):
		return "its description allows its removal"
	}
	return ""
}

// asksForNew reports whether r asks whether the new object has l.
func (r *readRule) asksForNew(l *schema.Location) bool {
	found := false
	celexpr.Visit(r.expr, func(x ast.Expr) bool {
		t, asked := askedFor(r.Rule, x)
		found = found || asked && t.side == newSide && t.at == l
		return !found
	})
	return found
}

// requiresNew reports whether a condition x of r asks for the new object to have l, or the negation of x if wanted is false.
func (r *readRule) requiresNew(x ast.Expr, l *schema.Location, wanted bool) bool {
	return slices.ContainsFunc(disjuncts(x, wanted), func(d disjunct) bool {
		if t, ok := askedFor(r.Rule, d.expr); ok {
			return t.side == newSide && t.at == l && !d.negated
		}
		if d.expr.Kind() != ast.CallKind || !isConjunction(d) {
			return false
		}
		args := d.expr.AsCall().Args()
		return r.requiresNew(args[0], l, !d.negated) || r.requiresNew(args[1], l, !d.negated)
	})
}

// speaksOfRemoval reports whether a sentence of text says that the field with a name may be removed.
func speaksOfRemoval(text, name string) bool {
	for _, sentence := range sentenceEnd.Split(text, -1) {
		if removalAllowed.MatchString(sentence) && (itself.MatchString(sentence) || containsFold(sentence, name)) {
			return true
		}
	}
	return false
}

func containsFold(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

var (
	sentenceEnd = regexp.MustCompile(`[.;:!?]\s+|\n\n`)
	itself      = regexp.MustCompile(`(?i)\b(it|this|the field|the value)\b`)

	// removalAllowed finds "may be set or removed", "removal is allowed", "remove it, then re-add it" and "immutable while set",
	// and does not find "may not be removed" or "removal is not allowed".
	removalAllowed = regexp.MustCompile(`(?i)\b(can|may|could) be (\w+(,| or| and|, or|, and) )*(removed|cleared)\b` +
		`|\b(removal|removing|unsetting|clearing)\b[^.]*\b(is|are) (allowed|permitted|supported|possible|fine)\b` +
		`|\b(remove|unset|clear)\b.*\b(re-?add|add it (back|again)|set it again)\b` +
		`|\bimmutable (while|as long as) (it is )?(set|present)\b`)
)

// alternative returns why removing l may be meant, "" if nothing hints at that: the parent is a union, a rule excludes l
// beside another field, l is deprecated, or, unless l is locked itself, the parent has another optional object of the same
// sort.
func (a *auditor) alternative(l *schema.Location, locked bool) string {
	parent := l.Parent()
	name := displayPath(l)
	switch s := parent.Schema; {
	case s.MaxProperties != nil && *s.MaxProperties < int64(len(s.Properties)):
		return fmt.Sprintf("%s takes %d of its fields", displayPath(parent), *s.MaxProperties)
	case anywhereRequired(l):
		return fmt.Sprintf("the schema of %s offers a choice between %s and others", displayPath(parent), l.Name)
	case deprecated.MatchString(l.Schema.Description):
		return "the description of " + name + " describes another way"
	}
	if why := a.doneWithout(l); why != "" {
		return why
	}
	if sibling := twin(l); sibling != "" && !locked {
		return fmt.Sprintf("%s and %s look like a choice", l.Name, sibling)
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

// excludes reports whether r, a plain rule, may refuse an object with l and accept it without, and reads l for nothing but its
// presence, beside other fields.
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

// offersInstead reports whether a condition of r that asks for l, or its negation if wanted is false, accepts another field in its
// place: has(self.l) || has(self.other) does, and !has(self.other) || has(self.l) does not.
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

// isConjunction reports whether d holds only if both of its operands do, or do not.
func isConjunction(d disjunct) bool {
	name := d.expr.AsCall().FunctionName()
	return name == operators.LogicalAnd && !d.negated || name == operators.LogicalOr && d.negated
}

// wantsAbsent reports whether the absence of l can make a condition of r true, or false if wanted is false: has(self.l) does
// in !has(self.l) || has(self.other), and not in has(self.l) || has(self.other).
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

// twin returns the name of an optional object beside the object l that looks like another choice: with the same last word
// (flexSpec and deploymentSpec), the same fields (ipv4 and ipv6), or the value of an enum beside it ("aws" of provider).
func twin(l *schema.Location) string {
	if len(l.Schema.Properties) == 0 {
		return ""
	}
	parent := l.Parent().Schema
	for _, name := range slices.Sorted(maps.Keys(parent.Properties)) {
		other := parent.Properties[name]
		if slices.ContainsFunc(other.Enum, func(v any) bool { s, _ := v.(string); return strings.EqualFold(s, l.Name) }) {
			return "the values of " + name
		}
		if name == l.Name || len(other.Properties) == 0 || slices.Contains(parent.Required, name) {
			continue
		}
		if word := lastWord(name); word != "" && word == lastWord(l.Name) {
			return name
		}
		if slices.Equal(slices.Sorted(maps.Keys(other.Properties)), slices.Sorted(maps.Keys(l.Schema.Properties))) {
			return name
		}
	}
	return ""
}

var words = regexp.MustCompile(`[a-z0-9]([A-Z][a-z0-9]+)$`)

// lastWord returns the last word of a name in camel case with several words, "" for others.
func lastWord(name string) string {
	if match := words.FindStringSubmatch(name); match != nil {
		return match[1]
	}
	return ""
}
