package celrule

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/google/cel-go/common/ast"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/extension"
)

// Change is what Import and Export do to one node of a schema.
type Change struct {
	SchemaPath string
	DropRules  []int            // indices in x-kubernetes-validations that go
	AddRules   []map[string]any // rules that come, in the form of the schema
	DropKeys   []string         // extension keys that go
	SetKeys    map[string]any   // extension keys that come
}

// Recognized is a transition rule that locks say exactly.
type Recognized struct {
	Rule
	Locks []PlacedLock // empty for a rule that refuses nothing
}

// PlacedLock is a lock and where it stands: the words of x-fieldlock-update, or an extension key.
type PlacedLock struct {
	Path, SchemaPath string
	Lock             string
}

// Left is a transition rule that stays a rule.
type Left struct {
	Rule
	Reason string
}

// Imported is what Import found in one schema.
type Imported struct {
	Changes    []Change // by schema path
	Recognized []Recognized
	Left       []Left
}

// Import reads the transition rules of s as locks. A rule is recognized when locks give the same verdict for every
// update from one valid object to another; the rules of a field and of its ancestors are weighed together. All others
// are left, with the reason. Rules without oldSelf are not touched and not listed. Cost: O(size of s), and for each rule
// the number of states of the fields that it names, which is small.
func Import(s *spec.Schema) Imported {
	im := newImporter(s, false)
	im.settle()
	return im.result()
}

// newImporter reads the rules and locks of s. A lenient one takes CEL's == for that of a lock, whatever the values.
func newImporter(s *spec.Schema, lenient bool) *importer {
	im := &importer{accepted: map[*place][]word{}, places: readPlaces(s)}
	for _, p := range im.places {
		if words := wordsOf(p); len(words) > 0 {
			im.accepted[p] = words
		}
	}
	for _, p := range im.places {
		for i := range p.rules {
			if p.rules[i].Transition {
				im.rules = append(im.rules, newReading(&p.rules[i], lenient))
			}
		}
	}
	return im
}

// reading is one transition rule while it is being understood.
type reading struct {
	rule   *Rule
	parts  []*part
	reason string // why it is not recognized
}

// part is a conjunct of a rule.
type part struct {
	expr   ast.Expr
	chain  *chain
	locks  []candidate
	done   bool
	reason string
}

func newReading(r *Rule, lenient bool) *reading {
	rd := &reading{rule: r}
	if r.at.uncorrelated != "" {
		rd.reason = r.at.uncorrelated
		return rd
	}
	for _, x := range parts(r.expr) {
		p := &part{expr: x}
		p.chain, p.reason = chainOf(r, x)
		if p.chain == nil {
			rd.reason = p.reason
		} else {
			p.chain.lenient = lenient
		}
		rd.parts = append(rd.parts, p)
	}
	return rd
}

func (rd *reading) done() bool {
	return rd.reason == "" && !slices.ContainsFunc(rd.parts, func(p *part) bool { return !p.done })
}

type importer struct {
	places   []*place
	rules    []*reading
	accepted map[*place][]word
}

// settle recognizes rules until no more can be. A part may lean on locks that other rules gave before, so that it goes
// round until nothing changes.
func (im *importer) settle() {
	for again := true; again; {
		again = false
		for _, rd := range im.rules {
			if rd.reason != "" || rd.done() {
				continue
			}
			again = im.read(rd) || again
		}
	}
}

// read tries to recognize the parts of rd, all or none, and reports whether it did. Locks of one part hold for the
// parts after it, in either order.
func (im *importer) read(rd *reading) bool {
	before := maps.Clone(im.accepted)
	for again := true; again && !rd.done(); {
		again = false
		for _, p := range rd.parts {
			if p.done {
				continue
			}
			if locks, ok := im.locksOf(p); ok {
				p.done, p.locks, again = true, locks, true
				for _, w := range locks {
					at := w.at(p.chain)
					im.accepted[at] = append(slices.Clip(im.accepted[at]), w.word)
				}
			}
		}
	}
	if rd.done() {
		return true
	}
	im.accepted = before
	for _, p := range rd.parts {
		p.done, p.locks = false, nil
	}
	return false
}

// locksOf returns the locks that refuse what part p refuses, beyond those accepted already, and whether there are such.
func (im *importer) locksOf(p *part) ([]candidate, bool) {
	c := p.chain
	sound := c.candidates()
	var refused []state
	for _, s := range c.states() {
		o, why := c.verdict(p.expr, &s)
		if c.rule.OptionalOldSelf {
			without := s
			without.noOld = true
			if created, _ := c.verdict(p.expr, &without); created != yes {
				p.reason = "it also judges objects that have no old value"
				return nil, false
			}
		}
		switch {
		case im.refused(c, &s):
		case o == open:
			p.reason = why
			return nil, false
		case o == yes:
			sound = slices.DeleteFunc(sound, func(w candidate) bool { return w.refuses(&s) })
		default:
			refused = append(refused, s)
		}
	}
	if uncovered := firstUncovered(sound, refused); uncovered != nil {
		p.reason = explain(c, uncovered)
		return nil, false
	}
	for i := 0; i < len(sound); {
		fewer := slices.Delete(slices.Clone(sound), i, i+1)
		if firstUncovered(fewer, refused) != nil {
			i++
			continue
		}
		sound = fewer
	}
	return sound, true
}

// refused reports whether a lock that is accepted already refuses s.
func (im *importer) refused(c *chain, s *state) bool {
	for level := range c.places {
		for _, w := range im.accepted[c.places[level]] {
			if w != valueFixed && (candidate{w, level}).refuses(s) {
				return true
			}
		}
	}
	inside := c.lastPlace().inside()
	if inside == nil {
		return false
	}
	words := im.accepted[inside]
	fixed := slices.Contains(words, valueFixed) || slices.Contains(words, extension.NoModify) && inside.present()
	return fixed && candidate{valueFixed, c.last()}.refuses(s)
}

func firstUncovered(words []candidate, refused []state) *state {
	for i := range refused {
		if !slices.ContainsFunc(words, func(w candidate) bool { return w.refuses(&refused[i]) }) {
			return &refused[i]
		}
	}
	return nil
}

// explain says why no lock refuses s, which the rule does.
func explain(c *chain, s *state) string {
	if p := c.lastPlace(); p.unlockable != "" {
		return p.unlockable
	}
	n := c.last()
	shallow := min(s.depth[newSide], s.depth[oldSide])
	switch {
	case s.depth[newSide] == s.depth[oldSide] && s.depth[newSide] < n:
		return fmt.Sprintf("it refuses every update of an object without %s", c.places[shallow+1].path())
	case s.both(n) && s.equal <= n:
		return fmt.Sprintf("it refuses some updates that leave %s as it is", c.lastPlace().displayPath())
	case s.both(n):
		if reason := c.unequal(c.lastPlace().schema); reason != "" {
			return reason
		}
		return fmt.Sprintf("it refuses some changes of %s and allows others", c.lastPlace().displayPath())
	}
	return fmt.Sprintf("whether %s may come or go depends on what is in it", c.places[shallow+1].path())
}

// result turns what was accepted into changes.
func (im *importer) result() Imported {
	var out Imported
	changes := map[string]*Change{}
	change := func(p *place) *Change {
		path := p.schemaPath()
		if changes[path] == nil {
			changes[path] = &Change{SchemaPath: path}
		}
		return changes[path]
	}
	for _, rd := range im.rules {
		if !rd.done() {
			out.Left = append(out.Left, Left{*rd.rule, rd.why()})
			continue
		}
		c := change(rd.rule.at)
		c.DropRules = append(c.DropRules, rd.rule.Index)
		out.Recognized = append(out.Recognized, Recognized{*rd.rule, rd.locks()})
	}
	for _, p := range im.places {
		given := wordsOf(p)
		if words := im.accepted[p]; len(words) > len(given) {
			change(p).SetKeys = lockKeys(p, words[len(given):])
		}
	}
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		out.Changes = append(out.Changes, *changes[path])
	}
	return out
}

func (rd *reading) why() string {
	if rd.reason != "" {
		return rd.reason
	}
	for _, p := range rd.parts {
		if !p.done && p.reason != "" {
			return p.reason
		}
	}
	return "no lock says it"
}

// locks lists the locks of all parts, each once.
func (rd *reading) locks() []PlacedLock {
	var locks []PlacedLock
	for _, p := range rd.parts {
		for _, w := range p.locks {
			at := w.at(p.chain)
			name := string(w.word)
			if w.word == valueFixed {
				name = "immutable"
			}
			l := PlacedLock{at.path(), at.schemaPath(), name}
			if !slices.Contains(locks, l) {
				locks = append(locks, l)
			}
		}
	}
	slices.SortStableFunc(locks, func(a, b PlacedLock) int { return cmp.Compare(a.SchemaPath, b.SchemaPath) })
	return locks
}

// lockKeys returns the extension keys that say words at p, beside the locks that stand there already.
func lockKeys(p *place, words []word) map[string]any {
	keys := map[string]any{}
	has := func(w word) bool { return slices.Contains(words, w) }
	modify := has(extension.NoModify) || has(valueFixed)
	if modify && hasMapList(p.schema) {
		keys[extension.MapListOrder] = extension.OrderIgnored
	}
	if !p.marks.Locked() {
		if has(valueFixed) || modify && p.present() {
			keys[extension.Immutable] = true
			return keys
		}
		if key := keyLock(p, has); key != "" {
			keys[key] = true
			return keys
		}
	}
	var update []any
	for _, w := range extension.Words() {
		implied := w == extension.NoAddItem && modify && has(extension.NoSet) || w == extension.NoRemoveItem && modify && has(extension.NoUnset)
		if has(word(w)) && !implied || w == extension.NoModify && modify || p.marks.Has(w) {
			update = append(update, w)
		}
	}
	keys[extension.Update] = update
	return keys
}

// wordsOf reads the locks that stand at p as words.
func wordsOf(p *place) []word {
	if normalized(p.schema) {
		return nil // the locks do not compare as CEL does
	}
	var words []word
	if p.marks.Immutable {
		words = append(words, extension.NoSet, extension.NoUnset, extension.NoModify)
	}
	if p.marks.ImmutableKeys || p.marks.DeletionOnly {
		words = append(words, extension.NoAddItem)
	}
	if p.marks.ImmutableKeys || p.marks.AdditionOnly {
		words = append(words, extension.NoRemoveItem)
	}
	for _, w := range p.marks.Update {
		words = append(words, word(w))
	}
	return words
}

// keyLock returns the key lock that says the words at p, which has them alone, or "".
func keyLock(p *place, has func(word) bool) string {
	if has(extension.NoSet) || has(extension.NoUnset) || has(extension.NoModify) || keysOf(p) == listKeys {
		return ""
	}
	switch add, remove := has(extension.NoAddItem), has(extension.NoRemoveItem); {
	case add && remove && keysOf(p) == mapKeys:
		return extension.ImmutableKeys
	case add && !remove:
		return extension.DeletionOnly
	case remove && !add:
		return extension.AdditionOnly
	}
	return ""
}
