package celrule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/celexpr"
	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Audit knows the transition rules of one CRD. It lists the places where updates may get around them, and puts into
// words what objects have shown there: it has no objects itself. The zero Audit is ready to use.
//
// For a rule self == oldSelf on spec.backup.bucket, where both fields are optional, there are two such places: an
// update may leave out spec.backup.bucket, or all of spec.backup, and the next one may bring it back with another
// bucket. Whether the other rules and the schema let it is for the API server's validator to say (internal/witness).
type Audit struct {
	// GoField returns what Go source says about the field that a schema path of s leads to, and false where it is not
	// known. Nil if there is no source.
	GoField func(s *spec.Schema, schemaPath string) (GoField, bool)

	auditors map[*spec.Schema]*auditor
	steps    int // locations and rules that were looked at
}

// Way is a place where two updates may get around transition rules. It is a suspicion until objects have shown that
// they do get around some of the rules; then Audit.Finding puts it into words.
type Way struct {
	Rule       string // of the finding, as far as it is known before objects are
	Version    string // through which the way leads, for CELVersionWithoutRule
	SchemaPath string // of what is removed, renamed or swapped
	Around     []*Guarded
	// OnlyStatus is set by the caller if the update leads through the status subresource, which only controllers write.
	OnlyStatus bool

	// Closes is set by Finding, for CELVersionWithoutRule: the schema paths of the fields of Version that the rules of
	// the fix keep from being removed.
	Closes []string

	auditor *auditor
	at      *schema.Location // what SchemaPath leads to; for CELVersionWithoutRule, in the version that has the rules
	lax     *laxVersion      // for CELVersionWithoutRule
	lacked  bool             // Version does not have the field at all
}

// Guarded is a transition rule that a way may get around.
type Guarded struct {
	RuleRef
	Version string   // that has the rule, for CELVersionWithoutRule
	Fields  []string // the schema paths of the fields that it guards and that the way concerns
	// Shown is set by the caller if objects get around the rule. Removing is the path of what they are without
	// meanwhile, for CELVersionWithoutRule; "" if they have all that the rule guards.
	Shown    bool
	Removing string

	by *readRule
	at []*schema.Location
}

// Paths returns the paths of the fields that g guards, for people.
func (g *Guarded) Paths() []string {
	var paths []string
	for _, at := range g.at {
		paths = append(paths, displayPath(at))
	}
	return paths
}

// Suspicion is a finding about one transition rule that objects have to show first.
type Suspicion struct {
	crd.Finding
	Of *Rule
	// The rest is for a rule that an update of the CRD may drop. Guards are the schema paths of the fields that it
	// guards, and In is the index of the schema that may accept what it refuses. With Sure, nothing guards the fields
	// there; with Reworded, other rules or locks there say as much as the rule.
	Guards   []string
	In       int
	Sure     bool
	Reworded bool
}

// RuleRef names a rule of a schema.
type RuleRef struct {
	SchemaPath string
	Index      int
}

// Ways returns the places in s where updates may get around the CEL transition rules of s. The API server runs a
// transition rule only where the old and the new object both have the field that it belongs to. So a value that can be
// absent for a while can change: unset and set, its parent removed and added, its key removed and added. Unknown fields
// can be swapped at once. Cost: linear in the fields that rules guard, and their depths.
func (a *Audit) Ways(s *spec.Schema) []*Way { return a.auditor(s).ways() }

// Transitions reports whether s has a transition rule.
func (a *Audit) Transitions(s *spec.Schema) bool {
	return slices.ContainsFunc(a.auditor(s).all, func(r *readRule) bool { return r.Transition })
}

// Steps returns how many steps the audit has taken: fields and rules that it has looked at.
func (a *Audit) Steps() int { return a.steps }

// auditor reads the rules of s, once.
func (a *Audit) auditor(s *spec.Schema) *auditor {
	if a.auditors[s] == nil {
		if a.auditors == nil {
			a.auditors = map[*spec.Schema]*auditor{}
		}
		a.auditors[s] = newAuditor(readTree(s), &a.steps)
		if a.GoField != nil {
			a.auditors[s].inGo = func(schemaPath string) (GoField, bool) { return a.GoField(s, schemaPath) }
		}
	}
	return a.auditors[s]
}

// auditor looks for the ways around the rules of one schema.
type auditor struct {
	*tree
	all      []*readRule                      // that parse, and are where the API server pairs old and new values
	guards   map[*schema.Location][]*readRule // by location: the transition rules that guard it,
	guarding map[*schema.Location][]*readRule // and those that guard a field at or below it
	detours  map[*schema.Location]*Way        // by what is absent for a while
	doubts   map[*schema.Location]bool        // whether there is doubt about keeping a field
	dropped  map[*readRule]string             // rules that a newer version, which is named, does not have
	steps    *int

	inGo func(schemaPath string) (GoField, bool)
}

// GoField is what Go source says about a field.
type GoField struct {
	Pointer bool   // it tells the zero value from an absent one
	Omitted bool   // clients leave out the zero value, or nil
	Comment string // on the field and its type, with markers only as far as they speak of deprecation
}

// description returns what the schema and Go source say about l.
func (a *auditor) description(l *schema.Location) string {
	inGo, _ := a.inGo(l.Path.Pointer())
	return strings.TrimSpace(l.Schema.Description + "\n\n" + inGo.Comment)
}

func newAuditor(t *tree, steps *int) *auditor {
	a := &auditor{
		tree: t, steps: steps, inGo: func(string) (GoField, bool) { return GoField{}, false },
		guards: map[*schema.Location][]*readRule{}, guarding: map[*schema.Location][]*readRule{},
		detours: map[*schema.Location]*Way{},
		doubts:  map[*schema.Location]bool{}, dropped: map[*readRule]string{},
	}
	for _, l := range t.All {
		for _, r := range t.rules[l] {
			*steps++
			if r.expr != nil && t.uncorrelated[l] == "" {
				a.all = append(a.all, newReadRule(r))
			}
		}
	}
	for _, r := range a.all {
		for _, g := range r.guards {
			a.guards[g] = append(a.guards[g], r)
			for l := g; l != nil; l = l.Parent() {
				*steps++
				if list := a.guarding[l]; len(list) == 0 || list[len(list)-1] != r {
					a.guarding[l] = append(list, r)
				}
			}
		}
	}
	return a
}

func (a *auditor) ways() []*Way {
	var ways []*Way
	for _, l := range a.All {
		*a.steps++
		if l.Role == schema.Property && !present(l) && !ofResource(l) && a.uncorrelated[l] == "" && !a.alwaysSent(l) {
			ways = append(ways, a.without(l, &Way{Rule: finding.CELOptionalParent, at: l})...)
		}
		if in := inside(l); in != nil && a.uncorrelated[in] == "" &&
			(l.Values != nil || l.Marks.ListType == schema.ListMap) {
			ways = append(ways, a.without(in, &Way{Rule: finding.CELRenamableKey, at: l})...)
		}
		if unknownFields(l.Schema) {
			ways = append(ways, a.throughUnknown(l)...)
		}
	}
	return ways
}

// alwaysSent reports whether l is the spec of an object, which everybody sends whether or not the schema requires it:
// no tool and no person updates an object to have no spec. A schema that speaks of objects without a spec is an
// exception.
func (a *auditor) alwaysSent(l *schema.Location) bool {
	return l.Parent().In == nil && l.Name == "spec" && !l.Schema.Nullable && !anywhereRequired(l) &&
		a.doneWithout(l) == ""
}

// without completes w, a way on which gone is absent for a while. It returns no way if no rule guards anything there.
func (a *auditor) without(gone *schema.Location, w *Way) []*Way {
	if len(a.guarding[gone]) == 0 {
		return nil
	}
	w.auditor, w.SchemaPath = a, w.at.Path.Pointer()
	for _, r := range a.guarding[gone] {
		w.add(r, r.guardsWithin(gone))
	}
	a.detours[gone] = w
	return []*Way{w}
}

// add adds a rule that w may get around, and the fields that it guards.
func (w *Way) add(r *readRule, guards []*schema.Location) *Guarded {
	g := &Guarded{RuleRef: RuleRef{r.SchemaPath, r.Index}, by: r, at: guards}
	for _, l := range guards {
		*w.auditor.steps++
		g.Fields = append(g.Fields, l.Path.Pointer())
	}
	w.Around = append(w.Around, g)
	return g
}

// throughUnknown returns the way through the unknown fields at l, if some rule compares an object that has them as a
// whole.
func (a *auditor) throughUnknown(l *schema.Location) []*Way {
	w := &Way{Rule: finding.CELUnknownKeys, auditor: a, at: l, SchemaPath: l.Path.Pointer()}
	for up := l; up != nil; up = up.Parent() {
		for _, r := range a.guards[up] {
			*a.steps++
			if compares(r.Rule, up) {
				w.add(r, []*schema.Location{up})
			}
		}
	}
	if len(w.Around) == 0 {
		return nil
	}
	return []*Way{w}
}

// Finding puts into words what objects have shown of w. It returns false if they have shown nothing. A way through
// unknown fields is a note then: the rules of CEL say that it exists.
func (w *Way) Finding() (f crd.Finding, ok bool) {
	shown := w.shown()
	switch {
	case w.lax != nil:
		return w.lax.finding(w, shown)
	case w.Rule == finding.CELUnknownKeys:
		return w.swap(shown), true
	case len(shown) == 0:
		return f, false
	case w.Rule == finding.CELRenamableKey:
		return w.rename(shown), true
	}
	return w.removal(shown)
}

// shown returns the rules that objects get around.
func (w *Way) shown() []*Guarded {
	var shown []*Guarded
	for _, g := range w.Around {
		if g.Shown {
			shown = append(shown, g)
		}
	}
	return shown
}

// findingAt returns a finding at a location about the fields that some rules guard.
func findingAt(id string, l *schema.Location, around []*Guarded) crd.Finding {
	f := crd.Finding{Finding: immutability.Finding{
		Rule: id, Severity: immutability.SeverityWarning, Path: l.Path.String(), SchemaPath: l.Path.Pointer(),
	}}
	for _, g := range around {
		for _, at := range g.at {
			f.Fields = append(f.Fields, displayPath(at))
		}
	}
	slices.Sort(f.Fields)
	f.Fields = slices.Compact(f.Fields)
	return f
}

// removal returns the finding about a property that an update can remove and the next one can add again with other
// values in it. It returns false if only a zero value is left to begin with, which a rule counts as absent.
func (w *Way) removal(shown []*Guarded) (f crd.Finding, ok bool) {
	l := w.at
	f = findingAt(finding.CELOptionalParent, l, shown)
	how, canRequire := "leave out "+displayPath(l), displayPath(l) != "status" // an object is created without its status
	if l.Required || l.Schema.Default != nil {
		how, canRequire = "set "+displayPath(l)+" to null", false
	}
	what := "bring it back with other values of " + finding.Enumerate(f.Fields)
	guarded := slices.Contains(f.Fields, displayPath(l))
	if guarded {
		f.Rule, what = finding.CELUnsetThenSet, "set another value, because CEL runs no rule on an absent field"
	}
	f.Message = fmt.Sprintf("an update can %s and the next one can %s", how, what)
	rest, meant := w.auditor.unmeant(l, guardsOf(shown))
	switch {
	case len(rest) == 0:
		f.Severity = immutability.SeverityNote
		f.Message += "; this seems to be intended: " + meant
		return f, true
	case w.auditor.closedBesideZero(l, rest):
		return f, false
	case w.OnlyStatus:
		f.Message += "; only controllers write it, through the status subresource"
		return f, true
	}
	var remedies []string
	if f.Fix = w.auditor.companion(l, rest); f.Fix != nil {
		add := fmt.Sprintf("add to %s the rule %s", displayPath(l.Parent()), f.Fix.AddRules[0]["rule"])
		if intended := w.auditor.doubt(l, rest); intended != "" {
			add += ", unless intended: " + intended
			f.Fix.Safe, canRequire = false, false
		} else if name := celexpr.Escape(l.Name); !guarded && countFields(rest) > maxNamed {
			add += fmt.Sprintf(", or the shorter !has(oldSelf.%s) || has(self.%s) if %s is to stay once it is set",
				name, name, l.Name)
			f.Fix.Safe = false
		} else if zero, companion := w.auditor.zeroInUse(l, rest); zero != "" {
			add += fmt.Sprintf(", or if Go clients have %s with omitempty and without a pointer, and so leave out "+
				"%s, the rule %s", l.Name, zero, companion)
			f.Fix.Safe = false
		} else if !f.Fix.Safe {
			add += fmt.Sprintf(", unless intended: the rules on %s accept some values that it keeps",
				finding.Enumerate(f.Fields))
		}
		remedies = append(remedies, add)
	}
	if canRequire && len(remedies) == 0 { // otherwise objects that users have need not become invalid
		remedies = append(remedies, "if no such objects exist yet, make "+l.Name+" required")
	}
	if len(remedies) > 0 {
		f.Message += "; " + strings.Join(remedies, ", or ")
	}
	return f, true
}

// rename returns the finding about keys: one update removes a key, the next one adds it with other values.
func (w *Way) rename(shown []*Guarded) crd.Finding {
	f := findingAt(finding.CELRenamableKey, w.at, shown)
	f.Fix = keepKeys(w.at)
	f.Message = "an update can remove a key and the next one can add it with other values of " +
		finding.Enumerate(f.Fields)
	if f.Fix != nil {
		f.Message += fmt.Sprintf("; if keys are to stay, add to %s the rule %s",
			displayPath(w.at), f.Fix.AddRules[0]["rule"])
	}
	return f
}

// swap returns the finding about unknown fields of objects that some rules compare as a whole.
func (w *Way) swap(shown []*Guarded) crd.Finding {
	f := findingAt(finding.CELUnknownKeys, w.at, w.Around)
	on := finding.Enumerate(f.Fields)
	f.Message = fmt.Sprintf("the CEL rule on %s lets an update replace unknown fields by as many others, "+
		"because CEL compares an unknown field only where both sides have it: "+
		"declare the fields, or lock %s with %s and check it by webhook or policy", on, on, schema.KeyImmutable)
	if len(shown) == 0 {
		f.Severity, f.Message = immutability.SeverityNote, "possible: "+f.Message
	}
	return f
}

// guardsOf lists the guarded fields, each with its rule.
func guardsOf(around []*Guarded) []guard {
	var list []guard
	for _, g := range around {
		for _, at := range g.at {
			list = append(list, guard{g.by, at})
		}
	}
	return list
}

// unknownFields reports whether an object of s can have fields that CEL does not know.
func unknownFields(s *spec.Schema) bool {
	if !s.Type.Contains("object") {
		return false
	}
	ap := s.AdditionalProperties
	return preservesUnknown(s) && (ap == nil || ap.Schema == nil) || s.Extensions[schema.KeyEmbedded] == true ||
		ap != nil && ap.Schema == nil && ap.Allows
}

// compares reports whether r compares the new and old values of l as a whole.
func compares(r *Rule, l *schema.Location) bool {
	found := false
	celexpr.Visit(r.expr, func(x ast.Expr) bool {
		found = found || onBothSides(r, x) == l
		return !found
	})
	return found
}

// onBothSides returns the location of which x compares the new and the old value with == or !=; nil for another
// expression.
func onBothSides(r *Rule, x ast.Expr) *schema.Location {
	if x.Kind() != ast.CallKind {
		return nil
	}
	call := x.AsCall()
	if name := call.FunctionName(); name == operators.Equals || name == operators.NotEquals {
		a, okA := termOf(r, call.Args()[0])
		b, okB := termOf(r, call.Args()[1])
		if okA && okB && a.at == b.at && a.side != b.side {
			return a.at
		}
	}
	return nil
}
