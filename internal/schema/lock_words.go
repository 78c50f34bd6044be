package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/spelling"
)

// Lock is the name of a lock, as reports give it.
type Lock string

// The locks. Those that begin with No are words of x-fieldlock-update, the others are keys of their own.
const (
	Immutable     Lock = "immutable"
	ImmutableKeys Lock = "immutable-keys"
	AdditionOnly  Lock = "addition-only"
	DeletionOnly  Lock = "deletion-only"
	NoSet         Lock = "NoSet"
	NoUnset       Lock = "NoUnset"
	NoModify      Lock = "NoModify"
	NoAddItem     Lock = "NoAddItem"
	NoRemoveItem  Lock = "NoRemoveItem"
)

// Refused begins the message of every refusal, as it does in API servers. Deployment tools look for it. In lists of
// errors the words of x-fieldlock-update have UpstreamText instead.
const Refused = "field is immutable"

// Refusal returns the message for a change that l refuses, as far as it is the same for every change and value.
func (l Lock) Refusal() string {
	switch l {
	case NoSet:
		return Refused + ": it may not be set after creation"
	case NoUnset:
		return Refused + ": it may not be unset"
	case NoModify:
		return Refused + ": it may not be modified once set"
	case ImmutableKeys:
		return Refused + ": nothing may be added or removed"
	case DeletionOnly, NoAddItem:
		return Refused + ": nothing may be added"
	case AdditionOnly, NoRemoveItem:
		return Refused + ": nothing may be removed"
	}
	return Refused
}

// UpstreamText returns the text of the errors that Kubernetes' declarative validation (k8s.io/apimachinery,
// pkg/api/validate) has for a word of +k8s:update, "" for a lock that is no such word.
func (l Lock) UpstreamText() string {
	switch l {
	case NoSet:
		return "field cannot be set once created"
	case NoUnset:
		return "field cannot be cleared once set"
	case NoModify:
		return "field cannot be modified once set"
	case NoAddItem:
		return "item may not be added"
	case NoRemoveItem:
		return "item may not be removed"
	}
	return ""
}

// Change is a set of the changes that a lock can refuse at its location.
type Change uint8

// The changes. An item is a key of a map or keyed list, or an item of a set.
const (
	Set Change = 1 << iota
	Unset
	Modify
	AddItem
	RemoveItem

	ChangeItems = AddItem | RemoveItem
	ChangeValue = Set | Unset | Modify
)

// Has reports whether c holds every change of other.
func (c Change) Has(other Change) bool { return c&other == other }

// Container says what keys a value has, as far as a lock on keys is concerned.
type Container uint8

// The containers.
const (
	NoKeys     Container = iota // a scalar, or an object that has only named properties
	Map                         // an object with additionalProperties
	AtomicMap                   // an object that is replaced as a whole
	AtomicList                  // a list without a list-type, or of list-type atomic
	SetList                     // a list of list-type set; its items are its keys
	MapList                     // a list of list-type map
)

// lockInfo is a row of the table of locks.
type lockInfo struct {
	lock    Lock
	key     string
	refuses Change
	// on lists the containers that the lock is allowed on; nil allows it on every value.
	on []Container
}

// locks is the one table of what locks are, in the order in which they are reported.
var locks = [...]lockInfo{
	{Immutable, KeyImmutable, ChangeValue | ChangeItems, nil},
	{ImmutableKeys, KeyImmutableKeys, ChangeItems, []Container{Map, MapList}},
	{AdditionOnly, KeyAdditionOnly, RemoveItem, []Container{Map, MapList, SetList}},
	{DeletionOnly, KeyDeletionOnly, AddItem, []Container{Map, MapList, SetList}},
	{NoSet, KeyUpdate, Set, nil},
	{NoUnset, KeyUpdate, Unset, nil},
	{NoModify, KeyUpdate, Modify | ChangeItems, nil},
	{NoAddItem, KeyUpdate, AddItem, []Container{Map, MapList, SetList}},
	{NoRemoveItem, KeyUpdate, RemoveItem, []Container{Map, MapList, SetList}},
}

// Locks lists all locks in the order in which they are reported.
func Locks() []Lock {
	all := make([]Lock, len(locks))
	for i := range locks {
		all[i] = locks[i].lock
	}
	return all
}

// LockKeys lists the extension keys that set locks.
func LockKeys() []string {
	var keys []string
	for i := range locks {
		if !slices.Contains(keys, locks[i].key) {
			keys = append(keys, locks[i].key)
		}
	}
	return keys
}

// Words lists the words of x-fieldlock-update in the order in which they are reported.
func Words() []string {
	var words []string
	for i := range locks {
		if locks[i].key == KeyUpdate {
			words = append(words, string(locks[i].lock))
		}
	}
	return words
}

func (l Lock) info() lockInfo {
	i := slices.IndexFunc(locks[:], func(row lockInfo) bool { return row.lock == l })
	if i < 0 {
		return lockInfo{}
	}
	return locks[i]
}

// Key returns the extension key that sets l.
func (l Lock) Key() string { return l.info().key }

// Refuses returns the changes that l refuses at its location. A value that may not be modified keeps its items.
func (l Lock) Refuses() Change { return l.info().refuses }

// OnKeys reports whether l concerns only the keys of a container, or the items of a set.
func (l Lock) OnKeys() bool { return l.Refuses()&ChangeValue == 0 }

// AsWords returns the words of x-fieldlock-update that together refuse what l refuses.
func (l Lock) AsWords() []Lock {
	var words []Lock
	var covered Change
	for _, word := range Locks() {
		if refuses := word.Refuses(); word.Key() == KeyUpdate && l.Refuses().Has(refuses) && !covered.Has(refuses) {
			words = append(words, word)
			covered |= refuses
		}
	}
	return words
}

// AllowedOn reports whether l is allowed on a value of this kind.
func (l Lock) AllowedOn(c Container) bool {
	on := l.info().on
	return on == nil || slices.Contains(on, c)
}

// Misplaced returns the rule that l breaks on a value of this kind, and a message that says where it is allowed; both
// are "" where l is allowed.
func (l Lock) Misplaced(c Container) (id, message string) {
	if l.AllowedOn(c) {
		return "", ""
	}
	name := l.Key()
	if name == KeyUpdate {
		name = string(l)
	}
	where := "an object with additionalProperties or an array with x-kubernetes-list-type: map"
	if slices.Contains(l.info().on, SetList) {
		where += " or set"
	}
	switch c {
	case SetList:
		return finding.KeysOnSet, fmt.Sprintf("%s is on a set, whose items are its keys: use %s", name, KeyImmutable)
	case AtomicMap:
		return finding.KeysWithoutKeys, fmt.Sprintf("%s is on an object with x-kubernetes-map-type: atomic, which is "+
			"replaced as a whole: use %s", name, KeyImmutable)
	case AtomicList:
		return finding.KeysWithoutKeys, fmt.Sprintf("%s is on a list without keys: put it on %s", name, where)
	}
	return finding.KeysWithoutKeys, fmt.Sprintf("%s is on a field without keys: put it on %s", name, where)
}

// ConflictingKeys reports whether two lock keys exclude each other on one node: the four x-kubernetes- locks do, and
// x-kubernetes-immutable leaves nothing for x-fieldlock-update to refuse.
func ConflictingKeys(a, b string) bool {
	if a == b || !IsLockKey(a) || !IsLockKey(b) {
		return false
	}
	return a != KeyUpdate && b != KeyUpdate || a == KeyImmutable || b == KeyImmutable
}

// IsLockKey reports whether key, in lower case, sets locks.
func IsLockKey(key string) bool {
	return slices.ContainsFunc(locks[:], func(row lockInfo) bool { return row.key == key })
}

// HasLock reports whether a key of a schema node, in any letter case, is a lock. Cost: O(keys).
func HasLock(ext map[string]any) bool {
	for key := range ext {
		if exact := exactKey(key); exact != "" && IsLockKey(exact) {
			return true
		}
	}
	return false
}

// The extension keys that fieldlock reads. The documentation of package immutability says what each means.
const (
	KeyImmutable     = "x-kubernetes-immutable"
	KeyImmutableKeys = "x-kubernetes-immutable-keys"
	KeyAdditionOnly  = "x-kubernetes-addition-only"
	KeyDeletionOnly  = "x-kubernetes-deletion-only"
	KeyUpdate        = "x-fieldlock-update"
	KeyNormalize     = "x-kubernetes-normalize"

	// KeyMapListOrder is allowed next to a lock. Its one value, "ignored", makes that lock compare lists of list-type
	// map by key and without order, as CEL does. Locks made from CEL rules carry it.
	KeyMapListOrder = "x-fieldlock-map-list-order"

	// KeyDropped lists the extension keys of other dialects below keywords of a JSON Schema that only validate, which
	// are not read further. An alias among them is a mistake.
	KeyDropped = "x-fieldlock-dropped"

	KeyListType        = "x-kubernetes-list-type"
	KeyListMapKeys     = "x-kubernetes-list-map-keys"
	KeyMapType         = "x-kubernetes-map-type"
	KeyEmbedded        = "x-kubernetes-embedded-resource"
	KeyPreserveUnknown = "x-kubernetes-preserve-unknown-fields"
	KeyIntOrString     = "x-kubernetes-int-or-string"
	KeyValidations     = "x-kubernetes-validations"
)

// The values of the enumerated keys.
const (
	NormalizeUndefined = "undefined"
	NormalizeZero      = "zero"

	OrderIgnored = "ignored"

	ListAtomic  = "atomic"
	ListSet     = "set"
	ListMap     = "map"
	MapAtomic   = "atomic"
	MapGranular = "granular"
)

// own are the keys that fieldlock gives a meaning to and that a stock API server does not know.
var own = [...]string{KeyImmutable, KeyImmutableKeys, KeyAdditionOnly, KeyDeletionOnly, KeyUpdate,
	KeyNormalize, KeyMapListOrder}

// OwnKeys lists the keys that fieldlock gives a meaning to and that a stock API server does not know.
func OwnKeys() []string { return slices.Clone(own[:]) }

// read are the keys that ReadMarks reads. The first ones, those of section 2.1 of the contract, are what a misspelled
// key is compared with.
var read = [...]string{KeyImmutable, KeyImmutableKeys, KeyAdditionOnly, KeyDeletionOnly, KeyUpdate,
	KeyNormalize, KeyMapListOrder,
	KeyListType, KeyListMapKeys, KeyMapType, KeyEmbedded}

// others are the keys that ReadMarks does not read: those that Kubernetes gives a meaning to, and KeyDropped.
var others = [...]string{KeyDropped, KeyPreserveUnknown, KeyIntOrString, KeyValidations,
	"x-kubernetes-group-version-kind", "x-kubernetes-action",
	"x-kubernetes-patch-merge-key", "x-kubernetes-patch-strategy", "x-kubernetes-unions",
	"x-kubernetes-selectable-fields"}

// exactKey returns the right spelling of key if ReadMarks reads it, in whatever letter case, otherwise "".
func exactKey(key string) string {
	if len(key) < 2 || (key[0] != 'x' && key[0] != 'X') || key[1] != '-' {
		return ""
	}
	for _, name := range read {
		if len(name) == len(key) && strings.EqualFold(name, key) {
			return name
		}
	}
	return ""
}

// UnknownKey is an extension key that looks like one of Kubernetes or fieldlock and is neither.
type UnknownKey struct {
	Key string
	// Meant is the key that it was most likely meant to be, or "".
	Meant string
	// Mistake reports whether it must be one: no other project uses the prefix x-fieldlock-, and a key within two edits
	// of a lock is a misspelled lock.
	Mistake bool
}

// UnknownKeys returns the unknown keys of a schema node, sorted.
func UnknownKeys(ext map[string]any) []UnknownKey {
	var unknown []UnknownKey
	for key := range ext {
		lower := strings.ToLower(key)
		fieldlock := strings.HasPrefix(lower, "x-fieldlock-")
		if !fieldlock && !strings.HasPrefix(lower, "x-kubernetes-") || exactKey(key) != "" ||
			slices.Contains(others[:], lower) {
			continue
		}
		meant := nearest(lower)
		unknown = append(unknown, UnknownKey{Key: key, Meant: meant, Mistake: fieldlock || meant != ""})
	}
	slices.SortFunc(unknown, func(a, b UnknownKey) int { return strings.Compare(a.Key, b.Key) })
	return unknown
}

// nearest returns the key within two edits of key, or "".
func nearest(key string) string {
	const edits = 2
	best, found := edits+1, ""
	for _, name := range read {
		if n := len(name) - len(key); n > edits || n < -edits {
			continue
		}
		if d := spelling.Distance(name, key); d < best {
			best, found = d, name
		}
	}
	return found
}
