// Package extension names the schema keys that fieldlock reads and reads them.
//
// It knows the traps of the forms that schemas come in: a decoded document keeps the letter case of its keys while
// the getters of kube-openapi look up in lower case; a structural schema stores []string where JSON stores []any;
// openapi-gen writes the string "true" where a document has the boolean.
package extension

import (
	"fmt"
	"github.com/fieldlock/fieldlock/internal/rule"
	"maps"
	"slices"
	"strings"
)

// The keys that fieldlock reads. The documentation of package immutability says what each means and where it may stand.
const (
	Immutable     = "x-kubernetes-immutable"
	ImmutableKeys = "x-kubernetes-immutable-keys"
	AdditionOnly  = "x-kubernetes-addition-only"
	DeletionOnly  = "x-kubernetes-deletion-only"
	Update        = "x-fieldlock-update"
	Normalize     = "x-kubernetes-normalize"

	// MapListOrder on a node with a lock says how that lock compares lists of list-type map: the one value is
	// "ignored", by key and without order, as CEL does. Locks made from CEL rules carry it.
	MapListOrder = "x-fieldlock-map-list-order"

	ListType     = "x-kubernetes-list-type"
	ListMapKeys  = "x-kubernetes-list-map-keys"
	MapType      = "x-kubernetes-map-type"
	Embedded     = "x-kubernetes-embedded-resource"
	PreserveRest = "x-kubernetes-preserve-unknown-fields"
	IntOrString  = "x-kubernetes-int-or-string"
	Validations  = "x-kubernetes-validations"
)

// own are the keys that fieldlock gives a meaning to and a stock API server does not know.
var own = [...]string{Immutable, ImmutableKeys, AdditionOnly, DeletionOnly, Update, Normalize, MapListOrder}

// Own lists the keys that fieldlock gives a meaning to and that a stock API server does not know.
func Own() []string { return slices.Clone(own[:]) }

// The values of the enumerated keys.
const (
	NormalizeUndefined = "undefined"
	NormalizeZero      = "zero"

	OrderIgnored = "ignored"

	ListAtomic = "atomic"
	ListSet    = "set"
	ListMap    = "map"
	MapAtomic  = "atomic"
)

// The words of x-fieldlock-update, those of Kubernetes declarative validation's +k8s:update.
const (
	NoSet        = "NoSet"
	NoUnset      = "NoUnset"
	NoModify     = "NoModify"
	NoAddItem    = "NoAddItem"
	NoRemoveItem = "NoRemoveItem"
)

// Words lists the words of x-fieldlock-update in the order in which they are reported.
func Words() []string { return []string{NoSet, NoUnset, NoModify, NoAddItem, NoRemoveItem} }

// Marks is what the extension keys of one schema node say.
type Marks struct {
	Immutable, ImmutableKeys, AdditionOnly, DeletionOnly bool

	Update       []string // a subset of Words, in that order
	Normalize    string   // "", NormalizeUndefined or NormalizeZero
	MapListOrder string   // "" or OrderIgnored

	ListType    string
	ListMapKeys []string
	MapType     string
	Embedded    bool
}

// Locked reports whether the node itself carries a lock.
func (m *Marks) Locked() bool {
	return m.Immutable || m.KeyLock() != "" || len(m.Update) > 0
}

// KeyLock returns the key lock of the node among x-kubernetes-immutable-keys, -addition-only and -deletion-only, or "".
func (m *Marks) KeyLock() string {
	switch {
	case m.ImmutableKeys:
		return ImmutableKeys
	case m.AdditionOnly:
		return AdditionOnly
	case m.DeletionOnly:
		return DeletionOnly
	}
	return ""
}

// Has reports whether word stands in x-fieldlock-update.
func (m *Marks) Has(word string) bool { return slices.Contains(m.Update, word) }

// Problem is a key that cannot be read: a user's mistake in a schema.
type Problem struct {
	Key     string // as it stands in the schema
	Rule    string // kebab-case identifier of the lint rule that it breaks
	Message string // what was found and what would be right
}

// Read returns what the keys in ext say, and the problems of those that cannot be read, sorted by key. A lock that
// cannot be read is not in the marks: callers refuse the schema. Nil ext is no marks. Cost: O(keys), and no
// allocation where no key of fieldlock stands.
func Read(ext map[string]any) (Marks, []Problem) {
	var m Marks
	var problems []Problem
	bad := func(key, rule, format string, args ...any) {
		problems = append(problems, Problem{key, rule, fmt.Sprintf(format, args...)})
	}
	if len(ext) == 0 {
		return m, nil
	}
	for _, key := range slices.Sorted(maps.Keys(ext)) {
		if exact := known(key); exact != key {
			if exact != "" {
				bad(key, rule.KeyCase, "%q is not read: the key is spelled %q", key, exact)
			}
			continue
		}
		value := ext[key]
		switch key {
		case Immutable, ImmutableKeys, AdditionOnly, DeletionOnly:
			if !isTrue(value) {
				bad(key, rule.LockValue, "%s is %s: the only value is true, and a child cannot lift the lock of its parent; remove the key", key, show(value))
				continue
			}
			switch key {
			case Immutable:
				m.Immutable = true
			case ImmutableKeys:
				m.ImmutableKeys = true
			case AdditionOnly:
				m.AdditionOnly = true
			case DeletionOnly:
				m.DeletionOnly = true
			}
		case Update:
			words, ok := stringsOf(value)
			if !ok || len(words) == 0 {
				bad(key, rule.UpdateWord, "%s is %s: it is a list of one or more of %s", key, show(value), strings.Join(Words(), ", "))
				continue
			}
			for _, word := range words {
				if !slices.Contains(Words(), word) {
					bad(key, rule.UpdateWord, "%s has the unknown word %q: the words are %s", key, word, strings.Join(Words(), ", "))
				}
			}
			for _, word := range Words() {
				if slices.Contains(words, word) {
					m.Update = append(m.Update, word)
				}
			}
		case Normalize:
			switch s, _ := value.(string); s {
			case NormalizeUndefined, NormalizeZero:
				m.Normalize = s
			default:
				bad(key, rule.NormalizeValue, "%s is %s: it is %q or %q", key, show(value), NormalizeUndefined, NormalizeZero)
			}
		case MapListOrder:
			if value != OrderIgnored {
				bad(key, rule.MapListOrderValue, "%s is %s: the only value is %q", key, show(value), OrderIgnored)
				continue
			}
			m.MapListOrder = OrderIgnored
		case ListType:
			switch s, _ := value.(string); s {
			case ListAtomic, ListSet, ListMap:
				m.ListType = s
			default:
				bad(key, rule.ListTypeValue, "%s is %s: it is atomic, set or map", key, show(value))
			}
		case ListMapKeys:
			keys, ok := stringsOf(value)
			if !ok {
				bad(key, rule.ListMapKeysValue, "%s is %s: it is a list of property names", key, show(value))
				continue
			}
			m.ListMapKeys = keys
		case MapType:
			switch s, _ := value.(string); s {
			case "atomic", "granular":
				m.MapType = s
			default:
				bad(key, rule.MapTypeValue, "%s is %s: it is atomic or granular", key, show(value))
			}
		case Embedded:
			m.Embedded = isTrue(value)
		}
	}
	return m, problems
}

// HasLock reports whether any key of ext, in any letter case, is a lock. Cost: O(keys).
func HasLock(ext map[string]any) bool {
	for key := range ext {
		switch known(key) {
		case Immutable, ImmutableKeys, AdditionOnly, DeletionOnly, Update:
			return true
		}
	}
	return false
}

// foreign are the x-kubernetes- keys that Kubernetes gives a meaning to and fieldlock does not.
var foreign = [...]string{PreserveRest, IntOrString, Validations, "x-kubernetes-group-version-kind", "x-kubernetes-action",
	"x-kubernetes-patch-merge-key", "x-kubernetes-patch-strategy", "x-kubernetes-unions", "x-kubernetes-selectable-fields"}

// Unknown returns the keys of ext, sorted, that begin like those of Kubernetes or fieldlock and that neither knows: most
// likely a misspelled lock.
func Unknown(ext map[string]any) []string {
	var unknown []string
	for key := range ext {
		lower := strings.ToLower(key)
		if known(key) == "" && !slices.Contains(foreign[:], lower) &&
			(strings.HasPrefix(lower, "x-kubernetes-") || strings.HasPrefix(lower, "x-fieldlock-")) {
			unknown = append(unknown, key)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// known returns the spelling of key when it is one of the keys that Read reads, in whatever letter case, else "".
func known(key string) string {
	if len(key) < 2 || (key[0] != 'x' && key[0] != 'X') || key[1] != '-' {
		return ""
	}
	for _, name := range [...]string{Immutable, ImmutableKeys, AdditionOnly, DeletionOnly, Update, Normalize, MapListOrder,
		ListType, ListMapKeys, MapType, Embedded} {
		if len(name) == len(key) && strings.EqualFold(name, key) {
			return name
		}
	}
	return ""
}

// isTrue reports whether value is true or, as openapi-gen writes it, "true".
func isTrue(value any) bool { return value == true || value == "true" }

// stringsOf reads a list of strings, []any as decoded or []string as a structural schema stores it, and, as
// openapi-gen may write it, a single string.
func stringsOf(value any) ([]string, bool) {
	switch value := value.(type) {
	case []string:
		return value, true
	case string:
		return []string{value}, true
	case []any:
		list := make([]string, 0, len(value))
		for _, item := range value {
			s, ok := item.(string)
			if !ok {
				return nil, false
			}
			list = append(list, s)
		}
		return list, true
	}
	return nil, false
}

// show prints a value of a schema for a message.
func show(value any) string {
	if s, ok := value.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprint(value)
}
