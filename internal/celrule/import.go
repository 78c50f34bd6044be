package celrule

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/pointer"
	"github.com/fieldlock/fieldlock/internal/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"
)

// Recognized is a transition rule whose verdicts on updates of existing values are those of locks.
type Recognized struct {
	Rule
	Locks []LockAt // empty for a rule that refuses no update of an existing value
	// Rest is the rule that stays next to the locks, because the rule also judges values that have no old value
	// (optionalOldSelf); "" for none.
	Rest string
	// Cover says what refuses the updates that the rule refuses and Locks do not, such as a plain rule or the locks that other
	// rules became; "" if Locks refuse them all. Plain rules, those without oldSelf, stay as they are.
	Cover string
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

// Import reads the transition rules of s as locks. A rule is recognized if there are locks that give the same verdict for
// every update from one valid object to another; the rules of a field and of its ancestors are weighed together. All
// others are left, with the reason. What a rule with optionalOldSelf says of values without an old value stays a rule.
// Rules without oldSelf are neither changed nor listed. Cost: O(size of s), and for each rule the number of states of the
// fields that it names, which is small.
func Import(s *spec.Schema) Imported {
	im := &importer{tree: readTree(s), now: &accepted{map[*schema.Location][]schema.Lock{}, map[*schema.Location]bool{}}}
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
	return im.result()
}

type importer struct {
	*tree
	read []*understanding // of every transition rule
	now  *accepted
}

// settle recognizes rules until it can recognize no more. A rule may depend on locks that another one becomes. Locks with
// x-kubernetes-normalize: zero come last.
func (im *importer) settle() {
	for _, zero := range []bool{false, true} {
		for again := true; again; {
			again = false
			for _, u := range im.read {
				if u.reason != "" || u.done() {
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
			changes.at(l).SetKeys = lockKeys(l, words[len(given):], im.now.zero[l])
		}
	}
	for _, u := range im.read {
		if !u.done() {
			out.Left = append(out.Left, Left{*u.rule, u.why()})
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
		out.Recognized = append(out.Recognized, Recognized{*u.rule, u.locks(changes), rest, u.cover(im.now)})
	}
	out.Changes = changes.sorted()
	return out
}

// lockKeys returns the extension keys for words at l, next to the locks that l has already. If zero is set, the zero
// value of l counts as absent.
func lockKeys(l *schema.Location, words []schema.Lock, zero bool) map[string]any {
	keys := map[string]any{}
	if zero {
		keys[schema.KeyNormalize] = schema.NormalizeZero
	}
	has := func(w schema.Lock) bool { return slices.Contains(words, w) }
	modify := has(schema.NoModify)
	if modify && hasMapList(l.Schema) {
		keys[schema.KeyMapListOrder] = schema.OrderIgnored
	}
	if !l.Marks.Locked() && !zero {
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

// Apply returns s with changes made. It copies only the nodes on the way to a change and leaves s as it is. Changes at
// schema paths that s does not have are ignored.
func Apply(s *spec.Schema, changes []Change) *spec.Schema {
	byPath := map[string]Change{}
	touched := map[string]bool{}
	for _, c := range changes {
		byPath[c.SchemaPath] = c
		for path := c.SchemaPath; ; path = path[:strings.LastIndexByte(path, '/')] {
			touched[path] = true
			if path == "" {
				break
			}
		}
	}
	return (&applier{byPath, touched}).schema(s, "")
}

type applier struct {
	changes map[string]Change
	touched map[string]bool // schema paths with a change at or below them
}

func (a *applier) schema(s *spec.Schema, path string) *spec.Schema {
	if !a.touched[path] {
		return s
	}
	out := *s
	if c, ok := a.changes[path]; ok {
		if out.Extensions = maps.Clone(s.Extensions); out.Extensions == nil {
			out.Extensions = spec.Extensions{}
		}
		c.Make(out.Extensions)
	}
	if a.touched[path+"/properties"] {
		out.Properties = maps.Clone(s.Properties)
		for name, property := range s.Properties {
			out.Properties[name] = *a.schema(&property, path+"/properties/"+pointer.Escape(name))
		}
	}
	if ap := s.AdditionalProperties; ap != nil && ap.Schema != nil {
		out.AdditionalProperties = &spec.SchemaOrBool{Allows: ap.Allows, Schema: a.schema(ap.Schema, path+"/additionalProperties")}
	}
	if s.Items != nil && s.Items.Schema != nil {
		out.Items = &spec.SchemaOrArray{Schema: a.schema(s.Items.Schema, path+"/items")}
	}
	return &out
}

// companion returns the rule that keeps l from being removed while its parent exists, nil if CEL cannot select l. It
// cannot make an existing object invalid, because it reads oldSelf.
func companion(l *schema.Location) *immutability.Fix {
	name := escape(l.Name)
	if name == "" {
		return nil
	}
	fix := &immutability.Fix{SchemaPath: l.Parent().Path.Pointer(), Safe: true}
	addRule(fix, map[string]any{"rule": fmt.Sprintf("!has(oldSelf.%s) || has(self.%s)", name, name), "message": l.Name + " may not be removed"})
	return fix
}

// keepKeys returns the rule that keeps the keys of l from being removed, nil if CEL cannot select them. It is not safe:
// only the author knows whether keys are to stay.
func keepKeys(l *schema.Location) *immutability.Fix {
	text := ""
	switch keysOf(l) {
	case mapKeys:
		text = "oldSelf.all(key, key in self)"
	case listKeys:
		text = "oldSelf.all(key, self.exists(other, " + sameKeys(l.Marks.ListMapKeys, "other", "key", selected) + "))"
	default:
		return nil
	}
	fix := &immutability.Fix{SchemaPath: l.Path.Pointer()}
	addRule(fix, map[string]any{"rule": text, "message": "no key may be removed"})
	return fix
}

// alsoCopy adds to fix, nil for none yet, that r of another version is copied. It is safe if the version has every field
// that r reads, and r is about updates alone.
func alsoCopy(fix *immutability.Fix, version string, r *readRule, known bool) *immutability.Fix {
	if fix == nil {
		fix = &immutability.Fix{Version: version, SchemaPath: r.SchemaPath, Safe: true}
	}
	fix.Safe = fix.Safe && known && !r.OptionalOldSelf
	addRule(fix, maps.Clone(r.entry()))
	return fix
}

func addRule(fix *immutability.Fix, entry map[string]any) {
	fix.AddRules = append(fix.AddRules, entry)
	text, err := yaml.Marshal(map[string]any{schema.KeyValidations: fix.AddRules})
	if err != nil {
		panic(err) // strings and booleans from a schema
	}
	where := schema.Readable(fix.SchemaPath)
	if where == "" {
		where = "the root"
	}
	fix.Text = "# " + where + "\n" + string(text)
}
