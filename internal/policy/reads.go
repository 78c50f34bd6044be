package policy

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/fieldlock/fieldlock/internal/celexpr"
)

// read is one place of an expression that reads a variable, or a field of it as far as the names of fields are written in
// the expression: object.spec.list[i].x reads spec.list of object.
type read struct {
	root  string
	path  []string
	tests bool // it only asks whether the field is there, or null
}

// readsOf lists what an expression reads, macros unexpanded. ok is false for text that does not parse. A name that a macro
// declares is listed like a variable, if it has the name of one: too much is read then, never too little.
func readsOf(text string) (list []read, ok bool) {
	x, err := celexpr.Parse(text)
	if err != nil {
		return nil, false
	}
	collect(x, &list)
	return list, true
}

// collect adds what x reads.
func collect(x ast.Expr, list *[]read) {
	celexpr.Visit(x, func(x ast.Expr) bool {
		if r, ok := chain(x, list); ok {
			*list = append(*list, r)
			return false
		}
		if x.Kind() != ast.CallKind || x.AsCall().FunctionName() != operators.Has && !comparesNull(x.AsCall()) {
			return true
		}
		for _, arg := range x.AsCall().Args() {
			if r, ok := chain(arg, list); ok {
				r.tests = true
				*list = append(*list, r)
				continue
			}
			collect(arg, list)
		}
		return false
	})
}

// comparesNull reports whether a call is == null or != null.
func comparesNull(call ast.CallExpr) bool {
	if call.FunctionName() != operators.Equals && call.FunctionName() != operators.NotEquals {
		return false
	}
	return slices.ContainsFunc(call.Args(), func(x ast.Expr) bool {
		return x.Kind() == ast.LiteralKind && x.AsLiteral() == types.NullValue
	})
}

// chain returns the variable that selections and indices of x begin with, and the names up to the first index that is not a
// name; what such an index reads is added to list. ok is false where x is nothing of the kind.
func chain(x ast.Expr, list *[]read) (r read, ok bool) {
	switch x.Kind() {
	case ast.IdentKind:
		return read{root: strings.TrimPrefix(x.AsIdent(), ".")}, true
	case ast.SelectKind:
		if r, ok = chain(x.AsSelect().Operand(), list); ok {
			r.append(x.AsSelect().FieldName())
		}
		return r, ok
	case ast.CallKind:
		call := x.AsCall()
		name := call.FunctionName()
		if name != operators.Index && name != operators.OptIndex && name != operators.OptSelect {
			return read{}, false
		}
		if r, ok = chain(call.Args()[0], list); !ok {
			return read{}, false
		}
		index := call.Args()[1]
		if index.Kind() == ast.LiteralKind && index.AsLiteral().Type() == types.StringType {
			r.append(string(index.AsLiteral().(types.String)))
			return r, true
		}
		r.append("")
		collect(index, list)
		return r, true
	}
	return read{}, false
}

// append adds a step; "" and everything after it is of no name.
func (r *read) append(step string) {
	if len(r.path) == 0 || r.path[len(r.path)-1] != "" {
		r.path = append(r.path, step)
	}
}

// names are the steps of the path that have one.
func (r *read) names() []string {
	if n := len(r.path); n > 0 && r.path[n-1] == "" {
		return r.path[:n-1]
	}
	return r.path
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
	{"status"}, {"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "generation"}, {"metadata", "creationTimestamp"},
	{"metadata", "deletionTimestamp"}, {"metadata", "deletionGracePeriodSeconds"}, {"metadata", "managedFields"}, {"metadata", "selfLink"},
}

// lacks returns what an expression reads that is not known, in words, "" for nothing.
func (k *knowledge) lacks(text string) string { return k.lacking(text, map[string]bool{}) }

func (k *knowledge) lacking(text string, seen map[string]bool) string {
	list := k.reads(text)
	for i := range list {
		if reason := k.of(&list[i], seen); reason != "" {
			return reason
		}
	}
	return ""
}

// of returns what a read needs that is not known, "" for nothing.
func (k *knowledge) of(r *read, seen map[string]bool) string {
	names := r.names()
	first := ""
	if len(names) > 0 {
		first = names[0]
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
			return k.ofNamespace(r, names)
		}
	case "object", "oldObject":
		return k.ofObject(r, names)
	case "variables":
		if first == "" {
			return "all variables"
		}
		if expression, ok := k.variables[first]; ok && !seen[first] {
			seen[first] = true // if it lacks something, the first visit says so and ends the search
			return k.lacking(expression, seen)
		}
	}
	return ""
}

// ofNamespace is of for the namespace object: its name is known, its labels and annotations are in its manifest.
func (k *knowledge) ofNamespace(r *read, names []string) string {
	const reason = "the namespace object"
	switch {
	case k.noNamespace && !r.tests:
		return reason
	case r.tests && (len(names) == 0 || slices.Equal(names, []string{"metadata"})):
		return ""
	case len(names) > 1 && names[0] == "metadata" && (names[1] == "name" || !k.noObject && (names[1] == "labels" || names[1] == "annotations")):
		return ""
	}
	return reason
}

// ofObject is of for the two objects.
func (k *knowledge) ofObject(r *read, names []string) string {
	if k.live {
		return ""
	}
	if k.noNamespace && slices.Equal(names, []string{"metadata", "namespace"}) {
		return r.root + ".metadata.namespace"
	}
	for _, field := range onlyServer {
		n := min(len(field), len(names))
		if slices.Equal(field[:n], names[:n]) && (n == len(field) || !r.tests) {
			return r.root + "." + strings.Join(field, ".")
		}
	}
	return ""
}
