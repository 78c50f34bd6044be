package witness

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// goal is changes after which a condition has the wanted truth, to the object that is self and to the one that is oldSelf.
// An empty goal changes nothing: it stands for what is not understood.
type goal struct{ self, old []change }

// goals finds goals in the text of a rule at one node. Example: self.mode != 'B' || has(self.zone) is true if mode is
// another value of its enum, or if zone has one.
type goals struct {
	*Version
	obj  any  // the object under repair
	node path // what self and oldSelf are
	// item is the variable of an exists within which paths start, "" outside of one.
	item string
	// left is how many parts of the rule are still looked at. Two sides of == are each looked at twice, and what is nested in
	// them four times, and so on. Nil is without a bound.
	left *int
}

// manyWants bounds the parts of a rule that are looked at.
const manyWants = 20_000

// pathOf returns the field that x selects, and whether it is of the old object.
func (g goals) pathOf(x ast.Expr) (at path, old, ok bool) {
	switch x.Kind() {
	case ast.IdentKind:
		switch name := x.AsIdent(); name {
		case g.item:
			return nil, false, name != ""
		case "self", "oldSelf":
			return g.node, name == "oldSelf", g.item == ""
		}
	case ast.SelectKind:
		at, old, ok = g.pathOf(x.AsSelect().Operand())
		return at.child(unescape(x.AsSelect().FieldName())), old, ok
	case ast.CallKind:
		call := x.AsCall()
		switch name := call.FunctionName(); {
		case name == operators.OptSelect:
			if step, isText := literal(call.Args()[1]).(string); isText {
				at, old, ok = g.pathOf(call.Args()[0])
				return at.child(unescape(step)), old, ok
			}
		case (name == "value" || name == "orValue") && call.IsMemberFunction():
			return g.pathOf(call.Target())
		}
	}
	return nil, false, false
}

// set makes the value at a path of one object v.
func (g goals) set(at path, old bool, v any) goal { return of(old, change{path: at, value: v}) }

// literal returns the constant that x is, nil for other expressions.
func literal(x ast.Expr) any {
	if x.Kind() != ast.LiteralKind {
		return nil
	}
	return x.AsLiteral().Value()
}

// of returns a goal of one change.
func of(old bool, c change) goal {
	if old {
		return goal{old: []change{c}}
	}
	return goal{self: []change{c}}
}
