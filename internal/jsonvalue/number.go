package jsonvalue

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
)

// equalNumbers compares two values. The first is not a string, object, list, boolean or null.
func equalNumbers(a, b any) bool {
	na, ok := numberOf(a)
	if !ok {
		return reflect.DeepEqual(a, b)
	}
	nb, ok := numberOf(b)
	return ok && na == nb
}

// number is a JSON number in the one form that equal numbers share: an integer in the range of int64, otherwise a
// float.
type number struct {
	integer int64
	float   float64 // 0 for integers
}

// numberOf returns v as a number; ok is false if v is not a number.
func numberOf(v any) (n number, ok bool) {
	switch v := v.(type) {
	case int64:
		return number{integer: v}, true
	case float64:
		return numberOfFloat(v), true
	case int:
		return number{integer: int64(v)}, true
	case int32:
		return number{integer: int64(v)}, true
	case int16:
		return number{integer: int64(v)}, true
	case int8:
		return number{integer: int64(v)}, true
	case uint64:
		return numberOfUint(v), true
	case uint:
		return numberOfUint(uint64(v)), true
	case uint32:
		return number{integer: int64(v)}, true
	case uint16:
		return number{integer: int64(v)}, true
	case uint8:
		return number{integer: int64(v)}, true
	case float32:
		return numberOfFloat32(v), true
	case json.Number:
		if i, err := v.Int64(); err == nil { // not with a fraction or an exponent
			return number{integer: i}, true
		}
		f, err := v.Float64()
		return numberOfFloat(f), err == nil
	}
	return number{}, false
}

// numberOfUint is the number that util/json decodes the digits of u to: a float64 beyond the range of int64.
func numberOfUint(u uint64) number {
	if u <= math.MaxInt64 {
		return number{integer: int64(u)}
	}
	return number{float: float64(u)}
}

// numberOfFloat32 is the number that util/json decodes the shortest text of f to: 0.1 for float32(0.1), which is
// another float64 than float64(float32(0.1)).
func numberOfFloat32(f float32) number {
	var text [32]byte
	exact, err := strconv.ParseFloat(string(strconv.AppendFloat(text[:0], float64(f), 'g', -1, 32)), 64)
	if err != nil {
		exact = float64(f)
	}
	return numberOfFloat(exact)
}

// numberOfFloat gives -0.0 and every integral float in the range of int64 the form of that integer.
func numberOfFloat(f float64) number {
	if f >= -1<<63 && f < 1<<63 && f == math.Trunc(f) {
		return number{integer: int64(f)}
	}
	return number{float: f}
}
