package witness

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// way is how updates get around a rule or lock: the sequences to start the search with, and what a sequence keeps.
type way struct {
	starts  []*sequence
	keeps   func(*sequence) bool
	loose   func(*sequence) bool // what a sequence keeps at least, where keeps finds nothing; nil for the same
	targets []path               // of the guarded values in the first object
	through string               // what the way leads through, for people
	rule    *celrun.Rule         // that it gets around; nil for whatever guards the targets
	read    []path               // what that rule reads
	gone    path                 // what the objects are without meanwhile; nil for ways of another sort
	sort    Attempt              // of an attack
	tried   int                  // sequences so far
}

// How many pairs of values a guarded field is tried with: usually, and at a glance.
const (
	manyPairs = 8
	fewPairs  = 2
)

// pairs returns pairs of different values for the field at p, at most most of them.
func (v *Version) pairs(p path, most int) [][2]any {
	list := values(v.schemaAt(p))
	var found [][2]any
	for i := range list {
		for n := range i {
			if len(found) < most {
				found = append(found, [2]any{list[n], list[i]}, [2]any{list[i], list[n]})
			}
		}
		if len(found) >= most {
			break
		}
	}
	if len(found) == 0 {
		return [][2]any{{list[0], list[0]}} // the search varies what else the rule reads
	}
	return found[:min(len(found), most)]
}

// detour goes through an object without the value at the pattern removed. base is a valid object, and full returns one
// that has a value at a pattern, where it can.
func detour(v *Version, stored *Version, base map[string]any, full func([]string) map[string]any, removed []string,
	targets [][]string, most int) *way {
	at := expand(base, v.node(), nil, removed)[0]
	w := &way{gone: at}
	versions := []*Version{v, v, v}
	for _, target := range targets {
		if len(target) < len(removed) || !slices.Equal(target[:len(removed)], removed) {
			continue
		}
		to := expand(base, v.node(), at, target[len(removed):])[0]
		w.targets = append(w.targets, to)
		from := full(target)
		for n, pair := range v.pairs(to, most) {
			first, ok := put(from, v.node(), to, pair[0])
			if !ok {
				continue
			}
			last, _ := put(first, v.node(), to, pair[1])
			for _, middle := range without(v, first, at) {
				w.starts = append(w.starts, newSequence(stored, versions, first, middle, last))
			}
			_, around := fieldpath.Get(base, at[:len(at)-1]...)
			if _, there := fieldpath.Get(base, at...); around && !there && n == 0 {
				w.starts = append(w.starts, newSequence(stored, versions, first, base, last))
			}
		}
	}
	inside := func(s *sequence) bool { // without its container, the value would be gone on another way
		return len(at) == 1 || !slices.ContainsFunc(s.objects[1:len(s.objects)-1], func(o *object) bool {
			return !has(o.value, at[:len(at)-1])
		})
	}
	there := func(obj *object) bool { // to CEL, null is absent, and {} is not
		value, _ := fieldpath.Get(obj.value, at...)
		return value != nil && (w.rule != nil || !blank(value))
	}
	w.keeps = func(s *sequence) bool {
		return there(s.objects[0]) && !there(s.objects[1]) && there(s.objects[len(s.objects)-1]) && inside(s)
	}
	w.loose = func(s *sequence) bool {
		first, okFirst := fieldpath.Get(s.objects[0].value, at...)
		_, okMiddle := fieldpath.Get(s.objects[1].value, at...)
		last, okLast := fieldpath.Get(s.objects[len(s.objects)-1].value, at...)
		return okFirst && !okMiddle && okLast && (!blank(first) || !blank(last)) && inside(s)
	}
	return w
}

// blank reports whether a value counts as absent in some form: null, {} or [].
func blank(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// without returns copies of obj that lack the value at p: left out, null, empty.
func without(v *Version, obj any, p path) []any {
	var list []any
	if gone, ok := p.Remove(obj); ok {
		list = append(list, gone)
	}
	at := v.schemaAt(p)
	if at != nil && at.Nullable {
		if null, ok := p.Set(obj, nil); ok {
			list = append(list, null)
		}
	}
	if value, _ := fieldpath.Get(obj, p...); at != nil && !blank(value) {
		switch value.(type) {
		case map[string]any:
			empty, _ := p.Set(obj, map[string]any{})
			list = append(list, empty)
		case []any:
			empty, _ := p.Set(obj, []any{})
			list = append(list, empty)
		}
	}
	return list
}

// inSteps returns sequences of w with one more object before the last: it has all but the guarded value, which a rule
// may refuse to have from the beginning.
func (w *way) inSteps() []*sequence {
	var list []*sequence
	for _, s := range w.starts {
		for _, to := range w.targets {
			last := s.objects[len(s.objects)-1].value
			if value, there := fieldpath.Get(last, to...); !there || blank(value) {
				continue
			}
			if back, ok := to.Remove(last); ok {
				next := newSequence(s.stored, append(s.versions[:2:2], s.versions[2], s.versions[2]),
					s.objects[0].value, s.objects[1].value, back, last)
				list = append(list, next)
				break
			}
		}
	}
	return list
}

// swap goes through an object with another unknown field in the place of the first one.
func swap(v *Version, stored *Version, base map[string]any, open []string) *way {
	w := &way{}
	at := expand(base, v.node(), nil, open)[0]
	w.targets = []path{at}
	names, pair := [2]string{"unknownA", "unknownB"}, [2]any{int64(1), int64(2)}
	if of := v.schemaAt(at); of != nil && of.Extensions[schema.KeyEmbedded] == true { // the smallest one is a ConfigMap
		names, pair = [2]string{"data", "binaryData"}, [2]any{map[string]any{"a": "YQ=="}, map[string]any{"a": "Yg=="}}
	}
	of := func(name string, value any) any {
		obj, _ := put(base, v.node(), at.Child(name), value)
		return obj
	}
	w.starts = []*sequence{newSequence(stored, []*Version{v, v, v}, of(names[0], pair[0]), of(names[1], pair[0]),
		of(names[0], pair[1]))}
	w.keeps = func(s *sequence) bool {
		for i, obj := range s.objects {
			value, _ := fieldpath.Get(obj.value, at...)
			members, _ := value.(map[string]any)
			if _, there := members[names[i%2]]; !there || members[names[1-i%2]] != nil {
				return false
			}
		}
		return true
	}
	return w
}

// otherVersion goes through an object of version lax, which lacks a rule, a lock or the field.
func otherVersion(strict, lax, stored *Version, base map[string]any, targets [][]string, most int) *way {
	w := &way{}
	for _, target := range targets {
		to := expand(base, strict.node(), nil, target)[0]
		w.targets = append(w.targets, to)
		versions := []*Version{strict, lax, strict}
		for _, pair := range strict.pairs(to, most) {
			first, ok := put(base, strict.node(), to, pair[0])
			if !ok {
				continue
			}
			last, _ := put(first, strict.node(), to, pair[1])
			if lax.schemaAt(to) != nil {
				w.starts = append(w.starts, newSequence(stored, versions, first, last, last))
			}
			if gone, ok := to.Remove(first); ok {
				w.starts = append(w.starts, newSequence(stored, versions, first, gone, last),
					newSequence(stored, versions, gone, last, last))
			}
			for n := len(to) - 1; n > 0 && most > fewPairs; n-- {
				if gone, ok := to[:n].Remove(first); ok {
					w.starts = append(w.starts, newSequence(stored, versions, first, gone, last))
				}
			}
		}
		if gone, _ := to.Remove(base); gone != nil { // a default of one version only
			for _, v := range []*Version{strict, lax} {
				if at := v.schemaAt(to); at != nil && at.Default != nil {
					last, _ := put(gone, strict.node(), to, at.Default)
					w.starts = append(w.starts, newSequence(stored, versions, gone, gone, last))
				}
			}
		}
	}
	return w
}

// newSequence completes objects with the version of each, and leaves out what that version does not have.
func newSequence(stored *Version, versions []*Version, objects ...any) *sequence {
	s := &sequence{versions: versions, stored: stored}
	for i, obj := range objects {
		s.objects = append(s.objects, versions[i].write(obj.(map[string]any)))
	}
	return s
}

// valuesFor returns values for the field at p: first what fits the constants of a rule, then the schema's values. It
// is long because each constraint of a schema gives other values.
func (v *Version) valuesFor(p path, reads *ruleReads) []any {
	at := v.schemaAt(p)
	if at == nil {
		return nil
	}
	var list []any
	add := func(value any) {
		if len(list) < manyEdits && !slices.ContainsFunc(list,
			func(other any) bool { return reflect.DeepEqual(other, value) }) {
			list = append(list, value)
		}
	}
	isText := at.Type.Contains("string") && len(at.Enum) == 0
	isNumber := at.Type.Contains("integer") || at.Type.Contains("number")
	for _, value := range values(at)[:1] {
		add(value)
	}
	if at.Items != nil && at.Items.Schema != nil && at.Items.Schema.Type.Contains("string") {
		var texts []any
		for _, literal := range reads.literals {
			if text, ok := literal.(string); ok && !slices.Contains(texts, literal) {
				texts = append(texts, text)
			}
		}
		for i := 1; i < min(len(texts), 4); i++ {
			add([]any{texts[0], texts[i]})
		}
	}
	for _, literal := range reads.literals {
		switch literal := literal.(type) {
		case string:
			if at.Type.Contains("string") && (len(at.Enum) == 0 || slices.Contains(at.Enum, any(literal))) {
				add(literal)
			}
		case int64:
			if isNumber {
				add(literal)
				add(literal + 1)
				add(literal - 1)
			}
		case bool:
			if at.Type.Contains("boolean") {
				add(literal)
			}
		}
	}
	if isText {
		for _, regex := range reads.regexes {
			for _, text := range matching(regex, 0, manyValues) {
				add(text)
			}
		}
	}
	for _, value := range values(at) {
		add(value)
	}
	if isText && at.Pattern == "" && at.Format == "" {
		for _, text := range usual {
			add(text)
		}
	}
	return list
}

// withMembers adds the constants of a rule to the map or list at p: as keys, or as items.
func (v *Version) withMembers(obj any, p path, reads *ruleReads) [][]change {
	at := v.schemaAt(p)
	if at == nil {
		return nil
	}
	keyed := at.AdditionalProperties != nil && at.AdditionalProperties.Schema != nil
	listed := at.Items != nil && at.Items.Schema != nil && at.Items.Schema.Type.Contains("string")
	if !keyed && !listed {
		return nil
	}
	current, _ := fieldpath.Get(obj, p...)
	list, _ := current.([]any)
	var sets [][]change
	var all []change
	for _, literal := range reads.literals {
		text, ok := literal.(string)
		switch {
		case !ok:
		case len(sets) >= manyEdits:
			return sets
		case keyed:
			c := change{path: p.Child(text), value: smallest(&node{Schema: at.AdditionalProperties.Schema})}
			sets, all = append(sets, []change{c}), append(all, c)
		case len(at.Items.Schema.Enum) == 0 || slices.Contains(at.Items.Schema.Enum, any(text)):
			sets = append(sets, []change{{path: p, value: append(slices.Clone(list), text)}})
		}
	}
	if len(all) > 1 {
		sets = append(sets, all)
	}
	return sets
}

// rekey goes through an object in which a key of the map or list at the pattern container is missing.
func rekey(v *Version, stored *Version, base map[string]any, container []string, targets [][]string, most int) *way {
	at := expand(base, v.node(), nil, container)[0]
	w := &way{gone: expand(base, v.node(), at, []string{anyStep})[0]}
	keyFields, _ := v.keyFields(at)
	for _, target := range targets {
		if len(target) <= len(container) || !slices.Equal(target[:len(container)], container) {
			continue
		}
		for _, entry := range entries(v, base, at) {
			to := expand(base, v.node(), entry, target[len(container)+1:])[0]
			w.targets = append(w.targets, to)
			w.starts = append(w.starts, rekeyed(v, stored, base, at, entry, to, most)...)
		}
	}
	w.keeps = func(s *sequence) bool {
		first, _ := fieldpath.Get(s.objects[0].value, at...)
		middle, there := fieldpath.Get(s.objects[1].value, at...)
		if !there || middle == nil {
			return false
		}
		last, _ := fieldpath.Get(s.objects[len(s.objects)-1].value, at...)
		for _, key := range keysOf(first, keyFields) {
			if slices.Contains(keysOf(last, keyFields), key) && !slices.Contains(keysOf(middle, keyFields), key) {
				return true
			}
		}
		return false
	}
	return w
}

// entries returns the paths of values under a key that can be removed: the first one of the map or list at a path, and
// one more of a list that has some, because a rule may ask for the first.
func entries(v *Version, base map[string]any, at path) []path {
	found := expand(base, v.node(), at, []string{anyStep})[:1]
	if list, _ := fieldpath.Get(base, at...); list != nil {
		if list, ok := list.([]any); ok && len(list) > 0 {
			found = append(found, at.Child(len(list)))
		}
	}
	return found
}

// rekeyed returns sequences that remove the entry of the map or list at a path.
func rekeyed(v, stored *Version, base map[string]any, at, entry, to path, most int) []*sequence {
	keyFields, _ := v.keyFields(at)
	var starts []*sequence
	for _, pair := range v.pairs(to, most) {
		first, ok := put(base, v.node(), to, pair[0])
		if !ok {
			continue
		}
		last, _ := put(first, v.node(), to, pair[1])
		for _, name := range keyFields {
			if value, ok := fieldpath.Get(first, entry.Child(name)...); ok {
				last, _ = put(last, v.node(), entry.Child(name), value)
			}
		}
		if middle, ok := entry.Remove(first); ok {
			starts = append(starts, newSequence(stored, []*Version{v, v, v}, first, middle, last))
		}
	}
	return starts
}

// keyFields returns the key fields of the list-type map at p; false for anything else.
func (v *Version) keyFields(p path) ([]string, bool) {
	at := v.schemaAt(p)
	if at == nil {
		return nil, false
	}
	marks, _ := schema.ReadMarks(at.Extensions)
	return marks.ListMapKeys, marks.ListType == schema.ListMap
}

// keysOf returns the keys of a map, of a list with key fields, or without them its indices.
func keysOf(v any, keyFields []string) []string {
	var keys []string
	switch v := v.(type) {
	case map[string]any:
		return slices.Sorted(maps.Keys(v))
	case []any:
		for i, item := range v {
			if len(keyFields) == 0 {
				keys = append(keys, key(i))
				continue
			}
			object, _ := item.(map[string]any)
			id := ""
			for _, name := range keyFields {
				id += fmt.Sprintf("%T %v\x00", object[name], object[name])
			}
			keys = append(keys, id)
		}
	}
	return keys
}

// droppedEffort is how many updates are judged to show that a rule is dropped.
const droppedEffort = 400

// ShowDropped looks for an update that the kind before refuses and the kind after accepts, in the version of h and
// because of what guards its fields, or because of the rule that h names, which may be of another version. It reports
// false when it finds none within a bounded effort. The kinds are those of one CRD before and after an update of it.
func ShowDropped(after, before *Kind, h Hole) (Witness, bool) {
	lax, strict := after.version(h.Version), before.version(h.Version)
	if h.Around != nil {
		strict = before.version(h.Around.Version)
	}
	if lax == nil || strict == nil || lax.compile() != nil || strict.compile() != nil {
		return Witness{}, false
	}
	w := &way{}
	for _, target := range before.targets(strict, h) {
		base, ok := before.with(strict, target)
		if !ok {
			continue
		}
		to := expand(base, strict.node(), nil, target)[0]
		w.targets = append(w.targets, to)
		add := func(oldObj, newObj map[string]any) {
			s := newSequence(before.stored(strict), []*Version{strict, lax}, oldObj, newObj)
			s.refuser = strict
			w.starts = append(w.starts, s)
		}
		for _, pair := range strict.pairs(to, manyPairs) {
			first, ok := put(base, strict.node(), to, pair[0])
			if !ok {
				continue
			}
			last, _ := put(first, strict.node(), to, pair[1])
			add(first.(map[string]any), last.(map[string]any))
			if gone, ok := to.Remove(first); ok {
				add(first.(map[string]any), gone.(map[string]any))
				add(gone.(map[string]any), last.(map[string]any))
			}
		}
	}
	w.rule = strict.ruleOf(h.Around)
	found := w.find(droppedEffort)
	if found == nil {
		return Witness{}, false
	}
	return w.shortest(found), true
}

// Replays reports whether the kind accepts a witness: every object is a valid one, and each update is accepted.
func (k *Kind) Replays(w Witness) bool {
	for i, obj := range w.Objects {
		old := w.Objects[max(i-1, 0)]
		if refused, mistakes, err := k.Update(obj, old); err != nil || len(mistakes)+len(refused) > 0 {
			return false
		}
	}
	return true
}
