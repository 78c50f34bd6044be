// Package jsonvalue compares, hashes and writes decoded JSON values: nil, bool, string, int64, float64, map[string]any
// and []any, as k8s.io/apimachinery/pkg/util/json decodes them. The other integer types, float32 and json.Number are
// taken for the number that util/json would decode their text to; a nil map or slice is null, as it encodes.
package jsonvalue

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Kind is the JSON kind of a value, as far as containers differ from each other and from the rest.
type Kind int

// The kinds. Null is a kind of its own: a container that is null counts as not there.
const (
	Null Kind = iota
	Scalar
	Object
	List
	Foreign // a value of a Go type that JSON does not decode to
)

// KindOf returns the kind of v. A nil map or slice is null, as it encodes.
func KindOf(v any) Kind {
	switch v := v.(type) {
	case nil:
		return Null
	case map[string]any:
		if v == nil {
			return Null
		}
		return Object
	case []any:
		if v == nil {
			return Null
		}
		return List
	case string, bool:
		return Scalar
	}
	if _, ok := numberOf(v); ok {
		return Scalar
	}
	return Foreign
}

func (k Kind) String() string {
	return [...]string{"null", "a scalar", "an object", "a list",
		"a value of a Go type that JSON does not decode to"}[k]
}

// Clone copies objects and lists, and shares the scalars. A nil map becomes nil, which is null as well.
func Clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return nil
		}
		object := maps.Clone(v)
		for name, member := range object {
			object[name] = Clone(member)
		}
		return object
	case []any:
		list := slices.Clone(v)
		for i, item := range list {
			list[i] = Clone(item)
		}
		return list
	}
	return v
}

// Equal reports whether a and b are equal as the documentation of package immutability says, without a schema: lists
// are ordered, numbers compare by exact value, null, {} and [] differ. Values of types that JSON does not decode to are
// compared with reflect.DeepEqual. Cost: one pass, no allocation, until the first difference.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && a == b
	case map[string]any:
		object, ok := b.(map[string]any)
		if !ok || len(a) != len(object) || (a == nil) != (object == nil) {
			return a == nil && IsNull(b)
		}
		if len(a) > 1 && reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(object).UnsafePointer() {
			return true // one map, as large documents share
		}
		for key, value := range a {
			other, ok := object[key]
			if !ok {
				return false
			}
			if text, ok := value.(string); ok { // most are: saves the call
				if was, ok := other.(string); !ok || text != was {
					return false
				}
			} else if !Equal(value, other) {
				return false
			}
		}
		return true
	case []any:
		list, ok := b.([]any)
		if !ok || len(a) != len(list) || (a == nil) != (list == nil) {
			return a == nil && IsNull(b)
		}
		for i := range a {
			if !Equal(a[i], list[i]) {
				return false
			}
		}
		return true
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case int64:
		if b, ok := b.(int64); ok {
			return a == b
		}
		return equalNumbers(a, b)
	case nil:
		return IsNull(b)
	default:
		return equalNumbers(a, b)
	}
}

// HasScalar reports whether a value is a scalar, or has it somewhere.
func HasScalar(v, scalar any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			if HasScalar(member, scalar) {
				return true
			}
		}
		return false
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return HasScalar(item, scalar) })
	}
	return v == scalar
}

// IsNull reports whether v encodes to null.
func IsNull(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return v == nil
	case []any:
		return v == nil
	}
	return false
}

// Hash returns a hash of v under seed: values that are Equal have the same hash. The seed is random per process, so
// that input cannot be made to collide. Cost: one pass, no allocation for values that JSON decodes to.
func Hash(seed maphash.Seed, v any) uint64 {
	switch v := v.(type) {
	case string:
		return maphash.String(seed, v)
	case map[string]any:
		if v == nil {
			return hashNull
		}
		var sum uint64
		for key, value := range v {
			sum += HashMember(seed, key, Hash(seed, value))
		}
		return Mix(sum ^ hashObject)
	case []any:
		if v == nil {
			return hashNull
		}
		h := maphash.String(seed, "[")
		for _, item := range v {
			h = Mix(h ^ Hash(seed, item))
		}
		return h
	case bool:
		if v {
			return hashTrue
		}
		return hashFalse
	case nil:
		return hashNull
	}
	n, ok := numberOf(v)
	if !ok {
		return hashOther
	}
	if n.float != 0 {
		return maphash.Comparable(seed, math.Float64bits(n.float))
	}
	return maphash.Comparable(seed, n.integer)
}

// HashMember is the hash of one member of an object: members are summed, so that their order does not count.
func HashMember(seed maphash.Seed, key string, value uint64) uint64 {
	return Mix(maphash.String(seed, key) ^ value*hashObject)
}

// Mix spreads every bit of h over the result.
func Mix(h uint64) uint64 {
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	return h ^ h>>32
}

// Starting points of the kinds: odd numbers without structure.
const (
	hashNull   = 0x9f4f2726179a2245
	hashTrue   = 0x6c62272e07bb0143
	hashFalse  = 0x2545f4914f6cdd1d
	hashObject = 0xbf58476d1ce4e5b9
	hashOther  = 0x94d049bb133111eb
)

// Encode returns v as JSON on one line, with <, > and & as they are.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Excerpts returns two texts as a line shows them: cut to limit characters where they are longer. If the beginnings are
// the same for so long that the cut texts would look alike, both are cut before the first difference too, at the same
// place. The texts are JSON: no escape sequence is cut. Cost: linear in the texts.
func Excerpts(oldText, newText string, limit int) (oldShown, newShown string) {
	from := 0
	if utf8.RuneCountInString(oldText) > limit || utf8.RuneCountInString(newText) > limit {
		from = excerptStart(oldText, newText, limit)
	}
	return Excerpt(oldText, from, limit), Excerpt(newText, from, limit)
}

// Excerpt returns at most limit characters of a JSON text from an offset on, with an ellipsis where something is cut.
func Excerpt(text string, from, limit int) string {
	lead, rest := "", text[from:]
	if from > 0 {
		lead, limit = "…", limit-1
	}
	if utf8.RuneCountInString(rest) <= limit {
		return lead + rest
	}
	end := 0
	for shown := 0; ; {
		next, characters := step(rest, end)
		if shown += characters; shown >= limit {
			return lead + rest[:end] + "…"
		}
		end = next
	}
}

// excerptStart returns where the shown part of two texts begins: some characters before the first difference, or 0 if
// the difference is near enough to the beginning to be shown with it.
func excerptStart(oldText, newText string, limit int) int {
	same, before := 0, 0 // bytes and characters that both texts begin with
	for same < len(oldText) {
		next, characters := step(oldText, same)
		if !strings.HasPrefix(newText[same:], oldText[same:next]) {
			break
		}
		same, before = next, before+characters
	}
	if before < limit/2 || same == len(oldText) && same == len(newText) {
		return 0
	}
	from := 0
	for before > limit/3 {
		next, characters := step(oldText, from)
		from, before = next, before-characters
	}
	return from
}

// step returns the end of the character or escape sequence at an offset, and of how many characters it is written.
func step(text string, at int) (end, characters int) {
	if text[at] != '\\' || at+1 == len(text) {
		_, size := utf8.DecodeRuneInString(text[at:])
		return at + size, 1
	}
	size := 0
	switch text[at+1] {
	case 'x':
		size = 4
	case 'u':
		size = 6
	case 'U':
		size = 10
	default:
		_, size = utf8.DecodeRuneInString(text[at+1:])
		return at + 1 + size, 2
	}
	size = min(size, len(text)-at)
	return at + size, utf8.RuneCountInString(text[at : at+size])
}
