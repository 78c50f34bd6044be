package celrule

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/celexpr"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// scenario has assumptions about up to three objects of one schema: which fields they have, and which values are equal. It
// answers questions about the objects from these. It records the first question without an answer, which a search decides
// next. Of the keys of a map or keyed list it knows one; the other keys are the same in all objects.
//
// Example: does an update from object 0 to object 1 satisfy self.f == oldSelf.f? If nothing is assumed about f, the first
// question is whether object 1 has f, the next one whether object 0 has it. If both have it, the value in object 1 is asked
// for, and then the value in object 0.
type scenario struct {
	tracked  map[*schema.Location]bool  // fields that some rule reads, and all above them
	literals map[*schema.Location][]any // what rules compare them with
	answers  map[question]any
	// fixed reports whether a field has the same value in all objects.
	fixed   func(l *schema.Location) bool
	opaques map[ast.Expr]opaqueExpr // that were asked for
	texts   map[string]int          // numbers of what askTruth was asked for
	domains map[question][]any      // that were asked for, by askValue
	effort  *effort                 // that its answers count for, nil for none

	pending *question // the first question without an answer, and its possible answers
	choices []any
}

// question is about one object: whether it has a field, or which value the field has.
type question struct {
	object int
	about  topic
	at     *schema.Location
	text   int // for askTruth: its number; a number has a faster hash than a text
}

type topic int

const (
	askPresence  topic = iota // bool
	askValue                  // a scalar, a fresh value or empty; for an object, the value of what is not tracked
	askOtherKeys              // bool: whether a list or map has keys besides the one that the scenario knows
	askTruth                  // bool: the truth of an expression that is not understood; it depends only on the fields in it
)

func newScenario(rules []*readRule) *scenario {
	m := &scenario{
		tracked: map[*schema.Location]bool{}, literals: map[*schema.Location][]any{}, answers: map[question]any{},
		fixed: func(*schema.Location) bool { return false }, opaques: map[ast.Expr]opaqueExpr{}, texts: map[string]int{}, domains: map[question][]any{},
	}
	for _, r := range rules {
		m.track(r.at)
		for _, l := range r.reads {
			m.track(l)
			m.literals[l] = append(m.literals[l], r.literals(l)...)
		}
	}
	return m
}

func (m *scenario) track(l *schema.Location) {
	for ; l != nil; l = l.Parent() {
		m.tracked[l] = true
	}
}

// set answers a question in advance.
func (m *scenario) set(object int, about topic, l *schema.Location, answer any) {
	m.answers[question{object, about, l, 0}] = answer
}

// ask returns the answer to q, and whether there is one.
func (m *scenario) ask(q question, choices func() []any) (any, bool) {
	if answer, ok := m.answers[q]; ok {
		return answer, true
	}
	if m.pending == nil {
		first := q // so that q itself, which is asked far more often, is not on the heap
		m.pending, m.choices = &first, choices()
	}
	return nil, false
}

func (m *scenario) askBool(q question, first bool) outcome {
	answer, ok := m.ask(q, func() []any { return []any{first, !first} })
	if !ok {
		return open
	}
	return of(answer.(bool))
}

// present tells whether an object has a field.
func (m *scenario) present(object int, l *schema.Location) outcome {
	m.effort.spend(1)
	if l.In == nil {
		return yes
	}
	if above := m.present(object, l.Parent()); above != yes {
		return above
	}
	if m.fixed(l) {
		object = 0
	}
	q := question{object, askPresence, l, 0}
	if answer, ok := m.answers[q]; ok {
		return of(answer.(bool))
	}
	if ofResource(l) || l.Role == schema.Property && present(l) {
		return yes
	}
	before, _ := m.answers[question{object - 1, askPresence, l, 0}].(bool)
	return m.askBool(q, before)
}

// value returns the value of a present field.
func (m *scenario) value(object int, l *schema.Location) (any, bool) {
	if m.fixed(l) {
		object = 0
	}
	return m.ask(question{object, askValue, l, 0}, func() []any { return m.values(object, l) })
}

// values lists the values that a field can have in an object, the most likely first: the value in the object before.
func (m *scenario) values(object int, l *schema.Location) []any {
	if l.IsMapKey() || ofResource(l) {
		return []any{fresh(0)}
	}
	m.effort.spend(len(m.literals[l]) + len(l.Schema.Enum))
	q := question{object, askValue, l, 0}
	if m.domains[q] == nil {
		m.domains[q] = domain(l.Schema, m.literals[l], object)
	}
	values := slices.Clone(m.domains[q])
	if before, ok := m.answers[question{object - 1, askValue, l, 0}]; ok {
		if i := slices.Index(values, before); i >= 0 {
			values[0], values[i] = values[i], values[0]
		}
	}
	return values
}

// composite reports whether the value of l is made up of tracked fields.
func (m *scenario) composite(l *schema.Location) bool {
	for child := range l.Children {
		if m.tracked[child] {
			return true
		}
	}
	return false
}

// equal tells whether a present field is equal in two objects.
func (m *scenario) equal(a, b int, l *schema.Location) outcome {
	result := yes
	rest := !m.composite(l)
	for child := range l.Children {
		if !m.tracked[child] {
			rest = true
			continue
		}
		hasA, hasB := m.present(a, child), m.present(b, child)
		result = and(result, same(hasA, hasB))
		if hasA == yes && hasB == yes {
			result = and(result, m.equal(a, b, child))
		}
	}
	if result == yes && rest && !(m.composite(l) && inside(l) != nil) {
		va, okA := m.value(a, l)
		vb, okB := m.value(b, l)
		if !okA || !okB {
			return open
		}
		return of(va == vb)
	}
	return result
}

// empty tells whether a present list, map or string has the size 0.
func (m *scenario) empty(object int, l *schema.Location) outcome {
	if in := inside(l); in != nil && m.tracked[in] {
		if !emptyAllowed(l.Schema) {
			return no
		}
		return and(not(m.present(object, in)), not(m.askBool(question{0, askOtherKeys, l, 0}, false)))
	}
	v, ok := m.value(object, l)
	if !ok {
		return open
	}
	return of(v == emptyValue{} || v == "")
}

// unclear returns the assumed truth of an expression that is not understood. Expressions with the same text, whose fields
// have the same values, have the same truth; fingerprint returns the value of a field as a text.
func (m *scenario) unclear(r *Rule, x ast.Expr, fingerprint func(term) (string, bool)) outcome {
	known, ok := m.opaques[x]
	if !ok {
		known = opaqueExpr{spelled(r, x), termsIn(r, x)}
		m.opaques[x] = known
	}
	text := known.text
	for _, t := range known.reads {
		print, ok := fingerprint(t)
		if !ok {
			return open
		}
		text += "\x00" + print
	}
	if m.texts[text] == 0 {
		m.texts[text] = len(m.texts) + 1
	}
	return m.askBool(question{0, askTruth, r.at, m.texts[text]}, true)
}

// opaqueExpr is an expression that is not understood.
type opaqueExpr struct {
	text  string
	reads []term
}

// spelled returns the text of x; an expression about one object has the same text for the old and the new one.
func spelled(r *Rule, x ast.Expr) string {
	text, err := celexpr.Print(x)
	if err != nil {
		text = fmt.Sprint(r.SchemaPath, r.Index, x.ID())
	}
	if !celexpr.Mentions(x, "self") || !celexpr.Mentions(x, "oldSelf") {
		text = oldSelfWord.ReplaceAllString(text, "self")
	}
	return text
}

var oldSelfWord = regexp.MustCompile(`\boldSelf\b`)

// fingerprint returns a text that is the same for equal values.
func (m *scenario) fingerprint(object int, l *schema.Location) (string, bool) {
	switch m.present(object, l) {
	case open:
		return "", false
	case no:
		return "-", true
	}
	var b strings.Builder
	if !m.composite(l) || inside(l) == nil {
		v, ok := m.value(object, l)
		if !ok {
			return "", false
		}
		fmt.Fprintf(&b, "%T %v", v, v)
	}
	for child := range l.Children {
		if m.tracked[child] {
			print, ok := m.fingerprint(object, child)
			if !ok {
				return "", false
			}
			b.WriteString("{" + print + "}")
		}
	}
	return b.String(), true
}

// sure reports whether m has assumed the truth of no unclear expression.
func (m *scenario) sure() bool {
	for q := range maps.Keys(m.answers) {
		if q.about == askTruth {
			return false
		}
	}
	return true
}

// fresh is a value that differs from all literals. Objects have the same value if the numbers are the same.
type fresh int

// emptyValue is a list, map or object of size 0.
type emptyValue struct{}

// maxEnum bounds how many values of an enum are tried that no rule names.
const maxEnum = 3

// domain lists values of s that are enough to tell apart what rules with these literals can: the literals, and for each
// object one more value that no rule names. Object n needs at most n+1 of those, because only their equality matters.
func domain(s *spec.Schema, literals []any, object int) []any {
	var values []any
	add := func(v any) {
		if !slices.Contains(values, v) && (admits(s, v) || v == any(emptyValue{})) {
			values = append(values, v)
		}
	}
	switch {
	case len(s.Enum) > 0:
		others := 0
		for _, e := range s.Enum {
			if v := valueIn(e); v != nil && (slices.Contains(literals, v) || others < maxEnum) {
				if !slices.Contains(literals, v) {
					others++
				}
				add(v)
			}
		}
		return values
	case s.Type.Contains("boolean"):
		return []any{false, true}
	case (s.Type.Contains("integer") || s.Type.Contains("number")) && !isIntOrString(s):
		return integers(s, literals, add, &values)
	}
	for i := range object + 1 {
		values = append(values, fresh(i))
	}
	for _, v := range literals {
		add(v)
	}
	if (s.Type.Contains("array") || s.Type.Contains("object")) && emptyAllowed(s) {
		add(emptyValue{})
	}
	return values
}

// integers lists numbers around the bounds and the literals, because rules order numbers.
func integers(s *spec.Schema, literals []any, add func(any), values *[]any) []any {
	base := int64(1)
	if s.Minimum != nil {
		base = int64(*s.Minimum)
	}
	if s.Maximum != nil && float64(base) > *s.Maximum {
		base = int64(*s.Maximum)
	}
	for _, n := range []int64{base, base + 1, base + 2, base - 1, base - 2} {
		add(n)
	}
	for _, v := range literals {
		if n, ok := v.(int64); ok {
			add(n)
			add(n + 1)
			add(n - 1)
		}
	}
	return *values
}

// step is an update from one object of a scenario to another.
type step struct {
	*scenario
	newObj, oldObj int
	// alias maps the locations of another version's rules to the scenario's; nil where the version is the same.
	alias map[*schema.Location]*schema.Location
}

var _ world = step{}

func (s step) object(in side) int {
	if in == oldSide {
		return s.oldObj
	}
	return s.newObj
}

func (s step) known(l *schema.Location) *schema.Location {
	if same := s.alias[l]; same != nil {
		return same
	}
	return l
}

func (s step) present(in side, l *schema.Location) outcome {
	return s.scenario.present(s.object(in), s.known(l))
}

func (s step) apart(*schema.Location) string { return "" }

func (s step) equal(l *schema.Location) outcome {
	return s.scenario.equal(s.newObj, s.oldObj, s.known(l))
}

func (s step) is(in side, l *schema.Location, literal any) outcome {
	if l = s.known(l); s.composite(l) {
		return opaque
	}
	s.effort.spend(1)
	v, ok := s.value(s.object(in), l)
	if !ok {
		return open
	}
	return of(v == literal)
}

func (s step) number(in side, l *schema.Location) (int64, outcome) {
	if l = s.known(l); s.composite(l) {
		return 0, opaque
	}
	v, ok := s.value(s.object(in), l)
	if !ok {
		return 0, open
	}
	n, ok := v.(int64)
	if !ok {
		return 0, opaque
	}
	return n, yes
}

func (s step) empty(in side, l *schema.Location) outcome {
	return s.scenario.empty(s.object(in), s.known(l))
}

// hasKey tells whether one object has the key of l that the scenario knows.
func (s step) hasKey(in side, l *schema.Location) outcome {
	key := inside(s.known(l))
	if key == nil || !s.tracked[key] {
		return opaque
	}
	return s.scenario.present(s.object(in), key)
}

func (s step) added(l *schema.Location) outcome {
	return and(s.hasKey(newSide, l), not(s.hasKey(oldSide, l)))
}

func (s step) removed(l *schema.Location) outcome {
	return and(s.hasKey(oldSide, l), not(s.hasKey(newSide, l)))
}

func (s step) unclear(r *Rule, x ast.Expr) outcome {
	return s.scenario.unclear(r, x, func(t term) (string, bool) { return s.fingerprint(s.object(t.side), s.known(t.at)) })
}

// judge returns the verdict of a rule on the step.
func (s step) judge(r *Rule) outcome {
	result, _ := judge(r, r.expr, s)
	return result
}

// locks tells whether the locks of l accept the step.
func (s step) locks(l *schema.Location) outcome {
	refused := l.Marks.Refuses()
	if l.In == nil || refused == 0 {
		return yes
	}
	runs := and(s.present(newSide, l.Parent()), s.present(oldSide, l.Parent()))
	hasNew, hasOld := s.present(newSide, l), s.present(oldSide, l)
	broken := no
	add := func(change schema.Change, happens func() outcome) {
		if refused.Has(change) {
			broken = or(broken, happens())
		}
	}
	add(schema.Set, func() outcome { return and(hasNew, not(hasOld)) })
	add(schema.Unset, func() outcome { return and(hasOld, not(hasNew)) })
	if both := and(hasNew, hasOld); both == yes {
		add(schema.Modify, func() outcome { return not(s.equal(l)) })
		add(schema.AddItem, func() outcome { return certainly(s.added(l)) })
		add(schema.RemoveItem, func() outcome { return certainly(s.removed(l)) })
	}
	return not(and(runs, broken))
}

// certainly returns no for a change that is not understood.
func certainly(o outcome) outcome {
	if o == opaque {
		return no
	}
	return o
}
