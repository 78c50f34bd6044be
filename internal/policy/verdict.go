package policy

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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

// Verdict is what policies make of an update. Unknown says what may be refused, Notes what is allowed with a warning or an
// entry of the audit log; they are sentences.
type Verdict struct {
	Refused []Refusal
	Unknown []string
	Notes   []string
}

// Check runs the policies that are for an update. A nil Set, and an update that changes nothing, have the zero Verdict.
//
// Cost: for each policy and binding that matches, at most the API server's own budget for one request, and as much again
// where values are unknown.
func (s *Set) Check(u *Update) Verdict {
	var v Verdict
	if s == nil || exempt(u) || jsonvalue.Equal(u.New, u.Old) {
		return v
	}
	for _, p := range s.policies {
		for _, b := range p.bindings {
			r := run{s: s, u: u, p: p, b: b, sides: p.and(b.sides), v: &v}
			r.bound()
		}
	}
	return v
}

// Matches reports whether a policy of s is for an update, or may be.
func (s *Set) Matches(u *Update) bool {
	if s == nil || exempt(u) {
		return false
	}
	return slices.ContainsFunc(s.policies, func(p *boundPolicy) bool {
		return s.matches(p.Spec.MatchConstraints, u, p.sides).answer != no && slices.ContainsFunc(p.bindings, func(b *binding) bool {
			return s.matches(b.Spec.MatchResources, u, p.and(b.sides)).answer != no
		})
	})
}

// Selects reports whether a policy of s is for updates of the resource of u, whatever the objects are. It saves making the objects of
// an update that no policy judges.
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
	v *Verdict
}

// bound adds what the policy makes of the update by its binding.
func (r *run) bound() {
	m := r.s.matches(r.p.Spec.MatchConstraints, r.u, r.sides)
	if m.answer == no {
		return
	}
	if bound := r.s.matches(r.b.Spec.MatchResources, r.u, r.sides); bound.answer < m.answer {
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
	params, ok := r.params()
	if !ok {
		return
	}
	for _, param := range params {
		for _, namespace := range r.namespaces() {
			if on := param.and(namespace.sides); on.any() {
				v := r.with(&state{newObj, oldObj, m, param, namespace.Document})
				v.on = on
				r.add(&v)
			}
		}
	}
}

// namespaces returns the manifests of the object's namespace, which can differ between the sides; one without a document
// where there is none.
func (r *run) namespaces() []entry {
	if r.u.Namespaced {
		if known := r.s.namespace(namespaceOf(r.u.New), r.sides); len(known) > 0 {
			return known
		}
	}
	return []entry{{sides: r.sides}}
}

// state is what one run of a policy sees: both objects as the policy matches them, its parameter, and the manifest of the
// namespace, nil for none.
type state struct {
	newObj, oldObj map[string]any
	match          match
	param          param
	namespace      *Document
}

// params returns the parameters with which the policy runs, a nil one for null. ok is false where it does not run.
func (r *run) params() (list []param, ok bool) {
	kind, ref := r.p.Spec.ParamKind, r.b.Spec.ParamRef
	if kind == nil || ref == nil {
		return []param{{sides: r.sides}}, true
	}
	namespace := ref.Namespace
	namespaced, known := r.s.scopes(kind.APIVersion, kind.Kind)
	if namespaced && namespace == "" {
		if namespace = namespaceOf(r.u.New); !r.u.Namespaced {
			r.deny("failed to configure binding: cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
			return nil, false
		}
	}
	selector, err := metav1.LabelSelectorAsSelector(ref.Selector)
	if err != nil {
		r.deny("failed to configure binding: " + err.Error())
		return nil, false
	}
	for _, e := range r.s.objects[kind.APIVersion+" "+kind.Kind] {
		_, _, name := identity(e.Object)
		named := ref.Name == name && name != "" || ref.Name == "" && ref.Selector != nil && selector.Matches(labels.Set(labelsOf(e.Object)))
		in := namespaceOf(e.Object) == namespace || !namespaced && known
		if on := e.and(r.sides); named && in && on.any() {
			list = append(list, param{object(e.Object), on, false})
		}
	}
	if len(list) == 0 {
		list = append(list, param{sides: r.sides, missing: true})
	}
	return list, true
}

// param is an object that a policy takes as its parameters, of some sides. missing is set where no manifest has it.
type param struct {
	runtime.Object
	sides
	missing bool
}

// verdict is what one run of a policy comes to.
type verdict struct {
	refused []refused
	reason  string // unless "", the update may be refused for another reason too, and this is what it depends on
	on      sides
}

// refused is one decision to deny.
type refused struct {
	expression, message, reason string
	absent                      bool // it fails because a field is not there
}

// with runs the policy with one parameter. Where defaults are not known, it runs again with one more of the states that the
// server can have.
func (r *run) with(s *state) verdict {
	v := r.once(s)
	if r.u.Defaulted && v.reason == "" {
		filled := *s
		filled.newObj, filled.oldObj = fill(s.newObj, s.oldObj), fill(s.oldObj, s.newObj)
		again := r.once(&filled)
		differs := len(again.refused) != len(v.refused)
		failed := slices.ContainsFunc(v.refused, func(d refused) bool { return d.absent })
		if differs || failed || len(v.refused) > 0 && r.readsAbsent(s.newObj, s.oldObj) {
			v.reason, v.refused = "defaults that the server fills in", nil
		}
	}
	if s.param.missing {
		action := r.b.Spec.ParamRef.ParameterNotFoundAction
		denies := action != nil && *action == admissionv1.DenyAction
		if lacking := "parameters that are not among the manifests"; denies && len(v.refused) == 0 || !denies && len(v.refused) > 0 {
			v.reason, v.refused = lacking, nil
		}
	}
	if s.match.answer == maybe && (len(v.refused) > 0 || v.reason != "") {
		v.refused, v.reason = nil, s.match.reason
	}
	return v
}

// once runs the policy once.
func (r *run) once(s *state) verdict {
	p := r.p.program
	in := r.input(s)
	matched := p.matchesConditions(*in)
	switch {
	case matched.answer == no:
		return verdict{}
	case matched.err != nil && matched.reason == "":
		return verdict{refused: r.failed(matched.err)}
	case matched.err != nil:
		return verdict{reason: matched.reason}
	}
	texts := make([]string, len(r.p.Spec.Validations))
	for i, v := range r.p.Spec.Validations {
		texts[i] = v.Expression
	}
	outcomes, rest, err := p.outcomes(texts, in, celconfig.RuntimeCELCostBudget)
	if err != nil {
		return r.maybe(verdict{refused: r.failed(err)}, matched)
	}
	var messages []string
	var v verdict
	for i, o := range outcomes {
		switch {
		case o.err != nil:
			for _, d := range r.failed(o.err) {
				d.expression = r.p.Spec.Validations[i].Expression
				v.refused = append(v.refused, d)
			}
		case o.answer == maybe:
			v.reason = o.reason
		case o.answer == no:
			if messages == nil {
				if messages, err = p.messages(in, rest, !r.u.isSecret()); err != nil {
					return r.maybe(verdict{refused: r.failed(fmt.Errorf("failed messageExpression: %w", err))}, matched)
				}
			}
			validation := &r.p.Spec.Validations[i]
			reason := metav1.StatusReasonInvalid
			if validation.Reason != nil {
				reason = *validation.Reason
			}
			v.refused = append(v.refused, refused{expression: validation.Expression, message: messages[i], reason: string(reason)})
		}
	}
	if len(v.refused) > 0 {
		v.reason = "" // one refusal is enough
	}
	return r.maybe(v, matched)
}

// maybe makes v unknown where the conditions are.
func (r *run) maybe(v verdict, matched outcome) verdict {
	if matched.answer == maybe && (len(v.refused) > 0 || v.reason != "") {
		return verdict{reason: matched.reason}
	}
	return v
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
		attributes: r.u.version(s.newObj, s.oldObj, attributes, s.match.kind), match: s.match, params: s.param.Object,
		knowledge: knowledge{
			program: r.p.program, noParams: s.param.missing, live: r.u.Live,
			kept: r.u.Defaulted || !has(s.newObj, []string{"status"}), // without a subresource, a manifest can change it
		},
	}
	if r.u.Namespaced {
		in.namespace = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.u.namespace()}}
		in.knowledge.noNamespace, in.knowledge.noObject = namespaceOf(r.u.New) == "", s.namespace == nil
		if s.namespace != nil {
			in.namespace.Labels, in.namespace.Annotations = textsOf(s.namespace.Object, "labels"), textsOf(s.namespace.Object, "annotations")
			in.namespace.Labels[corev1.LabelMetadataName] = in.namespace.Name
		}
	}
	return in
}

// version is NewVersionedAttributes for objects that are converted already.
func (u *Update) version(newObj, oldObj map[string]any, attributes admission.Attributes, kind schema.GroupVersionKind) *admission.VersionedAttributes {
	converted := admission.NewAttributesRecord(object(newObj), object(oldObj), kind, u.namespace(), u.name(), attributes.GetResource(), "",
		admission.Update, nil, false, nil)
	// Objects of the very kind are not converted, and nothing that could do so is needed. There is no error then.
	versioned, _ := admission.NewVersionedAttributes(converted, kind, nil)
	versioned.Attributes = attributes
	return versioned
}

// add adds what a run came to, by the actions of the binding.
func (r *run) add(v *verdict) {
	if v.reason != "" {
		if !slices.Contains(r.b.Spec.ValidationActions, admissionv1.Deny) {
			return // whatever it comes to, nothing is refused
		}
		r.unknown("it depends on " + v.reason + ", which only the cluster knows")
	}
	for _, d := range v.refused {
		names := fmt.Sprintf("ValidatingAdmissionPolicy '%s' with binding '%s'", r.p.Name, r.b.Name)
		for _, action := range r.b.Spec.ValidationActions {
			switch action {
			case admissionv1.Deny:
				reason := d.reason
				if reason == "" {
					reason = string(metav1.StatusReasonInvalid)
				}
				r.refuse(Refusal{Expression: d.expression, Message: names + " denied request: " + d.message, Reason: reason, OnlyOld: v.on.onlyOld()})
			case admissionv1.Warn:
				r.note("the API server warns: Validation failed for " + names + ": " + d.message)
			case admissionv1.Audit:
				r.note("the audit log says: " + names + ": " + d.message)
			}
		}
	}
}

// deny adds the refusal of a binding that cannot be used.
func (r *run) deny(message string) {
	if r.p.program.ignores() {
		return
	}
	names := fmt.Sprintf("ValidatingAdmissionPolicy '%s' with binding '%s'", r.p.Name, r.b.Name)
	r.refuse(Refusal{Message: names + " denied request: " + message, Reason: string(metav1.StatusReasonInvalid), OnlyOld: r.onlyOld()})
}

func (r *run) refuse(refusal Refusal) {
	refusal.Policy, refusal.Binding, refusal.File, refusal.Line = r.p.Name, r.b.Name, r.p.File, r.p.Line
	for i := range r.v.Refused {
		known := &r.v.Refused[i]
		// The message names the policy and the binding.
		if known.Expression == refusal.Expression && known.Message == refusal.Message {
			if known.OnlyOld && !refusal.OnlyOld {
				*known = refusal
			}
			return
		}
	}
	r.v.Refused = append(r.v.Refused, refusal)
}

func (r *run) unknown(reason string) {
	text := fmt.Sprintf("the policy %s with the binding %s may refuse it: %s", r.p.Name, r.b.Name, reason)
	if !slices.Contains(r.v.Unknown, text) {
		r.v.Unknown = append(r.v.Unknown, text)
	}
}

func (r *run) note(text string) {
	if !slices.Contains(r.v.Notes, text) {
		r.v.Notes = append(r.v.Notes, text)
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

// namespace returns the namespace of the request. A manifest without one goes to a namespace that is not known; the server
// gives requests about a namespace its own name.
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
