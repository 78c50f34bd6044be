package audit

import (
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/celrule"
	"github.com/fieldlock/fieldlock/immutability/crd"
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

// ruleFindings returns the ways around the CEL transition rules of a CRD: within each version that is served, and through
// another version.
func ruleFindings(c *crd.CRD) []crd.Finding {
	var findings []crd.Finding
	add := func(v *crd.Version, found []immutability.Finding) {
		for _, f := range found {
			findings = append(findings, crd.Finding{Finding: f, File: c.File, CRD: c.Name, Version: v.Name, Position: v.Position(f.SchemaPath)})
		}
	}
	served := map[string]*spec.Schema{}
	for _, v := range c.Versions {
		if v.Served {
			served[v.Name] = v.Schema
			add(v, celrule.Lint(v.Schema))
		}
	}
	if len(served) > 1 {
		conversion := celrule.CopyFields
		if c.Conversion == "Webhook" {
			conversion = celrule.AskWebhook
		}
		byVersion := celrule.LintVersions(served, conversion)
		for _, v := range c.Versions {
			add(v, byVersion[v.Name])
		}
	}
	return findings
}
