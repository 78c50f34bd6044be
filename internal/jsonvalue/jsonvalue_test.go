package jsonvalue_test

import (
	"encoding/json"
	"hash/maphash"
	"math"
	"testing"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// classes are values of which those in one row are equal, and no others.
var classes = []struct {
	reason string
	values []any
}{
	{"null, and what encodes to it", []any{nil, map[string]any(nil), []any(nil)}},
	{"empty object", []any{map[string]any{}}},
	{"empty list", []any{[]any{}}},
	{"empty string", []any{""}},
	{"zero in every form", []any{int64(0), 0.0, math.Copysign(0, -1), int(0), uint8(0), json.Number("0"), json.Number("-0.0")}},
	{"one in every form", []any{int64(1), 1.0, int(1), int32(1), int16(1), int8(1), uint(1), uint64(1), uint32(1), uint16(1), uint8(1), float32(1), json.Number("1e0")}},
	{"one and a half", []any{1.5, float32(1.5), json.Number("15e-1")}},
	{"a tenth, as every type writes it", []any{0.1, float32(0.1), json.Number("0.1")}},
	{"what float32 makes of a tenth", []any{float64(float32(0.1))}},
	{"true is not 1", []any{true}},
	{"false is not 0", []any{false}},
	{"a digit is no number", []any{"1"}},
	{"2^53", []any{int64(1) << 53, float64(1 << 53), json.Number("9007199254740993.0"), json.Number("9007199254740993e0"), json.Number("900719925474099.2e1")}},
	{"2^53+1, which no float is", []any{int64(1)<<53 + 1, json.Number("9007199254740993")}},
	{"2^63-1, which no float is", []any{int64(math.MaxInt64), uint64(math.MaxInt64), json.Number("9223372036854775807")}},
	{"2^63 is a float64", []any{float64(1 << 63), uint64(1) << 63, json.Number("9223372036854775808")}},
	{"-2^63 is an integer and a float", []any{int64(math.MinInt64), float64(math.MinInt64)}},
	{"a float beyond integers", []any{1e300}},
	{"ordered list", []any{[]any{int64(1), int64(2)}, []any{1.0, 2.0}}},
	{"list in another order", []any{[]any{int64(2), int64(1)}}},
	{"nested list", []any{[]any{[]any{int64(1)}, int64(2)}}},
	{"object", []any{map[string]any{"a": int64(1), "b": nil}, map[string]any{"b": nil, "a": 1.0}}},
	{"object with a null under a", []any{map[string]any{"a": nil}}},
	{"object with a null under b", []any{map[string]any{"b": nil}}},
	{"object with a string under a", []any{map[string]any{"a": "x"}}},
	{"object with a string under b", []any{map[string]any{"b": "x"}}},
	{"object with an empty string", []any{map[string]any{"a": ""}}},
	{"two in every form", []any{int64(2), int(2), int32(2), int16(2), int8(2), uint(2), uint64(2), uint32(2), uint16(2), uint8(2), float32(2)}},
	{"minus one", []any{int64(-1), int(-1), int32(-1), int16(-1), int8(-1), float32(-1)}},
	{"list that differs from the ordered one in its last item", []any{[]any{int64(1), int64(3)}}},
	{"the same items, and one more", []any{[]any{int64(1), int64(2), int64(3)}}},
	{"object with other values under two keys", []any{map[string]any{"a": "x", "b": "y"}}},
	{"object that differs from it under b only", []any{map[string]any{"a": "x", "b": "z"}}},
	{"object that differs from it under a only", []any{map[string]any{"a": "w", "b": "y"}}},
	{"object of objects", []any{map[string]any{"a": map[string]any{"c": int64(1)}, "b": map[string]any{"c": int64(2)}}}},
	{"object of objects that differs under b", []any{map[string]any{"a": map[string]any{"c": int64(1)}, "b": map[string]any{"c": int64(3)}}}},
	{"object of objects that differs under a", []any{map[string]any{"a": map[string]any{"c": int64(4)}, "b": map[string]any{"c": int64(2)}}}},
	{"the largest float64 below -2^63 is no integer", []any{math.Nextafter(-1<<63, math.Inf(-1)), json.Number("-9223372036854777856")}},
	{"list with a null", []any{[]any{nil}}},
	{"list with an empty list", []any{[]any{[]any{}}}},
	{"object without the null", []any{map[string]any{"a": int64(1)}}},
	{"object with another key", []any{map[string]any{"c": int64(1)}}},
	{"a type that JSON does not decode to", []any{struct{ A int }{1}}},
	{"another value of that type", []any{struct{ A int }{2}}},
	{"a number that is none", []any{json.Number("x")}},
}

func TestEqual(t *testing.T) {
	seed := maphash.MakeSeed()
	for i, x := range classes {
		for j, y := range classes {
			for _, a := range x.values {
				for _, b := range y.values {
					if got := jsonvalue.Equal(a, b); got != (i == j) {
						t.Errorf("%#v and %#v: %t (%s, %s)", a, b, got, x.reason, y.reason)
					}
					same := jsonvalue.Hash(seed, a) == jsonvalue.Hash(seed, b)
					if i == j && !same {
						t.Errorf("%#v and %#v are equal and hash apart (%s)", a, b, x.reason)
					}
				}
			}
		}
	}
}

func TestHashTellsApart(t *testing.T) {
	seed := maphash.MakeSeed()
	hashes := map[uint64]any{}
	for _, class := range classes[:len(classes)-3] {
		h := jsonvalue.Hash(seed, class.values[0])
		if other, taken := hashes[h]; taken {
			t.Errorf("%#v and %#v hash together", class.values[0], other)
		}
		hashes[h] = class.values[0]
	}
}

func TestNaNEqualsNothing(t *testing.T) {
	if jsonvalue.Equal(math.NaN(), math.NaN()) {
		t.Error("what cannot be stored is not taken for unchanged")
	}
}

func TestKindOf(t *testing.T) {
	for _, test := range []struct {
		want   jsonvalue.Kind
		values []any
	}{
		{jsonvalue.Null, []any{nil, map[string]any(nil), []any(nil)}},
		{jsonvalue.Object, []any{map[string]any{}, map[string]any{"a": nil}}},
		{jsonvalue.List, []any{[]any{}, []any{nil}}},
		{jsonvalue.Scalar, []any{"", "a", true, false, int64(0), 1.5, int(1), uint8(1), json.Number("1")}},
		{jsonvalue.Foreign, []any{struct{}{}, []string{"a"}, map[string]string{}, json.Number("x")}},
	} {
		for _, v := range test.values {
			if got := jsonvalue.KindOf(v); got != test.want {
				t.Errorf("%#v is %s, want %s", v, got, test.want)
			}
		}
	}
}

// TestEncode: text stays readable, and the rest is as encoding/json has it.
func TestEncode(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string
	}{{nil, "null"}, {"<a> & b\n", `"<a> & b\n"`}, {map[string]any{"b": int64(1), "a": []any{}}, `{"a":[],"b":1}`}} {
		if got, err := jsonvalue.Encode(c.v); err != nil || string(got) != c.want {
			t.Errorf("%v: got %s, %v, want %s", c.v, got, err, c.want)
		}
	}
	if got, err := jsonvalue.Encode(math.NaN()); err == nil {
		t.Errorf("a number that JSON does not have is written as %s", got)
	}
}
