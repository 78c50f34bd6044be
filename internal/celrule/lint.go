package celrule

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/lint"
	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Hole is a detour around transition rules: a first, a second and a third object such that all rules accept the updates from
// the first to the second and from the second to the third, and some rules refuse the update from the first to the third.
// A hole through unknown fields, or through a version without a rule, has no second object.
type Hole struct {
	immutability.Finding
	// Sure is set if the hole follows from the rules and the schema. Otherwise some rule is not understood, and only
	// objects can tell whether the hole exists.
	Sure bool

	rules []RuleRef // that the detour gets around
}

// RuleRef names a rule of a schema.
type RuleRef struct {
	SchemaPath string
	Index      int
}

// add adds a rule that the detour gets around, and the fields that it guards.
func (h *Hole) add(r *readRule, guards []*schema.Location, sure bool) {
	h.Sure = h.Sure && sure
	if ref := (RuleRef{r.SchemaPath, r.Index}); !slices.Contains(h.rules, ref) {
		h.rules = append(h.rules, ref)
	}
	for _, l := range guards {
		if path := displayPath(l); !slices.Contains(h.Fields, path) {
			h.Fields = append(h.Fields, path)
		}
	}
	slices.Sort(h.Fields)
}

// name makes h a finding at l.
func (h *Hole) name(id string, l *schema.Location) {
	h.Rule, h.Severity = id, immutability.SeverityWarning
	h.Path, h.SchemaPath = l.Path.String(), l.Path.Pointer()
}

// Lint returns the holes in the CEL transition rules of s and the rules that can never refuse an update, as findings
// sorted by path.
func Lint(s *spec.Schema) []immutability.Finding {
	var a Audit
	var findings []immutability.Finding
	for _, h := range a.Holes(s) {
		findings = append(findings, h.Finding)
	}
	for _, d := range a.DeadRules(s) {
		findings = append(findings, d.Finding)
	}
	slices.SortStableFunc(findings, func(x, y immutability.Finding) int {
		return strings.Compare(x.Path+"\x00"+x.Rule, y.Path+"\x00"+y.Rule)
	})
	return findings
}

// auditor looks for the holes of one schema.
type auditor struct {
	*tree
	*effort
	all []*readRule // that parse, and stand where the API server pairs old and new values

	byPlace, byDepth *ruleIndex                       // of all, as they stand, and the deepest first
	guarding         map[*schema.Location][]*readRule // by location: the rules that guard a field at or below it
	constrained      map[*schema.Location]int         // places, in the order of All, of what has a lock or combines schemas
}

func newAuditor(t *tree, e *effort) *auditor {
	a := &auditor{tree: t, effort: e, guarding: map[*schema.Location][]*readRule{}, constrained: map[*schema.Location]int{}}
	for i, l := range t.All {
		if combines(l.Schema) || l.Marks.Locked() {
			a.constrained[l] = i
		}
		for _, r := range t.rules[l] {
			if r.expr != nil && t.uncorrelated[l] == "" {
				a.all = append(a.all, newReadRule(r))
			}
		}
	}
	a.byPlace, a.byDepth = newRuleIndex(a.all, e), newRuleIndex(nearestFirst(a.all), e)
	for _, r := range a.all {
		for _, g := range r.guards {
			for l := g; l != nil; l = l.Parent() {
				if list := a.guarding[l]; len(list) == 0 || list[len(list)-1] != r {
					a.guarding[l] = append(list, r)
				}
				e.spend(1)
			}
		}
	}
	return a
}

// scenario returns a scenario whose searches count as steps of the audit.
func (a *auditor) scenario(m *scenario) *scenario {
	m.effort = a.effort
	return m
}

func (a *auditor) holes() []Hole {
	var holes []Hole
	for _, l := range a.All {
		if l.Role == schema.Property && !present(l) && !ofResource(l) && a.uncorrelated[l] == "" {
			holes = append(holes, a.throughField(l)...)
		}
		if in := inside(l); in != nil && a.uncorrelated[in] == "" && (l.Values != nil || l.Marks.ListType == schema.ListMap) {
			holes = append(holes, a.throughKey(l, in)...)
		}
	}
	holes = append(holes, a.throughUnknown()...)
	slices.SortStableFunc(holes, func(x, y Hole) int { return strings.Compare(x.Path+"\x00"+x.Rule, y.Path+"\x00"+y.Rule) })
	return holes
}

// around looks for rules that a detour gets around in which gone is absent for a while.
func (a *auditor) around(gone *schema.Location) (h Hole, found bool) {
	h = Hole{Sure: true}
	if len(a.guarding[gone]) == 0 || a.leave(gone) || a.keeps(gone) {
		return h, false
	}
	for _, r := range a.guarding[gone] {
		if a.leave(gone) {
			break
		}
		rules := a.byPlace.relevant(r, gone, a.effort)
		m := a.scenario(detour(rules, gone))
		conditions := []condition{refusedBy(r, step{scenario: m, newObj: 2, oldObj: 0})}
		conditions = append(conditions, a.admitted(rules, step{scenario: m, newObj: 1, oldObj: 0}, step{scenario: m, newObj: 2, oldObj: 1})...)
		if sure, possible := possible(m, conditions); possible && !a.leave(gone) {
			h.add(r, r.guardsWithin(gone), sure)
		}
	}
	return h, len(h.rules) > 0
}

// keeps reports whether the rules that read gone from above let no object lack it for a while, whatever the other rules
// say. Then no rule needs a search of its own.
func (a *auditor) keeps(gone *schema.Location) bool {
	rules := a.byDepth.related(nil, nil, gone, a.effort)
	m := a.scenario(detour(rules, gone))
	_, possible := possible(m, a.admitted(rules, step{scenario: m, newObj: 1, oldObj: 0}, step{scenario: m, newObj: 2, oldObj: 1}))
	return !possible
}

// throughField: a property that can go and come back takes what it holds with it.
func (a *auditor) throughField(l *schema.Location) []Hole {
	h, found := a.around(l)
	if !found {
		return nil
	}
	how, canRequire := "leave out "+displayPath(l), displayPath(l) != "status" // an object is created without its status
	if l.Required || l.Schema.Default != nil {
		how, canRequire = "set "+displayPath(l)+" to null", false
	}
	what := "bring it back with other values of " + lint.Enumerate(h.Fields)
	id := rule.CELOptionalParent
	if slices.Contains(h.Fields, displayPath(l)) {
		id, what = rule.CELUnsetThenSet, "set another value, because CEL runs no rule on an absent field"
	}
	h.name(id, l)
	h.Fix = companion(l)
	remedy := "make " + l.Name + " required"
	if h.Fix != nil {
		add := fmt.Sprintf("add to %s the rule %s", displayPath(l.Parent()), h.Fix.AddRules[0]["rule"])
		if canRequire {
			add += ", or " + remedy
		}
		remedy = add
	}
	h.Message = fmt.Sprintf("an update can %s and the next one can %s; %s", how, what, remedy)
	return []Hole{h}
}

// throughKey: values under keys that can go and come back.
func (a *auditor) throughKey(l, in *schema.Location) []Hole {
	h, found := a.around(in)
	if !found {
		return nil
	}
	h.name(rule.CELRenamableKey, l)
	h.Fix = keepKeys(l)
	h.Message = "an update can remove a key and the next one can add it with other values of " + lint.Enumerate(h.Fields)
	if h.Fix != nil {
		h.Message += fmt.Sprintf("; if keys are to stay, add to %s the rule %s", displayPath(l), h.Fix.AddRules[0]["rule"])
	}
	return []Hole{h}
}

// throughUnknown: objects with unknown fields that some rule compares as a whole.
func (a *auditor) throughUnknown() []Hole {
	var holes []Hole
	for _, l := range a.All {
		if !unknownFields(l.Schema) {
			continue
		}
		h := Hole{Sure: true}
		for _, r := range a.all {
			for _, g := range r.guards {
				if within(l, g) && compares(r.Rule, g) {
					h.add(r, []*schema.Location{g}, true)
				}
			}
		}
		if len(h.rules) == 0 {
			continue
		}
		h.name(rule.CELUnknownKeys, l)
		on := lint.Enumerate(h.Fields)
		h.Message = fmt.Sprintf("the CEL rule on %s lets an update replace unknown fields by as many others, because CEL compares an unknown field only where both sides have it: "+
			"declare the fields, or lock %s with %s and check it by webhook or policy", on, on, schema.KeyImmutable)
		holes = append(holes, h)
	}
	return holes
}

// unknownFields reports whether an object of s can have fields that CEL does not know.
func unknownFields(s *spec.Schema) bool {
	if !s.Type.Contains("object") {
		return false
	}
	ap := s.AdditionalProperties
	return preservesUnknown(s) && (ap == nil || ap.Schema == nil) || s.Extensions[schema.KeyEmbedded] == true || ap != nil && ap.Schema == nil && ap.Allows
}

// readRule is a rule with the fields that it reads.
type readRule struct {
	*Rule
	// reads are the fields; of lists and maps that the rule may ask for keys, their items and values too.
	reads []*schema.Location
	// guards are the fields that a transition rule reads from the old object.
	guards []*schema.Location

	// What is found once it is asked for: the operands of && that the rule is made of, and the literals for a field.
	parts    []ast.Expr
	compared map[*schema.Location][]any
}

// literals lists what r compares l with.
func (r *readRule) literals(l *schema.Location) []any {
	found, ok := r.compared[l]
	if !ok {
		found = literalsIn(r.expr, l.Schema, math.MaxInt)
		if r.compared == nil {
			r.compared = map[*schema.Location][]any{}
		}
		r.compared[l] = found
	}
	return found
}

func newReadRule(r *Rule) *readRule {
	read := &readRule{Rule: r}
	seen := map[*[]*schema.Location]map[*schema.Location]bool{&read.reads: {}, &read.guards: {}}
	add := func(to *[]*schema.Location, l *schema.Location) {
		if !seen[to][l] {
			seen[to][l] = true
			*to = append(*to, l)
		}
	}
	for _, t := range termsIn(r, r.expr) {
		add(&read.reads, t.at)
		if keysOf(t.at) != noKeys {
			add(&read.reads, inside(t.at))
		}
		if t.side == oldSide && r.Transition && !t.at.IsMapKey() {
			add(&read.guards, t.at)
		}
	}
	return read
}

// guardsWithin lists the fields at or below l that r guards.
func (r *readRule) guardsWithin(l *schema.Location) []*schema.Location {
	return slices.DeleteFunc(slices.Clone(r.guards), func(g *schema.Location) bool { return !within(g, l) })
}

// maxRelevant bounds how many rules a search weighs together. Rules beyond it are taken to accept everything.
const maxRelevant = 40

// relevant returns the rules that decide together with r whether a detour without the field gone exists: those that read
// gone from above, and those that read a field that r or another relevant rule reads. r is the first one. A nil gone is
// for an update that removes nothing.
func relevant(all []*readRule, r *readRule, gone *schema.Location) []*readRule {
	return newRuleIndex(all, nil).relevant(r, gone, nil)
}

func (x *ruleIndex) relevant(r *readRule, gone *schema.Location, e *effort) []*readRule {
	return x.related([]*readRule{r}, r.reads, gone, e)
}

// compares reports whether r compares the new and old values of l as a whole.
func compares(r *Rule, l *schema.Location) bool {
	found := false
	visit(r.expr, func(x ast.Expr) bool {
		if x.Kind() != ast.CallKind {
			return true
		}
		call := x.AsCall()
		if name := call.FunctionName(); name == operators.Equals || name == operators.NotEquals {
			a, okA := termOf(r, call.Args()[0])
			b, okB := termOf(r, call.Args()[1])
			found = found || okA && okB && a.at == l && b.at == l && a.side != b.side
		}
		return !found
	})
	return found
}

// DeadRule is a finding about a transition rule that can never refuse anything.
type DeadRule struct {
	immutability.Finding
	Of RuleRef
}

// dead returns a finding for each transition rule that can refuse no update of one object that fits the schema to
// another, whatever the other rules are. Rules about keys and items are left out: a scenario knows one key only.
func (a *auditor) dead() []DeadRule {
	var findings []DeadRule
	for _, r := range a.all {
		if !r.Transition || quantifies(r.expr) || a.leave(r.at) {
			continue
		}
		m := a.scenario(newScenario([]*readRule{r}))
		if search(m, []condition{refusedBy(r, step{scenario: m, newObj: 1, oldObj: 0})}) != refuted {
			a.leave(r.at)
			continue
		}
		findings = append(findings, DeadRule{Of: RuleRef{r.SchemaPath, r.Index}, Finding: immutability.Finding{
			Path: r.Path, SchemaPath: r.SchemaPath, Severity: immutability.SeverityWarning, Rule: rule.DeadRule,
			Message: fmt.Sprintf("the rule %q can never refuse an update of an object that fits the schema: remove it, or correct it", r.Text),
		}})
	}
	return findings
}

// quantifies reports whether x has a macro such as all or exists.
func quantifies(x ast.Expr) bool {
	found := false
	visit(x, func(x ast.Expr) bool {
		if x.Kind() == ast.CallKind {
			_, _, ok := macro(x.AsCall())
			found = found || ok
		}
		return !found
	})
	return found
}
