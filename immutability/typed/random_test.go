package typed

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// maker makes random types, schemas for them, and values of them.
type maker struct{ *rand.Rand }

func newMaker(seed uint64) maker { return maker{rand.New(rand.NewPCG(seed, 1))} }

func (m maker) chance(percent int) bool { return m.IntN(100) < percent }

func pick[T any](m maker, of ...T) T { return of[m.IntN(len(of))] }

// Base and Deep are embedded, which reflect.StructOf cannot do with unexported or methods-bearing types.
type Base struct {
	Name  string `json:"name"`
	Class string `json:"class,omitempty"`
}

type Deep struct {
	Base  `json:",inline"`
	Class string `json:"class"` // hides Base.Class
	Inner *Base  `json:"inner,omitempty"`
}

type pointed2 struct {
	*Deep
	Other []Base `json:"other"`
}

type Tree struct {
	Name     string           `json:"name"`
	Value    *int32           `json:"value,omitempty"`
	Children []Tree           `json:"children,omitempty"`
	Named    map[string]*Tree `json:"named"`
}

type Label string

// scalarTypes are the types that can be list-map keys and set items.
var scalarTypes = []reflect.Type{
	reflect.TypeFor[string](), reflect.TypeFor[Label](), reflect.TypeFor[int32](), reflect.TypeFor[bool](), reflect.TypeFor[int64](), reflect.TypeFor[uint16](),
}

var leafTypes = append([]reflect.Type{
	reflect.TypeFor[float64](), reflect.TypeFor[int](), reflect.TypeFor[uint64](), reflect.TypeFor[float32](),
	reflect.TypeFor[[]byte](), reflect.TypeFor[[]level](), reflect.TypeFor[[2]int16](), reflect.TypeFor[any](),
	reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.Duration](), reflect.TypeFor[resource.Quantity](), reflect.TypeFor[intstr.IntOrString](),
	reflect.TypeFor[json.RawMessage](), reflect.TypeFor[runtime.RawExtension](), reflect.TypeFor[Tree](), reflect.TypeFor[Deep](), reflect.TypeFor[pointed2](),
	// What they write does not decide whether they are left out, or what they have does not decide what they write.
	reflect.TypeFor[quiet](), reflect.TypeFor[*quiet](), reflect.TypeFor[quietText](), reflect.TypeFor[quietNumber](), reflect.TypeFor[quietList](), reflect.TypeFor[quietMap](), reflect.TypeFor[*quietMap](),
	reflect.TypeFor[nilIsNone](), reflect.TypeFor[*nilIsNone](), reflect.TypeFor[nilMapIsNone](), reflect.TypeFor[loud](), reflect.TypeFor[shy](), reflect.TypeFor[*shy](), reflect.TypeFor[masked](),
	reflect.TypeFor[embeds[string]](), reflect.TypeFor[embeds[*quiet]](), reflect.TypeFor[embeds[[]Base]](),
}, scalarTypes...)

// typ returns a random type.
func (m maker) typ(depth int) reflect.Type {
	if depth == 0 {
		return pick(m, leafTypes...)
	}
	switch m.IntN(8) {
	case 0:
		return reflect.PointerTo(m.typ(depth - 1))
	case 1, 2:
		return reflect.SliceOf(m.typ(depth - 1))
	case 3:
		return reflect.MapOf(pick(m, reflect.TypeFor[string](), reflect.TypeFor[Label](), reflect.TypeFor[int]()), m.typ(depth-1))
	case 4, 5:
		return m.structType(depth)
	case 6:
		return reflect.ArrayOf(m.IntN(3), m.typ(depth-1))
	}
	return pick(m, leafTypes...)
}

func (m maker) structType(depth int) reflect.Type {
	var fields []reflect.StructField
	for i := range 1 + m.IntN(5) {
		t := m.typ(depth - 1)
		if i == 0 && m.chance(70) {
			t = pick(m, scalarTypes...)
		}
		tag := fmt.Sprintf("p%d", i)
		switch m.IntN(12) {
		case 0:
			tag = ""
		case 1:
			tag = "-"
		}
		for _, option := range []string{"omitempty", "omitzero", "string"} {
			if m.chance(20) {
				tag += "," + option
			}
		}
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: t, Tag: reflect.StructTag(`json:"` + tag + `"`)})
	}
	return reflect.StructOf(fields)
}

// object is a schema as JSON.
type object = map[string]any

// schema returns a schema of t with locks.
func (m maker) schema(t reflect.Type, depth int, locked bool) object {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	s := object{}
	if writesItself(t) || depth > 6 {
		s["x-kubernetes-preserve-unknown-fields"] = true
		return m.lock(s, "", locked)
	}
	switch k := t.Kind(); {
	case k == reflect.Struct:
		s["type"] = "object"
		properties := object{}
		for _, f := range jsonFields(t) {
			if f.name == "metadata" {
				continue
			}
			p := m.schema(f.typ, depth+1, true)
			if m.chance(20) {
				p["x-kubernetes-normalize"] = pick(m, "undefined", "zero")
				if p["type"] == nil {
					p["x-kubernetes-normalize"] = "undefined"
				}
			}
			properties[f.name] = p
		}
		s["properties"] = properties
		return m.lock(s, "", locked)
	case k == reflect.Map:
		s["type"] = "object"
		s["additionalProperties"] = m.schema(t.Elem(), depth+1, true)
		return m.lock(s, "map", locked)
	case writtenAsText(t):
		s["type"] = "string"
	case k == reflect.Slice || k == reflect.Array:
		s["type"] = "array"
		return m.listSchema(s, t, depth, locked)
	case k == reflect.String:
		s["type"] = "string"
	case k == reflect.Bool:
		s["type"] = "boolean"
	case k >= reflect.Int && k <= reflect.Uintptr:
		s["type"] = "integer"
	case k == reflect.Float32 || k == reflect.Float64:
		s["type"] = "number"
	default:
		s["x-kubernetes-preserve-unknown-fields"] = true
	}
	return m.lock(s, "", locked)
}

func (m maker) listSchema(s object, t reflect.Type, depth int, locked bool) object {
	elem := t.Elem()
	for elem.Kind() == reflect.Pointer {
		elem = elem.Elem()
	}
	if hashOf(elem) != nil && m.chance(60) {
		s["x-kubernetes-list-type"] = "set"
		s["items"] = m.schema(elem, depth+1, false)
		return m.lock(s, "set", locked)
	}
	items := m.schema(elem, depth+1, true)
	s["items"] = items
	if elem.Kind() == reflect.Struct && items["properties"] != nil && m.chance(80) {
		var keys []any
		for _, f := range jsonFields(elem) {
			if hashOf(f.typ) != nil && len(keys) < 2 && !f.quoted {
				keys = append(keys, f.name)
				key := items["properties"].(object)[f.name].(object)
				delete(key, "x-fieldlock-update")
				delete(key, "x-kubernetes-normalize")
				key["x-kubernetes-immutable"] = true
				if m.chance(30) {
					key["default"] = pick[any](m, "", "a", 0, 1, true)
				}
			}
		}
		if len(keys) > 0 {
			s["x-kubernetes-list-type"], s["x-kubernetes-list-map-keys"] = "map", keys
			return m.lock(s, "map", locked)
		}
	}
	return m.lock(s, "", locked)
}

// lock adds locks to a schema that has keys of some sort.
func (m maker) lock(s object, keys string, allowed bool) object {
	if !allowed || !m.chance(35) {
		return s
	}
	switch choice := m.IntN(4); {
	case choice == 0:
		s["x-kubernetes-immutable"] = true
	case choice == 1 && keys == "map":
		s[pick(m, "x-kubernetes-immutable-keys", "x-kubernetes-addition-only", "x-kubernetes-deletion-only")] = true
	case choice == 1 && keys == "set":
		s[pick(m, "x-kubernetes-addition-only", "x-kubernetes-deletion-only")] = true
	default:
		words := []any{}
		for _, w := range []string{"NoSet", "NoUnset", "NoModify"} {
			if m.chance(50) {
				words = append(words, w)
			}
		}
		if len(words) > 0 {
			s["x-fieldlock-update"] = words
		}
	}
	return s
}

var someTexts = []string{"", "a", "b", "c", "0", "\xff", "\xfe", "ä"}

// fill sets v to a random value.
func (m maker) fill(v reflect.Value, depth int) {
	switch p := v.Addr().Interface().(type) {
	case *metav1.Time:
		*p = pick(m, metav1.Time{}, metav1.NewTime(time.Unix(int64(m.IntN(3)), 0)), metav1.NewTime(time.Unix(1, 0).UTC()), metav1.NewTime(time.Unix(1, 5)))
		return
	case *resource.Quantity:
		*p = pick(m, resource.Quantity{}, resource.MustParse("1"), resource.MustParse("1000m"), resource.MustParse("1Ki"), resource.MustParse("1024"), resource.MustParse("0.5"), resource.MustParse("500m"), resource.MustParse("0.500"),
			resource.MustParse("+1"), resource.MustParse("1E3"), resource.MustParse("1e3"), resource.MustParse("1k"), resource.MustParse("100000000000000000000"), decimal("1"), decimal("0.5"), *resource.NewQuantity(1, resource.BinarySI))
		if m.chance(30) {
			_ = p.String() // remembers the text
		}
		return
	case *intstr.IntOrString:
		*p = pick(m, intstr.FromInt32(0), intstr.FromInt32(1), intstr.FromString("1"), intstr.IntOrString{IntVal: 1, StrVal: "x"})
		return
	case *json.RawMessage:
		*p = pick(m, nil, json.RawMessage(`null`), json.RawMessage(`{"a":1}`), json.RawMessage(`{"a":1.0}`), json.RawMessage(`[]`))
		return
	case *runtime.RawExtension:
		*p = pick(m, runtime.RawExtension{}, runtime.RawExtension{Raw: []byte(`{"a":1}`)}, runtime.RawExtension{Raw: []byte(`{ "a":1}`)}, runtime.RawExtension{Object: &metav1.Status{Message: "a"}})
		return
	case *quietText:
		*p = pick(m, quietText(""), "a", "quiet")
		return
	case *quietList:
		*p = pick(m, nil, quietList{}, quietList{"quiet"}, quietList{"a"})
		return
	case *quietMap:
		*p = pick(m, nil, quietMap{}, quietMap{"quiet": ""}, quietMap{"quiet": "yes"}, quietMap{"a": "b"})
		return
	case *masked:
		*p = masked{inner{pick(m, someTexts...)}}
		return
	case *any:
		*p = pick[any](m, nil, "a", int64(1), 1.0, map[string]any{"a": int64(1)}, []any{}, []any{"a"}, &Base{Name: "a"}, &Base{Name: "b"},
			[]any(nil), map[string]any(nil), int32(1), float32(0.1), 0.1, float64(float32(0.1)), math.Copysign(0, -1), 0.0, int64(0), uint64(1<<63), float64(1<<63),
			json.Number("1"), json.Number("1.0"), []string{"a"}, signed(0), signed(math.Copysign(0, -1)), &leftOut[float64]{}, &leftOut[float64]{math.Copysign(0, -1)},
			map[string]any{"a": []any(nil)}, map[string]any{"a": nil}, resource.MustParse("1"), resource.MustParse("+1"))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(pick(m, someTexts...))
	case reflect.Bool:
		v.SetBool(m.chance(50))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(m.IntN(4) - 1))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(m.IntN(3)))
		if v.Kind() == reflect.Uint64 && m.chance(10) {
			v.SetUint(1<<63 + uint64(m.IntN(2)))
		}
	case reflect.Float32, reflect.Float64:
		v.SetFloat(pick(m, 0, math.Copysign(0, -1), 0.5, 0.1, 1))
	case reflect.Pointer:
		if m.chance(70) && depth < 6 {
			v.Set(reflect.New(v.Type().Elem()))
			m.fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		if m.chance(20) {
			return
		}
		n := m.IntN(4)
		if depth >= 6 {
			n = 0
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			m.fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		if m.chance(20) {
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		for range m.IntN(4) {
			if depth >= 6 {
				break
			}
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			m.fill(key, depth+1)
			m.fill(value, depth+1)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				m.fill(v.Field(i), depth+1)
			}
		}
	}
}

// change changes something in v, or nothing.
func (m maker) change(v reflect.Value, depth int) {
	if writesItself(v.Type()) || m.chance(12) {
		if m.chance(60) {
			m.fill(v, depth)
		} else {
			v.SetZero()
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			m.change(v.Elem(), depth+1)
		}
	case reflect.Slice:
		if n := v.Len(); n > 0 {
			switch m.IntN(5) {
			case 0:
				m.Shuffle(n, reflect.Swapper(v.Interface()))
			case 1:
				v.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, n), v.Slice(0, n-1)))
			case 2:
				item := reflect.New(v.Type().Elem()).Elem()
				m.fill(item, depth+1)
				v.Set(reflect.Append(v, item))
			default:
				m.change(v.Index(m.IntN(n)), depth+1)
			}
		} else if m.chance(50) {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		for _, key := range keys {
			if m.chance(40) {
				value := reflect.New(v.Type().Elem()).Elem()
				value.Set(v.MapIndex(key))
				m.change(value, depth+1)
				v.SetMapIndex(key, value)
			} else if m.chance(20) {
				v.SetMapIndex(key, reflect.Value{})
			}
		}
	case reflect.Struct:
		if n := v.NumField(); n > 0 {
			if f := v.Field(m.IntN(n)); f.CanSet() {
				m.change(f, depth+1)
			}
		}
	default:
		if v.CanSet() {
			m.fill(v, depth)
		}
	}
}

func describeType(t reflect.Type) string {
	return strings.NewReplacer("; ", ";\n\t", "struct { ", "struct {\n\t").Replace(t.String())
}
