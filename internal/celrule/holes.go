package celrule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/celexpr"
	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/schema"
)

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

// Ceiling is how many steps an Audit takes unless it says otherwise. A step is about a question to the objects that a
// search makes up, or a location or rule that it looks at.
const Ceiling = 12_000_000

// Audit looks for the ways around the transition rules of one CRD. All its searches together end after a number of steps:
// LeftOut names what it did not look at then. The zero Audit is ready to use.
type Audit struct {
	// Ceiling is how many steps the audit takes, 0 for the constant Ceiling.
	Ceiling int

	effort   effort
	auditors map[*spec.Schema]*auditor
}

// Hole is a detour around transition rules: a first, a second and a third object such that all rules accept the updates from
// the first to the second and from the second to the third, and some rules refuse the update from the first to the third.
// A hole through unknown fields, or through a version without a rule, has no second object.
type Hole struct {
	immutability.Finding
	// Sure is set if the hole follows from the rules and the schema. Otherwise some rule is not understood, and only
	// objects can tell whether the hole exists.
	Sure bool

	guarded []guard // by the rules that the detour gets around
}

// RuleFinding is a finding about one transition rule.
type RuleFinding struct {
	immutability.Finding
	Of RuleRef
}

// RuleRef names a rule of a schema.
type RuleRef struct {
	SchemaPath string
	Index      int
}

// Holes returns the ways around the CEL transition rules of s, sorted by path. The API server runs a transition rule only
// where the old and the new object both have the field that it belongs to. So a value that can be absent for a while can
// change: unset and set, its parent removed and added, its key removed and added. Unknown fields can be swapped at once.
// A hole is reported if there can be objects for it: all rules of s, with and without oldSelf, its locks and the schema
// are weighed together. Cost: for each rule and each optional field above it, a search of bounded size.
func (a *Audit) Holes(s *spec.Schema) []Hole { return a.auditor(s).holes() }

// DeadRules returns the transition rules of s that can never refuse an update, where this follows from the rule and the
// schema.
func (a *Audit) DeadRules(s *spec.Schema) []RuleFinding { return a.auditor(s).dead() }

// StatusLocks returns the transition rules of s that refuse every update from an object without a status to one with it,
// where this follows from the rule and the schema. With the status subresource, no status can be written then.
func (a *Audit) StatusLocks(s *spec.Schema) []RuleFinding { return a.auditor(s).statusLocks() }

// Transitions reports whether s has a transition rule.
func (a *Audit) Transitions(s *spec.Schema) bool {
	for _, rules := range a.auditor(s).rules {
		if slices.ContainsFunc(rules, func(r *Rule) bool { return r.Transition }) {
			return true
		}
	}
	return false
}

// LeftOut returns the fields and rules, as paths for people, for which ways around rules were not looked for because no
// steps were left. They are sorted.
func (a *Audit) LeftOut() []string {
	return slices.Compact(slices.Sorted(slices.Values(a.effort.leftOut)))
}

// Steps returns how many steps the audit has taken.
func (a *Audit) Steps() int { return a.effort.spent }

// auditor reads the rules of s, once.
func (a *Audit) auditor(s *spec.Schema) *auditor {
	if a.auditors[s] == nil {
		if a.auditors == nil {
			a.effort.ceiling = cmp.Or(a.Ceiling, Ceiling)
			a.auditors = map[*spec.Schema]*auditor{}
		}
		a.auditors[s] = newAuditor(readTree(s), &a.effort)
	}
	return a.auditors[s]
}

// effort counts the steps of an audit. A nil effort counts nothing and never ends.
type effort struct {
	spent   int
	ceiling int
	leftOut []string // paths for people
}

// spend counts n steps.
func (e *effort) spend(n int) {
	if e != nil {
		e.spent += n
	}
}

// over reports whether no steps are left.
func (e *effort) over() bool { return e != nil && e.spent >= e.ceiling }

// leave notes that l is not looked at if no steps are left, and reports whether that is so.
func (e *effort) leave(l *schema.Location) bool {
	if !e.over() {
		return false
	}
	e.leftOut = append(e.leftOut, displayPath(l))
	return true
}

// auditor looks for the holes of one schema.
type auditor struct {
	*tree
	*effort
	all []*readRule // that parse, and stand where the API server pairs old and new values

	byPlace, byDepth *ruleIndex                       // of all, as they stand, and the deepest first
	guarding         map[*schema.Location][]*readRule // by location: the rules that guard a field at or below it
	detours          map[*schema.Location]foundHole   // results of around
	constrained      map[*schema.Location]int         // places, in the order of All, of what has a lock or combines schemas
}

func newAuditor(t *tree, e *effort) *auditor {
	a := &auditor{
		tree: t, effort: e,
		guarding: map[*schema.Location][]*readRule{}, constrained: map[*schema.Location]int{}, detours: map[*schema.Location]foundHole{},
	}
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

// throughField returns the hole through l, a property that an update can remove and the next one can add again with other
// values in it.
func (a *auditor) throughField(l *schema.Location) []Hole {
	h, found := a.around(l)
	if !found {
		return nil
	}
	how, canRequire := "leave out "+displayPath(l), displayPath(l) != "status" // an object is created without its status
	if l.Required || l.Schema.Default != nil {
		how, canRequire = "set "+displayPath(l)+" to null", false
	}
	what := "bring it back with other values of " + rule.Enumerate(h.Fields)
	id := rule.CELOptionalParent
	if slices.Contains(h.Fields, displayPath(l)) {
		id, what = rule.CELUnsetThenSet, "set another value, because CEL runs no rule on an absent field"
	}
	h.name(id, l)
	var remedies []string
	if h.Fix = a.companion(l, h.guarded); h.Fix != nil {
		add := fmt.Sprintf("add to %s the rule %s", displayPath(l.Parent()), h.Fix.AddRules[0]["rule"])
		if meant := a.alternative(l, slices.Contains(h.Fields, displayPath(l))); meant != "" {
			add += fmt.Sprintf(", unless removing %s is meant: %s", l.Name, meant)
			h.Fix.Safe, canRequire = false, false
		}
		remedies = append(remedies, add)
	}
	if canRequire && len(remedies) == 0 { // otherwise objects that users have need not become invalid
		remedies = append(remedies, "if no such objects exist yet, make "+l.Name+" required")
	}
	h.Message = fmt.Sprintf("an update can %s and the next one can %s", how, what)
	if len(remedies) > 0 {
		h.Message += "; " + strings.Join(remedies, ", or ")
	}
	return []Hole{h}
}

// throughKey returns the hole through the keys of l: one update removes a key, the next one adds it with other values. in is
// the location of the values.
func (a *auditor) throughKey(l, in *schema.Location) []Hole {
	h, found := a.around(in)
	if !found {
		return nil
	}
	h.name(rule.CELRenamableKey, l)
	h.Fix = keepKeys(l)
	h.Message = "an update can remove a key and the next one can add it with other values of " + rule.Enumerate(h.Fields)
	if h.Fix != nil {
		h.Message += fmt.Sprintf("; if keys are to stay, add to %s the rule %s", displayPath(l), h.Fix.AddRules[0]["rule"])
	}
	return []Hole{h}
}

// around looks for rules that a detour gets around in which gone is absent for a while, once for each location.
func (a *auditor) around(gone *schema.Location) (h Hole, found bool) {
	known, ok := a.detours[gone]
	if !ok {
		known.Hole, known.found = a.findAround(gone)
		a.detours[gone] = known
	}
	known.Fields, known.guarded = slices.Clone(known.Fields), slices.Clone(known.guarded)
	return known.Hole, known.found
}

// foundHole is what findAround returns.
type foundHole struct {
	Hole
	found bool
}

func (a *auditor) findAround(gone *schema.Location) (h Hole, found bool) {
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
	return h, len(h.guarded) > 0
}

// keeps reports whether the rules above gone that read it make it stay once it is there, whatever the other rules say. Then
// there is no detour without it, and no rule needs a search of its own.
func (a *auditor) keeps(gone *schema.Location) bool {
	rules := a.byDepth.related(nil, nil, gone, a.effort)
	m := a.scenario(detour(rules, gone))
	_, possible := possible(m, a.admitted(rules, step{scenario: m, newObj: 1, oldObj: 0}, step{scenario: m, newObj: 2, oldObj: 1}))
	return !possible
}

// add adds a rule that the detour gets around, and the fields that it guards.
func (h *Hole) add(r *readRule, guards []*schema.Location, sure bool) {
	h.Sure = h.Sure && sure
	for _, l := range guards {
		h.guarded = append(h.guarded, guard{r, l})
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

// throughUnknown returns the holes through unknown fields of objects that some rule compares as a whole.
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
					h.add(r, []*schema.Location{g}, false)
				}
			}
		}
		if len(h.guarded) == 0 {
			continue
		}
		h.name(rule.CELUnknownKeys, l)
		on := rule.Enumerate(h.Fields)
		h.Message = fmt.Sprintf("the CEL rule on %s lets an update replace unknown fields by as many others, "+
			"because CEL compares an unknown field only where both sides have it: "+
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

// compares reports whether r compares the new and old values of l as a whole.
func compares(r *Rule, l *schema.Location) bool {
	found := false
	celexpr.Visit(r.expr, func(x ast.Expr) bool {
		at, _ := onBothSides(r, x)
		found = found || at == l
		return !found
	})
	return found
}

// onBothSides returns the location of which x compares the new and the old value, and the operator, == or !=; nil for another
// expression.
func onBothSides(r *Rule, x ast.Expr) (at *schema.Location, operator string) {
	if x.Kind() != ast.CallKind {
		return nil, ""
	}
	call := x.AsCall()
	if name := call.FunctionName(); name == operators.Equals || name == operators.NotEquals {
		a, okA := termOf(r, call.Args()[0])
		b, okB := termOf(r, call.Args()[1])
		if okA && okB && a.at == b.at && a.side != b.side {
			return a.at, name
		}
	}
	return nil, ""
}

// dead returns a finding for each transition rule that can refuse no update of one object that fits the schema to
// another, whatever the other rules are. Rules about keys and items are left out: a scenario knows one key only.
func (a *auditor) dead() []RuleFinding {
	var findings []RuleFinding
	for _, r := range a.all {
		if !r.Transition || quantifies(r.expr) || a.leave(r.at) {
			continue
		}
		m := a.scenario(newScenario([]*readRule{r}))
		if search(m, []condition{refusedBy(r, step{scenario: m, newObj: 1, oldObj: 0})}) != refuted {
			a.leave(r.at)
			continue
		}
		findings = append(findings, RuleFinding{Of: RuleRef{r.SchemaPath, r.Index}, Finding: immutability.Finding{
			Path: r.Path, SchemaPath: r.SchemaPath, Severity: immutability.SeverityWarning, Rule: rule.DeadRule,
			Message: fmt.Sprintf("the rule %q can never refuse an update of an object that fits the schema%s: remove it, or correct it", r.Text, r.whyDead()),
		}})
	}
	return findings
}

// whyDead says why a rule that refuses nothing does, as far as one of its fields shows it.
func (r *readRule) whyDead() string {
	for _, g := range r.guards {
		if len(g.Schema.Enum) == 1 {
			return ", because " + displayPath(g) + " has one value only"
		}
	}
	always := func(g *schema.Location) bool {
		for ; g != r.at && g.In != nil; g = g.Parent() {
			if !present(g) {
				return false
			}
		}
		return true
	}
	if strings.Contains(r.Text, "has(") && len(r.guards) > 0 && !slices.ContainsFunc(r.guards, func(g *schema.Location) bool { return !always(g) }) {
		return ", because " + displayPath(r.guards[len(r.guards)-1]) + " is always there"
	}
	return ""
}

func (a *auditor) statusLocks() []RuleFinding {
	status := a.Root.Property("status")
	if status == nil || status.Schema.Default != nil {
		return nil
	}
	var findings []RuleFinding
	for _, r := range a.all {
		if !r.Transition || r.OptionalOldSelf || inStatus(r.at) || !slices.ContainsFunc(r.reads, inStatus) || quantifies(r.expr) || a.leave(r.at) {
			continue
		}
		m := a.scenario(newScenario([]*readRule{r}))
		m.fix(false)
		m.set(0, askPresence, status, false)
		m.set(1, askPresence, status, true)
		if search(m, eachAccepted(nil, r, step{scenario: m, newObj: 1, oldObj: 0})) != refuted {
			continue
		}
		findings = append(findings, RuleFinding{Of: RuleRef{r.SchemaPath, r.Index}, Finding: immutability.Finding{
			Path: r.Path, SchemaPath: r.SchemaPath, Severity: immutability.SeverityError, Rule: rule.StatusLock, Fields: []string{"status"},
			Message: fmt.Sprintf("the rule %q makes the first write of the status impossible: an object is created without its status, "+
				"and the rule refuses to set it; begin it with !has(oldSelf.status) ||", r.Text),
		}})
	}
	return findings
}

// quantifies reports whether x has a macro such as all or exists.
func quantifies(x ast.Expr) bool {
	found := false
	celexpr.Visit(x, func(x ast.Expr) bool {
		if x.Kind() == ast.CallKind {
			_, _, ok := macro(x.AsCall())
			found = found || ok
		}
		return !found
	})
	return found
}
