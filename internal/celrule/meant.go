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
// asks whether the new object has pinning and accepts an update without it, so its author thought of the removal and
// allows it. The rule self == '' || self == oldSelf lets an update clear the value, which Go clients write as its
// removal. A message such as "remove pinning, then add it again" and a description such as "may be removed" say it in
// words, and a field pinningRef beside it offers another way to give the value. A way around that only such removals
// open is a note without a fix.

// unmeant returns the guarded fields of a way around on which l is absent for a while, without those whose author
// allows a removal on the way, and why one of these may be removed.
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

// allowedOnTheWay returns why the removal of l, or of a field between l and the field that g guards, is allowed; "" if
// it is not. A field below l counts only if its removal gets around the rule, too: another rule may keep it.
func (a *auditor) allowedOnTheWay(g guard, l *schema.Location) string {
	for at := g.at; ; at = at.Parent() {
		if why := a.allowsRemoval(g.by, at); why != "" && (at == l || a.removalGetsAround(g, at)) {
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

// allowsRemoval returns why updates may remove the property l, as far as the author of r says so; "" if nothing says
// it. Some update that removes l is known to be accepted by r.
func (a *auditor) allowsRemoval(r *readRule, l *schema.Location) string {
	switch {
	case l.Role != schema.Property:
		return ""
	case r.asksForNew(l):
		return fmt.Sprintf("the rule on %s asks for %s and accepts an update without it", displayPath(r.at), l.Name)
	case r.acceptsZero(l):
		return fmt.Sprintf("the rule on %s accepts an update that clears %s", displayPath(r.at), l.Name)
	case speaksOfRemoval(r.Message(), l.Name):
		return fmt.Sprintf("the message of the rule on %s allows its removal", displayPath(r.at))
	case speaksOfRemoval(a.description(l), l.Name):
		return "its description allows its removal"
	case byReference(l) != "":
		return fmt.Sprintf("%s and %s are two ways to give one value, and objects may move from one to the other", l.Name, byReference(l))
	}
	return ""
}

// byReference returns the name of a field beside l that gives the same value by a reference, or of the plain field if l
// is the reference: vpcRef for vpcID, subnets for subnetRefs, and password for passwordFrom. It returns "" if there is
// none.
func byReference(l *schema.Location) string {
	for _, name := range slices.Sorted(maps.Keys(l.Parent().Schema.Properties)) {
		if refersTo(name, l.Name) || refersTo(l.Name, name) {
			return name
		}
	}
	return ""
}

// refersTo reports whether the field ref gives the value of the field plain by a reference, as their names say.
func refersTo(ref, plain string) bool {
	match := reference.FindStringSubmatch(ref)
	if match == nil {
		return false
	}
	subject := match[1]
	if singular, ok := strings.CutSuffix(subject, "y"); ok && plain == singular+"ies" {
		return true
	}
	rest, ok := strings.CutPrefix(plain, subject)
	return ok && identifier.MatchString(rest)
}

var (
	// reference finds names of fields that refer to something, with its name: vpc of vpcRef, password of
	// passwordSecretRef.
	reference = regexp.MustCompile(`^(\w+?)(Secret|ConfigMap)?(Refs?|References?|Selectors?|From)$`)
	// identifier matches what the name of a plain field has more than its subject: vpc, vpcs, vpcID, vpcNames.
	identifier = regexp.MustCompile(`^(s|(ID|Id|Name|ARN|Arn|URL|Url)s?)?$`)
)

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

// acceptsZero reports whether r accepts every update to the zero value of l: self == 0 || self == oldSelf does.
func (r *readRule) acceptsZero(l *schema.Location) bool {
	return slices.ContainsFunc(disjuncts(r.expr, true), func(d disjunct) bool {
		found := false
		celexpr.Visit(d.expr, func(x ast.Expr) bool {
			t, ok := termOf(r.Rule, x)
			found = found || ok && t.side == newSide && t.at == l && isZero(l.Schema, printed(x), d.operand())
			return !ok
		})
		return found
	})
}

// requiresNew reports whether a condition x of r asks for the new object to have l, or the negation of x if wanted is
// false.
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

	// removalAllowed finds "may be set or removed", "removal is allowed", "remove it, then re-add it" and "immutable
	// while set", and does not find "may not be removed" or "removal is not allowed".
	removalAllowed = regexp.MustCompile(`(?i)\b(can|may|could) be (\w+(,| or| and|, or|, and) )*(removed|cleared)\b` +
		`|\b(removal|removing|unsetting|clearing)\b[^.]*\b(is|are) (allowed|permitted|supported|possible|fine)\b` +
		`|\b(remove|unset|clear)\b.*\b(re-?add|add it (back|again)|set it again)\b` +
		`|\bimmutable (while|as long as) (it is )?(set|present)\b`)
)

// doubt returns why a companion of l may refuse an update that the author means, "" if nothing hints at that. Then the
// companion is a question to the author: objects may be meant to do without l, something else than their manifest may
// fill it in, or a newer version does not have the rules that guard the fields.
func (a *auditor) doubt(l *schema.Location, fields []guard) string {
	name := displayPath(l)
	locked := slices.ContainsFunc(fields, func(g guard) bool { return g.at == l })
	if why := a.alternative(l, locked); why != "" {
		return why
	}
	if filledIn.MatchString(a.description(l)) {
		return fmt.Sprintf("the description of %s speaks of a value that is filled in, and who replaces the object leaves it out again", name)
	}
	if a.writtenUnasked(l, fields) {
		return fmt.Sprintf("Go clients write %s where nobody has set it, and who replaces the object leaves it out again", name)
	}
	if !locked && switchedOff(l, fields) {
		return fmt.Sprintf("%s has other fields that may change, and removing it may be how to switch off what it configures", name)
	}
	for _, g := range fields {
		if newest := a.dropped[g.by]; newest != "" {
			return fmt.Sprintf("version %s is newer, and does not have the rules on it", newest)
		}
	}
	return ""
}

// doubted reports whether there is doubt about keeping l.
func (a *auditor) doubted(l *schema.Location) bool {
	known, ok := a.doubts[l]
	if !ok {
		known = a.doubt(l, a.guardsWithin(l)) != ""
		a.doubts[l] = known
	}
	return known
}

// guardsWithin lists the guarded fields at or below l, each with its rule.
func (a *auditor) guardsWithin(l *schema.Location) []guard {
	var list []guard
	for _, r := range a.guarding[l] {
		for _, at := range r.guardsWithin(l) {
			*a.steps++
			list = append(list, guard{r, at})
		}
	}
	return list
}

// filledIn finds descriptions of values that a controller or a service writes into the object: "Default: a random,
// system-chosen zone", "populated by the controller", and "if not set, one is generated".
var filledIn = regexp.MustCompile(`(?i)\bsystem-(chosen|generated|assigned|selected)\b|\b(late|lazily)[- ]initiali[sz]ed\b` +
	`|\b(set|filled|populated|assigned|allocated|generated|chosen|selected|picked|written)( in)?( automatically)? by (the |a |an )?(\w+[ -])?` +
	`(system|controller|operator|reconciler|provider|server|service|cloud|backend)\b` +
	`|\b(automatically|randomly) (filled|populated|assigned|allocated|generated|chosen|selected|picked)\b` +
	`|\bif\b[^.]*\b(not (set|specified|provided|given)|unset|omitted|empty|missing|unspecified)\b[^.]*` +
	`\b(is|are|will be) (automatically |randomly )?(filled in|populated|assigned|allocated|generated|chosen|selected|picked)\b`)

// switchedOff reports whether l would have to stay for ever, although it has other fields, which may change: it always
// has one of the guarded fields, and so the companion never lets go of it, or it requires another field, and so is a
// thing of its own and not only the place of its fields. Examples are a session with a locked address and a timeout,
// and a sync with a locked name and the URL that it needs.
func switchedOff(l *schema.Location, fields []guard) bool {
	guarded := func(at *schema.Location) bool {
		return slices.ContainsFunc(fields, func(g guard) bool { return within(g.at, at) })
	}
	free, needed := false, false
	for child := range l.Children {
		if child.Role == schema.Property && !guarded(child) && len(child.Schema.Enum) != 1 {
			free, needed = true, needed || child.Required
		}
	}
	return needed || free && slices.ContainsFunc(fields, func(g guard) bool {
		at := g.at
		for at != l && at != nil && at.Role == schema.Property && present(at) {
			at = at.Parent()
		}
		return at == l
	})
}

// alternative returns why removing l may be meant, "" if nothing hints at that: the parent is a union, a rule excludes
// l beside another field, l is deprecated, or, unless l is locked itself, the parent has another optional object of the
// same sort, or a rule asks for l only where another field has a certain value.
func (a *auditor) alternative(l *schema.Location, locked bool) string {
	parent := l.Parent()
	name := displayPath(l)
	switch s := parent.Schema; {
	case s.MaxProperties != nil && *s.MaxProperties < int64(len(s.Properties)):
		return fmt.Sprintf("%s takes %d of its fields", displayPath(parent), *s.MaxProperties)
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
		return !asked && slices.ContainsFunc(termsIn(r, d.expr), func(t term) bool { return !within(t.at, l) && !within(l, t.at) })
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
		if slices.ContainsFunc(other.Enum, func(v any) bool { s, _ := v.(string); return strings.EqualFold(s, l.Name) }) {
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
