package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/internal/celrule"
	"github.com/fieldlock/fieldlock/internal/crdfacts"
	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/kind"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// Locks lists locked fields, with the JSON form that locks -o json prints.
type Locks struct {
	Fields []Field `json:"fields"`

	// Groups are the fields by CRD, versions with the same ones together.
	Groups []Group `json:"-"`
}

// Field is one locked field of one version.
type Field struct {
	File       string   `json:"file,omitempty"`
	Line       int      `json:"line,omitempty"`
	CRD        string   `json:"crd,omitempty"`
	APIVersion string   `json:"apiVersion,omitempty"` // of a built-in kind
	Kind       string   `json:"kind"`
	Version    string   `json:"version,omitempty"`
	Path       string   `json:"path"`
	SchemaPath string   `json:"schemaPath,omitempty"`
	Locks      []string `json:"locks"` // "rule" for a CEL rule
	Rule       string   `json:"rule,omitempty"`
	When       string   `json:"when,omitempty"`    // CEL condition under which the lock applies
	Except     []string `json:"except,omitempty"`  // what may change below Path
	Message    string   `json:"message,omitempty"` // of the API server
	Unknown    string   `json:"unknown,omitempty"` // why only the cluster can decide
	Note       string   `json:"note,omitempty"`    // what happens where a change is accepted without effect
	// EnforcedBy is the operator that enforces the lock, Module and Function are where its code is, and its versions
	// that have the lock are those from Since to Until; "" for all that are known. Without EnforcedBy, Function names
	// the CRD that has the lock and that is not at hand. Read is true where the code was read and not run. Allow lists
	// what may change below a path where everything else is locked: "a.*" is what is below a.
	EnforcedBy string   `json:"enforcedBy,omitempty"`
	Module     string   `json:"module,omitempty"`
	Function   string   `json:"function,omitempty"`
	Since      string   `json:"since,omitempty"`
	Until      string   `json:"until,omitempty"`
	Read       bool     `json:"read,omitempty"`
	Allow      []string `json:"allow,omitempty"`
	Holes      []Hole   `json:"holes"`
}

// Words names the locks of f in a list.
func (f *Field) Words() string {
	switch {
	case f.Note != "":
		return "accepted"
	case f.Unknown != "":
		return "unknown"
	}
	return strings.Join(f.Locks, ", ")
}

// Remarks are sentences about a lock of a built-in kind.
func (f *Field) Remarks() []string {
	if f.Note != "" {
		return []string{f.Note}
	}
	decides := "the cluster decides: "
	switch {
	case f.EnforcedBy != "":
		decides = "the operator decides: "
	case f.Function != "":
		decides = "the CRD decides: "
	}
	var list []string
	add := func(before, text string) {
		if text != "" {
			list = append(list, before+text)
		}
	}
	if f.Unknown == "" {
		add("has to hold: ", f.Rule)
	}
	add("when ", f.When)
	add("except ", strings.Join(f.Except, ", "))
	add("except ", strings.Join(f.Allow, ", "))
	if f.EnforcedBy != "" {
		known := "verified by running its code"
		if f.Read {
			known = "its code was read, not run"
		}
		add("since "+f.EnforcedBy+" ", f.Since)
		add("until "+f.EnforcedBy+" ", f.Until)
		add("refused by ", f.EnforcedBy+": "+f.Function+"; "+known)
	}
	if f.EnforcedBy == "" {
		add("known from ", f.Function)
	}
	add(decides, f.Unknown)
	return list
}

// Hole is a way in which the value of a locked field can still change.
type Hole struct {
	Rule    string `json:"rule"`
	Message string `json:"message"`

	// Short is the way in a few words.
	Short string `json:"-"`
}

// Group is the locked fields of one version of a CRD, or of several that have the same ones, or of a built-in kind.
type Group struct {
	Kind, Name, File string // Name is the CRD's; built-in kinds have no file
	Versions         []string
	Fields           []Field
}

// LocksOf lists the locks and the transition rules of CRDs. The errors name the mistakes of CRDs that are left out.
func LocksOf(crds []manifest.CRD) (*Locks, []error) {
	l := &Locks{Fields: []Field{}}
	var errs []error
	for _, c := range crds {
		validators, mistakes := c.Compile()
		if len(mistakes) > 0 {
			errs = append(errs, mistakes...)
			continue
		}
		groups := groupsOf(c.CRD, validators)
		for _, g := range groups {
			for _, name := range g.Versions {
				version, _ := c.Version(name)
				for _, f := range g.Fields {
					f.Version, f.Line = name, version.Position(f.SchemaPath).Line
					l.Fields = append(l.Fields, f)
				}
			}
		}
		l.Groups = append(l.Groups, groups...)
	}
	return l, errs
}

// groupsOf lists the locks and the transition rules of a CRD by version.
func groupsOf(c *crd.CRD, validators map[*crd.Version]*immutability.Validator) []Group {
	findings := lockFindings(c, nil)
	var groups []Group
	for _, v := range c.Versions {
		var fields []Field
		for _, l := range validators[v].Locks() {
			f := Field{File: c.File, CRD: c.Name, Kind: c.Kind, Path: l.Path, SchemaPath: l.SchemaPath,
				Holes: holesOf(l, v, findings)}
			for _, lock := range l.Locks {
				f.Locks = append(f.Locks, string(lock))
			}
			fields = append(fields, f)
		}
		for _, r := range transitionRules(v) {
			fields = append(fields, Field{
				File: c.File, CRD: c.Name, Kind: c.Kind, Path: r.Path, SchemaPath: r.SchemaPath,
				Locks: []string{string(kind.LockRule)}, Rule: r.Text, Holes: []Hole{},
			})
		}
		slices.SortStableFunc(fields, func(a, b Field) int { return strings.Compare(a.Path, b.Path) })
		at := slices.IndexFunc(groups, func(g Group) bool { return slices.EqualFunc(g.Fields, fields, sameField) })
		if at < 0 {
			groups = append(groups, Group{Kind: c.Kind, Name: c.Name, File: c.File, Fields: fields})
			at = len(groups) - 1
		}
		groups[at].Versions = append(groups[at].Versions, v.Name)
	}
	return groups
}

// transitionRules returns the CEL transition rules of a version, except for rules that repeat its locks, such as those
// that export cel adds.
func transitionRules(v *crd.Version) []celrule.Rule {
	imported := celrule.Import(v.Schema)
	var rules []celrule.Rule
	for _, r := range imported.Left {
		rules = append(rules, r.Rule)
	}
	for _, r := range imported.Recognized {
		if len(r.Locks) > 0 {
			rules = append(rules, r.Rule)
		}
	}
	return rules
}

// sameField reports whether two versions lock a field alike.
func sameField(a, b Field) bool {
	return a.Path == b.Path && a.Rule == b.Rule && slices.Equal(a.Locks, b.Locks) &&
		slices.EqualFunc(a.Holes, b.Holes, func(g, h Hole) bool { return g.Short == h.Short })
}

// holesOf returns the ways around the locks of a field that are warnings or meant, in its own version or in one that
// leaves it free.
func holesOf(l immutability.LockedField, v *crd.Version, findings []crd.Finding) []Hole {
	holes := []Hole{}
	for _, f := range findings {
		otherVersion := f.Rule == finding.VersionUnlocked && f.Version != v.Name
		certain := f.Severity == immutability.SeverityWarning || isMeant(f)
		if !certain || f.Version != v.Name && !otherVersion || !slices.Contains(f.Fields, l.Path) {
			continue
		}
		at := f.Path
		if otherVersion {
			at = f.Version
		}
		holes = append(holes, Hole{f.Rule, f.Message, shortly(f.Rule, at, f.Message)})
	}
	slices.SortStableFunc(holes, func(a, b Hole) int { return strings.Compare(a.Short, b.Short) })
	return holes
}

// isMeant reports whether f is a note about a removal that the author of a rule seems to allow.
func isMeant(f crd.Finding) bool {
	return f.Severity == immutability.SeverityNote &&
		(f.Rule == finding.CELOptionalParent || f.Rule == finding.CELUnsetThenSet)
}

// shortly names a way through a hole at a path in a few words; lint explains it in full.
func shortly(id, path, message string) string {
	switch id {
	case finding.OptionalParent:
		return "remove " + path + ", then add it again"
	case finding.UnsetThenSet:
		return "unset it, then set it anew"
	case finding.RenamableKey:
		return "rename a key of " + path
	case finding.AtomicItems:
		return "move the items of " + path + ": delete, then insert"
	case finding.VersionUnlocked:
		return "write it through version " + path
	case finding.VersionDefault:
		return "leave it out, and write through a version with another default"
	}
	return message
}

// LocksOfKinds lists the locks of built-in kinds.
func LocksOfKinds(kinds []*builtin.Kind) *Locks {
	l := &Locks{Fields: []Field{}}
	for _, k := range kinds {
		g := Group{Kind: k.Kind, Name: k.APIVersion, Versions: []string{k.APIVersion}}
		for _, row := range k.Rows() {
			g.Fields = append(g.Fields, Field{
				APIVersion: k.APIVersion, Kind: k.Kind, Path: row.Path, Locks: words(row.Locks),
				Rule: cmp.Or(row.Rule, row.Means), When: row.When,
				Except: row.Except, Message: row.Message, Unknown: row.Unknown, Note: row.Note, Holes: []Hole{},
			})
		}
		l.Groups = append(l.Groups, g)
		l.Fields = append(l.Fields, g.Fields...)
	}
	return l
}

func words(locks []immutability.Lock) []string {
	list := make([]string, len(locks))
	for i, lock := range locks {
		list[i] = string(lock)
	}
	return list
}

// LocksOfOperators lists what operators refuse.
func LocksOfOperators(kinds []*operators.Kind) *Locks {
	l := &Locks{Fields: []Field{}}
	for _, k := range kinds {
		g := Group{Kind: k.Kind, Name: k.APIVersion}
		for _, version := range k.Versions {
			g.Versions = append(g.Versions, k.Group+"/"+version)
		}
		for _, row := range k.Rows() {
			f := Field{
				APIVersion: k.APIVersion, Kind: k.Kind, Path: row.Path, Locks: words(row.Locks),
				Rule: cmp.Or(row.Rule, row.Means), When: row.When,
				Except: row.Except, Allow: row.Allow, Message: row.Message, Unknown: row.Unknown,
				EnforcedBy: k.Operator.Name,
				Module:     k.Operator.Module, Function: row.Source, Since: row.Since, Until: row.Until,
				Read: row.Read, Holes: []Hole{},
			}
			if row.Effect != builtin.EffectRefused {
				f.Note = row.Message
			}
			g.Fields = append(g.Fields, f)
		}
		l.Groups = append(l.Groups, g)
		l.Fields = append(l.Fields, g.Fields...)
	}
	return l
}

// LocksOfFacts lists what the transition rules of CRDs refuse that are known without the CRDs.
func LocksOfFacts(kinds []*crdfacts.Kind) *Locks {
	l := &Locks{Fields: []Field{}}
	for _, k := range kinds {
		g := Group{Kind: k.Kind, Name: k.APIVersion()}
		for _, version := range k.Versions {
			g.Versions = append(g.Versions, k.Group+"/"+version)
		}
		for i := range k.Rows {
			row := &k.Rows[i]
			f := Field{
				APIVersion: k.APIVersion(), Kind: k.Kind, Path: row.Path, Locks: words(row.Locks()), Message: row.Says,
				Module: k.Project.Module, Function: "the CRD of " + k.Project.Name + " " + k.Project.Version,
				Holes: []Hole{},
			}
			if row.Unknown {
				f.Locks, f.Unknown = []string{"rule"}, "a transition rule of the CRD reads the field"
			}
			g.Fields = append(g.Fields, f)
		}
		l.Groups = append(l.Groups, g)
		l.Fields = append(l.Fields, g.Fields...)
	}
	return l
}

// Add adds the locks of other to l.
func (l *Locks) Add(other *Locks) {
	l.Fields = append(l.Fields, other.Fields...)
	l.Groups = append(l.Groups, other.Groups...)
}

// DropEmpty leaves out the groups without fields of kinds that have another group, of any version.
func (l *Locks) DropEmpty() {
	kindOf := func(g Group) schema.GroupKind {
		group, _, _ := strings.Cut(g.Name, "/")
		return schema.GroupKind{Group: group, Kind: g.Kind}
	}
	var kept []Group
	for i, g := range l.Groups {
		alike := func(other Group) bool { return kindOf(other) == kindOf(g) }
		later := slices.ContainsFunc(l.Groups[i+1:], alike)
		if len(g.Fields) > 0 || !later && !slices.ContainsFunc(kept, alike) {
			kept = append(kept, g)
		}
	}
	l.Groups = kept
}

// Loosened returns what may change with newCRD that could not with oldCRD: the locks and transition rules that the
// update of the CRD drops or weakens, then the holes that it opens. A dropped lock or rule has a witness of two objects
// if one is found: newCRD accepts the update from the first to the second, and oldCRD refuses it. The witness of a hole
// is one of newCRD that oldCRD does not accept, and oldCRD refuses the direct way. The error is about CRDs of different
// kinds.
func Loosened(newCRD, oldCRD *crd.CRD) ([]Finding, error) {
	is, was := schema.GroupKind{Group: newCRD.Group,
		Kind: newCRD.Kind}, schema.GroupKind{Group: oldCRD.Group, Kind: oldCRD.Kind}
	if is != was {
		return nil, fmt.Errorf("the new CRD defines %s and the old one %s: compare a CRD with its own old version",
			is, was)
	}
	u := update{newCRD, oldCRD}
	suspects := u.droppedRules(new(celrule.Audit))
	after, before := witness.FromCRD(newCRD, nil), witness.FromCRD(oldCRD, nil)
	for _, f := range lockFindings(newCRD, oldCRD) {
		if f.Rule == finding.LockDropped {
			s := suspect{Finding: Finding{Finding: f}}
			if w, ok := witness.ShowDropped(after, before, s.hole(nil)); ok {
				s.loosened = &w
			}
			suspects = append(suspects, s)
		}
	}
	var findings []Finding
	for _, s := range withoutCopies(suspects) {
		s.Finding.Witness = s.loosened
		findings = append(findings, s.Finding)
	}
	return append(findings, opened(newCRD, before, findings)...), nil
}

// Holes returns the ways around the locks and rules of a CRD that objects have shown, each with its witness.
func Holes(c *crd.CRD) []Finding {
	findings := update{new: c}.audit(Options{Explain: true, memory: new(memory)}, usual()).findings
	return slices.DeleteFunc(findings, func(f Finding) bool {
		return f.Witness == nil || f.Severity == immutability.SeverityNote && !isMeant(f.Finding)
	})
}

// opened returns the holes of a CRD that were none before: the old CRD refuses the direct way, and does not accept the
// way around. Holes in a version that has dropped the same rules are left out.
func opened(newCRD *crd.CRD, before *witness.Kind, dropped []Finding) []Finding {
	var holes []Finding
	for _, f := range Holes(newCRD) {
		if slices.ContainsFunc(dropped, func(d Finding) bool {
			return d.Version == f.Version && slices.ContainsFunc(d.Fields, func(field string) bool {
				return slices.Contains(f.Fields, field)
			})
		}) {
			continue
		}
		w := *f.Witness
		refused, mistakes, err := before.Update(w.Objects[len(w.Objects)-1], w.Objects[0])
		if err == nil && len(mistakes) == 0 && len(refused) > 0 && !before.Replays(w) {
			w.Refused = refused
			f.Witness = &w
			holes = append(holes, f)
		}
	}
	return holes
}
