package immutability

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/extension"
	"github.com/fieldlock/fieldlock/internal/rule"
)

// visit is one look at a location on the way down from the root.
type visit struct {
	*location
	path *trail
	context
}

// context is what the way down decides for the locations below.
type context struct {
	inMetadata bool // metadata of the object or of an embedded resource
	inSet      bool // on or below the items of a set
}

// schemaErrors returns what makes the schema at root unusable.
func schemaErrors(root *location) []Finding {
	w := errorWalk{seen: map[seen]bool{}}
	w.visit(visit{location: root})
	return w.findings
}

type seen struct {
	body *body
	context
}

// errorWalk visits every location in every context that it stands in; a shared body once per context, so that the cost
// is linear in the schema.
type errorWalk struct {
	findings []Finding
	seen     map[seen]bool
}

func (w *errorWalk) visit(v visit) {
	for _, check := range errorRules {
		check(v, func(id, format string, args ...any) {
			w.findings = append(w.findings, Finding{
				Path: v.path.readable(), SchemaPath: v.location.path.pointer(), Severity: Error, Rule: id, Message: fmt.Sprintf(format, args...),
			})
		})
	}
	if w.seen[seen{v.body, v.context}] {
		return
	}
	w.seen[seen{v.body, v.context}] = true
	v.children(func(l *location) {
		next := visit{l, v.path.below(l), v.context}
		resource := v.in == nil || v.marks.Embedded
		next.inMetadata = v.inMetadata || resource && l.at == atProperty && l.name == "metadata"
		next.inSet = v.inSet || l.at == atItems && v.marks.ListType == extension.ListSet
		w.visit(next)
	})
}

// errorRules are the errors of Lint, each of one location.
var errorRules = [...]func(v visit, report func(id, format string, args ...any)){
	unreadableKeys, lockPosition, oneLock, keyLockNeedsKeys, mapKeyFields, lockedMapKeys, lockElsewhere, normalizePosition,
}

// unreadableKeys reports keys with a wrong value or in the wrong letter case, and a $ref that leads nowhere.
func unreadableKeys(v visit, report func(string, string, ...any)) {
	for _, p := range v.problems {
		report(p.Rule, "%s", p.Message)
	}
}

// lockPosition: locks at the root or in metadata would break API machinery, and below a set's items there are no pairs.
func lockPosition(v visit, report func(string, string, ...any)) {
	if !v.marks.Locked() {
		return
	}
	switch {
	case v.in == nil:
		report(rule.LockAtRoot, "the whole object cannot be locked: API machinery changes it on every update; lock spec or fields below it")
	case v.inMetadata:
		report(rule.LockInMetadata, "metadata cannot be locked: API machinery changes it on every update; remove the lock")
	case v.inSet:
		report(rule.LockBelowSet, "a lock here has no effect: items of a set are never compared with each other, they are only there or not; lock the set")
	}
}

// oneLock: the four locks of the proposal exclude each other, and immutable leaves nothing for x-fieldlock-update.
func oneLock(v visit, report func(string, string, ...any)) {
	var found []string
	for _, l := range [...]struct {
		on  bool
		key string
	}{
		{v.marks.Immutable, extension.Immutable}, {v.marks.ImmutableKeys, extension.ImmutableKeys},
		{v.marks.AdditionOnly, extension.AdditionOnly}, {v.marks.DeletionOnly, extension.DeletionOnly},
		{v.marks.Immutable && len(v.marks.Update) > 0, extension.Update},
	} {
		if l.on {
			found = append(found, l.key)
		}
	}
	if len(found) > 1 {
		report(rule.ConflictingLocks, "%s stand on one field: keep one of them", strings.Join(found, " and "))
	}
}

// keyLockNeedsKeys: a key lock stands where there are keys, and -keys not on a set, where it is the same as immutable.
func keyLockNeedsKeys(v visit, report func(string, string, ...any)) {
	const where = "it is allowed on an object with additionalProperties and on an array with x-kubernetes-list-type: map"
	check := func(key string, sets bool) {
		where := where
		if sets {
			where += " or set"
		}
		isArray := v.body.schema.Items != nil || slices.Contains(v.body.schema.Type, "array")
		switch {
		case v.marks.ListType == extension.ListMap && isArray:
		case v.marks.ListType == extension.ListSet && isArray:
			if !sets {
				report(rule.KeysOnSet, "%s stands on a set, whose items are its keys: use %s", key, extension.Immutable)
			}
		case isArray:
			report(rule.KeysWithoutKeys, "%s stands on a list without keys: %s", key, where)
		case v.marks.MapType == extension.MapAtomic:
			report(rule.KeysWithoutKeys, "%s stands on an object with x-kubernetes-map-type: atomic, which is replaced as a whole: use %s", key, extension.Immutable)
		case !v.hasKeys():
			report(rule.KeysWithoutKeys, "%s stands on a field without keys: %s", key, where)
		}
	}
	if key := v.marks.KeyLock(); key != "" {
		check(key, key != extension.ImmutableKeys)
	}
	for _, word := range [...]string{extension.NoAddItem, extension.NoRemoveItem} {
		if v.marks.Has(word) {
			check(word, true)
		}
	}
}

// mapKeyFields: the keys of a list-type map are scalar properties of its items.
func mapKeyFields(v visit, report func(string, string, ...any)) {
	if v.marks.ListType != extension.ListMap {
		return
	}
	if len(v.marks.ListMapKeys) == 0 {
		report(rule.MapKeysMissing, "x-kubernetes-list-type: map needs %s with the names of the key fields", extension.ListMapKeys)
	}
	for _, name := range v.marks.ListMapKeys {
		field := v.keyField(name)
		if field == nil {
			report(rule.MapKeyMissing, "the items have no property %q, which %s names", name, extension.ListMapKeys)
			continue
		}
		if !isScalar(field.schema) && !isScalar(field.body.schema) {
			report(rule.MapKeyNotScalar, "the map key %q is no string, integer, number or boolean", name)
		}
	}
}

func isScalar(s *spec.Schema) bool {
	if s.Extensions[extension.IntOrString] == true {
		return true
	}
	return len(s.Type) > 0 && !slices.ContainsFunc(s.Type, func(t string) bool { return t == "object" || t == "array" })
}

// lockedMapKeys: where the keys of a list-type map are locked, its key fields are marked so ("enforced" in the proposal).
func lockedMapKeys(v visit, report func(string, string, ...any)) {
	key := v.marks.KeyLock()
	if key == "" || v.marks.ListType != extension.ListMap {
		return
	}
	for _, name := range v.marks.ListMapKeys {
		if field := v.keyField(name); field != nil && !field.marks.Immutable {
			report(rule.UnlockedMapKey, "%s needs its map key %q to be %s: true", key, name, extension.Immutable)
		}
	}
}

// lockElsewhere: a lock in a part of the schema that only validates is never checked.
func lockElsewhere(v visit, report func(string, string, ...any)) {
	for _, e := range slices.Concat(v.elsewhere, v.beside) {
		report(uncheckedRule(e.keyword), "a lock stands below %s (at %s), where no update is checked: put it on the property itself", e.keyword, e.path)
	}
}

func uncheckedRule(keyword string) string {
	switch keyword {
	case "allOf", "anyOf", "oneOf", "not":
		return rule.LockInCombinator
	}
	return rule.LockInUncheckedKeyword
}

// normalizePosition: the root is no property.
func normalizePosition(v visit, report func(string, string, ...any)) {
	if v.marks.Normalize != "" && v.at != atProperty {
		report(rule.NormalizePosition, "%s stands on properties: list items, map values and the whole object cannot be absent", extension.Normalize)
	}
}
