package check

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// Incomparable is the lock of a refusal where a lock applies and the two values cannot be compared.
const Incomparable schema.Lock = "incomparable"

// Field is what comparing and reporting need to know of a location with locks.
type Field struct {
	LockPath  *schema.Path // schema path of its locks
	Equality  *Equality    // of its values
	Redaction *Redaction   // of its values
}

// Found is what an update breaks at one location and below it. A check builds it while it returns from a difference, so
// that no path is kept on the way down, and the paths of the report share their beginnings.
type Found struct {
	Here  []*Refusal
	Below []Below

	count int // of all refusals, 0 for not counted yet
}

// Below is what was found one step below a location.
type Below struct {
	Step Step
	*Found
}

// Refusal is one lock that the update breaks.
type Refusal struct {
	Lock     schema.Lock
	LockPath *schema.Path // where the lock is in the schema
	Field    *Field       // of the values; nil for none
	New, Old Value
	Key      Value  // the key that was removed, or that incomparable items share
	Whole    bool   // the whole value is locked: the differences below it are of interest
	Note     string // why the values cannot be compared
}

// Step leads from a location to one below it.
type Step struct {
	Role  schema.Role
	Name  string // of a property or key
	Index int    // of an item
}

func property(name string) Step { return Step{Role: schema.Property, Name: name} }
func key(name string) Step      { return Step{Role: schema.Values, Name: name} }
func index(i int) Step          { return Step{Role: schema.Items, Index: i} }

// Path returns the path one step below path.
func (s Step) Path(path *field.Path) *field.Path {
	switch {
	case s.Role == schema.Items:
		return path.Index(s.Index)
	case s.Role == schema.Values:
		return path.Key(s.Name)
	case path == nil:
		return field.NewPath(s.Name)
	}
	return path.Child(s.Name)
}

// compare orders the steps of one location: properties and keys by name, or items by index.
func (s Step) compare(t Step) int {
	return cmp.Or(strings.Compare(s.Name, t.Name), cmp.Compare(s.Index, t.Index))
}

// refuse returns a Found with one refusal.
func refuse(r Refusal) *Found { return &Found{Here: []*Refusal{&r}} }

// and adds what was found at the same location; either may be nil.
func (f *Found) and(g *Found) *Found {
	if f == nil {
		return g
	}
	if g != nil {
		f.Here = append(f.Here, g.Here...)
		f.Below = append(f.Below, g.Below...)
	}
	return f
}

// add adds what was found one step below; g may be nil.
func (f *Found) add(g *Found, s Step) *Found {
	if g == nil {
		return f
	}
	if f == nil {
		f = &Found{}
	}
	f.Below = append(f.Below, Below{s, g})
	return f
}

// Sorted returns what was found below, in the order of its steps.
func (f *Found) Sorted() []Below {
	slices.SortStableFunc(f.Below, func(a, b Below) int { return a.Step.compare(b.Step) })
	return f.Below
}

// Count returns how many refusals f has.
func (f *Found) Count() int {
	if f.count == 0 {
		f.count = len(f.Here)
		for _, g := range f.Below {
			f.count += g.Count()
		}
	}
	return f.count
}
