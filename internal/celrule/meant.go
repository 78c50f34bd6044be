package celrule

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
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
		return fmt.Sprintf("the message of the rule on %s speaks of its removal", displayPath(r.at))
	case speaksOfRemoval(l.Schema.Description, l.Name):
		return "its description speaks of its removal"
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

// keptZero returns the zero value of Go if the companion of l refuses to remove l while it has that value; "" if it does not.
// A Go client that has l with omitempty and without a pointer removes it in each update, the operator's own controller first.
// The rule oldSelf == 0 || self == oldSelf makes no such companion. A string is removed so only if an enum lists "": in use,
// a string that may be empty hardly ever is.
func keptZero(l *schema.Location, around []guard) string {
	zero := zeroOf(l.Schema)
	if zero == "" {
		return ""
	}
	k := keeper{top: l, fields: map[*schema.Location][]string{}, above: map[*schema.Location]bool{}}
	for _, g := range around {
		k.add(g)
	}
	removable, keeps := k.fields[l]
	isZero := func(condition string) bool {
		return slices.Contains([]string{"(oldSelf == " + zero + ")", "(oldSelf == " + zero + ".0)", "!oldSelf"}, condition)
	}
	if !keeps || slices.ContainsFunc(removable, isZero) {
		return ""
	}
	return zero
}

// zeroOf returns Go's zero value of a scalar in CEL, "" if s refuses it.
func zeroOf(s *spec.Schema) string {
	listed := func(isZero func(v any) bool) bool { return len(s.Enum) == 0 || slices.ContainsFunc(s.Enum, isZero) }
	switch {
	case s.Type.Contains("boolean") && listed(func(v any) bool { return v == false }):
		return "false"
	case s.Type.Contains("integer") || s.Type.Contains("number"):
		tooHigh := s.Minimum != nil && (*s.Minimum > 0 || *s.Minimum == 0 && s.ExclusiveMinimum)
		tooLow := s.Maximum != nil && (*s.Maximum < 0 || *s.Maximum == 0 && s.ExclusiveMaximum)
		if !tooHigh && !tooLow && listed(func(v any) bool { return fmt.Sprint(v) == "0" }) {
			return "0"
		}
	case s.Type.Contains("string") && slices.Contains(s.Enum, any("")):
		return `""`
	}
	return ""
}
