// Package normalizer applies x-kubernetes-normalize; package normalize is its public face and says what the modes mean.
package normalizer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Problem is a mark that cannot be applied, as package normalize reports it.
type Problem struct {
	SchemaPath string
	Rule       string
	Message    string
}

// Compile returns the normalizer for the marks of t, nil if it has none, and the marks that cannot be applied, sorted by
// schema path. With problems the normalizer is nil. Cost: one visit for each schema node.
func Compile(t *schema.Tree) (*Normalizer, []Problem) {
	if problems := problemsOf(t); len(problems) > 0 {
		return nil, problems
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
					report(u.Path, rule.NormalizePosition, fmt.Sprintf("%s is below %s, where it has no effect: put it "+
						"on a property", schema.KeyNormalize, u.Keyword))
				}
			}
		}
		at := l.MarkPath(schema.KeyNormalize)
		switch {
		case l.Marks.Normalize == "":
		case l.Role != schema.Property:
			report(l.Path, rule.NormalizePosition, fmt.Sprintf("%s is on %s, which cannot be absent: put it on a "+
				"property", schema.KeyNormalize, describe(l.Role)))
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
