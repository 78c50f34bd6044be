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
	noParams    bool
	live        bool // both objects are as a cluster has them
	kept        bool // what the server keeps is equal in both objects
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
	case "params":
		if k.noParams {
			return "parameters that are not among the manifests"
		}
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

// An update of an object leaves its status, uid and time of creation as they are: the server keeps them, whatever the
// manifest says. So a condition that reads nothing else of both objects reads the same values twice, and what is known to be
// true then is true. This is how the locks below status, which `export policy` writes too, get their verdict.
//
//	!has(oldObject.status) || !has(oldObject.status.a) || has(object.status.a) && object.status.a == oldObject.status.a
//
// With S for both it is !A || !B || B && S.a == S.a, where A is has(S) and B is has(S.a). Each atom is true, false or an
// error, but not each combination is possible: B is no error where A is true, and S.a == S.a is true where B is. The condition
// is dropped if it is true in all combinations that are possible.

// kept are the fields that an update leaves as they are.
var kept = [...][]string{{"status"}, {"metadata", "uid"}, {"metadata", "creationTimestamp"}}

// maxAtoms bounds the combinations, to 3^8.
const maxAtoms = 8

// dropKept returns an expression without those of its conjuncts that are true because nothing of what they read changes;
// "true" where none is left.
func dropKept(text string) string {
	all, err := celexpr.Parse(text)
	if err != nil {
		return text
	}
	var rest []string
	dropped := false
	for _, x := range celexpr.Operands(all, operators.LogicalAnd) {
		if readsKeptOnly(x) && alwaysTrue(x) {
			dropped = true
			continue
		}
		part, err := celexpr.Print(x)
		if err != nil {
			return text
		}
		rest = append(rest, "("+part+")")
	}
	switch {
	case !dropped:
		return text
	case len(rest) == 0:
		return "true"
	}
	return strings.Join(rest, " && ")
}

// readsKeptOnly reports whether all that x reads of the two objects is kept, and x reads no variable of the policy.
func readsKeptOnly(x ast.Expr) bool {
	var list []read
	collect(x, &list)
	return !slices.ContainsFunc(list, func(r read) bool {
		switch r.root {
		case "object", "oldObject":
			names := r.names()
			return !slices.ContainsFunc(kept[:], func(field []string) bool {
				return len(names) >= len(field) && slices.Equal(names[:len(field)], field)
			})
		}
		return r.root == "variables"
	})
}

// alwaysTrue reports whether x is true for all values of what is kept. False means unknown.
func alwaysTrue(x ast.Expr) bool {
	c := &combinations{index: map[string]int{}}
	formula := c.formula(x)
	return len(c.atoms) <= maxAtoms && c.try(formula, 0)
}

// value is that of a condition.
type value int

const (
	isFalse value = iota
	isTrue
	isError
)

// combinations are the values of the atoms of a formula.
type combinations struct {
	atoms  []atom
	index  map[string]int // of the atoms, by their texts
	values []value
}

// atom is a condition that is not taken apart.
type atom struct {
	parent string // of has(parent.field): without the parent it is an error; "" for an object, and where it is not known
	has    string // the parent and the field
	equal  string // of equal == equal, a field
	free   bool   // nothing is known about it
}

// formula returns a function of the values of the atoms.
func (c *combinations) formula(x ast.Expr) func() value {
	if x.Kind() != ast.CallKind {
		return c.atom(x)
	}
	call := x.AsCall()
	switch call.FunctionName() {
	case operators.LogicalNot:
		a := c.formula(call.Args()[0])
		return func() value { return [...]value{isTrue, isFalse, isError}[a()] }
	case operators.LogicalOr:
		a, b := c.formula(call.Args()[0]), c.formula(call.Args()[1])
		return func() value { return decide(a(), b(), isTrue) }
	case operators.LogicalAnd:
		a, b := c.formula(call.Args()[0]), c.formula(call.Args()[1])
		return func() value { return decide(a(), b(), isFalse) }
	case operators.Equals:
		// has(a) == has(a)
		if a, b := call.Args()[0], call.Args()[1]; isHas(a) && isHas(b) && textOf(a) == textOf(b) {
			has := c.formula(a)
			return func() value { return max(has(), isTrue) }
		}
	}
	return c.atom(x)
}

// decide is && and || of CEL: the deciding value wins, then the error.
func decide(a, b, deciding value) value {
	switch {
	case a == deciding || b == deciding:
		return deciding
	case a == isError || b == isError:
		return isError
	}
	return 1 - deciding
}

func (c *combinations) atom(x ast.Expr) func() value {
	text := textOf(x)
	i, ok := c.index[text]
	if !ok {
		i = len(c.atoms)
		c.index[text] = i
		c.atoms, c.values = append(c.atoms, atomOf(x)), append(c.values, isError)
	}
	return func() value { return c.values[i] }
}

func isHas(x ast.Expr) bool {
	return x.Kind() == ast.CallKind && x.AsCall().FunctionName() == operators.Has && len(x.AsCall().Args()) == 1
}

func atomOf(x ast.Expr) atom {
	if isHas(x) && x.AsCall().Args()[0].Kind() == ast.SelectKind {
		field := x.AsCall().Args()[0]
		return atom{parent: textOf(field.AsSelect().Operand()), has: textOf(field)}
	}
	if x.Kind() == ast.CallKind && x.AsCall().FunctionName() == operators.Equals {
		if a, b := textOf(x.AsCall().Args()[0]), textOf(x.AsCall().Args()[1]); a == b {
			return atom{equal: a}
		}
	}
	return atom{free: true}
}

// textOf spells x with one name for both objects.
func textOf(x ast.Expr) string {
	fac := ast.NewExprFactory()
	renamed := fac.CopyExpr(x)
	ast.PostOrderVisit(renamed, ast.NewExprVisitor(func(x ast.Expr) {
		if celexpr.IsIdent(x, "oldObject") {
			x.SetKindCase(fac.NewIdent(x.ID(), "object"))
		}
	}))
	text, err := celexpr.Print(renamed)
	if err != nil {
		return ""
	}
	return text
}

// try reports whether the formula is true for all possible values of the atoms from i on. Without a text, an atom would be
// taken for another one.
func (c *combinations) try(formula func() value, i int) bool {
	if _, ok := c.index[""]; ok || len(c.atoms) > maxAtoms {
		return false
	}
	if i == len(c.atoms) {
		return !c.possible() || formula() == isTrue
	}
	for _, v := range [...]value{isFalse, isTrue, isError} {
		c.values[i] = v
		if !c.try(formula, i+1) {
			return false
		}
	}
	return true
}

// possible reports whether the values of the atoms can occur together.
func (c *combinations) possible() bool {
	present := map[string]bool{"object": true, "object.metadata": true}
	for i, a := range c.atoms {
		if a.has != "" && c.values[i] == isTrue {
			present[a.has] = true
		}
	}
	for i, a := range c.atoms {
		switch v := c.values[i]; {
		case a.has != "" && v == isError && present[a.parent]:
			return false
		case a.has != "" && v == isTrue && a.parent != "object" && c.absent(a.parent):
			return false
		case a.equal != "" && (v == isFalse || v == isError && present[a.equal]):
			return false
		}
	}
	return true
}

// absent reports whether a field is not there.
func (c *combinations) absent(field string) bool {
	i := slices.IndexFunc(c.atoms, func(a atom) bool { return a.has == field })
	return i >= 0 && c.values[i] != isTrue
}
