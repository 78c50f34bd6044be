package celrule

import (
	"cmp"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// Imported is what Import found in one schema.
type Imported struct {
	Changes []Change // by schema path
	// Recognized are the transition rules whose verdicts on updates are those of locks; Left stay rules.
	Recognized, Left []ImportedRule
}

// ImportedRule is a transition rule, and what became of it.
type ImportedRule struct {
	Rule
	Locks []LockAt // empty for a rule that stays, or that became no lock of its own
	// Reason says why the rule stays, or why a recognized rule has no lock of its own: others cover it, or it refuses
	// nothing.
	Reason string
}

// Import reads the transition rules of s as locks. A rule is recognized if it is a conjunction of forms of the table of
// forms, in any words that mean the same: its locks give the same verdict for every update from one valid object to
// another. All others are left, with the reason. Rules without oldSelf are neither changed nor listed. Cost: O(size of
// s), and for each rule the number of forms times the fields that it names.
func Import(s *spec.Schema) Imported {
	im := &importer{tree: readTree(s), parsed: map[ruleText][]string{},
		now: &accepted{map[*schema.Location][]schema.Lock{}, map[*schema.Location]string{},
			map[*schema.Location]bool{}}}
	for _, l := range im.All {
		if words := wordsOf(l); len(words) > 0 {
			im.now.words[l] = words
		}
		for _, r := range im.rules[l] {
			if r.Transition {
				im.readings = append(im.readings, im.newReading(r))
			}
		}
	}
	for _, normalized := range []bool{false, true} { // x-kubernetes-normalize excludes other locks around it, so it comes last
		for _, u := range im.readings {
			if !u.done && (u.reason == "" || normalized && u.conjuncts != nil) {
				im.read(u, normalized)
			}
		}
	}
	return im.result()
}

type importer struct {
	*tree
	readings []*reading // of every transition rule
	now      *accepted
	parsed   map[ruleText][]string // the conjuncts of forms
}

// result turns what was accepted into changes.
func (im *importer) result() Imported {
	var out Imported
	changes := changes{}
	for _, l := range im.All {
		given := wordsOf(l)
		if words := im.now.words[l]; len(words) > len(given) {
			changes.at(l).SetKeys = lockKeys(l, words[len(given):], im.now)
		}
	}
	for _, u := range im.readings {
		if !u.done {
			out.Left = append(out.Left, ImportedRule{Rule: *u.rule, Reason: u.reason})
			continue
		}
		c := changes.at(u.rule.at)
		c.DropRules = append(c.DropRules, u.rule.Index)
		out.Recognized = append(out.Recognized, ImportedRule{*u.rule, u.locksIn(changes), u.cover()})
	}
	out.Changes = changes.sorted()
	return out
}

// locksIn lists the locks of u, each once, in the words in which changes writes them.
func (u *reading) locksIn(changes changes) []LockAt {
	var locks []LockAt
	for _, s := range u.locks {
		if lock := lockAt(s.at, asLock(s.word, changes.at(s.at).SetKeys)); !slices.Contains(locks, lock) {
			locks = append(locks, lock)
		}
	}
	slices.SortStableFunc(locks, func(a, b LockAt) int { return cmp.Compare(a.SchemaPath, b.SchemaPath) })
	return locks
}

// asLock returns the lock that expresses word in the extension keys of a field: a key lock, or word itself.
func asLock(word schema.Lock, keys map[string]any) schema.Lock {
	for _, lock := range schema.Locks() {
		if keys[lock.Key()] == true {
			return lock
		}
	}
	return word
}

// cover says why u, which is done, became no lock; "" if it became one.
func (u *reading) cover() string {
	switch {
	case len(u.locks) > 0:
		return ""
	case len(u.conjuncts) > 0:
		return "other locks already cover it"
	}
	return "it refuses no update of a valid object, so no lock is needed"
}

// lockKeys returns the extension keys for words at l, next to the locks that l has already.
func lockKeys(l *schema.Location, words []schema.Lock, now *accepted) map[string]any {
	keys := map[string]any{}
	normalize := now.normalize[l]
	if normalize != "" {
		keys[schema.KeyNormalize] = normalize
	}
	has := func(w schema.Lock) bool { return slices.Contains(words, w) }
	modify := has(schema.NoModify)
	if modify && schema.HasMapList(l.Schema) && !now.ordered[l] {
		keys[schema.KeyMapListOrder] = schema.OrderIgnored
	}
	if !l.Marks.Locked() && normalize == "" {
		if modify && present(l) {
			keys[schema.KeyImmutable] = true
			return keys
		}
		if lock := keyLock(l, has); lock != "" {
			keys[lock.Key()] = true
			return keys
		}
	}
	var update []any
	for _, word := range schema.Words() {
		w := schema.Lock(word)
		implied := w == schema.NoAddItem && modify && has(schema.NoSet) ||
			w == schema.NoRemoveItem && modify && has(schema.NoUnset)
		if has(w) && !implied || l.Marks.Has(w) {
			update = append(update, word)
		}
	}
	keys[schema.KeyUpdate] = update
	return keys
}

// keyLock returns the key lock that is equivalent to the words at l, which has no others, or "".
func keyLock(l *schema.Location, has func(schema.Lock) bool) schema.Lock {
	if has(schema.NoSet) || has(schema.NoUnset) || has(schema.NoModify) || keysOf(l) == listKeys {
		return ""
	}
	var refused schema.Change
	for _, word := range []schema.Lock{schema.NoAddItem, schema.NoRemoveItem} {
		if has(word) {
			refused |= word.Refuses()
		}
	}
	on := schema.SetList
	if keysOf(l) == mapKeys {
		on = schema.Map
	}
	for _, lock := range schema.Locks() {
		if lock.Key() != schema.KeyUpdate && lock.Refuses() == refused && lock.AllowedOn(on) {
			return lock
		}
	}
	return ""
}

// wordsOf returns the locks of l as words.
func wordsOf(l *schema.Location) []schema.Lock {
	if normalizedAround(l) {
		return nil // the locks do not compare the way CEL does
	}
	var words []schema.Lock
	for _, lock := range l.Marks.Locks {
		words = append(words, lock.AsWords()...)
	}
	return words
}
