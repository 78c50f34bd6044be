package celrule

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// prices estimates what rules cost, by the estimator with which the API server refuses CRDs, and keeps the total.
type prices struct {
	structural *schema.Structural
	env        *environment.EnvSet
	total      uint64
}

// refusal is why a rule cannot stand, and what would help.
type refusal struct{ reason, remedy string }

// newPrices returns the prices for rules of s, with the rules that it has already on the bill.
func newPrices(s *spec.Schema) (*prices, error) {
	structural, err := structuralOf(s)
	if err != nil {
		return nil, fmt.Errorf("the schema is not structural, so that the API server runs no CEL on it: %w", err)
	}
	b := &prices{structural: structural, env: environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())}
	for _, p := range readPlaces(s) {
		for _, r := range p.rules {
			cost, err := b.cost(b.structural, p, r.Text, r.OptionalOldSelf)
			if err == nil {
				b.total = sum(b.total, cost)
			}
		}
	}
	return b, nil
}

// structuralOf converts s to the form that the API server works on.
func structuralOf(s *spec.Schema) (*schema.Structural, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var v1 apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(data, &v1); err != nil {
		return nil, err
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1, &internal, nil); err != nil {
		return nil, err
	}
	return schema.NewStructural(&internal)
}

// add puts the rule at place at on the bill, or says why it cannot: it does not compile, or costs too much. The lock that
// it says is at of.
func (b *prices) add(at *place, rule string, of *place) *refusal {
	cost, err := b.cost(b.structural, at, rule, false)
	switch {
	case err != nil:
		return &refusal{reason: fmt.Sprintf("CEL cannot say it: %v", err)}
	case cost > validation.StaticEstimatedCostLimit:
		return &refusal{
			fmt.Sprintf("the rule's estimated cost is %s the API server's limit", times(cost, validation.StaticEstimatedCostLimit)),
			b.remedy(at, rule, of),
		}
	case sum(b.total, cost) > validation.StaticEstimatedCRDCostLimit:
		return &refusal{
			"the rules of the version together would cost more than the API server's limit for a CRD",
			"bound the lists, maps and strings in locked fields by maxItems, maxProperties and maxLength",
		}
	}
	b.total = sum(b.total, cost)
	return nil
}

func times(cost, limit uint64) string {
	if factor := float64(cost) / float64(limit); factor < 100 {
		return fmt.Sprintf("%.1f times", factor)
	}
	return "more than 100 times"
}

// cost estimates a rule at p within root, with the number of times that p can stand in an object.
func (b *prices) cost(root *schema.Structural, p *place, rule string, optionalOldSelf bool) (uint64, error) {
	node, cardinality := locate(root, p)
	if node == nil {
		return 0, fmt.Errorf("there is no schema at %s", p.schemaPath())
	}
	declared := model.SchemaDeclType(node, p.parent == nil || node.XEmbeddedResource)
	if declared == nil {
		return 0, fmt.Errorf("CEL sees no field without a type")
	}
	alone := *node
	alone.XValidations = apiextensionsv1.ValidationRules{{Rule: rule}}
	if optionalOldSelf {
		alone.XValidations[0].OptionalOldSelf = &optionalOldSelf
	}
	results, err := cel.Compile(&alone, declared, celconfig.PerCallLimit, b.env, cel.NewExpressionsEnvLoader())
	if err != nil {
		return 0, err
	}
	if results[0].Error != nil {
		return 0, results[0].Error
	}
	if cardinality == 0 {
		cardinality = results[0].MaxCardinality
	}
	return product(results[0].MaxCost, cardinality), nil
}

// locate walks from root to p. The cardinality is the product of the limits on the way, 0 where one is missing.
func locate(root *schema.Structural, p *place) (node *schema.Structural, cardinality uint64) {
	node, cardinality = root, 1
	for _, step := range p.steps()[1:] {
		switch step.at {
		case atProperty:
			property, ok := node.Properties[step.name]
			if !ok {
				return nil, 0
			}
			node = &property
		case atValues:
			if node.AdditionalProperties == nil || node.AdditionalProperties.Structural == nil {
				return nil, 0
			}
			cardinality = product(cardinality, limitOf(node, func(v *schema.ValueValidation) *int64 { return v.MaxProperties }))
			node = node.AdditionalProperties.Structural
		case atItems:
			if node.Items == nil {
				return nil, 0
			}
			cardinality = product(cardinality, limitOf(node, func(v *schema.ValueValidation) *int64 { return v.MaxItems }))
			node = node.Items
		}
	}
	return node, cardinality
}

func limitOf(node *schema.Structural, of func(*schema.ValueValidation) *int64) uint64 {
	if node.ValueValidation == nil {
		return 0
	}
	if limit := of(node.ValueValidation); limit != nil && *limit > 0 {
		return uint64(*limit)
	}
	return 0
}

func product(a, b uint64) uint64 {
	if a != 0 && b > math.MaxUint64/a {
		return math.MaxUint64
	}
	return a * b
}

func sum(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// bound is a limit that a schema lacks.
type bound struct {
	path    []*place
	keyword string // maxItems, maxProperties or maxLength
}

// remedy names limits that would bring the rule under the API server's limit: the largest power of two for all, on as
// few places as will do.
func (b *prices) remedy(at *place, rule string, of *place) string {
	bounds := missingBounds(of)
	if len(bounds) == 0 {
		return ""
	}
	for limit := int64(4096); limit >= 1; limit /= 2 {
		if !b.affordable(at, rule, bounds, limit) {
			continue
		}
		if len(bounds) <= 40 {
			for i := 0; i < len(bounds) && len(bounds) > 1; {
				fewer := slices.Delete(slices.Clone(bounds), i, i+1)
				if b.affordable(at, rule, fewer, limit) {
					bounds = fewer
				} else {
					i++
				}
			}
		}
		var names []string
		for _, bound := range bounds {
			names = append(names, fmt.Sprintf("%s: %d at %s", bound.keyword, limit, bound.path[len(bound.path)-1].displayPath()))
		}
		return strings.Join(names, ", ")
	}
	return ""
}

func (b *prices) affordable(at *place, rule string, bounds []bound, limit int64) bool {
	bounded := b.structural.DeepCopy()
	for _, x := range bounds {
		x.set(bounded, limit)
	}
	cost, err := b.cost(bounded, at, rule, false)
	return err == nil && cost <= validation.StaticEstimatedCostLimit
}

// set puts the limit into root.
func (x bound) set(root *schema.Structural, limit int64) {
	setAt(root, x.path[1:], func(node *schema.Structural) {
		v := schema.ValueValidation{}
		if node.ValueValidation != nil {
			v = *node.ValueValidation
		}
		switch x.keyword {
		case "maxItems":
			v.MaxItems = &limit
		case "maxProperties":
			v.MaxProperties = &limit
		case "maxLength":
			v.MaxLength = &limit
		}
		node.ValueValidation = &v
	})
}

// setAt calls set for the node of root that steps lead to, and writes it back, as properties are values.
func setAt(root *schema.Structural, steps []*place, set func(*schema.Structural)) {
	if len(steps) == 0 {
		set(root)
		return
	}
	switch step := steps[0]; step.at {
	case atProperty:
		property, ok := root.Properties[step.name]
		if ok {
			setAt(&property, steps[1:], set)
			root.Properties[step.name] = property
		}
	case atValues:
		if root.AdditionalProperties != nil && root.AdditionalProperties.Structural != nil {
			setAt(root.AdditionalProperties.Structural, steps[1:], set)
		}
	case atItems:
		if root.Items != nil {
			setAt(root.Items, steps[1:], set)
		}
	}
}

// missingBounds lists the lists, maps and strings without a limit at p, below it, and on the way to it.
func missingBounds(p *place) []bound {
	var bounds []bound
	for q := p.parent; q != nil; q = q.parent {
		bounds = append(bounds, unbounded(q)...)
	}
	slices.Reverse(bounds)
	var below func(*place)
	below = func(p *place) {
		bounds = append(bounds, unbounded(p)...)
		if p.schema.Type.Contains("string") && p.schema.MaxLength == nil && len(p.schema.Enum) == 0 {
			bounds = append(bounds, bound{p.steps(), "maxLength"})
		}
		for _, c := range p.properties {
			below(c)
		}
		if inside := p.inside(); inside != nil {
			below(inside)
		}
	}
	below(p)
	return bounds
}

func unbounded(p *place) []bound {
	switch {
	case p.items != nil && p.schema.MaxItems == nil:
		return []bound{{p.steps(), "maxItems"}}
	case p.values != nil && p.schema.MaxProperties == nil:
		return []bound{{p.steps(), "maxProperties"}}
	}
	return nil
}
