package celrule

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"

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
		if why := a.allowsRemoval(g, at); why != "" && (at == l || a.removalGetsAround(g, at)) {
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
	return w != nil && slices.ContainsFunc(w.Around, func(other *Guarded) bool {
		return other.Shown && other.by == g.by
	})
}

// allowsRemoval returns why updates may remove the property l, as far as the author of the rule of g says so; "" if
// nothing says it. Some update that removes l is known to be accepted by that rule.
func (a *auditor) allowsRemoval(g guard, l *schema.Location) string {
	switch r := g.by; {
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
	case l != g.at && speaksOfRemovalBy(a.description(g.at), l.Name):
		return fmt.Sprintf("the description of %s allows its removal", displayPath(g.at))
	case byReference(l) != "":
		return fmt.Sprintf("%s and %s are two ways to give one value, and objects may move from one to the other",
			l.Name, byReference(l))
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

// speaksOfRemovalBy reports whether a sentence of text, which describes another field, says so of the field with a name:
// "becomes a reservation without failover by removing spec.failover".
func speaksOfRemovalBy(text, name string) bool {
	return slices.ContainsFunc(sentenceEnd.Split(text, -1), func(sentence string) bool {
		return containsFold(sentence, name) &&
			(removalAllowed.MatchString(sentence) || byRemoving.MatchString(sentence))
	})
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
	byRemoving = regexp.MustCompile(`(?i)\bby (removing|unsetting|clearing|omitting)\b`)
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
		return fmt.Sprintf("the description of %s speaks of a value that is filled in, and who replaces the object "+
			"leaves it out again", name)
	}
	if creationOnly.MatchString(a.description(l)) {
		return fmt.Sprintf("the description of %s says that it is not read after the creation, and who replaces the "+
			"object may leave it out", name)
	}
	if a.writtenUnasked(l, fields) {
		return fmt.Sprintf("Go clients write %s where nobody has set it, and who replaces the object leaves it "+
			"out again", name)
	}
	if !locked && switchedOff(l, fields) {
		return fmt.Sprintf("%s has other fields that may change, and removing it may be how to switch off what it "+
			"configures", name)
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

// creationOnly finds descriptions of values that count when the object is created and are not read again.
var creationOnly = regexp.MustCompile(`(?i)\b(not|never) (applied|used|read) after\b[^.]*\bcreat`)

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
