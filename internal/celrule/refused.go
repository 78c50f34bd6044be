package celrule

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
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

	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// An API server refuses a CRD for one wrong rule: a rule that does not compile, that costs too much, or that reads
// oldSelf where old and new values are not paired. In
//
//	tags: {type: array, items: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}
//
// the rule compiles, but it is below the items of an atomic list, which are not paired. Refusals compiles and estimates
// with the server's code. It does not call the server's validation of CRDs, which links gRPC and OpenTelemetry; the
// tests of examples/celproof compare the two.

// Refusals finds the rules that an API server refuses. It compiles the rules of schema nodes that are alike once. The
// zero value is ready to use. It is safe for concurrent use.
type Refusals struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte][]compiled
}

// Refusal is why an API server refuses a CRD: for one rule, or for all rules of a version together.
type Refusal struct {
	SchemaPath string // a JSON pointer to the schema with the rule; "" for the root
	Rule       string // the text of the rule, "" if it is unknown
	Reason     string
	Costly     bool // the rule costs too much
	Together   bool // all rules together cost too much
}

// Of returns why an API server refuses the rules of s, in no particular order. It returns nil for a schema that is not
// structural: the server refuses it before it looks at rules.
func (r *Refusals) Of(s *apiextensions.JSONSchemaProps) []Refusal {
	root, err := structural.NewStructural(s)
	if err != nil {
		return nil
	}
	if errs := structural.ValidateStructural(nil, root); len(errs) > 0 {
		var misplaced []Refusal
		for _, e := range errs {
			if at, isRule := strings.CutSuffix(e.Field, "."+schema.KeyValidations); isRule { // such as in anyOf
				misplaced = append(misplaced, Refusal{SchemaPath: pointerOf("." + at), Reason: e.Detail})
			}
		}
		return misplaced
	}
	w := &refusedWalk{known: r}
	w.visit(root, place{isRoot: true, most: 1, bounded: true})
	if w.total > staticCRDCostLimit {
		w.found = append(w.found, Refusal{Together: true, Reason: fmt.Sprintf(
			"their estimated cost is %s the API server's limit for a CRD; %s",
			times(w.total, staticCRDCostLimit), boundAll)})
	}
	return w.found
}

const boundAll = "bound the lists, maps and strings that they read by maxItems, maxProperties and maxLength"

// place is where a schema node is.
type place struct {
	path     string // a JSON pointer
	isRoot   bool
	most     uint64 // an object has at most so many values of the node
	bounded  bool   // most is known
	unpaired string // the JSON pointer of the list or map around the node whose old and new values are not paired
	atomic   bool   // there is such a list or map
}

// child returns the place of a child of s. paired tells whether s pairs the child's old and new values.
func (p place) child(s *structural.Structural, step string, paired bool) place {
	c := place{path: p.path + step, most: p.most, bounded: p.bounded, unpaired: p.unpaired, atomic: p.atomic}
	limit, unlimited := limitOfChildren(s)
	c.most, c.bounded = product(c.most, limit), c.bounded && !unlimited
	if !paired && !p.atomic {
		c.unpaired, c.atomic = p.path, true
	}
	return c
}

// limitOfChildren returns how many values of each child a value of s has at most.
func limitOfChildren(s *structural.Structural) (limit uint64, unlimited bool) {
	v := structural.ValueValidation{}
	if s.ValueValidation != nil {
		v = *s.ValueValidation
	}
	set := (*int64)(nil)
	switch {
	case s.Type == "array":
		set = v.MaxItems
	case s.Type == "object" && s.AdditionalProperties != nil:
		set = v.MaxProperties
	default:
		return 1, false
	}
	if set == nil {
		return 1, true
	}
	return uint64(max(*set, 0)), false
}

// refusedWalk looks at the rules of one schema.
type refusedWalk struct {
	known *Refusals
	total uint64
	found []Refusal
}

// visit looks at the rules on and below s. It reports whether all of them are well formed: as long as one is not, the
// server does not compile the rules of the schemas around it. It removes the rules and descriptions from s, so that
// equal nodes compare as equal.
func (w *refusedWalk) visit(s *structural.Structural, at place) (wellFormed bool) {
	wellFormed = true
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		wellFormed = w.visit(s.AdditionalProperties.Structural, at.child(s, "/additionalProperties", true)) &&
			wellFormed
	}
	for name, property := range s.Properties {
		below := at.child(s, "/properties/"+pointer.Escape(name), cel.MapIsCorrelatable(s.XMapType))
		wellFormed = w.visit(&property, below) && wellFormed
		s.Properties[name] = property
	}
	if s.Items != nil {
		below := at.child(s, "/items", s.XListType != nil && *s.XListType == "map")
		wellFormed = w.visit(s.Items, below) && wellFormed
	}
	rules := s.XValidations
	s.Title, s.Description, s.XValidations = "", "", nil
	for _, r := range rules {
		if reason := malformed(r, s); reason != "" {
			w.refuse(at, r, reason)
			wellFormed = false
		}
	}
	if len(rules) > 0 && wellFormed {
		w.compile(s, rules, at)
	}
	return wellFormed
}

func (w *refusedWalk) refuse(at place, r apiextensionsv1.ValidationRule, reason string) {
	w.found = append(w.found, Refusal{SchemaPath: at.path, Rule: r.Rule, Reason: reason})
}

// compile looks at what the server's compiler and estimator say of rules, which are on s.
func (w *refusedWalk) compile(s *structural.Structural, rules apiextensionsv1.ValidationRules, at place) {
	results := w.known.compiled(s, rules, at.isRoot || s.XEmbeddedResource)
	for i, c := range results {
		r := rules[i]
		for _, reason := range c.reasons {
			w.refuse(at, r, reason)
		}
		values := at.most
		if !at.bounded {
			values = c.values
		}
		cost := product(c.rule, values)
		w.total = sum(w.total, sum(cost, c.message))
		w.refuseCost(at, r, "its estimated cost", cost)
		w.refuseCost(at, r, "the estimated cost of its messageExpression", c.message)
		switch {
		case c.readsOldValues && at.atomic:
			w.refuse(at, r, "it reads oldSelf, and old and new values are not paired in "+schema.Readable(at.unpaired))
		case !c.readsOldValues && r.OptionalOldSelf != nil:
			w.refuse(at, r, "it has optionalOldSelf and does not read oldSelf")
		}
	}
}

func (w *refusedWalk) refuseCost(at place, r apiextensionsv1.ValidationRule, subject string, cost uint64) {
	if cost > staticCostLimit {
		w.found = append(w.found, Refusal{SchemaPath: at.path, Rule: r.Rule, Costly: true, Reason: fmt.Sprintf(
			"%s is %s the API server's limit; %s",
			subject, times(cost, staticCostLimit), strings.Replace(boundAll, "they read", "it reads", 1))})
	}
}

// malformed returns what is wrong with a field of a rule on s, other than its expressions; "" for nothing.
func malformed(r apiextensionsv1.ValidationRule, s *structural.Structural) string {
	blank := func(text string) bool { return strings.TrimSpace(text) == "" }
	lines := func(text string) bool { return strings.ContainsAny(strings.TrimSpace(text), "\n\r") }
	reasons := []apiextensionsv1.FieldValueErrorReason{
		apiextensionsv1.FieldValueDuplicate, apiextensionsv1.FieldValueForbidden, apiextensionsv1.FieldValueInvalid,
		apiextensionsv1.FieldValueRequired,
	}
	switch {
	case blank(r.Rule):
		return "it has no text"
	case r.Message != "" && blank(r.Message):
		return "its message is blank"
	case lines(r.Message):
		return "its message has line breaks"
	case r.Message == "" && lines(r.Rule):
		return "it has line breaks, and so needs a message"
	case r.MessageExpression != "" && blank(r.MessageExpression):
		return "its messageExpression is blank"
	case r.Reason != nil && !slices.Contains(reasons, *r.Reason):
		return fmt.Sprintf("its reason is %q, not one of %q", *r.Reason, reasons)
	case r.FieldPath != "":
		if _, _, err := cel.ValidFieldPath(r.FieldPath, s); err != nil || strings.ContainsAny(r.FieldPath, "\n\r") {
			return fmt.Sprintf("its fieldPath %q does not lead to a field", r.FieldPath)
		}
	}
	return ""
}

// compiled is what the server's compiler and estimator say of a rule.
type compiled struct {
	reasons        []string // why it is refused, wherever it is
	rule, message  uint64   // costs for one value
	values         uint64   // how many values an object has room for, where no limit is set
	readsOldValues bool
}

// manyCompiled bounds for how many schema nodes results are kept.
const manyCompiled = 20_000

// compiled returns what the server's compiler says of each of rules, which are on s.
func (r *Refusals) compiled(s *structural.Structural, rules apiextensionsv1.ValidationRules, isRoot bool) []compiled {
	alone := *s
	alone.XValidations = slices.Clone(rules)
	for i := range rules {
		alone.XValidations[i].Message = ""
	}
	text, err := json.Marshal([]any{alone, isRoot})
	if err != nil {
		return refuseAll(rules, err)
	}
	id := sha256.Sum256(text)
	r.mu.Lock()
	known, ok := r.known[id]
	r.mu.Unlock()
	if ok {
		return known
	}
	made := compile(&alone, isRoot)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil || len(r.known) == manyCompiled {
		r.known = map[[sha256.Size]byte][]compiled{}
	}
	r.known[id] = made
	return made
}

func compile(s *structural.Structural, isRoot bool) (list []compiled) {
	declared := model.SchemaDeclType(s, isRoot)
	if declared == nil {
		return refuseAll(s.XValidations, fmt.Errorf("CEL does not see a field without a type"))
	}
	env := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	results, err := cel.Compile(s, declared, celconfig.PerCallLimit, env, cel.NewExpressionsEnvLoader())
	if err != nil {
		return refuseAll(s.XValidations, err)
	}
	for _, result := range results {
		c := compiled{rule: result.MaxCost, values: result.MaxCardinality, readsOldValues: result.UsesOldSelf}
		if result.Error != nil {
			c.reasons = append(c.reasons, result.Error.Detail)
		}
		if result.MessageExpressionError != nil {
			c.reasons = append(c.reasons, result.MessageExpressionError.Detail)
		} else {
			c.message = result.MessageExpressionMaxCost
		}
		list = append(list, c)
	}
	return list
}

// refuseAll refuses rules that cannot be compiled, for one reason.
func refuseAll(rules apiextensionsv1.ValidationRules, err error) []compiled {
	list := make([]compiled, len(rules))
	for i := range list {
		list[i].reasons = []string{err.Error()}
	}
	return list
}

var pathStep = regexp.MustCompile(`^\.([A-Za-z]+)(?:\[([^\]]*)\])?`)

// pointerOf turns a path of the server below a schema, .properties[spec].items, into a JSON pointer, as far as it can
// be read: a name with a bracket in it ends it.
func pointerOf(at string) string {
	var b strings.Builder
	for {
		m := pathStep.FindStringSubmatch(at)
		if m == nil {
			return b.String()
		}
		at = at[len(m[0]):]
		b.WriteString("/" + m[1])
		if m[1] == "properties" || m[2] != "" {
			b.WriteString("/" + pointer.Escape(m[2]))
		}
	}
}
