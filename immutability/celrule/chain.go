package celrule

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apiserver/pkg/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/extension"
)

// side is the object that a term reads.
type side int

const (
	newSide side = iota
	oldSide
)

func (s side) other() side { return 1 - s }

// term is a value that a rule reads: level steps down the chain, on one side. soft counts the steps from which on a
// missing field is no error but none (self.?f); it is level+1 where there are none.
type term struct {
	side        side
	level, soft int
}

// chain is the one line of properties that a rule speaks of: places[0] is where the rule stands (or its parent, from
// rebase), each other the property of the one before.
type chain struct {
	places []*place
	offset int // the level at which the rule itself stands
	rule   *Rule

	literals []ref.Val // scalars that the last place is compared with
	keyed    bool      // whether the rule asks for keys or items of the last place
	lenient  bool      // CEL's == counts as that of a lock, for what is not about values
}

// unequal is why CEL does not compare values of s as a lock does, or "".
func (c *chain) unequal(s *spec.Schema) string {
	if c.lenient {
		return ""
	}
	return unequal(s)
}

func (c *chain) last() int         { return len(c.places) - 1 }
func (c *chain) lastPlace() *place { return c.places[c.last()] }

// literal returns the index of v among the literals, -1 when there is none.
func (c *chain) literal(v ref.Val) int {
	return slices.IndexFunc(c.literals, func(l ref.Val) bool { return l.Type() == v.Type() && l.Equal(v) == types.True })
}

// chainOf returns the chain of what x, a part of rule r, reads. The reason is why there is none, or "".
func chainOf(r *Rule, x ast.Expr) (*chain, string) {
	var longest []string
	var terms [][]string
	visit(x, func(x ast.Expr) bool {
		names, ok := selection(x)
		if !ok {
			return true
		}
		terms = append(terms, names)
		if len(names) > len(longest) {
			longest = names
		}
		return false
	})
	for _, names := range terms {
		if !slices.Equal(names, longest[:len(names)]) {
			return nil, "it ties fields to each other"
		}
	}
	c := &chain{rule: r, places: []*place{r.at}}
	for _, name := range longest {
		p := c.lastPlace()
		if p.resourceRoot && (name == "metadata" || name == "apiVersion" || name == "kind") {
			return nil, "no lock may stand in " + name
		}
		next := p.property(name)
		if next == nil {
			return nil, "it reads " + name + ", which is no property of " + p.displayPath()
		}
		c.places = append(c.places, next)
	}
	// A rule on a property runs only where both sides have it. Seen from the parent, that can be weighed with what other
	// rules say of its presence.
	if c.last() == 0 && r.at.at == atProperty {
		c.places = []*place{r.at.parent, r.at}
		c.offset = 1
	}
	c.findLiterals(x)
	return c, ""
}

// selection returns the property names of x, a selection from self or oldSelf, optional steps and value() included.
func selection(x ast.Expr) ([]string, bool) {
	switch x.Kind() {
	case ast.IdentKind:
		name := x.AsIdent()
		return nil, name == "self" || name == "oldSelf"
	case ast.SelectKind:
		names, ok := selection(x.AsSelect().Operand())
		if !ok {
			return nil, false
		}
		name, ok := cel.Unescape(x.AsSelect().FieldName())
		return append(names, name), ok
	case ast.CallKind:
		call := x.AsCall()
		switch call.FunctionName() {
		case operators.OptSelect:
			names, ok := selection(call.Args()[0])
			literal := call.Args()[1]
			if !ok || literal.Kind() != ast.LiteralKind {
				return nil, false
			}
			escaped, ok := literal.AsLiteral().Value().(string)
			if !ok {
				return nil, false
			}
			name, ok := cel.Unescape(escaped)
			return append(names, name), ok
		case "value":
			if call.IsMemberFunction() && len(call.Args()) == 0 {
				return selection(call.Target())
			}
		}
	}
	return nil, false
}

// findLiterals collects what the last place is compared with.
func (c *chain) findLiterals(x ast.Expr) {
	if c.lastPlace().schema.Type.Contains("boolean") {
		c.literals = []ref.Val{types.False, types.True}
		return
	}
	visit(x, func(x ast.Expr) bool {
		if x.Kind() == ast.CallKind {
			call := x.AsCall()
			switch call.FunctionName() {
			case operators.Equals, operators.NotEquals:
				for _, arg := range call.Args() {
					if arg.Kind() != ast.LiteralKind {
						continue
					}
					switch v := arg.AsLiteral(); v.(type) {
					case types.String, types.Int:
						if c.literal(v) < 0 && len(c.literals) < 4 {
							c.literals = append(c.literals, v)
						}
					}
				}
			case "all", "exists", "exists_one", "size":
				c.keyed = true
			case operators.In:
				c.keyed = true
			}
		}
		return true
	})
}

// admits reports whether a valid object can hold v, a literal, at the last place. It may say yes in doubt.
func (c *chain) admits(v ref.Val) bool {
	s := c.lastPlace().schema
	if len(s.Enum) > 0 {
		return slices.ContainsFunc(s.Enum, func(e any) bool { return sameLiteral(e, v) })
	}
	switch v := v.(type) {
	case types.String:
		return !s.Type.Contains("integer") && (s.MinLength == nil || int64(len([]rune(string(v)))) >= *s.MinLength)
	case types.Int:
		return !s.Type.Contains("string") && (s.Minimum == nil || float64(v) >= *s.Minimum)
	}
	return true
}

// complete reports whether every valid value of the last place is one of the literals.
func (c *chain) complete() bool {
	s := c.lastPlace().schema
	if s.Type.Contains("boolean") {
		return true
	}
	return len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool {
		return !slices.ContainsFunc(c.literals, func(v ref.Val) bool { return sameLiteral(e, v) })
	})
}

func sameLiteral(e any, v ref.Val) bool {
	switch e := e.(type) {
	case string:
		return v == types.String(e)
	case bool:
		return v == types.Bool(e)
	case float64:
		return v == types.Int(int64(e)) && float64(int64(e)) == e
	case int64:
		return v == types.Int(e)
	}
	return false
}

// keysOf returns what the keys of p are: additionalProperties, the keys of a keyed list, the items of a set.
func keysOf(p *place) keyKind {
	switch {
	case p.schema.Type.Contains("object") && p.values != nil && len(p.properties) == 0 && !preservesUnknown(p.schema):
		return mapKeys
	case p.schema.Type.Contains("array") && p.items != nil && p.marks.ListType == extension.ListSet && unequal(p.schema) == "":
		return setItems
	case p.schema.Type.Contains("array") && p.items != nil && p.marks.ListType == extension.ListMap && keysApart(p) == "" && plainKeys(p):
		return listKeys
	}
	return noKeys
}

type keyKind int

const (
	noKeys keyKind = iota
	mapKeys
	setItems
	listKeys
)

// plainKeys reports whether CEL's == on the list-map keys of p is that of a lock.
func plainKeys(p *place) bool {
	return !slices.ContainsFunc(p.marks.ListMapKeys, func(key string) bool {
		schema := p.items.schema.Properties[key]
		return unequal(&schema) != ""
	})
}

// inside is the place of the values or items of p.
func (p *place) inside() *place {
	if p.values != nil {
		return p.values
	}
	return p.items
}

func emptyAllowed(s *spec.Schema) bool {
	if s.Type.Contains("array") {
		return s.MinItems == nil || *s.MinItems == 0
	}
	return s.MinProperties == nil || *s.MinProperties == 0
}
