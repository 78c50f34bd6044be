package witness

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// manyGoals bounds the goals of one condition.
const manyGoals = 16

// want returns ways to give x the wanted truth.
func (g goals) want(x ast.Expr, truth bool) []goal {
	if at, old, ok := g.pathOf(x); ok {
		return []goal{g.set(at, old, truth)}
	}
	if x.Kind() != ast.CallKind || g.left != nil && *g.left == 0 {
		return []goal{{}}
	}
	if g.left != nil {
		*g.left--
	}
	call := x.AsCall()
	args := call.Args()
	switch name := call.FunctionName(); name {
	case operators.LogicalAnd, operators.LogicalOr:
		a, b := g.want(args[0], truth), g.want(args[1], truth)
		if (name == operators.LogicalAnd) == truth {
			return jointly(a, b)
		}
		return either(a, b)
	case operators.LogicalNot:
		return g.want(args[0], !truth)
	case operators.Conditional:
		return either(jointly(g.want(args[0], true), g.want(args[1], truth)), jointly(g.want(args[0], false), g.want(args[2], truth)))
	case operators.Equals:
		return g.equal(args[0], args[1], truth)
	case operators.NotEquals:
		return g.equal(args[0], args[1], !truth)
	case operators.Greater, operators.GreaterEquals:
		least, _ := literal(args[1]).(int64)
		if name == operators.Greater {
			least++
		}
		return g.size(args[0], least, truth)
	case operators.In:
		return g.among(args[0], args[1], truth)
	case "has":
		if len(args) == 1 {
			return g.present(args[0], truth)
		}
	case "hasValue":
		if call.IsMemberFunction() {
			return g.present(call.Target(), truth)
		}
	case "exists", "all":
		return g.exists(call, truth == (name == "exists"))
	case "matches":
		if truth && call.IsMemberFunction() && len(args) == 1 {
			return g.partMatching(call.Target(), args[0])
		}
	case "startsWith", "endsWith", "contains":
		if truth && call.IsMemberFunction() && len(args) == 1 {
			return g.affix(call.Target(), args[0], name == "startsWith")
		}
	}
	return []goal{{}}
}

// either returns the goals of both lists.
func either(a, b []goal) []goal {
	list := slices.Concat(a, b)
	return list[:min(len(list), manyGoals)]
}

// jointly joins each goal of one list with each of the other.
func jointly(as, bs []goal) []goal {
	var list []goal
	for _, a := range as {
		for _, b := range bs {
			if len(list) < manyGoals {
				list = append(list, goal{slices.Concat(a.self, b.self), slices.Concat(a.old, b.old)})
			}
		}
	}
	return list
}

func (g goals) schemaOf(at path) *spec.Schema {
	if g.item != "" {
		return schemaAt(g.Schema, at)
	}
	return g.schemaAt(at)
}

// present makes a field present, or absent.
func (g goals) present(x ast.Expr, truth bool) []goal {
	at, old, ok := g.pathOf(x)
	switch s := g.schemaOf(at); {
	case !ok || s == nil:
		return []goal{{}}
	case truth:
		return []goal{g.set(at, old, smallest(s))}
	}
	return []goal{of(old, change{path: at, gone: true})}
}

// equal makes a field equal to a constant or to another field, or different from it.
func (g goals) equal(x, y ast.Expr, truth bool) []goal {
	a, oldA, okA := g.pathOf(x)
	b, oldB, okB := g.pathOf(y)
	switch {
	case okA && okB:
		list := values(g.schemaOf(a))
		second := list[0]
		if !truth {
			second = list[len(list)-1]
			if len(list) > 1 {
				second = list[1]
			}
		}
		return jointly([]goal{g.set(a, oldA, list[0])}, []goal{g.set(b, oldB, second)})
	case okB:
		return g.equal(y, x, truth)
	case okA && literal(y) != nil:
		if truth {
			return []goal{g.set(a, oldA, literal(y))}
		}
		var list []goal
		for _, v := range values(g.schemaOf(a)) {
			if !reflect.DeepEqual(v, literal(y)) {
				list = append(list, g.set(a, oldA, v))
			}
		}
		list = append(list, of(oldA, change{path: a, gone: true}))
		return list[:min(len(list), 3)]
	case literal(y) != nil && x.Kind() == ast.CallKind && x.AsCall().FunctionName() == "size":
		n, _ := literal(y).(int64)
		return g.size(x, n, truth == (n > 0))
	case x.Kind() == ast.CallKind && y.Kind() == ast.CallKind: // has(a) == has(b)
		return either(jointly(g.want(x, true), g.want(y, truth)), jointly(g.want(x, false), g.want(y, !truth)))
	}
	return []goal{{}}
}

// size makes the size of what x is the size of at least a number, or makes it empty.
func (g goals) size(x ast.Expr, least int64, truth bool) []goal {
	if x.Kind() != ast.CallKind || x.AsCall().FunctionName() != "size" {
		return []goal{{}}
	}
	call := x.AsCall()
	of := call.Target()
	if !call.IsMemberFunction() {
		if len(call.Args()) != 1 {
			return []goal{{}}
		}
		of = call.Args()[0]
	}
	at, old, ok := g.pathOf(of)
	if !ok || !truth {
		return g.present(of, truth)
	}
	s := &spec.Schema{}
	if least > 1 {
		s.MinItems, s.MinProperties, s.MinLength = &least, &least, &least
	}
	list := values(both(g.schemaOf(at), s))
	i := slices.IndexFunc(list, func(v any) bool { return !blank(v) && v != "" })
	return []goal{g.set(at, old, list[max(i, 0)])}
}

// among makes a field one of the constants of a list, or none of them.
func (g goals) among(x, list ast.Expr, truth bool) []goal {
	at, old, ok := g.pathOf(x)
	if !ok || list.Kind() != ast.ListKind {
		return []goal{{}}
	}
	var constants []any
	for _, e := range list.AsList().Elements() {
		constants = append(constants, literal(e))
	}
	var found []goal
	for _, v := range append(values(g.schemaOf(at)), constants...) {
		if v != nil && slices.ContainsFunc(constants, func(c any) bool { return reflect.DeepEqual(c, v) }) == truth && len(found) < 3 {
			found = append(found, g.set(at, old, v))
		}
	}
	return append(found, goal{})
}

// exists makes a list have one item for which the body holds, or no items.
func (g goals) exists(call ast.CallExpr, truth bool) []goal {
	args := call.Args()
	if !call.IsMemberFunction() || len(args) != 2 || args[0].Kind() != ast.IdentKind || g.item != "" {
		return []goal{{}}
	}
	at, old, ok := g.pathOf(call.Target())
	s := g.schemaOf(at)
	if !ok || s == nil || s.Items == nil || s.Items.Schema == nil {
		return []goal{{}}
	}
	if !truth {
		return []goal{of(old, change{path: at, gone: true})}
	}
	items := &Version{Schema: s.Items.Schema}
	body := goals{Version: items, item: args[0].AsIdent(), left: g.left}
	var found []goal
	for _, inner := range body.want(args[1], call.FunctionName() == "exists") {
		item := smallest(s.Items.Schema)
		for _, c := range inner.sorted().self {
			if c.gone {
				item, _ = remove(item, c.path)
			} else {
				item, _ = put(item, s.Items.Schema, c.path, c.value)
			}
		}
		one := []any{item}
		found = append(found, of(old, change{path: at, value: one, join: true}), g.set(at, old, one))
	}
	return found[:min(len(found), 6)]
}

// sorted returns w with the changes to containers before those to what is in them.
func (w goal) sorted() goal {
	byDepth := func(list []change) []change {
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b change) int { return cmp.Compare(len(a.path), len(b.path)) })
		return list
	}
	return goal{byDepth(w.self), byDepth(w.old)}
}
