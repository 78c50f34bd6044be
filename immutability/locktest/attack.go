package locktest

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// seed is what random updates are made from: an attack that fails once fails again.
const seed = 1

// AttackOption changes an attack. A nil AttackOption changes nothing.
type AttackOption interface{ apply(*attack) }

type attack struct {
	kind     *Kind
	accepted []string
	needed   map[string]bool // of the accepted holes: those that the attack has found
	breaches []witness.Breach
}

type attackOption func(*attack)

func (o attackOption) apply(a *attack) { o(a) }

// WithAccepted lists holes that are known: paths of fields that may be removed, renamed or changed in spite of the
// locks there and below ("spec.storage", "spec.nodes[*]"), or names of versions. The test fails for one that the attack
// does not find: the list would hide the hole when it comes back.
func WithAccepted(holes ...string) AttackOption {
	return attackOption(func(a *attack) { a.accepted = append(a.accepted, holes...) })
}

// accepts reports whether a hole at path is listed, or one above it, and remembers what was needed.
func (a *attack) accepts(path string) bool {
	found := false
	for _, hole := range a.accepted {
		if fieldpath.Within(path, hole) {
			a.needed[hole], found = true, true
		}
	}
	return found
}

// counts takes a breach, and reports whether it is enough for its field. A breach that policies refuse is none, and
// after one through an accepted hole there may be another.
func (a *attack) counts(b witness.Breach) bool {
	for i := range b.Objects[1:] {
		if refused, err := a.kind.byPolicies(b.Objects[i+1], b.Objects[i]); err == nil && len(refused) > 0 {
			return false
		}
	}
	field, through := a.accepts(b.Field), a.accepts(b.Through)
	if field || through {
		return field
	}
	if !slices.ContainsFunc(b.Refused, func(r witness.Refusal) bool { return !a.accepts(r.Path) }) {
		return false
	}
	a.breaches = append(a.breaches, b)
	return true
}

// lint takes the holes that lint finds in the CRD and the attack has not, and returns how many it knows.
func (a *attack) lint() int {
	if a.kind.crd == nil {
		return 0
	}
	holes := audit.Holes(a.kind.crd)
	for _, f := range holes {
		through := f.Path
		switch f.Rule {
		case finding.VersionUnlocked, finding.VersionDefault, finding.CELVersionWithoutRule:
			through = f.Version
		}
		known := func(field string) bool {
			return slices.ContainsFunc(a.breaches, func(b witness.Breach) bool {
				return b.Field == field || b.Through == through
			})
		}
		for _, field := range f.Fields {
			if !known(field) && a.counts(witness.Breach{Field: field, Through: through, Witness: *f.Witness}) {
				break
			}
		}
	}
	return len(holes)
}

// Attack tries to get around every lock and transition rule of the schema, starting from object, which takes the forms
// of Update.Old and has to be valid. For each guarded field it makes updates that remove the field or one of its
// parents and add it again, that set it to null or leave it empty, that rename its key, that swap unknown fields, that
// write through another served version; and random ones. For a CRD it adds what fieldlock lint finds, which may begin
// with another object. The test fails for each field whose value changes although a direct update to the same value is
// refused; the failure shows the objects as YAML. Updates that Policies refuse do not count. If t has Logf, Attack logs
// how many updates of each sort it has tried.
//
// An attack is deterministic. Finding nothing proves nothing.
func (k *Kind) Attack(t T, object any, options ...AttackOption) {
	t.Helper()
	if k.undefined(t) {
		return
	}
	a := &attack{kind: k, needed: map[string]bool{}}
	for _, option := range options {
		if option != nil {
			option.apply(a)
		}
	}
	obj, err := k.object(object)
	if err != nil {
		t.Errorf("the object to attack: %v", err)
		return
	}
	tried, err := k.kind.Attack(obj, seed, a.counts)
	if err != nil {
		t.Errorf("the object to attack: %v", err)
		return
	}
	holes := a.lint()
	for _, b := range a.breaches {
		text, err := describe(b)
		if err != nil {
			t.Errorf("%s: %v", b.Field, err)
			continue
		}
		t.Errorf("updates get around what guards %s, through %s (accept it with locktest.WithAccepted(%q)):\n%s",
			b.Field, b.Through, hole(b), text)
	}
	for _, hole := range a.accepted {
		if !a.needed[hole] {
			t.Errorf("locktest.WithAccepted(%q) accepts nothing that the attack finds: remove it", hole)
		}
	}
	if t, ok := t.(interface{ Logf(string, ...any) }); ok {
		t.Logf("%s", summary(tried, holes))
	}
}

// summary says how many updates of each sort were tried, and how many holes lint knows.
func summary(tried map[witness.Attempt]int, holes int) string {
	var parts []string
	total := 0
	for _, sort := range witness.Attempts() {
		if n := tried[sort]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", sort, n))
			total += n
		}
	}
	text := fmt.Sprintf("attack: %d attempts", total)
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return fmt.Sprintf("%s; lint finds %d ways around", text, holes)
}

// hole is what Accept takes to accept a breach.
func hole(b witness.Breach) string {
	if strings.Contains(b.Through, " ") {
		return b.Field
	}
	return b.Through
}

// describe is the witness as a YAML stream, with comments.
func describe(b witness.Breach) (string, error) {
	var text strings.Builder
	for i, obj := range b.Objects {
		data, err := yaml.Marshal(obj)
		if err != nil {
			return "", err
		}
		if i > 0 {
			text.WriteString("---\n")
		}
		fmt.Fprintf(&text, "# %s\n%s", [...]string{"first", "second", "third"}[min(i, 2)], data)
	}
	for _, reason := range reasons(b.Refused) {
		fmt.Fprintf(&text, "# from the first to the third directly is refused: %s\n", reason)
	}
	return strings.TrimSuffix(text.String(), "\n"), nil
}
