package celrule

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/storageversion"
)

// Ways around a rule of one version through another one, the lax version. Example: v1 has the rule self == oldSelf on
// spec.f. If v2 has the field and lacks the rule, a write through v2 may change the field. If v2 lacks the field, a
// write through v2 drops its value, and the next one through v1 may set another.
//
// Which version is right? Where the older one lacks the rule, its author has most likely thought of the rule later, and
// the fix copies it. Where the newer one lacks it, the author may have dropped it: only they know whether v2 is to get
// the rule, or v1 to lose it.

// WaysBetween returns the places where a write through a served version may get around the transition rules of another
// one: for each lax version a way for each place with rules that it lacks, and one for each field that it lacks. Cost:
// for each pair of versions, linear in the rules.
func (a *Audit) WaysBetween(c *crd.CRD) []*Way {
	served := storageversion.Served(c)
	if len(served) < 2 {
		return nil
	}
	byName := map[string]*auditor{}
	for _, v := range served {
		byName[v.Name] = a.auditor(v.Schema)
	}
	names := slices.Sorted(maps.Keys(byName))
	var ways []*Way
	for _, name := range names {
		lax := &laxVersion{auditor: byName[name], name: name, converted: !storageversion.Unconverted(c),
			known: map[string]*Way{}}
		for _, strict := range names {
			if strict != name {
				lax.compare(strict, byName[strict])
			}
		}
		ways = append(ways, lax.ways...)
	}
	return ways
}

// laxVersion is a version through which rules of others may be got around.
type laxVersion struct {
	*auditor
	name      string
	converted bool // by a webhook

	ways  []*Way
	known map[string]*Way // by what the version lacks
}

// compare adds the ways around the rules of another version.
func (v *laxVersion) compare(strictName string, strict *auditor) {
	for _, r := range strict.all {
		*v.steps++
		if !r.Transition {
			continue
		}
		if newer(v.name, strictName) && v.fate(r) == ruleGone {
			strict.dropped[r] = v.name
		}
		if gone := v.missing(r.guards); gone != nil {
			w := v.way("field "+gone.Path.Pointer(), strict, gone)
			w.SchemaPath, w.lacked = gone.Parent().Path.Pointer(), true
			w.add(r, r.guardsWithin(gone)).Version = strictName
		} else if !v.has(r) {
			w := v.way("rules "+r.SchemaPath, strict, r.at)
			w.SchemaPath = r.SchemaPath
			w.add(r, r.guards).Version = strictName
		}
	}
}

// way returns the way at l, a location of a version that has rules. key is what v lacks.
func (v *laxVersion) way(key string, strict *auditor, l *schema.Location) *Way {
	if v.known[key] == nil {
		w := &Way{Rule: finding.CELVersionWithoutRule, Version: v.name, auditor: strict, at: l, lax: v}
		v.known[key] = w
		v.ways = append(v.ways, w)
	}
	return v.known[key]
}

// newer reports whether the version a of an API comes after b: v2 after v1, and v1 after v1beta1.
func newer(a, b string) bool { return apiversion.CompareKubeAwareVersionStrings(a, b) > 0 }

// missing returns the topmost location that a lacks on the way to one of the fields, nil if it has all of them.
func (a *auditor) missing(fields []*schema.Location) *schema.Location {
	for _, f := range fields {
		for _, l := range way(f) {
			*a.steps++
			if a.Find(l.Path.Pointer()) == nil {
				return l
			}
		}
	}
	return nil
}

// has reports whether a has a rule with the text of r at the same place.
func (a *auditor) has(r *readRule) bool {
	l := a.Find(r.SchemaPath)
	return l != nil && slices.ContainsFunc(a.rules[l], func(other *Rule) bool {
		*a.steps++
		return other.Text == r.Text && other.OptionalOldSelf == r.OptionalOldSelf
	})
}

// finding puts into words what objects have shown of w. Where v has rules of its own on what the objects are without
// meanwhile, those have their own ways around, unless the rule that v lacks is the one that closes them.
func (v *laxVersion) finding(w *Way, shown []*Guarded) (f crd.Finding, ok bool) {
	for _, g := range shown {
		if kept := g.keeps(); kept != nil && !w.lacked && v.missing(g.by.reads) == nil {
			g.Removing = ""
			w.Closes = append(w.Closes, kept.Path.Pointer())
		}
	}
	shown = slices.DeleteFunc(shown, func(g *Guarded) bool {
		if g.Removing == "spec" && v.alwaysSent(v.Find("/properties/spec")) {
			return true
		}
		return !w.lacked && g.Removing != "" && slices.ContainsFunc(g.at, func(l *schema.Location) bool {
			same := v.Find(l.Path.Pointer())
			return len(v.guarding[same]) > 0 || v.guardedAbove(same)
		})
	})
	if len(shown) == 0 {
		return f, false
	}
	at := v.Find(w.SchemaPath)
	if first := shown[0].at; !w.lacked && len(first) == 1 {
		at = v.Find(first[0].Path.Pointer())
	}
	f = findingAt(finding.CELVersionWithoutRule, at, shown)
	var versions, texts []string
	for _, g := range shown {
		if !slices.Contains(versions, g.Version) {
			versions = append(versions, g.Version)
		}
	}
	strict, fields := "version "+versions[0]+" has", finding.Enumerate(f.Fields)
	isNewest := !slices.ContainsFunc(versions, func(other string) bool { return !newer(v.name, other) })
	if len(versions) > 1 {
		strict = "versions " + strings.Join(versions, " and ") + " have"
	}
	removing := ""
	for _, g := range shown {
		removing += g.Removing
	}
	switch {
	case w.lacked && v.converted:
		f.Severity = immutability.SeverityNote
		f.Message = fmt.Sprintf("possible: version %s does not have %s; unless the conversion webhook keeps the "+
			"value, "+
			"a write through %s drops it and the next one can set another, although %s rules on %s",
			v.name, w.at.Path, v.name, strict, fields)
	case w.lacked:
		f.Message = fmt.Sprintf("version %s does not have %s; "+
			"a write through %s drops the value and the next one can set another, although %s rules on %s; add the "+
			"field to %s, or stop serving %s",
			v.name, w.at.Path, v.name, strict, fields, v.name, v.name)
	case removing != "":
		f.Message = fmt.Sprintf("a write through version %s can remove %s and the next one can set other values of "+
			"%s, on which %s rules; "+
			"keep it in %s with a rule, or stop serving %s", v.name, shown[0].Removing, fields, strict, v.name, v.name)
	default:
		f.Message = fmt.Sprintf("a write through version %s gets around the rules that %s on %s; copy them to %s, or "+
			"stop serving %s",
			v.name, strict, fields, v.name, v.name)
		if isNewest {
			f.Message += fmt.Sprintf(", unless intended: %s is newer, and may have dropped them", v.name)
		}
		for _, g := range shown {
			if !slices.Contains(texts, g.by.Text) {
				texts = append(texts, g.by.Text)
				f.Fix = alsoCopy(f.Fix, v.name, g.by, v.missing(g.by.reads) == nil)
			}
		}
	}
	if w.OnlyStatus {
		f.Fix = nil
	}
	if f.Fix != nil && isNewest {
		f.Fix.Safe = false
	}
	return f, true
}

// keeps returns the field that objects are without meanwhile if the rule of g refuses to remove it; otherwise nil. The
// same rule closes the way in any version that has the fields.
func (g *Guarded) keeps() *schema.Location {
	for _, l := range g.at {
		if l.Path.String() == g.Removing && l.Role == schema.Property && g.by.requiresNew(g.by.expr, l, true) {
			return l
		}
	}
	return nil
}

// Dropped returns the transition rules of oldSchema that an update of its CRD may drop or weaken. Those of news are the
// schema of the same version, or of all served versions where that one is no longer served. A rule that one of them has
// is not dropped, nor is one whose fields have gone, so that their values do, or are locked now. Cost: for each of
// news, that of reading it as locks.
func (a *Audit) Dropped(oldSchema *spec.Schema, news ...*spec.Schema) []Suspicion {
	strict := a.auditor(oldSchema)
	var losses []Suspicion
	for _, r := range strict.all {
		if !r.Transition {
			continue
		}
		loss, kept := r.finding(immutability.SeverityError, finding.LockDropped), false
		loss.In = -1
		for i, s := range news {
			fate := a.auditor(s).fate(r)
			if kept = fate == ruleKept; kept {
				break
			}
			if fate != ruleAbsent && (loss.In < 0 || fate == ruleGone && !loss.Sure) {
				loss.In, loss.Sure = i, fate == ruleGone
			}
		}
		if kept || loss.In < 0 {
			continue
		}
		for _, g := range r.guards {
			loss.Fields = append(loss.Fields, displayPath(g))
			loss.Guards = append(loss.Guards, g.Path.Pointer())
		}
		slices.Sort(loss.Fields)
		loss.Message = fmt.Sprintf("the update of the CRD drops or weakens the rule %q on %s, so that updates which "+
			"it refuses are accepted; clients rely on the values to stay",
			r.Text, finding.Enumerate(loss.Fields))
		loss.Reworded = !loss.Sure && saysAsMuch(news[loss.In], oldSchema, r)
		losses = append(losses, loss)
	}
	return losses
}

// What becomes of a rule in another schema.
type ruleFate int

const (
	ruleKept    ruleFate = iota // it is there, or locks refuse as much
	ruleGone                    // the fields are there, and nothing guards them
	ruleChanged                 // other rules guard the fields
	ruleAbsent                  // the schema lacks the fields, and no object keeps their values
)

// fate returns what becomes of a rule of another schema in that of a.
func (a *auditor) fate(r *readRule) ruleFate {
	if a.has(r) || a.locked(r) {
		return ruleKept
	}
	if gone := a.missing(r.guards); gone != nil {
		return a.fateOfUnknown(gone)
	}
	for _, g := range r.guards {
		at := a.Find(g.Path.Pointer())
		if len(a.guarding[at]) > 0 || a.guardedAbove(at) {
			return ruleChanged
		}
	}
	return ruleGone
}

// fateOfUnknown returns what becomes of rules about a field that a does not name. Its objects may have the field all
// the same, as an unknown one or a key of a map; a rule or lock around it may guard it then.
func (a *auditor) fateOfUnknown(gone *schema.Location) ruleFate {
	around := a.Find(gone.Parent().Path.Pointer())
	if !around.PreservesUnknown() && around.Values == nil && !unknownFields(around.Schema) {
		return ruleAbsent
	}
	if around.Values != nil && around.Values.Marks.Refuses().Has(schema.Modify) {
		return ruleKept
	}
	for l := around; l != nil; l = l.Parent() {
		if l.Marks.Refuses().Has(schema.Modify) {
			return ruleKept
		}
	}
	if a.guardedAbove(around) || around.Values != nil && len(a.guarding[around.Values]) > 0 {
		return ruleChanged
	}
	return ruleGone
}

// guardedAbove reports whether a rule guards l or something above it.
func (a *auditor) guardedAbove(l *schema.Location) bool {
	for ; l != nil; l = l.Parent() {
		if len(a.guards[l]) > 0 {
			return true
		}
	}
	return false
}

// locked reports whether a lock of a, on it or above it, keeps each field that r guards: its value, and if r is above
// the field also that it is there.
func (a *auditor) locked(r *readRule) bool {
	for _, f := range r.guards {
		l, needed := a.Find(f.Path.Pointer()), schema.Modify
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

// saysAsMuch reports whether the rules of newSchema that equal locks lock all that r, a rule of oldSchema, does.
func saysAsMuch(newSchema, oldSchema *spec.Schema, r *readRule) bool {
	was := slices.IndexFunc(Import(oldSchema).Recognized, func(of ImportedRule) bool {
		return of.SchemaPath == r.SchemaPath && of.Index == r.Index
	})
	if was < 0 {
		return false
	}
	var locks []LockAt
	for _, of := range Import(newSchema).Recognized {
		locks = append(locks, of.Locks...)
	}
	wanted := Import(oldSchema).Recognized[was].Locks
	return !slices.ContainsFunc(wanted, func(lock LockAt) bool {
		return !slices.ContainsFunc(locks, func(is LockAt) bool {
			return is.SchemaPath == lock.SchemaPath && (is.Lock == lock.Lock || is.Lock == string(schema.Immutable))
		})
	})
}
