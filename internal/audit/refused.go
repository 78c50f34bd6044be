package audit

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/celrule"
	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// memory keeps what was found out about rules. Most rules are in several versions and CRDs.
type memory struct {
	compiled witness.Shared
	refused  celrule.Refusals
}

// refusals returns why an API server refuses the rules of a schema; nil if it refuses the schema before.
func (m *memory) refusals(s *spec.Schema) []celrule.Refusal {
	converted, err := m.compiled.Convert(s)
	if err != nil {
		return nil
	}
	return m.refused.Of(converted)
}

// refusedRules returns an error for each CEL rule that an API server refuses in a CRD. It reports false for a CRD that
// is too large for that. Cost: the compilation of the rules, which is at most maxValidated.
func refusedRules(c *crd.CRD, m *memory) (findings []Finding, done bool) {
	if c.APIVersion != apiextensionsv1.SchemeGroupVersion.String() {
		return nil, true // v1beta1 has no rules
	}
	cost := 0
	for _, v := range c.Versions {
		_, rules := costOf(v.Schema, &cost)
		if cost > maxValidated {
			return nil, false
		}
		if rules == 0 {
			continue
		}
		refusals := m.refusals(v.Schema)
		costly := slices.ContainsFunc(refusals, func(r celrule.Refusal) bool { return r.Costly })
		for _, r := range refusals {
			if r.Together && costly {
				continue // without the rules that cost too much, all others may be cheap enough
			}
			findings = append(findings, refusedRule(c, v, r))
		}
	}
	return findings, true
}

// maxValidated bounds what costOf says of a CRD that is validated.
const maxValidated = 2_000_000

// costOf returns how many schemas s has in it and how many rules, and adds to cost what it takes to compile the rules:
// an API server declares the whole type below a rule for it.
func costOf(s *spec.Schema, cost *int) (size, rules int) {
	size = 1
	add := func(child *spec.Schema) {
		if child != nil {
			n, r := costOf(child, cost)
			size, rules = size+n, rules+r
		}
	}
	for name := range s.Properties {
		child := s.Properties[name]
		add(&child)
	}
	if s.Items != nil {
		add(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		add(s.AdditionalProperties.Schema)
	}
	const perRule = 100
	list, _ := s.Extensions[schema.KeyValidations].([]any)
	for _, entry := range list {
		text, _ := entry.(map[string]any)
		r, _ := text["rule"].(string)
		*cost += perRule + len(r)
	}
	if rules += len(list); len(list) > 0 {
		*cost += size
	}
	return size, rules
}

// refusedRule returns the finding for a rule that an API server refuses.
func refusedRule(c *crd.CRD, v *crd.Version, r celrule.Refusal) Finding {
	message := "an API server refuses the CRD because of a rule: " + r.Reason
	switch {
	case r.Together:
		message = "an API server refuses the CRD because of all its rules together: " + r.Reason
	case r.Rule != "":
		message = fmt.Sprintf("an API server refuses the CRD because of the rule %q: %s", r.Rule, r.Reason)
	}
	return placed(c, v, crd.Finding{Finding: immutability.Finding{
		Path: schema.Readable(r.SchemaPath), SchemaPath: r.SchemaPath, Severity: immutability.SeverityError,
		Rule: finding.RefusedRule, Message: message,
	}})
}
