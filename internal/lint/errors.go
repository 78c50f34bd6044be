package lint

import (
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Mistakes returns what makes the schema unusable.
func Mistakes(t *schema.Tree) []Entry {
	var found list
	bodies := map[*schema.Body]bool{}
	t.Walk(func(v schema.Visit) {
		if found.full() {
			return
		}
		for _, find := range mistakes {
			find(v, func(schemaPath *schema.Path, id, format string, args ...any) {
				found.add(v.At, schemaPath, rule.Error, id, format, args...)
			})
		}
		if !bodies[v.Body] {
			bodies[v.Body] = true
			found.body(v)
		}
	})
	return found.done()
}

// mistake finds the mistakes of one kind at one location.
type mistake func(v schema.Visit, report func(schemaPath *schema.Path, id, format string, args ...any))

var mistakes = [...]mistake{
	unreadableKeys, lockPosition, conflictingLocks, lockContainer, mapKeyFields, lockedMapKeys, normalizePosition,
}

// body reports the mistakes in what several locations may share.
func (l *list) body(v schema.Visit) {
	for _, p := range v.Body.Problems {
		l.add(v.At, v.Body.Path, rule.Error, p.Rule, "%s", p.Message)
	}
	for _, u := range v.Unchecked {
		l.unchecked(v, &u)
	}
	for _, u := range v.Hidden {
		l.unchecked(v, &u)
	}
}

// unchecked: a mark in a part of the schema that only validates is never applied.
func (l *list) unchecked(v schema.Visit, u *schema.Unchecked) {
	id := rule.LockInUncheckedKeyword
	switch {
	case !u.Lock:
		l.add(v.At, v.Body.Path, rule.Error, rule.NormalizePosition,
			"%s is below %s (at %s), where it has no effect: put it on the property itself", schema.KeyNormalize, u.Keyword, u.Path.Pointer())
		return
	case u.Combines():
		id = rule.LockInCombinator
	}
	l.add(v.At, v.Body.Path, rule.Error, id,
		"a lock is below %s (at %s), where no update is checked: put it on the property itself", u.Keyword, u.Path.Pointer())
}

// unreadableKeys: a wrong value, the wrong letter case, a $ref that leads nowhere.
func unreadableKeys(v schema.Visit, report func(*schema.Path, string, string, ...any)) {
	for _, p := range v.Location.Problems {
		report(v.Path, p.Rule, "%s", p.Message)
	}
}

// lockPosition: a lock at the root or in metadata would break API machinery, and items of a set are never compared.
func lockPosition(v schema.Visit, report func(*schema.Path, string, string, ...any)) {
	if !v.Marks.Locked() {
		return
	}
	switch at := v.Path; {
	case v.Role == schema.Root:
		report(at, rule.LockAtRoot, "the whole object cannot be locked, because API machinery changes it on every update: lock spec or fields below it")
	case v.InMetadata:
		report(at, rule.LockInMetadata, "metadata cannot be locked, because API machinery changes it on every update: remove the lock")
	case v.InSet:
		report(at, rule.LockBelowSet, "a lock here has no effect, because items of a set are in it or not and are never compared with each other: lock the set")
	}
}

// conflictingLocks: some keys exclude each other.
func conflictingLocks(v schema.Visit, report func(*schema.Path, string, string, ...any)) {
	var keys []string
	for _, l := range v.Marks.Locks {
		if !slices.Contains(keys, l.Key()) {
			keys = append(keys, l.Key())
		}
	}
	keys = slices.DeleteFunc(keys, func(key string) bool {
		return !slices.ContainsFunc(v.Marks.Locks, func(l schema.Lock) bool { return schema.ConflictingKeys(key, l.Key()) })
	})
	if len(keys) > 1 {
		report(v.LockPath(), rule.ConflictingLocks, "one field has %s: keep one of them", strings.Join(keys, " and "))
	}
}

// lockContainer: a lock on keys needs something with keys.
func lockContainer(v schema.Visit, report func(*schema.Path, string, string, ...any)) {
	for _, l := range v.Marks.Locks {
		if id, message := l.Misplaced(v.Container()); id != "" {
			report(v.LockPath(), id, "%s", message)
		}
	}
}

// mapKeyFields: the keys of a list-type map are scalar properties of its items.
func mapKeyFields(v schema.Visit, report func(*schema.Path, string, string, ...any)) {
	if v.Marks.ListType != schema.ListMap {
		return
	}
	at := v.MarkPath(schema.KeyListType)
	if len(v.Marks.ListMapKeys) == 0 {
		report(at, rule.MapKeysMissing, "%s: map needs %s with the names of the key fields", schema.KeyListType, schema.KeyListMapKeys)
	}
	for _, name := range v.Marks.ListMapKeys {
		switch field := v.KeyField(name); {
		case field == nil:
			report(at, rule.MapKeyMissing, "the items lack the property %q, which %s names", name, schema.KeyListMapKeys)
		case !field.Scalar():
			report(at, rule.MapKeyNotScalar, "the map key %q must be a string, integer, number or boolean", name)
		}
	}
}

// lockedMapKeys: where the keys of a list-type map are locked, its key fields are marked so ("enforced" in the proposal).
func lockedMapKeys(v schema.Visit, report func(*schema.Path, string, string, ...any)) {
	lock := v.Marks.KeyLock()
	if lock == "" || v.Marks.ListType != schema.ListMap {
		return
	}
	for _, name := range v.Marks.ListMapKeys {
		if field := v.KeyField(name); field != nil && !field.Marks.Has(schema.Immutable) {
			report(v.LockPath(), rule.UnlockedMapKey, "%s needs its map key %q to be %s: true", lock.Key(), name, schema.KeyImmutable)
		}
	}
}

// normalizePosition: only a property can be absent.
func normalizePosition(v schema.Visit, report func(*schema.Path, string, string, ...any)) {
	if v.Marks.Normalize != "" && v.Role != schema.Property {
		report(v.Path, rule.NormalizePosition,
			"%s is allowed on properties: list items, map values and the whole object cannot be absent", schema.KeyNormalize)
	}
}
