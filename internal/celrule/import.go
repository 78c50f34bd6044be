package celrule

import (
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Imported is what Import found in one schema.
type Imported struct {
	Changes []Change // by schema path
	// Recognized are the transition rules whose verdicts on updates of existing values are those of locks; Left stay rules.
	Recognized, Left []ImportedRule
}

// ImportedRule is a transition rule, and what became of it.
type ImportedRule struct {
	Rule
	Locks []LockAt // empty for a rule that refuses no update of an existing value, or stays a rule
	// Rest is the rule that stays next to the locks, because the rule also judges values that have no old value
	// (optionalOldSelf); "" for none.
	Rest string
	// Reason says why the rule stays a rule. For a recognized rule it says what refuses the updates that the rule refuses and
	// Locks do not, such as a plain rule or the locks that other rules became; "" if Locks refuse them all. Plain rules, those
	// without oldSelf, stay as they are.
	Reason string
}

// Import reads the transition rules of s as locks. A rule is recognized if there are locks that give the same verdict for
// every update from one valid object to another; the rules of a field and of its ancestors are weighed together. All
// others are left, with the reason. A rule with optionalOldSelf also judges values without an old value; that part stays a rule.
// Rules without oldSelf are neither changed nor listed. Cost: O(size of s), and for each rule the number of states of the
// fields that it names, which is small.
func Import(s *spec.Schema) Imported {
	im := &importer{tree: readTree(s), now: &accepted{map[*schema.Location][]schema.Lock{}, map[*schema.Location]string{}, map[*schema.Location]bool{}}}
	for _, l := range im.All {
		if words := wordsOf(l); len(words) > 0 {
			im.now.words[l] = words
		}
		for _, r := range im.rules[l] {
			if r.Transition {
				im.read = append(im.read, newUnderstanding(im.tree, r))
			}
		}
	}
	im.settle()
	im.readSpelled()
	return im.result()
}

// Liftable reports, for each rule that Import left in s, whether Import would read it once the fixes of Lint that a tool may
// make are there. Cost: a Lint and an Import.
func Liftable(s *spec.Schema, left []ImportedRule) []bool {
	liftable := make([]bool, len(left))
	if len(left) == 0 {
		return liftable
	}
	var fixes []Change
	for _, f := range Lint(s) {
		if f.Fix != nil && f.Fix.Safe && f.Fix.Version == "" && len(f.Fix.AddRules) > 0 && f.Severity != immutability.SeverityNote {
			fixes = append(fixes, Change{SchemaPath: f.Fix.SchemaPath, AddRules: f.Fix.AddRules})
		}
	}
	if len(fixes) == 0 {
		return liftable
	}
	for _, change := range fixes {
		s = Apply(s, []Change{change})
	}
	read := map[RuleRef]bool{}
	for _, r := range Import(s).Recognized {
		read[RuleRef{r.SchemaPath, r.Index}] = true
	}
	for i, l := range left {
		liftable[i] = read[RuleRef{l.SchemaPath, l.Index}]
	}
	return liftable
}

type importer struct {
	*tree
	read []*understanding // of every transition rule
	now  *accepted
}

// settle recognizes rules until it can recognize no more. A rule may depend on locks that another one becomes. Locks with
// x-kubernetes-normalize: zero come last, but for rules in the spelling of Export.
func (im *importer) settle() {
	for _, zero := range []bool{false, true} {
		for again := true; again; {
			again = false
			for _, u := range im.read {
				if u.done() || u.reason != "" {
					continue
				}
				if now := u.read(im.now, zero); now != nil {
					im.now, again = now, true
				}
			}
		}
	}
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
	for _, u := range im.read {
		if !u.done() {
			out.Left = append(out.Left, ImportedRule{Rule: *u.rule, Reason: u.why()})
			continue
		}
		rest := u.rest()
		if rest != u.rule.Text {
			c := changes.at(u.rule.at)
			c.DropRules = append(c.DropRules, u.rule.Index)
			if rest != "" {
				entry := maps.Clone(u.rule.entry())
				entry["rule"] = rest
				c.AddRules = append(c.AddRules, entry)
			}
		}
		out.Recognized = append(out.Recognized, ImportedRule{*u.rule, u.locks(changes), rest, u.cover(im.now)})
	}
	out.Changes = changes.sorted()
	return out
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
		implied := w == schema.NoAddItem && modify && has(schema.NoSet) || w == schema.NoRemoveItem && modify && has(schema.NoUnset)
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
