package locktest

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/witness"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// AttackOption changes an attack.
type AttackOption interface{ apply(*attack) }

type attack struct {
	seed     uint64
	accepted []string
}

type attackOption func(*attack)

func (o attackOption) apply(a *attack) { o(a) }

// WithSeed sets what random updates are made from, 1 without this option. The same seed makes the same updates.
func WithSeed(seed uint64) AttackOption { return attackOption(func(a *attack) { a.seed = seed }) }

// WithAccepted lists holes that are known: paths of fields that may be removed, renamed or changed in spite of the locks
// there and below ("spec.storage", "spec.nodes[*]"), or names of versions.
func WithAccepted(holes ...string) AttackOption {
	return attackOption(func(a *attack) { a.accepted = append(a.accepted, holes...) })
}

// accepts reports whether a hole at path is listed, or one above it.
func (a *attack) accepts(path string) bool {
	return slices.ContainsFunc(a.accepted, func(hole string) bool { return yamldoc.Within(path, hole) })
}

// Attack tries to get around every lock and transition rule of the schema, starting from object, which takes the forms of
// Update.Old and has to be valid. For each guarded field it makes updates that remove the field or one of its parents and
// add it again, that set it to null or leave it empty, that rename its key, that swap unknown fields, that write through
// another served version; and random ones. The test fails for each field whose value changes although a direct update to
// the same value is refused; the failure shows the objects as YAML.
//
// An attack is deterministic. Finding nothing proves nothing.
func (k *Kind) Attack(t T, object any, options ...AttackOption) {
	t.Helper()
	a := &attack{seed: 1}
	for _, option := range options {
		option.apply(a)
	}
	obj, err := k.object(object)
	if err != nil {
		t.Errorf("the object to attack: %v", err)
		return
	}
	breaches, err := k.kind.Attack(obj, a.seed, a.accepts)
	if err != nil {
		t.Errorf("the object to attack: %v", err)
		return
	}
	for _, b := range breaches {
		text, err := describe(b)
		if err != nil {
			t.Errorf("%s: %v", b.Field, err)
			continue
		}
		t.Errorf("updates get around what guards %s, through %s (seed %d; accept it with locktest.WithAccepted(%q)):\n%s",
			b.Field, b.Through, a.seed, hole(b), text)
	}
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
