package celrule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/extension"
	"github.com/fieldlock/fieldlock/internal/rule"
)

// Lint names the updates that get around the CEL transition rules of s: one warning per hole, with the fields behind it
// and what closes it. The API server runs a transition rule only where old and new object both have the place that it
// stands at, so that a value that may be absent in between can change: unset and set, its parent removed and added, its
// key removed and added. Unknown fields can be swapped at once. All transition rules and locks of s are weighed
// together. Nil when there is nothing to say; sorted by path. Cost: that of Import.
func Lint(s *spec.Schema) []immutability.Finding {
	im := newImporter(s, true)
	im.settle()
	a := &audit{importer: im, guarded: map[*place]bool{}}
	for _, rd := range im.rules {
		a.guard(rd)
	}
	var findings []immutability.Finding
	for _, p := range im.places {
		findings = append(findings, a.removable(p)...)
		findings = append(findings, a.renamable(p)...)
	}
	findings = append(findings, a.swappable()...)
	slices.SortStableFunc(findings, func(x, y immutability.Finding) int {
		return strings.Compare(x.Path+"\x00"+x.Rule, y.Path+"\x00"+y.Rule)
	})
	return findings
}

// audit weighs what transition rules guard.
type audit struct {
	*importer
	guarded map[*place]bool // places whose value some transition rule restricts, where both sides have it
}

// guard notes the places that rd restricts: those of its locks, or where it is not understood the place it stands at.
func (a *audit) guard(rd *reading) {
	if !rd.done() {
		a.guarded[rd.rule.at] = true
		return
	}
	for _, p := range rd.parts {
		if len(p.locks) == 0 {
			a.guarded[rd.rule.at] = true // other locks say it already
		}
		for _, w := range p.locks {
			at := w.at(p.chain)
			switch w.word {
			case extension.NoSet, extension.NoUnset:
				// Presence is guarded as long as the parent is there.
				a.guarded[at.parent] = a.guarded[at.parent] || at.parent.parent != nil
			default:
				a.guarded[at] = true
			}
		}
	}
}

func (a *audit) has(p *place, words ...word) bool {
	return slices.ContainsFunc(a.accepted[p], func(w word) bool { return slices.Contains(words, w) })
}

// frozen reports whether the value at p is kept as it is by a lock on p or above.
func (a *audit) frozen(p *place) bool {
	for ; p != nil; p = p.parent {
		if a.has(p, extension.NoModify, valueFixed) {
			return true
		}
	}
	return false
}

// behind lists the guarded places at p and below.
func (a *audit) behind(p *place) []string {
	var fields []string
	for _, q := range a.places {
		if a.guarded[q] && q.under(p) {
			fields = append(fields, q.displayPath())
		}
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

func (p *place) under(q *place) bool {
	for ; p != nil; p = p.parent {
		if p == q {
			return true
		}
	}
	return false
}

// removable: a property that can go and come back takes what it guards with it.
func (a *audit) removable(p *place) []immutability.Finding {
	if p.at != atProperty || p.present() || a.has(p, extension.NoSet, extension.NoUnset) || a.frozen(p.parent) || p.unlockable != "" {
		return nil
	}
	behind := a.behind(p)
	if len(behind) == 0 {
		return nil
	}
	how := "leave it out"
	if p.required || p.schema.Default != nil {
		how = "set it to null"
	}
	id, what := rule.CELOptionalParent, "its parent can go and come back with other values"
	if a.guarded[p] {
		id, what = rule.CELUnsetThenSet, "CEL runs no rule on an absent field"
	}
	fix := "make it required"
	if name := escape(p.name); name != "" {
		fix = fmt.Sprintf("add to %s the rule {rule: '!has(oldSelf.%s) || has(self.%s)', message: %s may not be removed}, or make it required",
			p.parent.displayPath(), name, name, p.name)
	}
	return []immutability.Finding{{
		Path: p.path(), SchemaPath: p.schemaPath(), Severity: immutability.SeverityWarning, Rule: id, Fields: behind,
		Message: fmt.Sprintf("an update can %s and the next one can set another value (%s), which gets around the CEL rules on %s: %s%s",
			how, what, strings.Join(behind, ", "), fix, a.unless(p)),
	}}
}

// unless names the other rules that read p from above, and so may forbid an update without it.
func (a *audit) unless(p *place) string {
	var rules []string
	for q := p.parent; q != nil; q = q.parent {
		for _, r := range q.rules {
			if r.expr != nil && !a.understood(&r) && r.reads(p) {
				rules = append(rules, fmt.Sprintf("%q on %s", r.Text, q.displayPath()))
			}
		}
	}
	if len(rules) == 0 {
		return ""
	}
	return " (unless this is forbidden already by " + strings.Join(rules, " or ") + ")"
}

// understood reports whether r was read as locks, which the audit has weighed.
func (a *audit) understood(r *Rule) bool {
	return slices.ContainsFunc(a.rules, func(rd *reading) bool { return rd.rule.at == r.at && rd.rule.Index == r.Index && rd.done() })
}

// reads reports whether r, which stands above p, selects p or something below it.
func (r *Rule) reads(p *place) bool {
	var names []string
	for ; p != nil && p != r.at; p = p.parent {
		if p.at != atProperty {
			return false
		}
		names = append([]string{p.name}, names...)
	}
	found := false
	visit(r.expr, func(x ast.Expr) bool {
		selected, ok := selection(x)
		if ok && len(selected) >= len(names) && slices.Equal(selected[:len(names)], names) {
			found = true
		}
		return !found && !ok
	})
	return found
}

// renamable: values under keys that can go and come back.
func (a *audit) renamable(p *place) []immutability.Finding {
	inside := p.inside()
	if inside == nil || inside.uncorrelated != "" || a.frozen(p) || a.has(p, extension.NoAddItem, extension.NoRemoveItem) {
		return nil
	}
	behind := a.behind(inside)
	if keysGuarded := slices.DeleteFunc(behind, a.isKey(p)); len(keysGuarded) == 0 {
		return nil
	} else {
		behind = keysGuarded
	}
	fix := "oldSelf.all(key, key in self)"
	if keysOf(p) == listKeys {
		fix = "oldSelf.all(key, self.exists(other, " + sameKeys(p.marks.ListMapKeys, "other", "key") + "))"
	}
	return []immutability.Finding{{
		Path: p.path(), SchemaPath: p.schemaPath(), Severity: immutability.SeverityWarning, Rule: rule.CELRenamableKey, Fields: behind,
		Message: fmt.Sprintf("an update can remove a key and the next one can add it with another value, which gets around the CEL rules on %s: "+
			"if keys are to stay, add to %s the rule {rule: '%s', message: no key may be removed}", strings.Join(behind, ", "), p.displayPath(), fix),
	}}
}

// isKey tells the paths of the keys of a keyed list, which name an item and cannot differ under one key.
func (a *audit) isKey(p *place) func(string) bool {
	return func(path string) bool {
		return slices.ContainsFunc(p.marks.ListMapKeys, func(key string) bool { return path == p.path()+"[*]."+key })
	}
}

// swappable: places with unknown fields that some rule compares as a whole.
func (a *audit) swappable() []immutability.Finding {
	var findings []immutability.Finding
	for _, p := range a.places {
		if !a.has(p, extension.NoModify, valueFixed) || !a.byRule(p) {
			continue
		}
		for _, q := range a.places {
			if q.under(p) && unknownFields(q.schema) {
				findings = append(findings, immutability.Finding{
					Path: q.path(), SchemaPath: q.schemaPath(), Severity: immutability.SeverityWarning, Rule: rule.CELUnknownKeys, Fields: []string{p.displayPath()},
					Message: fmt.Sprintf("the CEL rule on %s lets an update replace unknown fields by as many others, as CEL compares an unknown field only where both sides have it: "+
						"declare the fields, or lock %s with %s and check it by webhook or policy", p.displayPath(), p.displayPath(), extension.Immutable),
				})
			}
		}
	}
	return findings
}

// byRule reports whether a rule, not a lock of the schema, fixes the value at p.
func (a *audit) byRule(p *place) bool {
	return len(a.accepted[p]) > len(wordsOf(p))
}

// unknownFields reports whether an object of s can have fields that CEL does not know.
func unknownFields(s *spec.Schema) bool {
	if !s.Type.Contains("object") {
		return false
	}
	ap := s.AdditionalProperties
	return preservesUnknown(s) && (ap == nil || ap.Schema == nil) || s.Extensions[extension.Embedded] == true || ap != nil && ap.Schema == nil && ap.Allows
}
