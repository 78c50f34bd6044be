package celrule

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// costs estimates the costs of rules with the API server's estimator, and keeps the total.
type costs struct {
	root  *structural.Structural
	env   *environment.EnvSet
	total uint64
}

// refusal is why the API server refuses a rule, and what would help.
type refusal struct{ reason, remedy string }

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
	return structural.NewStructural(&internal)
}

// The limits of the API server for the estimated cost of one rule and of all rules of a CRD. They are those of package
// apiextensions/validation, which links client-go.
const (
	staticCostLimit    = 10_000_000
	staticCRDCostLimit = 100_000_000
)

// add adds the cost of a rule at a location, or says why the API server refuses it: it does not compile, or costs too
// much. The lock that the rule is equivalent to is at of.
func (c *costs) add(at *schema.Location, rule string, of *schema.Location) *refusal {
	cost, err := c.estimate(c.root, at, rule, false)
	switch {
	case err != nil:
		return &refusal{reason: fmt.Sprintf("the API server does not compile the rule: %v", err)}
	case cost > staticCostLimit:
		return &refusal{
			fmt.Sprintf("the rule's estimated cost is %s the API server's limit", times(cost, staticCostLimit)),
			c.remedy(at, rule, of),
		}
	case sum(c.total, cost) > staticCRDCostLimit:
		return &refusal{
			"the rules of the version together would cost more than the API server's limit for a CRD",
			"bound the lists, maps and strings in locked fields by maxItems, maxProperties and maxLength",
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
func (c *costs) estimate(root *structural.Structural, l *schema.Location, rule string, optionalOldSelf bool) (uint64, error) {
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
