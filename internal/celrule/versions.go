package celrule

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/storageversion"
)

// LintVersions returns the findings of HolesBetween, by version.
func LintVersions(c *crd.CRD) map[string][]immutability.Finding {
	findings := map[string][]immutability.Finding{}
	if c == nil {
		return findings
	}
	for version, holes := range new(Audit).HolesBetween(c) {
		for _, h := range holes {
			findings[version] = append(findings[version], h.Finding)
		}
	}
	return findings
}

// HolesBetween returns the transition rules that a write through another served version gets around. It
// returns the holes of each lax version: one for each field with
// rules that it lacks, and one for each field that it lacks altogether. Such a version drops the value, and the next write
// through the strict version sets another one; a conversion webhook may keep the value, so then the hole is a note.
func (a *Audit) HolesBetween(c *crd.CRD) map[string][]Hole {
	auditors := map[string]*auditor{}
	if served := storageversion.Served(c); len(served) > 1 {
		for _, v := range served {
			auditors[v.Name] = a.auditor(v.Schema)
		}
	}
	names := slices.Sorted(maps.Keys(auditors))
	holes := map[string][]Hole{}
	for _, lax := range names {
		v := &laxVersion{name: lax, converted: !storageversion.Unconverted(c)}
		for _, strict := range names {
			if lax != strict && !a.effort.leave(auditors[strict].Root) {
				newVersionPair(strict, auditors[lax], auditors[strict]).addHoles(v)
			}
		}
		if found := v.worded(); len(found) > 0 {
			holes[lax] = found
		}
	}
	return holes
}

// laxVersion collects the holes of one version.
type laxVersion struct {
	name      string
	converted bool // by a webhook
	holes     []*versionHole
}

// versionHole is a hole before it is put into words.
type versionHole struct {
	Hole
	strict []string // the versions that have the rules
	key    string   // what the version lacks
	texts  []string // of the rules
	lacked string   // path of the field that the lax version does not have, "" if it lacks the rules
	gone   string   // path of the field that a write through the lax version can remove, "" if it can change the guarded ones
}

// hole returns the hole at l, a location of the lax version. key names what this version lacks, and strict is the version
// that has it.
func (v *laxVersion) hole(key, strict string, l *schema.Location) *versionHole {
	i := slices.IndexFunc(v.holes, func(h *versionHole) bool { return h.key == key })
	if i < 0 {
		i = len(v.holes)
		h := &versionHole{Hole: Hole{Sure: true}, key: key}
		h.name(rule.CELVersionWithoutRule, l)
		v.holes = append(v.holes, h)
	}
	if h := v.holes[i]; !slices.Contains(h.strict, strict) {
		h.strict = append(h.strict, strict)
	}
	return v.holes[i]
}

func (v *laxVersion) worded() []Hole {
	var holes []Hole
	for _, h := range v.holes {
		strict, fields := "version "+h.strict[0]+" has", rule.Enumerate(h.Fields)
		if len(h.strict) > 1 {
			strict = "versions " + strings.Join(h.strict, " and ") + " have"
		}
		switch {
		case h.gone != "":
			h.Message = fmt.Sprintf("a write through version %s can remove %s and the next one can set other values of %s, on which %s rules; "+
				"keep it in %s with a rule, or stop serving %s", v.name, h.gone, fields, strict, v.name, v.name)
		case h.lacked == "":
			h.Message = fmt.Sprintf("a write through version %s gets around the rules that %s on %s; copy them to %s, or stop serving %s",
				v.name, strict, fields, v.name, v.name)
		case v.converted:
			h.Severity = immutability.SeverityNote
			h.Message = fmt.Sprintf("possible: version %s does not have %s; unless the conversion webhook keeps the value, "+
				"a write through %s drops it and the next one can set another, although %s rules on %s",
				v.name, h.lacked, v.name, strict, fields)
		default:
			h.Message = fmt.Sprintf("version %s does not have %s; "+
				"a write through %s drops the value and the next one can set another, although %s rules on %s; add the field to %s, or stop serving %s",
				v.name, h.lacked, v.name, strict, fields, v.name, v.name)
		}
		holes = append(holes, h.Hole)
	}
	return holes
}

// stepsToFind is about how many steps it takes to find the same location in another version.
const stepsToFind = 10

// versionPair is a version through which rules of a stricter one can be got around.
type versionPair struct {
	strictName  string
	lax, strict *auditor

	laxRules map[*readRule]bool                    // rules of lax, with the fields that they read as those of strict
	index    *ruleIndex                            // of laxRules, and the rules without oldSelf of strict, which every object satisfies that it wrote
	alias    map[*schema.Location]*schema.Location // from locations of lax to those of strict
}

func newVersionPair(strictName string, lax, strict *auditor) *versionPair {
	p := &versionPair{strictName: strictName, lax: lax, strict: strict, laxRules: map[*readRule]bool{}, alias: map[*schema.Location]*schema.Location{}}
	if !slices.ContainsFunc(strict.all, func(r *readRule) bool { return r.Transition }) {
		return p
	}
	lax.spend(len(lax.All) * stepsToFind)
	var rules []*readRule
	for _, l := range lax.All {
		if same := strict.Find(l.Path.Pointer()); same != nil {
			p.alias[l] = same
		}
	}
	for _, r := range lax.all {
		same := &readRule{Rule: r.Rule}
		for _, l := range r.reads {
			if p.alias[l] != nil {
				l = p.alias[l]
			}
			same.reads = append(same.reads, l)
		}
		p.laxRules[same] = true
		rules = append(rules, same)
	}
	for _, r := range strict.all {
		if !r.Transition {
			rules = append(rules, r)
		}
	}
	p.index = newRuleIndex(rules, lax.effort)
	return p
}

func (p *versionPair) addHoles(v *laxVersion) {
	for _, r := range p.strict.all {
		if !r.Transition || p.lax.leave(r.at) {
			continue
		}
		p.lax.spend(len(r.reads) * stepsToFind)
		gone := p.missing(r.guards)
		if gone != nil {
			if sure, found := p.throughDrop(r, gone); found {
				h := v.hole("field "+gone.Path.Pointer(), p.strictName, p.lax.Find(gone.Parent().Path.Pointer()))
				h.lacked = gone.Path.String()
				h.add(r, r.guardsWithin(gone), sure)
			}
			continue
		}
		if sure, found := p.throughUpdate(r); found && !p.deadInLax(r) {
			h := v.hole("rules "+r.SchemaPath, p.strictName, p.lax.Find(r.SchemaPath))
			if len(r.guards) == 1 && len(h.guarded) == 0 {
				h.name(rule.CELVersionWithoutRule, p.lax.Find(r.guards[0].Path.Pointer()))
			}
			if !slices.Contains(h.texts, r.Text) {
				h.texts = append(h.texts, r.Text)
				h.Fix = alsoCopy(h.Fix, v.name, r, p.missing(r.reads) == nil)
			}
			h.add(r, r.guards, sure)
			continue
		}
		for _, g := range r.guards {
			if gone := p.throughRemoval(r, g); gone != nil {
				h := v.hole("removal "+gone.Path.Pointer(), p.strictName, p.lax.Find(gone.Path.Pointer()))
				h.gone = displayPath(gone)
				h.add(r, []*schema.Location{g}, false)
			}
		}
	}
}

// deadInLax reports whether r could refuse no update of objects that fit the schema of lax, for instance as lax requires a
// field that r keeps.
func (p *versionPair) deadInLax(r *readRule) bool {
	at := p.lax.Find(r.SchemaPath)
	return at != nil && p.missing(r.reads) == nil && !quantifies(r.expr) && p.lax.refusesNothing(r.Text, at)
}

// missing returns the topmost location that lax lacks on the way to one of the fields, nil if it has all of them.
func (p *versionPair) missing(fields []*schema.Location) *schema.Location {
	for _, f := range fields {
		for _, l := range way(f) {
			if p.lax.Find(l.Path.Pointer()) == nil {
				return l
			}
		}
	}
	return nil
}

// throughDrop looks for a first object, a second one from which lax has dropped gone, and a third one that r refuses to
// follow the first.
func (p *versionPair) throughDrop(r *readRule, gone *schema.Location) (sure, found bool) {
	rules := p.strict.byPlace.relevant(r, gone, p.lax.effort)
	m := p.lax.scenario(detour(rules, gone))
	conditions := []condition{refusedBy(r, step{scenario: m, newObj: 2, oldObj: 0})}
	for _, rule := range rules {
		if rule.Transition {
			conditions = eachAccepted(conditions, rule, step{scenario: m, newObj: 2, oldObj: 1})
			continue
		}
		for _, object := range []int{0, 2} {
			conditions = eachAccepted(conditions, rule, step{scenario: m, newObj: object, oldObj: object})
		}
	}
	return p.search(r, m, conditions)
}

// search calls possible. It reports no hole if the audit ran out of steps.
func (p *versionPair) search(r *readRule, m *scenario, conditions []condition) (sure, found bool) {
	sure, found = possible(m, conditions)
	return sure, found && !p.lax.leave(r.at)
}

// throughRemoval looks for a first object, a second one from which a write through lax has removed g or something above it,
// and a third one that r refuses to follow the first. It returns what was removed, nil if there is no such way or lax has
// a rule about the old value of g, whose own holes are those of lax. The schemas of two versions can differ in what they
// require, so that objects have to decide.
func (p *versionPair) throughRemoval(r *readRule, g *schema.Location) *schema.Location {
	same := p.lax.Find(g.Path.Pointer())
	p.lax.spend(len(p.lax.all))
	guards := func(l *schema.Location) bool { return within(same, l) || within(l, same) }
	if slices.ContainsFunc(p.lax.all, func(other *readRule) bool { return slices.ContainsFunc(other.guards, guards) }) {
		return nil
	}
	for gone := g; gone.In != nil && !p.lax.leave(r.at); gone = gone.Parent() {
		if gone.Role != schema.Property || present(gone) || present(p.lax.Find(gone.Path.Pointer())) || ofResource(gone) {
			continue
		}
		lax, strict := p.index.relevant(r, gone, p.lax.effort)[1:], p.strict.byPlace.relevant(r, gone, p.lax.effort)[1:]
		m := p.lax.scenario(detour(slices.Concat([]*readRule{r}, lax, strict), gone))
		conditions := []condition{refusedBy(r, step{scenario: m, newObj: 2, oldObj: 0})}
		for _, other := range lax {
			if p.laxRules[other] {
				conditions = eachAccepted(conditions, other, step{scenario: m, newObj: 1, oldObj: 0, alias: p.alias})
			}
		}
		for _, other := range strict {
			conditions = eachAccepted(conditions, other, step{scenario: m, newObj: 2, oldObj: 1})
			if !other.Transition {
				conditions = eachAccepted(conditions, other, step{scenario: m})
			}
		}
		if _, found := p.search(r, m, conditions); found {
			return gone
		}
	}
	return nil
}

// throughUpdate looks for an update of an object of strict that r refuses and that all rules of lax accept.
func (p *versionPair) throughUpdate(r *readRule) (sure, found bool) {
	rules := p.index.relevant(r, nil, p.lax.effort)
	m := p.lax.scenario(newScenario(rules))
	update := step{scenario: m, newObj: 1, oldObj: 0, alias: p.alias}
	conditions := []condition{refusedBy(r, update)}
	for _, other := range rules[1:] {
		if p.laxRules[other] {
			conditions = eachAccepted(conditions, other, update)
		} else {
			conditions = eachAccepted(conditions, other, step{scenario: m})
		}
	}
	return p.search(r, m, append(conditions, p.strict.fits(update)...))
}

// Loss is a transition rule that an update of a CRD takes away. In is the index of the schema that accepts what the rule refuses.
type Loss struct {
	immutability.Finding
	Of *Rule
	In int
}

// Dropped returns the transition rules of oldSchema that an update of its CRD drops or weakens. Those of news are the schema of the
// same version, or of all served versions where that one is no longer served: one of them accepts an update which the rule refuses, and
// none refuses as much. A rule in other words or at another place that refuses as much is not dropped, nor is one whose fields have
// gone, so that their values do, or are locked now. A rule that is not understood counts as dropped when its text is gone; the
// finding is a warning then, otherwise an error. Cost: that of HolesBetween.
func (a *Audit) Dropped(oldSchema *spec.Schema, news ...*spec.Schema) []Loss {
	strict := a.auditor(oldSchema)
	pairs := make([]*versionPair, len(news))
	for i, s := range news {
		pairs[i] = newVersionPair("", a.auditor(s), strict)
	}
	var losses []Loss
	for _, r := range strict.all {
		in, sure := -1, false
		for i, p := range pairs {
			surely, fate := p.keeps(r)
			if fate == ruleKept {
				in = -1
				break
			}
			if fate == ruleLost && in < 0 {
				in, sure = i, surely
			}
		}
		if in < 0 {
			continue
		}
		f := immutability.Finding{Path: r.Path, SchemaPath: r.SchemaPath, Severity: immutability.SeverityError, Rule: rule.LockDropped}
		if !sure {
			f.Severity = immutability.SeverityWarning
		}
		for _, g := range r.guards {
			f.Fields = append(f.Fields, displayPath(g))
		}
		slices.Sort(f.Fields)
		f.Message = fmt.Sprintf("the update of the CRD drops or weakens the rule %q on %s, so that updates which it refuses are accepted; clients rely on the values to stay",
			r.Text, rule.Enumerate(f.Fields))
		losses = append(losses, Loss{f, r.Rule, in})
	}
	return losses
}

// What becomes of a rule in another schema.
type ruleFate int

const (
	ruleKept   ruleFate = iota // as much is refused
	ruleLost                   // more is accepted
	ruleAbsent                 // the schema lacks the fields, and no object keeps their values
)

// keeps returns what becomes of a rule of the strict version in the lax one, and if it is lost whether that is sure.
func (p *versionPair) keeps(r *readRule) (sure bool, fate ruleFate) {
	if !r.Transition || p.lax.leave(r.at) || p.locked(r) {
		return false, ruleKept
	}
	p.lax.spend(len(r.reads) * stepsToFind)
	if gone := p.missing(r.guards); gone != nil {
		return p.keepsUnknown(gone)
	}
	sure, found := p.throughUpdate(r)
	if !found || !sure && p.has(r) {
		return false, ruleKept
	}
	return sure, ruleLost
}

// keepsUnknown returns what becomes of rules about a field that the lax version does not name. Its objects may have the field all
// the same, as an unknown one or a key of a map; a rule or lock around it may guard it then.
func (p *versionPair) keepsUnknown(gone *schema.Location) (sure bool, fate ruleFate) {
	around := p.lax.Find(gone.Parent().Path.Pointer())
	if !around.PreservesUnknown() && around.Values == nil && !unknownFields(around.Schema) {
		return false, ruleAbsent
	}
	if around.Values != nil && around.Values.Marks.Refuses().Has(schema.Modify) {
		return false, ruleKept
	}
	for l := around; l != nil; l = l.Parent() {
		if l.Marks.Refuses().Has(schema.Modify) {
			return false, ruleKept
		}
	}
	guards := func(l *schema.Location) bool {
		return within(around, l) || around.Values != nil && within(l, around.Values)
	}
	guarded := slices.ContainsFunc(p.lax.all, func(other *readRule) bool { return slices.ContainsFunc(other.guards, guards) })
	return !guarded, ruleLost
}

// has reports whether the lax version has a rule with the text of r at the same place.
func (p *versionPair) has(r *readRule) bool {
	return slices.ContainsFunc(p.lax.all, func(other *readRule) bool {
		return other.SchemaPath == r.SchemaPath && other.Text == r.Text && other.OptionalOldSelf == r.OptionalOldSelf
	})
}

// locked reports whether a lock of the lax version, on it or above it, keeps each field that r guards: its value, and if r
// is above the field also that it is there.
func (p *versionPair) locked(r *readRule) bool {
	for _, f := range r.guards {
		l, needed := p.lax.Find(f.Path.Pointer()), schema.Modify
		if f != r.at {
			needed |= schema.Unset
		}
		for l != nil && !l.Marks.Refuses().Has(needed) {
			l, needed = l.Parent(), schema.Modify
		}
		if l == nil {
			return false
		}
	}
	return len(r.guards) > 0
}
