package normalize

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Problem is a mark that cannot be applied: a user's mistake in a schema.
type Problem struct {
	SchemaPath string // JSON pointer in the schema
	Rule       string // kebab-case identifier
	Message    string // what was found and what would be right
}

// SchemaError holds every problem that Compile found, sorted by schema path.
type SchemaError struct {
	Problems []Problem
}

// Error implements error with one line per problem.
func (e *SchemaError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = fmt.Sprintf("%s: %s", cmp.Or(p.SchemaPath, "/"), p.Message)
	}
	return strings.Join(lines, "\n")
}

// Resolver returns the schema that a $ref refers to.
type Resolver func(ref string) (*spec.Schema, error)

// Compile reads the marks of s and of everything below it, through properties, additionalProperties, items and $ref; a
// recursive $ref compiles once. A nil resolve finds the definitions of s. Compile returns nil, which is Empty and
// normalizes to the input, if nothing is marked or s is nil. The error is a *SchemaError: a mark that is not on a
// property, a value that is not a mode, mode zero where the schema has no type, a $ref that cannot be resolved.
// Cost: one visit for each schema node.
func Compile(s *spec.Schema, resolve Resolver) (*Normalizer, error) {
	t := schema.Read(s, schema.Resolver(resolve))
	if problems := problemsOf(t); len(problems) > 0 {
		return nil, &SchemaError{problems}
	}
	c := compiler{
		marked: t.Holding(func(l *schema.Location) bool { return l.Marks.Normalize != "" }),
		built:  map[*schema.Body]*Normalizer{},
	}
	return c.below(t.Root), nil
}

// problemsOf returns the marks that cannot be applied.
func problemsOf(t *schema.Tree) []Problem {
	var problems []Problem
	bodies := map[*schema.Body]bool{}
	for _, l := range t.All {
		report := func(path *schema.Path, id, message string) {
			problems = append(problems, Problem{path.Pointer(), id, message})
		}
		read := func(path *schema.Path, found []schema.Problem) {
			for _, p := range found {
				if strings.EqualFold(p.Key, schema.KeyNormalize) || p.Rule == rule.UnresolvableRef {
					report(path, p.Rule, p.Message)
				}
			}
		}
		read(l.Path, l.Problems)
		if !bodies[l.Body] {
			bodies[l.Body] = true
			read(l.Body.Path, l.Body.Problems)
			for _, u := range slices.Concat(l.Unchecked, l.Hidden) {
				if !u.Lock {
					report(u.Path, rule.NormalizePosition, fmt.Sprintf("%s is below %s, where it has no effect: put it on a property", schema.KeyNormalize, u.Keyword))
				}
			}
		}
		at := l.MarkPath(schema.KeyNormalize)
		switch {
		case l.Marks.Normalize == "":
		case l.Role != schema.Property:
			report(l.Path, rule.NormalizePosition, fmt.Sprintf("%s is on %s, which cannot be absent: put it on a property", schema.KeyNormalize, describe(l.Role)))
		case l.Marks.Normalize == schema.NormalizeZero:
			if _, ok := zeroOf(l); !ok {
				report(at, rule.NormalizeType, fmt.Sprintf("%s is %q, but the schema has no single type that has a zero value: give it one, or use %q",
					schema.KeyNormalize, schema.NormalizeZero, schema.NormalizeUndefined))
			}
		}
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return strings.Compare(a.SchemaPath, b.SchemaPath) })
	return slices.Compact(problems)
}

func describe(r schema.Role) string {
	switch r {
	case schema.Items:
		return "the items of a list"
	case schema.Values:
		return "the values of a map"
	}
	return "the root"
}

type compiler struct {
	marked map[*schema.Location]bool // has a mark, or something below it does
	built  map[*schema.Body]*Normalizer
}

// below returns the normalizer for what is below l, nil if nothing there is marked.
func (c *compiler) below(l *schema.Location) *Normalizer {
	if l == nil {
		return nil
	}
	if n, ok := c.built[l.Body]; ok {
		return n
	}
	for child := range l.Children {
		if c.marked[child] {
			n := &Normalizer{}
			c.built[l.Body] = n
			c.fill(n, l.Body)
			return n
		}
	}
	return nil
}

func (c *compiler) fill(n *Normalizer, b *schema.Body) {
	n.values, n.items = c.below(b.Values), c.below(b.Items)
	for _, l := range b.Properties {
		p := Property{marked: l.Marks.Normalize != "", below: c.below(l)}
		switch l.Marks.Normalize {
		case schema.NormalizeUndefined:
			p.blank = undefined
		case schema.NormalizeZero:
			p.blank, _ = zeroOf(l)
		}
		// A property without marks hides additionalProperties, so it stays if these have marks.
		if p.marked || p.below != nil || n.values != nil {
			if n.properties == nil {
				n.properties = make(map[string]Property, len(b.Properties))
			}
			n.properties[l.Name] = p
		}
	}
}
