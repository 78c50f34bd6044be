package immutability

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// node is the compiled check of one location. A location without locks on it or below it has no node.
type node interface {
	// check returns what the update from old to new breaks here and below, nil for nothing. It allocates only then.
	check(new, old side) *found
	// checkJSON is check of the values that both texts have next, and reads them.
	checkJSON(p *jsonscan.Pair) *found
}

// side is the value at a location in one of the two objects; ok is false where it is absent, which differs from null.
type side struct {
	value any
	ok    bool
}

// there reports whether s is neither absent nor null: as a container, or for x-fieldlock-update.
func (s side) there() bool { return s.ok && !jsonvalue.IsNull(s.value) }

// sideOf returns the member key of an object.
func sideOf(object map[string]any, key string) side {
	value, ok := object[key]
	return side{value, ok}
}

// found is what an update breaks at one location and below it. A check builds it while it returns from a violation, so
// that no path is kept on the way down, and the paths of the report share their parents.
type found struct {
	step  step
	here  []*breach
	below []*found // sorted by step when the report is made
}

// breach is one violation before it is reported.
type breach struct {
	lock     Lock
	pointer  *trail // schema path of the lock
	place    *place // of the values
	new, old side
	key      side   // the key that a key lock saw removed
	deep     bool   // whether the violation lists the differences below it
	note     string // why the sides cannot be compared
}

// step leads from a location to one below it.
type step struct {
	at    position
	name  string // of a property or key
	index int    // of an item
}

// compare orders steps: properties and keys by name, before items by index.
func (s step) compare(t step) int {
	return cmp.Or(cmp.Compare(kindOfStep(s.at), kindOfStep(t.at)), strings.Compare(s.name, t.name), cmp.Compare(s.index, t.index))
}

func kindOfStep(at position) int {
	if at == atItems {
		return 1
	}
	return 0
}

// at returns f, found one step below, as seen from above. f is not nil.
func (f *found) at(s step) *found {
	f.step = s
	return f
}

// and adds what was found at the same location; either may be nil.
func (f *found) and(g *found) *found {
	if f == nil {
		return g
	}
	if g != nil {
		f.here = append(f.here, g.here...)
		f.below = append(f.below, g.below...)
	}
	return f
}

// add adds g, found one step below; g may be nil.
func (f *found) add(g *found, s step) *found {
	if g == nil {
		return f
	}
	if f == nil {
		f = &found{}
	}
	f.below = append(f.below, g.at(s))
	return f
}

// breaks returns a found with one breach.
func breaks(b breach) *found { return &found{here: []*breach{&b}} }

// sorted returns what was found below in the order of its steps, the parts of one location together.
func (f *found) sorted() []*found {
	slices.SortStableFunc(f.below, func(a, b *found) int { return a.step.compare(b.step) })
	merged := f.below[:0]
	for _, g := range f.below {
		if n := len(merged); n > 0 && merged[n-1].step == g.step {
			merged[n-1].and(g)
			continue
		}
		merged = append(merged, g)
	}
	return merged
}
