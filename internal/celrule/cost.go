package celrule

import (
	"fmt"
	"math"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// costs estimates the costs of rules with the API server's estimator, and keeps the total.
type costs struct {
	root  *structural.Structural
	env   *environment.EnvSet
	total uint64
}

// refusal is why the API server refuses a rule, and what would help.
type refusal struct {
	reason string
	remedy func() string
}

func noRemedy() string { return "" }

// newCosts returns the costs of the rules that s has already.
func newCosts(s *spec.Schema, t *tree) (*costs, error) {
	root, err := structuralOf(s)
	if err != nil {
		return nil, fmt.Errorf("the schema is not structural, and the API server runs no CEL on it: %w", err)
	}
	c := &costs{root: root, env: environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())}
	for _, l := range t.All {
		for _, r := range t.rules[l] {
			if cost, err := c.estimate(root, l, r.Text, r.OptionalOldSelf); err == nil {
				c.total = sum(c.total, cost)
			}
		}
	}
	return c, nil
}

// structuralOf converts s to the form that the API server works on.
func structuralOf(s *spec.Schema) (*structural.Structural, error) {
	internal, err := celrun.Convert(s)
	if err != nil {
		return nil, err
	}
	return structural.NewStructural(internal)
}

// The limits of the API server for the estimated cost of one rule and of all rules of a CRD. They are those of package
// apiextensions/validation, which links client-go.
const (
	staticCostLimit    = 10_000_000
	staticCRDCostLimit = 100_000_000
)

// add adds the cost of a rule at a location, or returns why the API server refuses the rule: it does not compile, or
// costs too much. of is the location of the lock that the rule is equivalent to.
func (c *costs) add(at *schema.Location, rule string, of *schema.Location) *refusal {
	cost, err := c.estimate(c.root, at, rule, false)
	switch {
	case err != nil:
		return &refusal{fmt.Sprintf("the API server does not compile the rule: %v", err), noRemedy}
	case cost > staticCostLimit:
		return &refusal{
			fmt.Sprintf("the rule's estimated cost is %s the API server's limit", times(cost, staticCostLimit)),
			func() string { return c.remedy(at, rule, of) },
		}
	case sum(c.total, cost) > staticCRDCostLimit:
		return &refusal{
			"the rules of the version together would cost more than the API server's limit for a CRD",
			func() string {
				return "bound the lists, maps and strings in locked fields by maxItems, maxProperties and maxLength"
			},
		}
	}
	c.total = sum(c.total, cost)
	return nil
}

func times(cost, limit uint64) string {
	if factor := float64(cost) / float64(limit); factor < 100 {
		return fmt.Sprintf("%.1f times", factor)
	}
	return "more than 100 times"
}

// estimate returns the estimated cost of a rule at l within root, times the number of values that an object can have
// there.
func (c *costs) estimate(root *structural.Structural, l *schema.Location, rule string,
	optionalOldSelf bool) (uint64, error) {
	node, cardinality := find(root, l)
	if node == nil {
		return 0, fmt.Errorf("there is no schema at %s", l.Path.Pointer())
	}
	declared := model.SchemaDeclType(node, l.In == nil || node.XEmbeddedResource)
	if declared == nil {
		return 0, fmt.Errorf("CEL does not see a field without a type")
	}
	single := *node
	single.XValidations = apiextensionsv1.ValidationRules{{Rule: rule}}
	if optionalOldSelf {
		single.XValidations[0].OptionalOldSelf = &optionalOldSelf
	}
	results, err := cel.Compile(&single, declared, celconfig.PerCallLimit, c.env, cel.NewExpressionsEnvLoader())
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

// leastUseful is the lowest limit that is worth adding alone.
const leastUseful = 64

// remedy names limits that would bring the rule under the API server's limit: the largest power of two for all, on as
// few fields as possible. Limits that are there already are lowered where adding those that lack does not help, or only
// with tiny ones.
func (c *costs) remedy(at *schema.Location, rule string, of *schema.Location) string {
	all := boundsOf(of)
	lacking := missing(all)
	bounds, limit := lacking, c.largest(at, rule, lacking)
	if limit < leastUseful {
		if lower := c.largest(at, rule, all); lower > limit {
			bounds, limit = all, lower
		}
	}
	if limit == 0 {
		return ""
	}
	var names []string
	for _, b := range c.fewest(at, rule, bounds, limit) {
		if b.now == 0 || b.now > limit {
			names = append(names, b.say(limit))
		}
	}
	return strings.Join(names, ", ")
}

// largest returns the largest power of two that bounds can be set to; 0 for none.
func (c *costs) largest(at *schema.Location, rule string, bounds []bound) int64 {
	for limit := int64(4096); limit >= 1 && len(bounds) > 0; limit /= 2 {
		if c.affordable(at, rule, bounds, limit) {
			return limit
		}
	}
	return 0
}

// maxTried bounds how many bounds are tried one by one: each try compiles the rule.
const maxTried = 40

// fewest drops the bounds that the rule can do without.
func (c *costs) fewest(at *schema.Location, rule string, bounds []bound, limit int64) []bound {
	if len(bounds) > maxTried {
		return bounds
	}
	for i := 0; i < len(bounds) && len(bounds) > 1; {
		fewer := slices.Delete(slices.Clone(bounds), i, i+1)
		if c.affordable(at, rule, fewer, limit) {
			bounds = fewer
		} else {
			i++
		}
	}
	return bounds
}

func (c *costs) affordable(at *schema.Location, rule string, bounds []bound, limit int64) bool {
	bounded := c.root.DeepCopy()
	for _, b := range bounds {
		b.set(bounded, limit)
	}
	cost, err := c.estimate(bounded, at, rule, false)
	return err == nil && cost <= staticCostLimit
}

// bound is a limit that a schema lacks, or that it has and could lower.
type bound struct {
	at      *schema.Location
	keyword string // maxItems, maxProperties or maxLength
	now     int64  // 0 for none
}

// boundsOf lists the limits of the lists, maps and strings above l, at l and below it.
func boundsOf(l *schema.Location) []bound {
	var bounds []bound
	for up := l.Parent(); up != nil; up = up.Parent() {
		bounds = append(bounds, containerBound(up)...)
	}
	slices.Reverse(bounds)
	l.Descend(nil, func(l *schema.Location, _ *schema.Path) bool {
		bounds = append(bounds, containerBound(l)...)
		if l.Schema.Type.Contains("string") && len(l.Schema.Enum) == 0 {
			bounds = append(bounds, newBound(l, "maxLength", l.Schema.MaxLength))
		}
		return true
	})
	return bounds
}

// missing returns the bounds that the schema lacks.
func missing(bounds []bound) []bound {
	return slices.DeleteFunc(slices.Clone(bounds), func(b bound) bool { return b.now > 0 })
}

func containerBound(l *schema.Location) []bound {
	switch {
	case l.Items != nil:
		return []bound{newBound(l, "maxItems", l.Schema.MaxItems)}
	case l.Values != nil:
		return []bound{newBound(l, "maxProperties", l.Schema.MaxProperties)}
	}
	return nil
}

func newBound(l *schema.Location, keyword string, limit *int64) bound {
	b := bound{at: l, keyword: keyword}
	if limit != nil {
		b.now = max(*limit, 1)
	}
	return b
}

// say names the bound with its new limit.
func (b bound) say(limit int64) string {
	text := fmt.Sprintf("%s: %d at %s", b.keyword, limit, displayPath(b.at))
	if b.now > 0 {
		text += fmt.Sprintf(" (now %d)", b.now)
	}
	return text
}

// set puts the limit into root, unless a lower one is there.
func (b bound) set(root *structural.Structural, limit int64) {
	if b.now > 0 && b.now <= limit {
		return
	}
	celrun.EditAt(root, pointer.Names(b.at.Path.Pointer()), func(node *structural.Structural) {
		v := structural.ValueValidation{}
		if node.ValueValidation != nil {
			v = *node.ValueValidation
		}
		switch b.keyword {
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

// find returns the node of root for l, or nil. The cardinality is the product of the limits on the way, 0
// if one is missing.
func find(root *structural.Structural, l *schema.Location) (node *structural.Structural, cardinality uint64) {
	node, cardinality = root, 1
	for _, next := range way(l) {
		switch next.Role {
		case schema.Property:
			property, ok := node.Properties[next.Name]
			if !ok {
				return nil, 0
			}
			node = &property
		case schema.Values:
			if node.AdditionalProperties == nil || node.AdditionalProperties.Structural == nil {
				return nil, 0
			}
			cardinality = product(cardinality, limitOf(node, func(v *structural.ValueValidation) *int64 {
				return v.MaxProperties
			}))
			node = node.AdditionalProperties.Structural
		case schema.Items:
			if node.Items == nil {
				return nil, 0
			}
			cardinality = product(cardinality, limitOf(node, func(v *structural.ValueValidation) *int64 {
				return v.MaxItems
			}))
			node = node.Items
		}
	}
	return node, cardinality
}

func limitOf(node *structural.Structural, of func(*structural.ValueValidation) *int64) uint64 {
	if node.ValueValidation == nil {
		return 0
	}
	if limit := of(node.ValueValidation); limit != nil && *limit > 0 {
		return uint64(*limit)
	}
	return 0
}

// product and sum stop at the largest number.
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
