package policy

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/admission"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// Refusal is a validation that is false and whose binding denies the request, or the failure of a policy.
type Refusal struct {
	Policy, Binding string
	Expression      string // of the validation, "" where another part of the policy fails
	Message         string // as the server's, with the names of policy and binding
	Reason          string // of the response, such as Invalid
	File            string // of the policy
	Line            int
	OnlyOld         bool // NEW has no such policy, binding or parameters, or other ones
}

// Decision is what policies make of an update. Unknown says what may be refused, Notes what is allowed with a warning
// or an entry of the audit log; they are sentences.
type Decision struct {
	Refused []Refusal
	Unknown []string
	Notes   []string
}

// Check runs the policies that are for an update. A nil Set, and an update that changes nothing, have the zero
// Decision.
//
// Cost: for each policy and binding that matches, at most the API server's own budget for one request, and as much
// again where values are unknown.
func (s *Set) Check(u *Update) Decision {
	var d Decision
	if s == nil || exempt(u) || jsonvalue.Equal(u.New, u.Old) {
		return d
	}
	for _, p := range s.policies {
		for _, b := range p.bindings {
			r := run{s: s, u: u, p: p, b: b, sides: p.and(b.sides), d: &d}
			r.bound()
		}
	}
	return d
}

// Matches reports whether a policy of s is for an update, or may be.
func (s *Set) Matches(u *Update) bool {
	if s == nil || exempt(u) {
		return false
	}
	return slices.ContainsFunc(s.policies, func(p *boundPolicy) bool {
		return s.matches(p.Spec.MatchConstraints, u).answer != no && slices.ContainsFunc(p.bindings,
			func(b *binding) bool {
				return s.matches(b.Spec.MatchResources, u).answer != no
			})
	})
}

// Selects reports whether a policy of s is for updates of the resource of u, whatever the objects are. It saves making
// the objects of an update that no policy judges.
func (s *Set) Selects(u *Update) bool {
	return s != nil && !exempt(u) && slices.ContainsFunc(s.policies, func(p *boundPolicy) bool {
		rules := slices.Clone(p.Spec.MatchConstraints.ResourceRules)
		for i := range rules {
			rules[i].ResourceNames = nil
			rules[i].Scope = nil
		}
		return len(rules) == 0 || matchesRules(rules, p.Spec.MatchConstraints.MatchPolicy, u).answer != no
	})
}

// run is a policy with one binding on one update.
type run struct {
	s *Set
	u *Update
	p *boundPolicy
	b *binding
	sides
	d *Decision
}

// bound adds what the policy makes of the update by its binding.
func (r *run) bound() {
	m := r.s.matches(r.p.Spec.MatchConstraints, r.u)
	if m.answer == no {
		return
	}
	if bound := r.s.matches(r.b.Spec.MatchResources, r.u); bound.answer < m.answer {
		m.answer, m.reason = bound.answer, bound.reason
	}
	if m.answer == no {
		return
	}
	if err := r.p.program.load(); err != nil {
		r.unknown("an expression of it does not compile, and an API server refuses such a policy: " + firstLine(err))
		return
	}
	newObj, oldObj := r.u.New, r.u.Old
	if m.kind.Version != r.u.Version {
		ok := false
		if r.u.Convert != nil {
			newObj, oldObj, ok = r.u.Convert(m.kind.Version)
		}
		if !ok {
			r.unknown("it sees the object in version " + m.kind.Version + ", and only the server can convert it")
			return
		}
	}
	params, missing := r.params()
	if missing != "" {
		r.add(&evaluation{reason: missing})
		return
	}
	for _, param := range params {
		r.add(r.evaluate(&state{newObj, oldObj, m, param}))
	}
}

// state is what one run of a policy sees: both objects as the policy matches them, and its parameter.
type state struct {
	newObj, oldObj map[string]any
	match          match
	param          runtime.Object
}

// evaluation is the result of one run of a policy.
type evaluation struct {
	refused []refused
	reason  string // unless "", the update may be refused for another reason too, and this is what it depends on
}

// refused is one decision to deny.
type refused struct {
	expression, message, reason string
	absent                      bool // it fails because a field is not there
}

// evaluate runs the policy with one parameter.
func (r *run) evaluate(s *state) *evaluation {
	e := r.evaluateState(s)
	if r.u.Defaulted && e.reason == "" && r.needsDefaults(s, e) {
		e.reason, e.refused = "defaults that the server fills in", nil
	}
	if s.match.answer == maybe && (len(e.refused) > 0 || e.reason != "") {
		e.refused, e.reason = nil, s.match.reason
	}
	return e
}

// evaluateState runs the policy in one state.
func (r *run) evaluateState(s *state) *evaluation {
	p := r.p.program
	in := r.input(s)
	matched := p.matchesConditions(*in)
	switch {
	case matched.answer == no:
		return &evaluation{}
	case matched.err != nil && matched.reason == "":
		return &evaluation{refused: r.failed(matched.err)}
	case matched.err != nil:
		return &evaluation{reason: matched.reason}
	}
	texts := make([]string, len(r.p.Spec.Validations))
	for i, v := range r.p.Spec.Validations {
		texts[i] = v.Expression
	}
	results, rest, err := p.evaluate(texts, in, celconfig.RuntimeCELCostBudget)
	if err != nil {
		return r.maybe(&evaluation{refused: r.failed(err)}, matched)
	}
	var messages []string
	e := &evaluation{}
	for i, o := range results {
		switch {
		case o.err != nil:
			for _, d := range r.failed(o.err) {
				d.expression = r.p.Spec.Validations[i].Expression
				e.refused = append(e.refused, d)
			}
		case o.answer == maybe:
			e.reason = o.reason
		case o.answer == no:
			if messages == nil {
				if messages, err = p.messages(in, rest, !r.u.isSecret()); err != nil {
					return r.maybe(&evaluation{refused: r.failed(fmt.Errorf("failed messageExpression: %w", err))},
						matched)
				}
			}
			validation := &r.p.Spec.Validations[i]
			reason := metav1.StatusReasonInvalid
			if validation.Reason != nil {
				reason = *validation.Reason
			}
			e.refused = append(e.refused, refused{expression: validation.Expression, message: messages[i],
				reason: string(reason)})
		}
	}
	if len(e.refused) > 0 {
		e.reason = "" // one refusal is enough
	}
	return r.maybe(e, matched)
}

// maybe makes e unknown where the match conditions are.
func (r *run) maybe(e *evaluation, matched result) *evaluation {
	if matched.answer == maybe && (len(e.refused) > 0 || e.reason != "") {
		return &evaluation{reason: matched.reason}
	}
	return e
}

// failed is the decision about an expression that cannot be evaluated.
func (r *run) failed(err error) []refused {
	if r.p.program.ignores() {
		return nil
	}
	text := err.Error()
	if r.u.isSecret() {
		text, _, _ = strings.Cut(text, " resulted in error: ") // which can quote a value
	}
	return []refused{{message: text, absent: strings.Contains(err.Error(), "no such key")}}
}

// input collects what the expressions see.
func (r *run) input(s *state) *input {
	attributes := r.u.attributes(r.u.resource(), r.u.kind())
	in := &input{
		attributes: r.u.version(s.newObj, s.oldObj, attributes, s.match.kind), match: s.match, params: s.param,
		knowledge: knowledge{program: r.p.program, live: r.u.Live},
	}
	if r.u.Namespaced {
		in.namespace = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.u.namespace()}}
		namespace, ok := r.s.namespaces.of("/" + namespaceOf(r.u.New))
		in.knowledge.noNamespace, in.knowledge.noObject = namespaceOf(r.u.New) == "", !ok
		if ok {
			in.namespace.Labels, in.namespace.Annotations = textsOf(namespace, "labels"),
				textsOf(namespace, "annotations")
			in.namespace.Labels[corev1.LabelMetadataName] = in.namespace.Name
		}
	}
	return in
}

// version is NewVersionedAttributes for objects that are converted already.
func (u *Update) version(newObj, oldObj map[string]any, attributes admission.Attributes,
	kind schema.GroupVersionKind) *admission.VersionedAttributes {
	converted := admission.NewAttributesRecord(object(newObj), object(oldObj), kind, u.namespace(), u.name(),
		attributes.GetResource(), "",
		admission.Update, nil, false, nil)
	// Objects of the very kind are not converted, and nothing that could do so is needed. There is no error then.
	versioned, _ := admission.NewVersionedAttributes(converted, kind, nil)
	versioned.Attributes = attributes
	return versioned
}

// add adds the result of a run, by the actions of the binding.
func (r *run) add(e *evaluation) {
	if e.reason != "" {
		if !slices.Contains(r.b.Spec.ValidationActions, admissionv1.Deny) {
			return // whatever it comes to, nothing is refused
		}
		r.unknown("it depends on " + e.reason + ", which only the cluster knows")
	}
	for _, d := range e.refused {
		names := fmt.Sprintf("ValidatingAdmissionPolicy '%s' with binding '%s'", r.p.Name, r.b.Name)
		for _, action := range r.b.Spec.ValidationActions {
			switch action {
			case admissionv1.Deny:
				reason := d.reason
				if reason == "" {
					reason = string(metav1.StatusReasonInvalid)
				}
				r.refuse(Refusal{Expression: d.expression, Message: names + " denied request: " + d.message,
					Reason: reason, OnlyOld: r.onlyOld()})
			case admissionv1.Warn:
				r.note("the API server warns: Validation failed for " + names + ": " + d.message)
			case admissionv1.Audit:
				r.note("the audit log says: " + names + ": " + d.message)
			}
		}
	}
}

func (r *run) refuse(refusal Refusal) {
	refusal.Policy, refusal.Binding, refusal.File, refusal.Line = r.p.Name, r.b.Name, r.p.File, r.p.Line
	for i := range r.d.Refused {
		known := &r.d.Refused[i]
		// The message names the policy and the binding.
		if known.Expression == refusal.Expression && known.Message == refusal.Message {
			if known.OnlyOld && !refusal.OnlyOld {
				*known = refusal
			}
			return
		}
	}
	r.d.Refused = append(r.d.Refused, refusal)
}

func (r *run) unknown(reason string) {
	text := fmt.Sprintf("the policy %s with the binding %s may refuse it: %s", r.p.Name, r.b.Name, reason)
	if !slices.Contains(r.d.Unknown, text) {
		r.d.Unknown = append(r.d.Unknown, text)
	}
}

func (r *run) note(text string) {
	if !slices.Contains(r.d.Notes, text) {
		r.d.Notes = append(r.d.Notes, text)
	}
}

func (u *Update) resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: u.Group, Version: u.Version, Resource: u.Plural}
}

func (u *Update) kind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: u.Group, Version: u.Version, Kind: u.Kind}
}

// isSecret reports whether the objects have values that no text may show.
func (u *Update) isSecret() bool { return u.Group == "" && u.Kind == "Secret" }

func (u *Update) isNamespace() bool { return u.Group == "" && u.Plural == "namespaces" }

func (u *Update) name() string {
	_, _, name := identity(u.New)
	return name
}

// namespace returns the namespace of the request. A manifest without one goes to a namespace that is not known; the
// server gives requests about a namespace its own name.
func (u *Update) namespace() string {
	switch {
	case u.isNamespace():
		return u.name()
	case !u.Namespaced:
		return ""
	case namespaceOf(u.New) == "":
		return metav1.NamespaceDefault
	}
	return namespaceOf(u.New)
}

// aggregate joins errors as the server does.
func aggregate(errs []error) error { return utilerrors.NewAggregate(errs) }

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
