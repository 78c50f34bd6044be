package celrule

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/celexpr"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Go does not tell a zero value from an absent one where a field is not a pointer. A client with
//
//	Force bool `json:"force,omitempty"`
//
// that reads an object with force: false and writes it back removes force; the operator's own controller does so first.
// The rule !has(oldSelf.force) || has(self.force) refuses every such write. Without omitempty, the client adds force:
// false instead, and the rule refuses the next write of a manifest that does not have it. So a companion of such a
// field has the form that export cel writes for x-kubernetes-normalize: zero, which counts false as absent:
//
//	!(has(oldSelf.force) && oldSelf.force) || (has(self.force) && self.force)
//
// Only Go source tells which fields are so. Without it, a companion is not written for a field whose zero value is in
// use.

// zeroIsAbsent reports whether Go clients are known to leave out the zero value of l, or to write it where l was
// absent: alone, or in an object that they always write.
func (a *auditor) zeroIsAbsent(l *schema.Location) bool {
	inGo, known := a.inGo(l.Path.Pointer())
	if !known || inGo.Pointer || zeroOf(l.Schema) == "" {
		return false
	}
	optional := l
	for optional.Required && optional.Parent() != nil {
		optional = optional.Parent()
	}
	written, known := a.inGo(optional.Path.Pointer())
	return inGo.Omitted || known && !written.Pointer && !written.Omitted
}

// writtenUnasked reports whether Go clients are known to write the object or quantity l where it was absent, although
// nobody has set it, and the companion of l for the fields would keep it: it is a struct without a pointer. No companion
// can tell such a value from one that a user has set.
func (a *auditor) writtenUnasked(l *schema.Location, fields []guard) bool {
	inGo, known := a.inGo(l.Path.Pointer())
	isStruct := len(l.Schema.Properties) > 0 || l.Schema.Extensions[schema.KeyIntOrString] == true
	if !known || inGo.Pointer || inGo.Omitted || !isStruct {
		return false
	}
	kept, ok := a.keeper(l, fields, a.zeroIsAbsent).holds(l, "oldSelf")
	return ok && len(kept) <= 1
}

// closedBesideZero reports whether the parent of l has the companion for clients that leave out zero values. The ways
// around that are left then begin with a zero value, which counts as absent.
func (a *auditor) closedBesideZero(l *schema.Location, fields []guard) bool {
	counts := false
	k := a.keeper(l, fields, func(l *schema.Location) bool {
		zero := zeroOf(l.Schema) != ""
		counts = counts || zero
		return zero
	})
	text, ok := k.rule()
	return ok && counts && a.hasRule(l.Parent(), text)
}

// zeroInUse returns the zero value of l and the companion that counts it as absent, if Go source is not known, the
// value is in use, and the companion without regard to it would refuse to remove l while it has that value. The rule
// oldSelf == 0 || self == oldSelf makes no such companion.
func (a *auditor) zeroInUse(l *schema.Location, fields []guard) (zero, companion string) {
	if _, known := a.inGo(l.Path.Pointer()); known || !inUse(l.Schema) {
		return "", ""
	}
	k := a.keeper(l, fields, func(at *schema.Location) bool { return at == l })
	locked, keeps := k.fields[l]
	at := "oldSelf." + celexpr.Escape(l.Name)
	if !keeps || slices.ContainsFunc(locked, func(o operand) bool { return isZero(l.Schema, at, o.negated()) }) {
		return "", ""
	}
	companion, _ = k.rule()
	return zeroOf(l.Schema), companion
}

// inUse reports whether objects may well have the zero value of s. A string that may be empty hardly ever is, unless
// the schema speaks of it.
func inUse(s *spec.Schema) bool {
	if !s.Type.Contains("string") {
		return zeroOf(s) != "" && (s.Type.Contains("boolean") || s.Type.Contains("integer") ||
			s.Type.Contains("number"))
	}
	return zeroOf(s) != "" && (slices.Contains(s.Enum, any("")) || s.Default == "" ||
		saysEmpty.MatchString(s.Description))
}

// saysEmpty finds descriptions that give the empty string a meaning: "If blank, the default network is used".
var saysEmpty = regexp.MustCompile(`(?i)\b(empty|blank)\b`)

// zeroOf returns Go's zero value of a scalar, list or map in CEL, "" if s refuses it or has another type.
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
	case s.Type.Contains("string") && s.Format == "" && admits(s, ""):
		return `""`
	case s.Type.Contains("array") && (s.MinItems == nil || *s.MinItems == 0):
		return "[]"
	case s.Type.Contains("object") && s.AdditionalProperties != nil && len(s.Properties) == 0 &&
		(s.MinProperties == nil || *s.MinProperties == 0):
		return "{}"
	}
	return ""
}

// notZero is the condition that the value of s that a text selects is not zero.
func notZero(s *spec.Schema, at string) operand {
	switch {
	case s.Type.Contains("boolean"):
		return operand{at, "!" + at}
	case s.Type.Contains("integer"):
		return operand{at + " != 0", at + " == 0"}
	case s.Type.Contains("number"):
		return operand{at + " != 0.0", at + " == 0.0"}
	}
	return operand{"size(" + at + ") > 0", "size(" + at + ") == 0"}
}

// isZero reports whether a condition says that the value of s that a text selects is zero.
func isZero(s *spec.Schema, at string, condition operand) bool {
	text := strings.Trim(condition.yes, "()")
	if text == notZero(s, at).no || text == at+".size() == 0" {
		return true
	}
	value, compared := strings.CutPrefix(text, at+" == ")
	return compared && slices.Contains([]string{"false", "0", `""`, "[]", "{}"}, value)
}

// setAndStays spells that a property of a type with a zero value stays once it has another one, as export cel does.
func setAndStays(s *spec.Schema, name string) string {
	set := func(side string) string {
		at := side + "." + name
		return "(has(" + at + ") && " + notZero(s, at).yes + ")"
	}
	return "!" + set("oldSelf") + " || " + set("self")
}
