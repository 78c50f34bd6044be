package policy

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Document is one manifest that can matter to policies: a policy, a binding, a namespace, or an object that a policy
// takes as its parameters. Other manifests do no harm.
type Document struct {
	Object       map[string]any // decoded, as package encoding/json and util/json do; it is not changed
	File         string
	Line         int
	InNew, InOld bool // which sides of the comparison have it, in this very form
}

// sides says which sides of a comparison have something.
type sides struct{ inNew, inOld bool }

// and returns the sides that both have.
func (s sides) and(other sides) sides { return sides{s.inNew && other.inNew, s.inOld && other.inOld} }

func (s sides) any() bool     { return s.inNew || s.inOld }
func (s sides) onlyOld() bool { return s.inOld && !s.inNew }

// Set is the policies of both sides of a comparison. Those of OLD count like those of NEW, so that a change cannot drop
// a policy or its binding and break it at once. It is safe for concurrent use.
type Set struct {
	policies   []*boundPolicy
	namespaces objects
	parameters map[string]objects // possible ones, by apiVersion and kind
	scopes     func(apiVersion, kind string) (namespaced, known bool)
	warnings   []string
}

// entry is a document with its sides.
type entry struct {
	*Document
	sides
}

// boundPolicy is a policy that reads oldObject, with its bindings.
type boundPolicy struct {
	*admissionv1.ValidatingAdmissionPolicy
	entry
	bindings []*binding
	program  *program
}

type binding struct {
	*admissionv1.ValidatingAdmissionPolicyBinding
	entry
}

const group = "admissionregistration.k8s.io"

// NewSet reads the policies among docs. scopes tells whether objects of a kind have a namespace; known is false for
// an unknown kind. Policies that read oldObject in none of their expressions are left out: they judge one
// object, on its creation too. The set is nil where no policy is left; a nil Set refuses nothing. docs are kept, and
// must not change.
//
// Cost: O(docs). Expressions are compiled at the first update that their policy is for, in milliseconds.
func NewSet(docs []Document, scopes func(apiVersion, kind string) (namespaced, known bool)) *Set {
	s := &Set{namespaces: objects{}, parameters: map[string]objects{}, scopes: scopes}
	var bindings []*binding
	for i := range docs {
		e := entry{&docs[i], sides{docs[i].InNew, docs[i].InOld}}
		apiVersion, kind, name := identity(e.Object)
		switch {
		case apiVersion == "v1" && kind == "Namespace":
			s.namespaces.add(e)
		case !isPolicyVersion(apiVersion):
		case kind == "ValidatingAdmissionPolicy":
			s.addPolicy(e, name)
		case kind == "ValidatingAdmissionPolicyBinding":
			b := &binding{&admissionv1.ValidatingAdmissionPolicyBinding{}, e}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(e.Object,
				b.ValidatingAdmissionPolicyBinding); err != nil {
				s.warn(e, "the binding %s of a policy cannot be read, and does not count: %v", name, err)
				continue
			}
			bindings = append(bindings, b)
		}
	}
	if len(s.policies) == 0 && len(s.warnings) == 0 {
		return nil
	}
	for _, p := range s.policies {
		for _, b := range bindings {
			if b.Spec.PolicyName == p.Name && p.and(b.sides).any() {
				p.bindings = append(p.bindings, b)
			}
		}
	}
	for i := range docs {
		apiVersion, kind, _ := identity(docs[i].Object)
		if of, ok := s.parameters[apiVersion+" "+kind]; ok {
			of.add(entry{&docs[i], sides{docs[i].InNew, docs[i].InOld}})
		}
	}
	return s
}

// isPolicyVersion reports whether an apiVersion is one of those in which API servers serve policies. All have one form.
func isPolicyVersion(apiVersion string) bool {
	return apiVersion == group+"/v1" || apiVersion == group+"/v1beta1"
}

// IsPolicy reports whether an object is a policy or a binding.
func IsPolicy(obj map[string]any) bool {
	apiVersion, kind, _ := identity(obj)
	return isPolicyVersion(apiVersion) && (kind == "ValidatingAdmissionPolicy" ||
		kind == "ValidatingAdmissionPolicyBinding")
}

func (s *Set) addPolicy(e entry, name string) {
	p := &boundPolicy{ValidatingAdmissionPolicy: &admissionv1.ValidatingAdmissionPolicy{}, entry: e}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(e.Object, p.ValidatingAdmissionPolicy); err != nil {
		s.warn(e, "the policy %s cannot be read, and does not count: %v", name, err)
		return
	}
	if !slices.ContainsFunc(expressions(p.ValidatingAdmissionPolicy), readsOld) {
		return
	}
	if p.Spec.MatchConstraints == nil {
		s.warn(e, "the policy %s has no matchConstraints, and does not count", name)
		return
	}
	if kind := p.Spec.ParamKind; kind != nil {
		s.parameters[kind.APIVersion+" "+kind.Kind] = objects{}
	}
	p.program = newProgram(p.ValidatingAdmissionPolicy)
	s.policies = append(s.policies, p)
}

func (s *Set) warn(e entry, format string, args ...any) {
	warning := fmt.Sprintf(format, args...)
	if e.File != "" {
		warning = fmt.Sprintf("%s:%d: %s", e.File, e.Line, warning)
	}
	if !slices.Contains(s.warnings, warning) {
		s.warnings = append(s.warnings, warning)
	}
}

// Warnings lists the policies and bindings that cannot be read. An API server refuses them.
func (s *Set) Warnings() []string {
	if s == nil {
		return nil
	}
	return slices.Clone(s.warnings)
}

// Sides marks which documents both sides have: it returns those of NEW and OLD, equal ones once.
func Sides(news, olds []Document) []Document {
	all := slices.Clone(news)
	for i := range all {
		all[i].InNew = true
	}
	known := map[string][]int{}
	key := func(obj map[string]any) string { return strings.Join(append(parts(obj), namespaceOf(obj)), "\n") }
	for i := range all {
		known[key(all[i].Object)] = append(known[key(all[i].Object)], i)
	}
	for _, old := range olds {
		old.InOld = true
		i := slices.IndexFunc(known[key(old.Object)],
			func(i int) bool { return reflect.DeepEqual(all[i].Object, old.Object) })
		if i >= 0 {
			all[known[key(old.Object)][i]].InOld = true
			continue
		}
		all = append(all, old)
	}
	return all
}

func parts(obj map[string]any) []string {
	apiVersion, kind, name := identity(obj)
	return []string{apiVersion, kind, name}
}

// identity returns what names an object, "" for what it lacks.
func identity(obj map[string]any) (apiVersion, kind, name string) {
	apiVersion, _ = obj["apiVersion"].(string)
	kind, _ = obj["kind"].(string)
	name, _ = metadata(obj)["name"].(string)
	return apiVersion, kind, name
}

func metadata(obj map[string]any) map[string]any {
	m, _ := obj["metadata"].(map[string]any)
	return m
}

func namespaceOf(obj map[string]any) string {
	namespace, _ := metadata(obj)["namespace"].(string)
	return namespace
}

// labelsOf returns the labels of an object.
func labelsOf(obj map[string]any) map[string]string { return textsOf(obj, "labels") }

// textsOf returns the labels or annotations of an object.
func textsOf(obj map[string]any, member string) map[string]string {
	m, _ := metadata(obj)[member].(map[string]any)
	texts := make(map[string]string, len(m))
	for key, value := range m {
		if text, ok := value.(string); ok {
			texts[key] = text
		}
	}
	return texts
}
