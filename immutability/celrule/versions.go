package celrule

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// LintVersions returns the findings of HolesBetween, by version.
func LintVersions(served map[string]*spec.Schema) map[string][]immutability.Finding {
	findings := map[string][]immutability.Finding{}
	for version, holes := range HolesBetween(served) {
		for _, h := range holes {
			findings[version] = append(findings[version], h.Finding)
		}
	}
	return findings
}

// HolesBetween returns the transition rules that a write through another served version gets around. It takes the
// schemas of the served versions of one CRD by name, and returns the holes of each lax version: one for each version that
// has the rules, with the fields behind it. A version that lacks the field itself drops its value, and the next write
// through the strict version sets another one. All of this is so if conversion copies fields from path to path, as the
// strategy None does.
func HolesBetween(served map[string]*spec.Schema) map[string][]Hole {
	auditors := map[string]*auditor{}
	for name, s := range served {
		auditors[name] = newAuditor(readTree(s))
	}
	holes := map[string][]Hole{}
	for _, lax := range slices.Sorted(maps.Keys(served)) {
		for _, strict := range slices.Sorted(maps.Keys(served)) {
			if lax != strict {
				p := versionPair{lax, strict, auditors[lax], auditors[strict], nil, map[*schema.Location]*schema.Location{}}
				holes[lax] = append(holes[lax], p.holes()...)
			}
		}
	}
	return holes
}

// versionPair is a version through which rules of a stricter version can be got around.
type versionPair struct {
	laxName, strictName string
	lax, strict         *auditor

	laxRules []*readRule                           // rules of lax, with the fields that they read as those of strict
	alias    map[*schema.Location]*schema.Location // from locations of lax to those of strict
}

func (p *versionPair) holes() []Hole {
	for _, l := range p.lax.All {
		if same := p.strict.Find(l.Path.Pointer()); same != nil {
			p.alias[l] = same
		}
	}
	for _, r := range p.lax.all {
		same := &readRule{Rule: r.Rule}
		for _, l := range r.reads {
			same.reads = append(same.reads, p.aliased(l))
		}
		p.laxRules = append(p.laxRules, same)
	}
	unruled, dropped := Hole{Way: OtherVersion, Sure: true}, map[*schema.Location]*Hole{}
	var unruledAt *schema.Location
	for _, r := range p.strict.all {
		if !r.Transition {
			continue
		}
		if gone := p.missing(r); gone != nil {
			if sure, found := p.throughDrop(r, gone); found {
				h := dropped[gone]
				if h == nil {
					h = &Hole{Way: DropField, Sure: true}
					dropped[gone] = h
				}
				h.add(r, r.guardsWithin(gone), sure)
			}
			continue
		}
		if sure, found := p.throughUpdate(r); found {
			unruled.add(r, r.guards, sure)
			if at := p.lax.Find(r.SchemaPath); unruledAt == nil {
				unruledAt = at
			}
		}
	}
	return p.findings(unruled, unruledAt, dropped)
}

func (p *versionPair) aliased(l *schema.Location) *schema.Location {
	if same := p.alias[l]; same != nil {
		return same
	}
	return l
}

// missing returns the topmost location that lax lacks on the way to a field that r guards, nil if it has all of them.
func (p *versionPair) missing(r *readRule) *schema.Location {
	for _, g := range r.guards {
		for _, l := range append(way(g), g) {
			if l.In != nil && p.lax.Find(l.Path.Pointer()) == nil {
				return l
			}
		}
	}
	return nil
}

// throughDrop looks for a first object, its copy that lax has cut gone from, and a third one that r refuses to follow the
// first.
func (p *versionPair) throughDrop(r *readRule, gone *schema.Location) (sure, found bool) {
	rules := relevant(p.strict.all, r, gone)
	m := detour(rules, gone)
	conditions := []condition{refusedBy(r, step{scenario: m, newObj: 2, oldObj: 0})}
	for _, rule := range rules {
		if rule.Transition {
			conditions = append(conditions, acceptedBy(rule, step{scenario: m, newObj: 2, oldObj: 1}))
			continue
		}
		for _, object := range []int{0, 2} {
			conditions = append(conditions, acceptedBy(rule, step{scenario: m, newObj: object, oldObj: object}))
		}
	}
	found = search(m, conditions) != refuted
	return m.sure(), found
}

// throughUpdate looks for an update that r refuses and that all rules of lax accept.
func (p *versionPair) throughUpdate(r *readRule) (sure, found bool) {
	rules := relevant(slices.Concat([]*readRule{r}, p.laxRules, p.strictPlain()), r, nil)
	m := newScenario(rules)
	update := step{scenario: m, newObj: 1, oldObj: 0, alias: p.alias}
	var others []*readRule
	for _, other := range rules[1:] {
		if slices.Contains(p.laxRules, other) || !other.Transition {
			others = append(others, other)
		}
	}
	conditions := append([]condition{refusedBy(r, update)}, admitted(others, p.strict.All, update)...)
	found = search(m, conditions) != refuted
	return m.sure(), found
}

// strictPlain lists the rules without oldSelf of strict, which the first object satisfies.
func (p *versionPair) strictPlain() []*readRule {
	return slices.DeleteFunc(slices.Clone(p.strict.all), func(r *readRule) bool { return r.Transition })
}

// findings words the holes.
func (p *versionPair) findings(unruled Hole, at *schema.Location, dropped map[*schema.Location]*Hole) []Hole {
	var holes []Hole
	if len(unruled.Rules) > 0 {
		unruled.name(rule.CELVersionWithoutRule, at)
		unruled.Version = p.laxName
		unruled.Message = fmt.Sprintf("a write through version %s gets around the CEL transition rules that version %s has on %s: copy them to version %s, or stop serving it",
			p.laxName, p.strictName, strings.Join(unruled.Fields, ", "), p.laxName)
		holes = append(holes, unruled)
	}
	for _, gone := range p.strict.All {
		h := dropped[gone]
		if h == nil {
			continue
		}
		above := gone.Parent()
		h.name(rule.CELVersionWithoutRule, p.lax.Find(above.Path.Pointer()))
		h.SchemaPath, h.Version = gone.Path.Pointer(), p.laxName
		h.Message = fmt.Sprintf("version %s does not have %s, so a write through it drops the value, and the next write through version %s can set another one, which gets around the CEL rules on %s: add the field to version %s, or stop serving it",
			p.laxName, gone.Path, p.strictName, strings.Join(h.Fields, ", "), p.laxName)
		holes = append(holes, *h)
	}
	return holes
}
