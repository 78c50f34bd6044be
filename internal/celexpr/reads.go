package celexpr

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"k8s.io/apiserver/pkg/cel"
)

// An expression reads an object by selecting from a variable, step by step. This chapter is the one place that takes
// such selections apart:
//
//	self.spec.?backup.value().tags['a-b'][0].size
//
// is the variable self with the steps spec, ?backup, value(), tags, 'a-b', an item and size. The variable of a macro
// stands for the items of its target. Therefore
//
//	self.disks.all(d, has(d.size) && d.class == oldSelf.class)
//
// reads self.disks, size and class of its items, and oldSelf.class.

// Selection is a variable and what an expression selects from it.
type Selection struct {
	Variable string
	Steps    []Step
}

// Step is one step of a selection.
type Step struct {
	Kind StepKind
	// Name is the name of the field or function as it is written, or the key; "" for an item.
	Name     string
	Optional bool // .?name and [?key]
}

// StepKind is a way to select.
type StepKind int

// The ways to select.
const (
	Field StepKind = iota // .name, .?name
	Key                   // ['name']
	Item                  // [i], and what the variable of a macro holds
	Call                  // a call of one of the functions in transparent
)

// transparent are functions whose result is their target or a part of it.
var transparent = [...]string{"value", "orValue", "lowerAscii", "trim", "sort", "filter"}

// Property returns the name of the property or key that a step selects from an object with a schema, where a field is
// written as Escape does. It reports false for other steps, and for a name that is not written so.
func (s Step) Property() (name string, ok bool) {
	switch s.Kind {
	case Field:
		return cel.Unescape(s.Name)
	case Key:
		return s.Name, true
	}
	return "", false
}

// Selected returns x as a selection, and false if x is not a selection. It ignores the macros around x.
func Selected(x ast.Expr) (s Selection, ok bool) {
	for x.Kind() != ast.IdentKind {
		l, ok := lastStep(x)
		if !ok {
			return Selection{}, false
		}
		s.Steps = append(s.Steps, l.step)
		x = l.from
	}
	s.Variable, _ = variable(x)
	slices.Reverse(s.Steps)
	return s, true
}

// variable returns the name of x, a variable, and reports whether it is .name, which no macro binds.
func variable(x ast.Expr) (name string, outermost bool) { return strings.CutPrefix(x.AsIdent(), ".") }

// last is the last step of an expression, what it selects from, and its arguments, without a name.
type last struct {
	from ast.Expr
	step Step
	args []ast.Expr
}

// lastStep reports false for an expression that does not select.
func lastStep(x ast.Expr) (l last, ok bool) {
	switch x.Kind() {
	case ast.SelectKind:
		return last{from: x.AsSelect().Operand(), step: Step{Kind: Field, Name: x.AsSelect().FieldName()}}, true
	case ast.CallKind:
		call := x.AsCall()
		name, args := call.FunctionName(), call.Args()
		switch {
		case name == operators.OptSelect:
			field, _ := textOf(args[1])
			return last{from: args[0], step: Step{Kind: Field, Name: field, Optional: true}}, true
		case name == operators.Index || name == operators.OptIndex:
			if key, ok := textOf(args[1]); ok {
				return last{from: args[0], step: Step{Kind: Key, Name: key, Optional: name == operators.OptIndex}}, true
			}
			return last{from: args[0], step: Step{Kind: Item, Optional: name == operators.OptIndex},
				args: args[1:]}, true
		case call.IsMemberFunction() && slices.Contains(transparent[:], name):
			return last{from: call.Target(), step: Step{Kind: Call, Name: name}, args: args}, true
		}
	}
	return last{}, false
}

// textOf returns the string that x spells.
func textOf(x ast.Expr) (text string, ok bool) {
	if x.Kind() != ast.LiteralKind {
		return "", false
	}
	literal, ok := x.AsLiteral().(types.String)
	return string(literal), ok
}

// Read is one place of an expression that reads a variable.
type Read struct {
	Selection
	// Tests is set if the place only asks whether the field is there, or null: has(x), x == null.
	Tests bool
}

// OfRule reports whether r reads an object of a rule of a CRD: self or oldSelf.
func (r Read) OfRule() bool { return r.Variable == "self" || r.Variable == "oldSelf" }

// AnyStep stands for an item.
const AnyStep = "\x00*"

// Properties returns the names of the properties and keys that r selects, one after the other, and AnyStep for items.
func (r Read) Properties() []string {
	names := []string{}
	for _, step := range r.Steps {
		switch name, ok := step.Property(); {
		case ok:
			names = append(names, name)
		case step.Kind == Field: // of no property
			names = append(names, step.Name)
		case step.Kind == Item:
			names = append(names, AnyStep)
		}
	}
	return names
}

// Reads lists what x reads. The variable of a macro is listed as what it holds if the target of the macro is a
// selection. Otherwise the target lists what is in it as a whole, and the variable is left out.
func Reads(x ast.Expr) []Read {
	r := &reader{}
	r.visit(x, false)
	return r.reads
}

// reader collects what an expression reads.
type reader struct {
	reads []Read
	bound []binding // of the macros around, the innermost last
}

// binding is a variable of a macro and the selection of what it holds; without a variable, the selection is not known.
type binding struct {
	name  string
	holds Selection
}

// visit adds what x reads.
func (r *reader) visit(x ast.Expr, isTest bool) {
	if s, ok := r.selection(x); ok {
		r.add(s, isTest)
	}
}

// add adds a selection. What is selected from some item or by a condition is always read: which one it is depends on
// others.
func (r *reader) add(s Selection, isTest bool) {
	read := Read{Selection: s, Tests: isTest && !slices.ContainsFunc(s.Steps, func(s Step) bool {
		return s.Kind == Item || s.Kind == Call
	})}
	r.reads = append(r.reads, read)
}

// selection returns x as a selection, and adds the reads of its arguments. If x is not a selection, it adds all reads
// of x.
func (r *reader) selection(x ast.Expr) (s Selection, ok bool) {
	if x.Kind() == ast.IdentKind {
		return r.holds(x)
	}
	if l, selects := lastStep(x); selects {
		s, ok = r.selection(l.from)
		r.arguments(x, l, s)
		s.Steps = append(slices.Clip(s.Steps), l.step)
		return s, ok
	}
	if x.Kind() == ast.CallKind {
		call := x.AsCall()
		if m, isMacro := MacroOf(call); isMacro {
			target, _ := r.selection(call.Target())
			r.macro(m, target)
			return Selection{}, false
		}
		isTest := call.FunctionName() == operators.Has || comparesNull(call)
		for _, child := range children(x) {
			r.visit(child, isTest)
		}
		return Selection{}, false
	}
	for _, child := range children(x) {
		r.visit(child, false)
	}
	return Selection{}, false
}

// holds returns the selection that a variable stands for, and reports false if that is not known.
func (r *reader) holds(x ast.Expr) (s Selection, ok bool) {
	name, outermost := variable(x)
	if !outermost {
		for _, b := range slices.Backward(r.bound) {
			if b.name == name {
				return b.holds, b.holds.Variable != ""
			}
		}
	}
	return Selection{Variable: name}, true
}

// arguments adds what the arguments of x read, whose last step selects from s. Filter is a macro.
func (r *reader) arguments(x ast.Expr, l last, s Selection) {
	if x.Kind() == ast.CallKind {
		if m, isMacro := MacroOf(x.AsCall()); isMacro {
			r.macro(m, s)
			return
		}
	}
	for _, arg := range l.args {
		r.visit(arg, false)
	}
}

// macro adds what a macro reads, whose target is a selection or, without a variable, another expression that was
// visited.
func (r *reader) macro(m Macro, target Selection) {
	if target.Variable != "" {
		r.add(target, false)
	}
	holds := target
	if !m.Whole {
		holds.Steps = append(slices.Clip(holds.Steps), Step{Kind: Item})
	}
	outer := len(r.bound)
	for _, name := range m.Variables {
		r.bound = append(r.bound, binding{name, holds})
	}
	for _, x := range m.Body {
		r.visit(x, false)
	}
	r.bound = r.bound[:outer]
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

// Literals lists the constants of x that are strings, integers, floats or booleans, without the names by which it
// selects.
func Literals(x ast.Expr) []any {
	var list []any
	var enter func(x ast.Expr) bool
	enter = func(x ast.Expr) bool {
		if l, ok := lastStep(x); ok {
			Visit(l.from, enter)
			for _, arg := range l.args {
				Visit(arg, enter)
			}
			return false
		}
		if x.Kind() == ast.LiteralKind {
			switch v := x.AsLiteral().Value().(type) {
			case string, int64, float64, bool:
				list = append(list, v)
			}
		}
		return true
	}
	Visit(x, enter)
	return list
}
