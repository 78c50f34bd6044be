package immutability

import (
	"errors"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Lock names what a violation breaks.
type Lock string

// The locks, by the names that reports give them; the package comment says what each means. LockIncomparable is not a
// lock of a schema: it is reported where a lock applies and the two values cannot be compared.
const (
	LockImmutable     Lock = "immutable"
	LockImmutableKeys Lock = "immutable-keys"
	LockAdditionOnly  Lock = "addition-only"
	LockDeletionOnly  Lock = "deletion-only"
	LockNoSet         Lock = "NoSet"
	LockNoUnset       Lock = "NoUnset"
	LockNoModify      Lock = "NoModify"
	LockNoAddItem     Lock = "NoAddItem"
	LockNoRemoveItem  Lock = "NoRemoveItem"
	LockIncomparable  Lock = "incomparable"
)

// LockedField is a location with locks, as Locks lists them.
type LockedField struct {
	// Path is the field for people, such as "spec.nodes[*].zone"; SchemaPath is its JSON pointer in the schema.
	Path, SchemaPath string
	// Locks are its locks, at least one, in the order of the constants.
	Locks []Lock
}

// lockedField is a LockedField before its paths are text.
type lockedField struct {
	path, lockPath *schema.Path
	locks          []schema.Lock
}

// maxRepeated is how many locations Locks lists again for definitions that several fields refer to.
const maxRepeated = 10_000

// locksOf returns the locked fields of a schema.
func locksOf(t *schema.Tree) []lockedField {
	locked := t.Holding(func(l *schema.Location) bool { return l.Marks.Locked() })
	var fields []lockedField
	t.Root.DescendAll(maxRepeated, func(l *schema.Location, at *schema.Path) (below bool) {
		if l.Marks.Locked() {
			fields = append(fields, lockedField{at, l.LockPath(), l.Marks.Locks})
		}
		return locked[l] && !l.Marks.Has(schema.Immutable)
	})
	return fields
}

// ExternalLock locks a field of a schema that somebody else owns, such as the CRD of an operator.
type ExternalLock struct {
	// Kind is the kind that the lock is for, with its group, or its version and group, where needed: "Widget",
	// "Widget.example.com", "Widget.v1.example.com". Empty means every kind. A schema that does not name its kind under
	// x-kubernetes-group-version-kind has every lock; package crd knows the kind of each schema.
	Kind string
	// Path is the field, such as "spec.nodes[*].zone": [*] are the items of a list or the values of a map. A name in
	// quotes, as in `spec["a.b"]`, is one property; without quotes a path that two fields have is an error.
	Path string
	// Locks are added to those that the field has; none is an error. Words such as LockNoUnset can stand together, as
	// in a schema.
	Locks []Lock
}

// WithLocks adds locks to the schema before it is compiled, with the same rules as for locks in the schema itself. A
// path that the schema does not have, and a field behind a $ref that cannot be resolved, are errors.
func WithLocks(locks ...ExternalLock) Option {
	return option(func(c *config) {
		for _, l := range locks {
			c.external = append(c.external, schema.External{Kind: l.Kind, Path: l.Path, Locks: locksFrom(l.Locks)})
		}
	})
}

// WithKeyAlias makes an extension key of another dialect mean locks. On a field, the value true locks it, and false
// does not. A list of create, read and update, as in x-ms-mutability, locks it unless update is among them, and a list
// of AIP-203's field behaviors if IMMUTABLE is. Any other value is an error. The key begins with x-, in any letter
// case, and must not have a meaning already.
func WithKeyAlias(key string, locks ...Lock) Option {
	return option(func(c *config) { c.aliases[key] = locksFrom(locks) })
}

func locksFrom(names []Lock) []schema.Lock {
	locks := make([]schema.Lock, len(names))
	for i, name := range names {
		locks[i] = schema.Lock(name)
	}
	return locks
}

// externalLocks returns s with the external locks of its kind added, nil if there are none, and what is wrong with
// them.
func (c *config) externalLocks(s *spec.Schema, resolve schema.Resolver) (out *spec.Schema, found []Finding) {
	for i := range c.external {
		lock := &c.external[i]
		if !isFor(lock, s) {
			continue
		}
		if s == nil {
			s = &spec.Schema{}
		}
		if out == nil {
			out = s
		}
		err := schema.CheckLocks(lock.Locks)
		if len(lock.Locks) == 0 {
			err = errors.New("the lock at this path names no lock; name at least one, such as immutable")
		}
		if err == nil {
			var changed *spec.Schema
			if changed, _, err = lock.Add(out, resolve); err == nil {
				out = changed
				continue
			}
		}
		found = append(found, Finding{Path: lock.Path, Severity: SeverityError, Rule: finding.ExternalLock,
			Message: err.Error()})
	}
	return out, found
}

// isFor reports whether a lock is for the kind of a schema, or the schema does not say its kind.
func isFor(lock *schema.External, s *spec.Schema) bool {
	if s == nil || s.Extensions[keyKinds] == nil || lock.Kind == "" {
		return true
	}
	list, isList := s.Extensions[keyKinds].([]any)
	if !isList {
		list = []any{s.Extensions[keyKinds]}
	}
	return slices.ContainsFunc(list, func(item any) bool {
		kind, _ := item.(map[string]any)
		text := func(key string) string { value, _ := kind[key].(string); return value }
		return lock.IsFor(text("group"), text("version"), text("kind"))
	})
}

// keyKinds is the key under which a schema names the kinds that it describes.
const keyKinds = "x-kubernetes-group-version-kind"
