package audit

import (
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/celrule"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/rule"
)

// TransitionRules counts the CEL transition rules of a CRD, in all versions.
func TransitionRules(c *crd.CRD) int {
	n := 0
	for _, v := range c.Versions {
		n += rulesOf(v)
	}
	return n
}

// rulesOf counts the CEL transition rules of a version, except for rules that repeat its locks, such as those that
// export cel adds.
func rulesOf(v *crd.Version) int {
	rules := celrule.Import(v.Schema)
	n := len(rules.Left)
	for _, r := range rules.Recognized {
		if len(r.Locks) > 0 {
			n++
		}
	}
	return n
}

// ruleFindings returns the ways around the CEL transition rules of a CRD, within each version that is served and through
// another version, and the rules that refuse nothing.
func ruleFindings(c *crd.CRD, a *celrule.Audit) []suspect {
	var suspects []suspect
	add := func(v *crd.Version, s suspect, f immutability.Finding) {
		s.Finding = crd.Finding{Finding: f, File: c.File, CRD: c.Name, Version: v.Name, Position: v.Position(f.SchemaPath)}
		suspects = append(suspects, s)
	}
	served := map[string]*spec.Schema{}
	for _, v := range c.Versions {
		if !v.Served {
			continue
		}
		served[v.Name] = v.Schema
		for _, h := range a.Holes(v.Schema) {
			add(v, suspect{sure: h.Sure}, h.Finding)
		}
		for _, d := range a.DeadRules(v.Schema) {
			add(v, suspect{sure: true, dead: &d.Of}, d.Finding)
		}
	}
	if len(served) > 1 {
		conversion := celrule.CopyFields
		if c.Conversion == "Webhook" {
			conversion = celrule.AskWebhook
		}
		byVersion := a.HolesBetween(served, conversion)
		for _, v := range c.Versions {
			for _, h := range byVersion[v.Name] {
				add(v, suspect{sure: h.Sure}, h.Finding)
			}
		}
	}
	return suspects
}

// sameHole gives for each hole in CEL rules the hole in locks that is the same way around.
var sameHole = map[string]string{
	rule.CELUnsetThenSet: rule.UnsetThenSet, rule.CELOptionalParent: rule.OptionalParent,
	rule.CELRenamableKey: rule.RenamableKey, rule.CELVersionWithoutRule: rule.VersionUnlocked,
}

// withoutCopies leaves out holes in CEL rules that are holes in locks too: a CRD that export cel wrote has both, and the
// lock is what its author changes.
func withoutCopies(suspects []suspect) []suspect {
	type place struct{ rule, version, schemaPath string }
	locks := map[place][]suspect{}
	for _, s := range suspects {
		at := place{s.Rule, s.Version, s.SchemaPath}
		locks[at] = append(locks[at], s)
	}
	return slices.DeleteFunc(suspects, func(s suspect) bool {
		same, ok := sameHole[s.Rule]
		return ok && slices.ContainsFunc(locks[place{same, s.Version, s.SchemaPath}], func(lock suspect) bool { return isSubset(s.Fields, lock.Fields) })
	})
}

// isSubset reports whether all has every one of fields. Both are sorted.
func isSubset(fields, all []string) bool {
	return !slices.ContainsFunc(fields, func(field string) bool {
		_, found := slices.BinarySearch(all, field)
		return !found
	})
}
