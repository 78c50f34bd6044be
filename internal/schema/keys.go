package schema

import (
	"slices"
	"strings"
)

// The extension keys that fieldlock reads. The documentation of package immutability says what each means.
const (
	KeyImmutable     = "x-kubernetes-immutable"
	KeyImmutableKeys = "x-kubernetes-immutable-keys"
	KeyAdditionOnly  = "x-kubernetes-addition-only"
	KeyDeletionOnly  = "x-kubernetes-deletion-only"
	KeyUpdate        = "x-fieldlock-update"
	KeyNormalize     = "x-kubernetes-normalize"

	// KeyMapListOrder is allowed next to a lock. Its one value, "ignored", makes that lock compare lists of list-type map
	// by key and without order, as CEL does. Locks made from CEL rules carry it.
	KeyMapListOrder = "x-fieldlock-map-list-order"

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
var own = [...]string{KeyImmutable, KeyImmutableKeys, KeyAdditionOnly, KeyDeletionOnly, KeyUpdate, KeyNormalize, KeyMapListOrder}

// OwnKeys lists the keys that fieldlock gives a meaning to and that a stock API server does not know.
func OwnKeys() []string { return slices.Clone(own[:]) }

// read are the keys that ReadMarks reads. The first ones, those of section 2.1 of the contract, are what a misspelled
// key is compared with.
var read = [...]string{KeyImmutable, KeyImmutableKeys, KeyAdditionOnly, KeyDeletionOnly, KeyUpdate, KeyNormalize, KeyMapListOrder,
	KeyListType, KeyListMapKeys, KeyMapType, KeyEmbedded}

// others are the x-kubernetes- keys that Kubernetes gives a meaning to and fieldlock does not read.
var others = [...]string{KeyPreserveUnknown, KeyIntOrString, KeyValidations, "x-kubernetes-group-version-kind", "x-kubernetes-action",
	"x-kubernetes-patch-merge-key", "x-kubernetes-patch-strategy", "x-kubernetes-unions", "x-kubernetes-selectable-fields"}

// spelling returns the right spelling of key if ReadMarks reads it, in whatever letter case, otherwise "".
func spelling(key string) string {
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
		if !fieldlock && !strings.HasPrefix(lower, "x-kubernetes-") || spelling(key) != "" || slices.Contains(others[:], lower) {
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
		if d := Distance(name, key); d < best {
			best, found = d, name
		}
	}
	return found
}

// Distance is how many bytes have to be inserted, removed or replaced to turn a into b.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
