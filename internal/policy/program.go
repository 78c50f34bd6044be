// Package policy predicts what the ValidatingAdmissionPolicies of a tree of manifests refuse. It matches policies and
// their bindings to an update, and runs those that read oldObject with the API server's own CEL code.
//
// The manifests do not hold everything that a policy can read: who makes the request, what its authorizer says, the
// status of an object, perhaps the namespace and the parameters. Where such a value decides, the verdict is unknown and
// gives the reason; parameters and namespaces count where both sides have them. Where it does not decide
// (`request.userInfo.username == 'admin' || object.spec.x == oldObject.spec.x`, with equal values), the verdict is
// certain.
//
// The order of reading: set.go, the documents; match.go, which updates a policy is for; reads.go, what an expression
// reads that the manifests lack; program.go, expressions compiled and run; decision.go, all of it together.
package policy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	celgo "github.com/google/cel-go/cel"
	celtypes "github.com/google/cel-go/common/types"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// program is the expressions of a policy, compiled as the API server compiles those that are stored. It follows package
// k8s.io/apiserver/pkg/admission/plugin/policy/validating, which links client-go.
type program struct {
	policy    *admissionv1.ValidatingAdmissionPolicy
	variables map[string]string

	once     sync.Once
	compiler *cel.CompositedCompiler
	err      error

	mutex      sync.Mutex
	conditions map[string]cel.ConditionEvaluator // by their texts

	read sync.Map // by expression: its reads
}

// reads is readsOf, once for each text.
func (p *program) reads(text string) []read {
	if known, ok := p.read.Load(text); ok {
		return known.([]read)
	}
	list, _ := readsOf(text) // one that does not parse does not compile either, and never runs
	p.read.Store(text, list)
	return list
}

func newProgram(p *admissionv1.ValidatingAdmissionPolicy) *program {
	variables := make(map[string]string, len(p.Spec.Variables))
	for _, v := range p.Spec.Variables {
		variables[v.Name] = v.Expression
	}
	return &program{policy: p, variables: variables, conditions: map[string]cel.ConditionEvaluator{}}
}

// expression is a CEL expression with the types that it may have.
type expression struct {
	name, text string
	types      []*celgo.Type
}

func (e *expression) GetExpression() string      { return e.text }
func (e *expression) ReturnTypes() []*celgo.Type { return e.types }
func (e *expression) GetName() string            { return e.name }

var _ cel.NamedExpressionAccessor = (*expression)(nil)

func condition(text string) *expression {
	return &expression{text: text, types: []*celgo.Type{celgo.BoolType}}
}

func message(text string) *expression {
	return &expression{text: text, types: []*celgo.Type{celgo.StringType}}
}

// load compiles the variables, and looks for expressions that do not compile. The API server refuses to store a policy
// that has one.
func (p *program) load() error {
	p.once.Do(func() {
		env := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
		if p.compiler, p.err = cel.NewCompositedCompiler(env); p.err != nil {
			return
		}
		var errs []error
		for _, v := range p.policy.Spec.Variables {
			e := &expression{v.Name, v.Expression, []*celgo.Type{celgo.AnyType, celgo.DynType}}
			if result := p.compiler.CompileAndStoreVariable(e, p.declared(true),
				environment.StoredExpressions); result.Error != nil {
				errs = append(errs, fmt.Errorf("variable %s: %w", v.Name, result.Error))
			}
		}
		var all []*expression
		for _, c := range p.policy.Spec.MatchConditions {
			all = append(all, condition(c.Expression))
		}
		for _, v := range p.policy.Spec.Validations {
			all = append(all, condition(v.Expression))
		}
		errs = append(errs, p.compile(true, all).CompilationErrors()...)
		p.err = errors.Join(errs...)
	})
	return p.err
}

// declared says which variables expressions have; those of messages have no authorizer.
func (p *program) declared(authorizer bool) cel.OptionalVariableDeclarations {
	return cel.OptionalVariableDeclarations{HasParams: p.policy.Spec.ParamKind != nil, HasAuthorizer: authorizer}
}

// compile returns the evaluator of expressions, nil ones left out. The same texts are compiled once.
func (p *program) compile(authorizer bool, list []*expression) cel.ConditionEvaluator {
	var key strings.Builder
	accessors := make([]cel.ExpressionAccessor, len(list))
	for i, e := range list {
		if e != nil {
			accessors[i] = e
			fmt.Fprintf(&key, "%q", e.text)
		}
		key.WriteByte(',')
	}
	fmt.Fprint(&key, authorizer)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.conditions[key.String()] == nil {
		p.conditions[key.String()] = p.compiler.CompileCondition(accessors, p.declared(authorizer),
			environment.StoredExpressions)
	}
	return p.conditions[key.String()]
}

// input is what the expressions of a policy see.
type input struct {
	attributes *admission.VersionedAttributes
	match      match
	params     runtime.Object // nil for null
	namespace  *corev1.Namespace
	knowledge  knowledge
}

// run evaluates expressions with a budget of cost; its error is about the budget.
func (p *program) run(authorizer bool, list []*expression, in *input,
	budget int64) ([]cel.EvaluationResult, int64, error) {
	namespace := in.namespace
	resource := in.match.resource
	if in.knowledge.conditions {
		namespace, resource = nil, in.attributes.GetResource()
	}
	request := cel.CreateAdmissionRequest(in.attributes.Attributes, metav1.GroupVersionResource(resource),
		metav1.GroupVersionKind(in.match.kind))
	variables := cel.OptionalVariableBindings{VersionedParams: in.params}
	return p.compile(authorizer, list).ForInput(context.Background(), in.attributes, request, variables, namespace,
		budget)
}

// result is the value of a condition.
type result struct {
	answer        // maybe where it depends on what the manifests lack, or fails with err
	err    error  // of the evaluation, as the server words it
	reason string // what it depends on
}

// evaluate evaluates conditions, each with every value that the manifests lack, and returns what is left of the budget.
// The error is about the budget of a condition that depends on nothing unknown.
//
// A condition that reads such a value runs as two others: one that is true only if it is true for sure, and one that is
// true only if it is false for sure.
func (p *program) evaluate(texts []string, in *input, budget int64) ([]result, int64, error) {
	results := make([]result, len(texts))
	known := make([]*expression, len(texts))
	var certain []*expression
	for i, text := range texts {
		if results[i].reason = in.knowledge.lacks(text); results[i].reason == "" {
			known[i] = condition(text)
			continue
		}
		isTrue, isFalse := in.knowledge.certain(text)
		certain = append(certain, condition(isTrue), condition(isFalse))
	}
	values, rest, err := p.run(true, known, in, budget)
	if err != nil {
		return nil, 0, err
	}
	for i := range results {
		switch {
		case known[i] == nil:
			results[i].answer = maybe
		case values[i].Error != nil:
			results[i].answer, results[i].err = maybe, values[i].Error
		default:
			results[i].answer = answerOf(values[i].EvalResult == celtypes.True)
		}
	}
	if len(certain) == 0 {
		return results, rest, nil
	}
	found, _, err := p.run(true, certain, in, celconfig.RuntimeCELCostBudget)
	if err != nil {
		return results, rest, nil // they stay unknown
	}
	isTrue := func(r cel.EvaluationResult) bool { return r.Error == nil && r.EvalResult == celtypes.True }
	for i, at := 0, 0; i < len(results); i++ {
		if known[i] != nil {
			continue
		}
		switch {
		case isTrue(found[at]):
			results[i].answer = yes
		case isTrue(found[at+1]):
			results[i].answer = no
		}
		at += 2
	}
	return results, rest, nil
}

// matchesConditions reports whether the match conditions hold, as package matchconditions does: one that is false is
// enough for no, whatever fails. err is the failure of others, and then failurePolicy is Fail.
func (p *program) matchesConditions(in input) (all result) {
	in.knowledge.conditions = true
	texts := make([]string, len(p.policy.Spec.MatchConditions))
	for i, c := range p.policy.Spec.MatchConditions {
		texts[i] = c.Expression
	}
	results, _, err := p.evaluate(texts, &in, celconfig.RuntimeCELCostBudgetMatchConditions)
	if err != nil {
		return p.failure(err)
	}
	all.answer = yes
	var errs []error
	for _, o := range results {
		switch {
		case o.answer == no:
			return result{}
		case o.err != nil:
			errs = append(errs, o.err)
		case o.answer == maybe:
			all.answer, all.reason = maybe, o.reason
		}
	}
	if len(errs) == 0 {
		return all
	}
	failed := p.failure(aggregate(errs))
	if all.answer == maybe && failed.answer != no {
		failed.reason = all.reason // the condition may be false, and the policy not for the update
	}
	return failed
}

// failure is the result of match conditions that cannot be evaluated.
func (p *program) failure(err error) result {
	if p.ignores() {
		return result{}
	}
	return result{answer: yes, err: err}
}

// ignores reports whether failures count as allowed.
func (p *program) ignores() bool {
	policy := p.policy.Spec.FailurePolicy
	return policy != nil && *policy == admissionv1.Ignore
}

// messages returns what the server says about each validation that is false: the value of messageExpression, else the
// message, else the expression. Without evaluate, messageExpression is left out, as it can quote values. The error is
// about the budget, and is then the server's text for all of them.
func (p *program) messages(in *input, budget int64, evaluate bool) ([]string, error) {
	validations := p.policy.Spec.Validations
	list := make([]*expression, len(validations))
	for i, v := range validations {
		if evaluate && v.MessageExpression != "" && in.knowledge.lacks(v.MessageExpression) == "" {
			list[i] = message(v.MessageExpression)
		}
	}
	results, _, err := p.run(false, list, in, budget)
	texts := make([]string, len(validations))
	for i, v := range validations {
		text := ""
		if err == nil && results[i].Error == nil && results[i].EvalResult != nil {
			text, _ = results[i].EvalResult.Value().(string)
			text = strings.TrimSpace(text)
			if len(text) > celconfig.MaxEvaluatedMessageExpressionSizeBytes || strings.Contains(text, "\n") {
				text = ""
			}
		}
		if text == "" {
			text = strings.TrimSpace(v.Message)
		}
		if text == "" {
			text = "failed expression: " + strings.TrimSpace(v.Expression)
		}
		texts[i] = text
	}
	return texts, err
}

// object makes obj what admission plugins take.
func object(obj map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: obj}
}
