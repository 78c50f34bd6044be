package jsonvalue

import (
	"hash/maphash"
	"math"
)

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
