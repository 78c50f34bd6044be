// Package normalizer applies x-kubernetes-normalize; package normalize is its public face and says what the modes mean.
package normalizer

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Problem is a mark that cannot be applied, as package normalize reports it.
type Problem struct {
	SchemaPath string
	Rule       string
	Message    string
}

// Presence is what the marks of a schema say about its properties. It may lack those without marks.
type Presence map[*schema.Location]Property

// Compile returns the normalizer for the marks of t, nil if it has none, what they say about each property, and the
// marks that cannot be applied, sorted by schema path. If there are such marks, the normalizer is nil. Cost: one visit
// for each schema node.
func Compile(t *schema.Tree) (*Normalizer, Presence, []Problem) {
	if problems := problemsOf(t); len(problems) > 0 {
		return nil, nil, problems
	}
	c := compiler{
		marked:   t.Holding(func(l *schema.Location) bool { return l.Marks.Normalize != "" }),
		built:    map[*schema.Body]*Normalizer{},
		presence: Presence{},
	}
	return c.below(t.Root), c.presence, nil
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
				if strings.EqualFold(p.Key, schema.KeyNormalize) || p.Rule == finding.UnresolvableRef {
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
					report(u.Path, finding.NormalizePosition,
						fmt.Sprintf("%s is below %s, where it has no effect: put it "+
							"on a property", schema.KeyNormalize, u.Keyword))
				}
			}
		}
		at := l.MarkPath(schema.KeyNormalize)
		switch {
		case l.Marks.Normalize == "":
		case l.Role != schema.Property:
			report(l.Path, finding.NormalizePosition, fmt.Sprintf("%s is on %s, which cannot be absent: put it on a "+
				"property", schema.KeyNormalize, describe(l.Role)))
		case l.Marks.Normalize == schema.NormalizeZero:
			if _, ok := zeroOf(l); !ok {
				report(at, finding.NormalizeType,
					fmt.Sprintf("%s is %q, but the schema has no single type that has a zero value: give it one, or "+
						"use %q",
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
	marked   map[*schema.Location]bool // has a mark, or something below it does
	built    map[*schema.Body]*Normalizer
	presence Presence
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
		c.presence[l] = p
		// A property without marks hides additionalProperties, so it stays if these have marks.
		if p.marked || p.below != nil || n.values != nil {
			if n.properties == nil {
				n.properties = make(map[string]Property, len(b.Properties))
			}
			n.properties[l.Name] = p
		}
	}
}

// blank says which values of a marked property count as absent, besides null.
type blank struct {
	object, array, text, number, boolean bool
}

// undefined is the blank of x-kubernetes-normalize: undefined.
var undefined = blank{object: true, array: true}

// zeroOf returns the blank of x-kubernetes-normalize: zero at l. ok is false if l has no single type, and so no zero
// value.
func zeroOf(l *schema.Location) (b blank, ok bool) {
	if l.IntOrString() {
		return blank{number: true}, true
	}
	switch l.Type() {
	case "object":
		return blank{object: true}, true
	case "array":
		return blank{array: true}, true
	case "string":
		return blank{text: true}, true
	case "integer", "number":
		return blank{number: true}, true
	case "boolean":
		return blank{boolean: true}, true
	}
	return blank{}, false
}

// holds reports whether value, which is not an object, counts as absent.
func (b blank) holds(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case []any:
		return b.array && len(value) == 0
	case string:
		return b.text && value == ""
	case bool:
		return b.boolean && !value
	case int64:
		return b.number && value == 0
	case int:
		return b.number && value == 0
	case float64:
		return b.number && value == 0
	case json.Number:
		f, err := value.Float64()
		return b.number && err == nil && f == 0
	}
	return false
}

// Normalizer applies the marks of a schema, or of a part of one, to values. It is immutable and safe for concurrent
// use. A nil Normalizer has no marks; all its methods can be called.
type Normalizer struct {
	properties map[string]Property
	values     *Normalizer // below additionalProperties
	items      *Normalizer // below items
}

// Property is what the marks say about one property: about its presence, and about the value below it. The zero
// Property says nothing.
type Property struct {
	marked bool
	blank  blank // zero if not marked
	below  *Normalizer
}

// Property returns what the marks say about the property name.
func (n *Normalizer) Property(name string) Property {
	if n == nil {
		return Property{}
	}
	if p, ok := n.properties[name]; ok {
		return p
	}
	return Property{below: n.values}
}

// Absent reports whether a property that has this value counts as absent, what is below it being normalized first.
// It builds nothing. Cost: the members of the object that value is, until one of them is not absent.
func (p Property) Absent(value any) bool {
	left := math.MaxInt
	absent, _ := p.absentWithin(value, &left)
	return absent
}

// Normalize returns obj without the properties that count as absent. What does not change is shared with obj; if
// nothing changes, it returns obj itself.
func (n *Normalizer) Normalize(obj map[string]any) map[string]any {
	out, _ := n.object(obj)
	return out
}

// value returns value normalized, whether that differs from value, and whether a property with it counts as absent.
func (p Property) value(value any) (out any, changed, absent bool) {
	switch typed := value.(type) {
	case map[string]any:
		normal, changed := p.below.object(typed)
		return normal, changed, p.blank.object && len(normal) == 0
	case []any:
		if normal, changed := p.below.list(typed); changed {
			return normal, true, false
		}
	}
	return value, false, p.marked && p.blank.holds(value)
}

func (n *Normalizer) object(obj map[string]any) (out map[string]any, changed bool) {
	out = obj
	if n == nil {
		return out, false
	}
	own := func() {
		if !changed {
			out, changed = maps.Clone(obj), true
		}
	}
	for name, member := range obj {
		normal, differs, absent := n.Property(name).value(member)
		switch {
		case absent:
			own()
			delete(out, name)
		case differs:
			own()
			out[name] = normal
		}
	}
	return out, changed
}

// list returns nil where nothing changes.
func (n *Normalizer) list(list []any) (out []any, changed bool) {
	if n == nil || n.items == nil {
		return nil, false
	}
	for i, item := range list {
		if normal, differs, _ := (Property{below: n.items}).value(item); differs {
			if !changed {
				out, changed = slices.Clone(list), true
			}
			out[i] = normal
		}
	}
	return out, changed
}

// Absences answers [Property.Absent] for the objects of one tree. Absent looks through an object until it finds a
// member that is not absent, which may be at the very bottom; asked about each level of a deep object, Absences still
// visits each level once. The zero value is ready. It is for one goroutine, and for objects that do not change
// meanwhile.
type Absences struct {
	known   map[absence]bool
	visited int
}

type absence struct {
	property Property
	object   uintptr
}

// Visited returns how many members a has looked at.
func (a *Absences) Visited() int { return a.visited }

// fewMembers is how many members of one object are visited before answers are kept, which allocates.
const fewMembers = 64

// Absent is p.Absent(value).
func (a *Absences) Absent(p Property, value any) bool {
	if !p.marked {
		return false
	}
	left := fewMembers
	absent, ok := p.absentWithin(value, &left)
	a.visited += fewMembers - left
	if ok {
		return absent
	}
	if a.known == nil {
		a.known = map[absence]bool{}
	}
	return a.remembered(p, value)
}

// absentWithin is Absent while no more than left members are visited; ok is false when there were more.
func (p Property) absentWithin(value any, left *int) (absent, ok bool) {
	object, isObject := value.(map[string]any)
	if !isObject || !p.blank.object {
		return p.marked && p.blank.holds(value), true
	}
	for name, member := range object {
		if *left--; *left < 0 {
			return false, false
		}
		if absent, ok := p.below.Property(name).absentWithin(member, left); !absent {
			return false, ok
		}
	}
	return true, true
}

// remembered is Absent that keeps the answer for each object that it visits.
func (a *Absences) remembered(p Property, value any) bool {
	object, ok := value.(map[string]any)
	if !ok || !p.blank.object {
		return p.marked && p.blank.holds(value)
	}
	key := absence{p, reflect.ValueOf(object).Pointer()}
	if absent, ok := a.known[key]; ok {
		return absent
	}
	absent := true
	for name, member := range object {
		a.visited++
		if absent = a.remembered(p.below.Property(name), member); !absent {
			break
		}
	}
	a.known[key] = absent
	return absent
}
