package celrule

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// Taken finds schemas whose rules an API server takes without a remark, at a fraction of the cost of its validation: it compiles the
// rules of schema nodes that are alike once. It compiles and estimates with the server's code. The zero value is ready to use. It is
// safe for concurrent use.
type Taken struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte][]estimate
}

// estimate is what the server's compiler says of a rule that it compiles.
type estimate struct {
	rule, message  uint64 // costs for one value
	values         uint64 // that an object can have room for, where no limit says so
	readsOldValues bool
}

// manyEstimated bounds for how many schema nodes estimates are kept.
const manyEstimated = 20_000

// Rules reports whether an API server takes all rules of s. False means unknown: its validation decides.
func (t *Taken) Rules(s *apiextensions.JSONSchemaProps) bool {
	root, err := structural.NewStructural(s)
	if err != nil || len(structural.ValidateStructural(nil, root)) > 0 { // such as rules in metadata
		return false
	}
	nested := false // rules in anyOf and the like
	(&structural.Visitor{NestedValueValidation: func(v *structural.NestedValueValidation) bool {
		nested = nested || len(v.ValidationExtensions.XValidations) > 0
		return false
	}}).Visit(root)
	sums := &sums{taken: t}
	return !nested && sums.add(root, true, 1, true) && sums.total <= staticCRDCostLimit
}

// sums adds up the costs of the rules of one schema.
type sums struct {
	taken *Taken
	total uint64
}

// add adds the costs of the rules on and below s. It returns false if it is not sure that the server takes a rule. It removes the rules and
// descriptions from s, so that equal nodes compare as equal. An object has at most cardinality values of s, 0 for no limit; paired tells
// whether old and new values are paired there.
func (c *sums) add(s *structural.Structural, isRoot bool, cardinality uint64, paired bool) bool {
	inMap := cardinality
	if s.AdditionalProperties != nil {
		inMap = product(cardinality, limitOf(s, func(v *structural.ValueValidation) *int64 { return v.MaxProperties }))
		if values := s.AdditionalProperties.Structural; values != nil && !c.add(values, false, inMap, paired) {
			return false
		}
	}
	for name, property := range s.Properties {
		if !c.add(&property, false, inMap, paired && cel.MapIsCorrelatable(s.XMapType)) {
			return false
		}
		s.Properties[name] = property
	}
	if s.Items != nil {
		inList := product(cardinality, limitOf(s, func(v *structural.ValueValidation) *int64 { return v.MaxItems }))
		if !c.add(s.Items, false, inList, paired && s.XListType != nil && *s.XListType == "map") {
			return false
		}
	}
	rules := s.XValidations
	s.Title, s.Description, s.XValidations = "", "", nil
	if len(rules) == 0 {
		return true
	}
	if slices.ContainsFunc(rules, malformed) {
		return false
	}
	estimates := c.taken.estimates(s, rules, isRoot || s.XEmbeddedResource)
	for i, e := range estimates {
		values := cardinality
		if values == 0 {
			values = e.values
		}
		cost := product(e.rule, values)
		if cost > staticCostLimit || e.message > staticCostLimit {
			return false
		}
		if c.total = sum(c.total, sum(cost, e.message)); e.readsOldValues && !paired || !e.readsOldValues && rules[i].OptionalOldSelf != nil {
			return false
		}
	}
	return estimates != nil
}

// malformed reports whether a field of a rule is missing or has a text that the server refuses.
func malformed(r apiextensionsv1.ValidationRule) bool {
	blank := func(text string) bool { return strings.TrimSpace(text) == "" }
	lines := func(text string) bool { return strings.ContainsAny(strings.TrimSpace(text), "\n\r") }
	return blank(r.Rule) || r.Message != "" && blank(r.Message) || lines(r.Message) || r.Message == "" && lines(r.Rule) ||
		r.MessageExpression != "" && blank(r.MessageExpression) || strings.ContainsAny(r.FieldPath, "\n\r") ||
		r.Reason != nil && !slices.Contains([]apiextensionsv1.FieldValueErrorReason{
			apiextensionsv1.FieldValueRequired, apiextensionsv1.FieldValueForbidden, apiextensionsv1.FieldValueInvalid, apiextensionsv1.FieldValueDuplicate,
		}, *r.Reason)
}

// estimates returns an estimate of each of rules, which are on s; nil if one of them does not compile.
func (t *Taken) estimates(s *structural.Structural, rules apiextensionsv1.ValidationRules, isRoot bool) []estimate {
	alone := *s
	alone.XValidations = slices.Clone(rules)
	for i := range rules {
		alone.XValidations[i].Message = ""
	}
	text, err := json.Marshal([]any{alone, isRoot})
	if err != nil {
		return nil
	}
	id := sha256.Sum256(text)
	t.mu.Lock()
	known, ok := t.known[id]
	t.mu.Unlock()
	if ok {
		return known
	}
	made := estimatesOf(&alone, isRoot)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) == manyEstimated {
		t.known = map[[sha256.Size]byte][]estimate{}
	}
	t.known[id] = made
	return made
}

func estimatesOf(s *structural.Structural, isRoot bool) (list []estimate) {
	declared := model.SchemaDeclType(s, isRoot)
	if declared == nil {
		return nil
	}
	env := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	results, err := cel.Compile(s, declared, celconfig.PerCallLimit, env, cel.NewExpressionsEnvLoader())
	if err != nil {
		return nil
	}
	for i, r := range results {
		if r.Error != nil || r.MessageExpressionError != nil {
			return nil
		}
		if at := s.XValidations[i].FieldPath; at != "" {
			if _, _, err := cel.ValidFieldPath(at, s); err != nil {
				return nil
			}
		}
		list = append(list, estimate{r.MaxCost, r.MessageExpressionMaxCost, r.MaxCardinality, r.UsesOldSelf})
	}
	return list
}
