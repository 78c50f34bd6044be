package witness

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/kube-openapi/pkg/validation/spec"
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

// combinations returns changes that make the value at p satisfy one branch each of the anyOf, oneOf and allOf of s, and
// not its not.
func combinations(p path, s *spec.Schema) [][]change {
	var sets [][]change
	for i := 0; i < len(s.AllOf) && len(sets) < manyEdits; i++ {
		sets = append(sets, satisfy(p, s, &s.AllOf[i])...)
		sets = append(sets, combinations(p, &s.AllOf[i])...)
	}
	for i := 0; i < len(s.AnyOf) && len(sets) < manyEdits; i++ {
		sets = append(sets, satisfy(p, s, &s.AnyOf[i])...)
	}
	for i := 0; i < len(s.OneOf) && len(sets) < manyEdits; i++ {
		var others []change
		for n := range s.OneOf {
			if n == i {
				continue
			}
			for _, name := range s.OneOf[n].Required {
				if !slices.Contains(s.OneOf[i].Required, name) {
					others = append(others, change{path: p.child(name), gone: true})
				}
			}
		}
		for _, set := range satisfy(p, s, &s.OneOf[i]) {
			sets = append(sets, append(slices.Clone(others), set...))
		}
		if len(others) > 0 {
			sets = append(sets, others)
		}
	}
	if s.Not != nil {
		sets = append(sets, violate(p, s.Not)...)
	}
	return sets
}

// satisfy returns changes that make the value at p, of schema s, satisfy branch too.
func satisfy(p path, s, branch *spec.Schema) [][]change {
	if len(branch.Properties) == 0 && len(branch.Required) == 0 && branch.Not == nil {
		var sets [][]change
		for _, value := range values(both(s, branch)) {
			sets = append(sets, []change{{path: p, value: value}})
		}
		return append(sets, combinations(p, branch)...)
	}
	base := []change{}
	for _, name := range branch.Required {
		property := branch.Properties[name]
		base = append(base, change{path: p.child(name), value: smallest(both(schemaAt(s, path{name}), &property))})
	}
	sets := [][]change{base}
	for _, name := range slices.Sorted(maps.Keys(branch.Properties)) {
		property := branch.Properties[name]
		if own := schemaAt(s, path{name}); own != nil {
			for _, set := range satisfy(p.child(name), own, &property) {
				sets = append(sets, append(slices.Clone(base), set...))
			}
		}
	}
	if branch.Not != nil {
		for _, set := range violate(p, branch.Not) {
			sets = append(sets, append(slices.Clone(base), set...))
		}
	}
	for _, set := range combinations(p, branch) {
		sets = append(sets, append(slices.Clone(base), set...))
	}
	return sets
}

// violate returns changes after which the value at p no longer satisfies s: without what s requires.
func violate(p path, s *spec.Schema) [][]change {
	var sets [][]change
	for _, name := range s.Required {
		sets = append(sets, []change{{path: p.child(name), gone: true}})
	}
	var all []change
	for _, branches := range [][]spec.Schema{s.AnyOf, s.OneOf} {
		for i := range branches {
			for _, name := range branches[i].Required {
				all = append(all, change{path: p.child(name), gone: true})
			}
		}
	}
	if len(all) > 0 {
		sets = append(sets, all)
	}
	return sets
}

// both returns s with what branch says about one value.
func both(s, branch *spec.Schema) *spec.Schema {
	if s == nil {
		return branch
	}
	merged := *s
	if len(branch.Type) > 0 {
		merged.Type = branch.Type
		merged.Extensions = nil // an int-or-string is now one of both
	}
	if len(branch.Enum) > 0 {
		merged.Enum = branch.Enum
	}
	if branch.Pattern != "" {
		merged.Pattern = branch.Pattern
	}
	if branch.Format != "" {
		merged.Format = branch.Format
	}
	for _, bound := range []struct{ to, from **int64 }{
		{&merged.MinLength, &branch.MinLength}, {&merged.MaxLength, &branch.MaxLength},
		{&merged.MinItems, &branch.MinItems}, {&merged.MaxItems, &branch.MaxItems},
		{&merged.MinProperties, &branch.MinProperties}, {&merged.MaxProperties, &branch.MaxProperties},
	} {
		if *bound.from != nil {
			*bound.to = *bound.from
		}
	}
	if branch.Minimum != nil {
		merged.Minimum = branch.Minimum
	}
	if branch.Maximum != nil {
		merged.Maximum = branch.Maximum
	}
	return &merged
}
