package policy

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/fieldlock/fieldlock/internal/celexpr"
	"github.com/fieldlock/fieldlock/internal/celrun"
)

// read is one place of an expression that reads a variable, or a field of it.
type read struct {
	root string
	// of the fields, as far as they are written in the expression: object.spec.list[i].x reads spec.list of object
	names []string
	tests bool // it only asks whether the field is there, or null
}

// readsOf lists what an expression reads. ok is false for text that does not parse.
func readsOf(text string) (list []read, ok bool) {
	x, err := celexpr.Parse(text)
	if err != nil {
		return nil, false
	}
	return readsIn(x), true
}

// readsIn lists what an expression reads.
func readsIn(x ast.Expr) []read {
	var list []read
	for _, r := range celexpr.Reads(x) {
		list = append(list, read{r.Variable, namesOf(r), r.Tests})
	}
	return list
}

// namesOf returns the names that r selects, up to the first item. Objects have no schema here, so names are not
// escaped.
func namesOf(r celexpr.Read) []string {
	var names []string
	for _, step := range r.Steps {
		switch step.Kind {
		case celexpr.Item:
			return names
		case celexpr.Field, celexpr.Key:
			names = append(names, step.Name)
		}
	}
	return names
}

// expressions lists all expressions of a policy.
func expressions(p *admissionv1.ValidatingAdmissionPolicy) []string {
	var list []string
	for _, c := range p.Spec.MatchConditions {
		list = append(list, c.Expression)
	}
	for _, v := range p.Spec.Variables {
		list = append(list, v.Expression)
	}
	for _, v := range p.Spec.Validations {
		list = append(list, v.Expression, v.MessageExpression)
	}
	for _, a := range p.Spec.AuditAnnotations {
		list = append(list, a.ValueExpression)
	}
	return list
}

// readsOld reports whether an expression reads oldObject. Of one that does not parse, it may.
func readsOld(text string) bool {
	if !strings.Contains(text, "oldObject") {
		return false
	}
	list, ok := readsOf(text)
	return !ok || slices.ContainsFunc(list, func(r read) bool { return r.root == "oldObject" })
}

// knowledge is what the manifests lack for one update.
type knowledge struct {
	*program // whose expressions are asked about

	noNamespace bool // the name of the namespace is not known
	noObject    bool // its manifest is not there
	live        bool // both objects are as a cluster has them
	conditions  bool // of match conditions, in which the server gives no namespace
}

// onlyServer are the fields that only the server or a controller sets. A manifest that has them does not decide them.
var onlyServer = [...][]string{
	{"status"}, {"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "generation"},
	{"metadata", "creationTimestamp"},
	{"metadata", "deletionTimestamp"}, {"metadata", "deletionGracePeriodSeconds"}, {"metadata", "managedFields"},
	{"metadata", "selfLink"},
}

// lacks returns what an expression reads that is not known, in words, "" for nothing.
func (k *knowledge) lacks(text string) string { return k.lacking(k.reads(text), map[string]bool{}) }

// certain returns an expression that is true only where a condition is true whatever k lacks, and one that is true only
// where the condition is false.
func (k *knowledge) certain(text string) (isTrue, isFalse string) {
	x, err := celexpr.Parse(text)
	if err != nil {
		return "false", "false"
	}
	return celrun.Certain(x, func(condition ast.Expr) bool {
		return k.lacking(readsIn(condition),
			map[string]bool{}) != ""
	})
}

// lacking is lacks for what an expression reads. It looks at each of the seen variables of the policy once.
func (k *knowledge) lacking(list []read, seen map[string]bool) string {
	for i := range list {
		if reason := k.of(&list[i], seen); reason != "" {
			return reason
		}
	}
	return ""
}

// of returns what a read needs that is not known, "" for nothing.
func (k *knowledge) of(r *read, seen map[string]bool) string {
	first := ""
	if len(r.names) > 0 {
		first = r.names[0]
	}
	switch r.root {
	case "authorizer":
		return "the authorizer"
	case "request":
		if first == "" || first == "userInfo" || first == "options" || first == "namespace" && k.noNamespace {
			return strings.TrimSuffix("request."+first, ".")
		}
	case "namespaceObject":
		if !k.conditions {
			return k.ofNamespace(r)
		}
	case "object", "oldObject":
		return k.ofObject(r)
	case "variables":
		if first == "" {
			return "all variables"
		}
		if expression, ok := k.variables[first]; ok && !seen[first] {
			seen[first] = true // if it lacks something, the first visit says so and ends the search
			return k.lacking(k.reads(expression), seen)
		}
	}
	return ""
}

// ofNamespace is of for the namespace object: its name is known, its labels and annotations are in its manifest.
func (k *knowledge) ofNamespace(r *read) string {
	names := r.names
	const reason = "the namespace object"
	switch {
	case k.noNamespace && !r.tests:
		return reason
	case r.tests && (len(names) == 0 || slices.Equal(names, []string{"metadata"})):
		return ""
	case len(names) > 1 && names[0] == "metadata" &&
		(names[1] == "name" || !k.noObject && (names[1] == "labels" || names[1] == "annotations")):
		return ""
	}
	return reason
}

// ofObject is of for the two objects.
func (k *knowledge) ofObject(r *read) string {
	if k.live {
		return ""
	}
	if k.noNamespace && slices.Equal(r.names, []string{"metadata", "namespace"}) {
		return r.root + ".metadata.namespace"
	}
	for _, field := range onlyServer {
		n := min(len(field), len(r.names))
		if slices.Equal(field[:n], r.names[:n]) && (n == len(field) || !r.tests) {
			return r.root + "." + strings.Join(field, ".")
		}
	}
	return ""
}
