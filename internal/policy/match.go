package policy

import (
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
)

// Matching follows k8s.io/apiserver/pkg/admission/plugin/policy/matching, which cannot be used here: it links
// client-go, as it asks a cluster for namespaces. One rule at a time is matched by the server's own package rules.

// answer is that of a question that the manifests may not be enough for. The order counts: and is the least of two.
type answer int

const (
	no answer = iota
	maybe
	yes
)

func answerOf(b bool) answer {
	if b {
		return yes
	}
	return no
}

// match is how a policy or binding matches an update.
type match struct {
	answer
	resource schema.GroupVersionResource // that the policy sees
	kind     schema.GroupVersionKind
	reason   string // why the answer is maybe
}

// matches matches an update as Matcher.Matches does. Nil constraints match everything, with the resource of the
// request.
func (s *Set) matches(constraints *admissionv1.MatchResources, u *Update) match {
	m := match{answer: yes, resource: u.resource(), kind: u.kind()}
	if constraints == nil {
		return m
	}
	inNamespace, err := s.matchesNamespace(constraints.NamespaceSelector, u)
	if inNamespace == no && err == nil || !matchesObject(constraints.ObjectSelector, u) {
		return match{}
	}
	if excluded := matchesRules(constraints.ExcludeResourceRules, constraints.MatchPolicy, u); excluded.answer == yes {
		return match{}
	}
	if len(constraints.ResourceRules) > 0 {
		m = matchesRules(constraints.ResourceRules, constraints.MatchPolicy, u)
	}
	if m.answer == yes && inNamespace == maybe {
		m.answer, m.reason = maybe, "the labels of the namespace"
	}
	return m
}

// matchesRules matches the rules of one list: those of the request's own version first, then, unless the policy is
// Exact, those of the other versions that the server can convert the object to.
func matchesRules(list []admissionv1.NamedRuleWithOperations, policy *admissionv1.MatchPolicyType, u *Update) match {
	for i := range list {
		if matchesRule(&list[i], u, u.resource()) {
			return match{answer: yes, resource: u.resource(), kind: u.kind()}
		}
	}
	if policy != nil && *policy == admissionv1.Exact { // without a policy the API's default counts, which is Equivalent
		return match{}
	}
	for i := range list {
		for _, version := range u.Versions {
			resource := u.resource()
			resource.Version = version
			if version != u.Version && matchesRule(&list[i], u, resource) {
				kind := u.kind()
				kind.Version = version
				return match{answer: yes, resource: resource, kind: kind}
			}
		}
	}
	return match{}
}

func matchesRule(rule *admissionv1.NamedRuleWithOperations, u *Update, resource schema.GroupVersionResource) bool {
	m := rules.Matcher{Rule: rule.RuleWithOperations, Attr: u.attributes(resource, u.kind())}
	return m.Matches() && (len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, u.name()))
}

// matchesObject reports whether the labels of one of the two objects are selected, as package predicates/object does. A
// selector that cannot be read selects nothing: the server refuses the policy.
func matchesObject(s *metav1.LabelSelector, u *Update) bool {
	if s == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && (selector.Empty() || selector.Matches(labels.Set(labelsOf(u.New))) ||
		selector.Matches(labels.Set(labelsOf(u.Old))))
}

// matchesNamespace matches the namespace of an update as package predicates/namespace does. The label with the name of
// a namespace is always known, the others where both sides have its manifest.
func (s *Set) matchesNamespace(selector *metav1.LabelSelector, u *Update) (answer, error) {
	if selector == nil || !u.Namespaced && !u.isNamespace() {
		return yes, nil
	}
	wanted, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || wanted.Empty() {
		return answerOf(err == nil), err
	}
	if u.isNamespace() {
		own := labels.Set(labelsOf(u.New))
		own[corev1.LabelMetadataName] = u.name() // which the server sets
		return answerOf(wanted.Matches(own)), nil
	}
	name := namespaceOf(u.New)
	namespace, ok := s.namespaces.of("/" + name)
	if !ok {
		return matchesName(wanted, name), nil
	}
	own := labels.Set(labelsOf(namespace))
	own[corev1.LabelMetadataName] = name
	return answerOf(wanted.Matches(own)), nil
}

// matchesName matches a namespace of which only the name is known, or "" if not even that.
func matchesName(selector labels.Selector, name string) answer {
	requirements, _ := selector.Requirements()
	all := yes
	for _, r := range requirements {
		if r.Key() != corev1.LabelMetadataName || name == "" && r.Operator() != selection.Exists &&
			r.Operator() != selection.DoesNotExist {
			all = min(all, maybe)
			continue
		}
		all = min(all, answerOf(r.Matches(labels.Set{corev1.LabelMetadataName: name})))
	}
	return all
}

// exempt reports whether API servers ask no policy about objects of a kind, as that could lock everybody out.
func exempt(u *Update) bool {
	return rules.IsExemptAdmissionConfigurationResource(u.attributes(u.resource(), u.kind()))
}

// attributes describes the request to update u as the server describes it to its admission plugins.
func (u *Update) attributes(resource schema.GroupVersionResource, kind schema.GroupVersionKind) admission.Attributes {
	return admission.NewAttributesRecord(object(u.New), object(u.Old), kind, u.namespace(), u.name(), resource, "",
		admission.Update, nil, false, nil)
}

// Manifests leave out what the server fills in. With replicas only in the new manifest of a Deployment, a policy such as
// "!has(oldObject.spec.replicas) || object.spec.replicas == oldObject.spec.replicas" allows the update as it is written,
// and may refuse it on the server, where the old object has replicas, too.

// needsDefaults reports whether the defaults of the server may change the result of a policy. It reads a field that one
// of the objects leaves out, or refuses the update and reads one that both leave out; or it reads an object in which
// the two differ only in what one of them leaves out.
func (r *run) needsDefaults(s *state, e *evaluation) bool {
	inOne, inNone := r.readsAbsent(s.newObj, s.oldObj)
	if inOne || inNone && len(e.refused) > 0 {
		return true
	}
	filled := *s
	filled.newObj, filled.oldObj = fill(s.newObj, s.oldObj), fill(s.oldObj, s.newObj)
	return len(r.evaluateState(&filled).refused) != len(e.refused) ||
		slices.ContainsFunc(e.refused, func(d refused) bool { return d.absent })
}

// readsAbsent reports whether a policy reads a field that only one of the objects has, and whether it reads one that
// neither has.
func (r *run) readsAbsent(newObj, oldObj map[string]any) (inOne, inNone bool) {
	for _, text := range expressions(r.p.ValidatingAdmissionPolicy) {
		for _, read := range r.p.program.reads(text) {
			isObject := read.root == "object" || read.root == "oldObject"
			if !isObject || len(read.names) == 0 || free[read.names[0]] {
				continue
			}
			at := fieldpath.Of(read.names)
			isThere, wasThere := has(newObj, at), has(oldObj, at)
			inOne = inOne || isThere != wasThere
			inNone = inNone || !isThere && !wasThere
		}
	}
	return inOne, inNone
}

// has reports whether obj has the field at p; one below a list counts as there.
func has(obj map[string]any, p fieldpath.Path) bool {
	reached := p.Reach(obj)
	last, _ := fieldpath.Get(obj, reached...)
	_, isObject := last.(map[string]any)
	return len(reached) == len(p) || !isObject
}

// free are the names of fields below which the server fills in nothing: maps with keys of the user's.
var free = map[string]bool{
	"metadata": true, "data": true, "binaryData": true, "stringData": true, "labels": true, "annotations": true,
	"matchLabels":  true,
	"nodeSelector": true, "parameters": true,
}

// fill returns obj with what it leaves out and other has, except in free fields. It shares values with both.
func fill(obj, other map[string]any) map[string]any {
	filled := make(map[string]any, len(obj))
	for name, value := range other {
		if !free[name] {
			filled[name] = value
		}
	}
	for name, value := range obj {
		if !free[name] {
			value = fillValue(value, other[name])
		}
		filled[name] = value
	}
	return filled
}

func fillValue(value, other any) any {
	switch value := value.(type) {
	case map[string]any:
		if other, ok := other.(map[string]any); ok {
			return fill(value, other)
		}
	case []any:
		other, ok := other.([]any)
		if !ok || len(other) != len(value) {
			return value
		}
		filled := make([]any, len(value))
		for i := range value {
			filled[i] = fillValue(value[i], other[i])
		}
		return filled
	}
	return value
}
