package typed

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/testing/setting"
)

// outcome counts what happened in random trials.
type outcome struct {
	types, unplanned, updates, allowed, proved int
}

// try makes a type, a schema and some updates from a seed, and compares the plan with what encoding/json writes.
func try(t *testing.T, seed uint64, o *outcome) {
	t.Helper()
	m := newMaker(seed)
	typ := m.structType(3)
	schema := m.schema(typ, 0, false)
	data, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	var s spec.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	v, err := immutability.Compile(&s)
	if err != nil || v.Empty() {
		return
	}
	o.types++
	plan, err := CompileType(v, typ)
	if err != nil {
		o.unplanned++
		if !strings.Contains(err.Error(), ".") {
			t.Errorf("the error names no field: %v", err)
		}
		return
	}
	for range 12 {
		fillSeed := m.Uint64()
		newObj, oldObj := reflect.New(typ), reflect.New(typ)
		newMaker(fillSeed).fill(newObj.Elem(), 0)
		newMaker(fillSeed).fill(oldObj.Elem(), 0)
		for range m.IntN(4) {
			m.change(newObj.Elem(), 0)
		}
		compareUpdate(t, plan, v, newObj, oldObj, o)
		if t.Failed() {
			t.Fatalf("seed %d\nschema %s\ntype %s", seed, data, describeType(typ))
		}
	}
}

// compareUpdate compares what a plan says of an update with what v says of the objects as encoding/json writes them,
// and the objects with copies from before.
func compareUpdate(t *testing.T, plan *Plan, v *immutability.Validator, newObj, oldObj reflect.Value, o *outcome) {
	t.Helper()
	newCopy, oldCopy := deepCopy(newObj), deepCopy(oldObj)
	defer func() {
		for _, pair := range [][2]reflect.Value{{newObj, newCopy}, {oldObj, oldCopy}} {
			if !reflect.DeepEqual(pair[0].Interface(), pair[1].Interface()) {
				t.Errorf("the check wrote to an object:\n%#v\nwas\n%#v", pair[0].Elem(), pair[1].Elem())
			}
		}
	}()
	newJSON, newErr := json.Marshal(newObj.Interface())
	oldJSON, oldErr := json.Marshal(oldObj.Interface())
	if newErr != nil || oldErr != nil {
		return
	}
	want, err := v.CheckJSON(newJSON, oldJSON)
	if err != nil {
		t.Fatal(err)
	}
	o.updates++
	proved := plan.accepts(newObj.UnsafePointer(), oldObj.UnsafePointer())
	if proved && !want.Allowed() {
		t.Errorf("the plan lets through %v\nnew %s\nold %s", want.ErrorList(), newJSON, oldJSON)
	}
	if want.Allowed() {
		o.allowed++
		if proved {
			o.proved++
		}
	}
	got, err := plan.Check(newObj.Interface(), oldObj.Interface())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(errorTexts(want.ErrorList()), errorTexts(got.ErrorList())); diff != "" {
		t.Errorf("(-JSON +plan):\n%s", diff)
	}
	errs := plan.ValidateUpdate(newObj.Interface(), oldObj.Interface())
	if diff := cmp.Diff(errorTexts(want.ErrorList()), errorTexts(errs)); diff != "" {
		t.Errorf("errors (-JSON +plan):\n%s", diff)
	}
}

// compileText compiles a schema.
func compileText(t *testing.T, schema string) *immutability.Validator {
	t.Helper()
	var s spec.Schema
	if err := json.Unmarshal([]byte(schema), &s); err != nil {
		t.Fatal(err)
	}
	return immutability.MustCompile(&s)
}

func errorTexts(errs field.ErrorList) []string {
	var list []string
	for _, e := range errs {
		list = append(list, e.Error())
	}
	return list
}

// TestPlanAgreesWithJSON tries random types, schemas and updates.
func TestPlanAgreesWithJSON(t *testing.T) {
	const trials = 800
	var o outcome
	for seed := range uint64(trials) {
		try(t, seed, &o)
	}
	t.Logf("%+v", o)
	if o.proved*100 < o.allowed*75 {
		t.Errorf("only %d of %d allowed updates were proved without JSON", o.proved, o.allowed)
	}
	if o.types-o.unplanned < trials/10 {
		t.Errorf("only %d of %d types were planned", o.types-o.unplanned, trials)
	}
}

// TestNewUpdates tries random types, schemas and updates. FIELDLOCK_UPDATES says how many updates.
func TestNewUpdates(t *testing.T) {
	updates, random := setting.Int(t, "FIELDLOCK_UPDATES", 4_000), rand.New(rand.NewPCG(setting.Seed(t), 0))
	var o outcome
	for o.updates < updates {
		try(t, random.Uint64(), &o)
	}
	t.Logf("%+v", o)
}

// TestConcurrentUse is for the race detector: many checks read the same objects.
func TestConcurrentUse(t *testing.T) {
	type spec struct {
		Sum    resource.Quantity            `json:"sum"`
		Limits map[string]resource.Quantity `json:"limits"`
		Time   metav1.Time                  `json:"time"`
		Port   intstr.IntOrString           `json:"port"`
		Raw    runtime.RawExtension         `json:"raw"`
		Any    any                          `json:"any"`
		Size   *resource.Quantity           `json:"size,omitzero"`
	}
	now := metav1.NewTime(time.Unix(1, 0))
	oldObj := &one[spec]{spec{decimal("1"), map[string]resource.Quantity{"cpu": decimal("1500m")}, now, intstr.FromInt32(1), runtime.RawExtension{Raw: []byte(`{}`)}, decoded(), to(decimal("1"))}}
	newObj := &one[spec]{spec{resource.MustParse("1"), map[string]resource.Quantity{"cpu": resource.MustParse("1500m")}, now, intstr.FromInt32(1), runtime.RawExtension{Raw: []byte(`{}`)}, decoded(), to(resource.MustParse("1"))}}
	changed := &one[spec]{newObj.V}
	changed.V.Time = metav1.NewTime(time.Unix(2, 0).In(time.FixedZone("", 3600)))
	plan, err := CompileType(compileText(t, `{"type":"object","properties":{"v":{"x-kubernetes-preserve-unknown-fields":true,`+locked+`}}}`), reflect.TypeFor[one[spec]]())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if errs := plan.ValidateUpdate(newObj, oldObj); errs != nil {
					t.Error(errs)
				}
				if errs := plan.ValidateUpdate(changed, oldObj); len(errs) != 1 {
					t.Errorf("%d errors, want 1", len(errs))
				}
			}
		})
	}
	wg.Wait()
}

// deepCopy copies a value and everything below it, also what is not exported. Places of the world are shared.
func deepCopy(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && v.Type().Elem() != locationType {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(deepCopy(v.Elem()))
		}
	case reflect.Interface:
		if !v.IsNil() {
			out.Set(deepCopy(v.Elem()))
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		}
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			out.Index(i).Set(deepCopy(v.Index(i)))
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMap(v.Type()))
			for key, value := range v.Seq2() {
				out.SetMapIndex(key, deepCopy(value))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := out.Field(i)
			field = reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem()
			field.Set(deepCopy(field))
		}
	}
	return out
}

func FuzzPlan(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { try(t, seed, &outcome{}) })
}

// TestJSONFields compares the fields with what encoding/json writes.
func TestJSONFields(t *testing.T) {
	type left struct{ A, B string }
	type right struct {
		A string
		C string `json:"B"`
	}
	type hidden struct {
		Shown string `json:"shown"`
	}
	//lint:ignore U1000 encoding/json does not write an embedded text
	type text string
	type tagged struct {
		left
		right
		*hidden
		X int `json:"-"`
		//lint:ignore SA5008 encoding/json calls this field "-"
		Y int `json:"-,"`
		Z int `json:"a/b,omitempty"`
		W int `json:"what?"`
		//lint:ignore SA5008 encoding/json ignores a name like this one
		Bad    int `json:"ba\\d"`
		lower  int
		within struct{ A int }
		//lint:ignore U1000 the same
		text
		Base   `json:"base"`
		Inline Base `json:",inline"`
		Label
	}
	type swapped struct { // as in tagged, in the other order
		right
		left
	}
	type lowered struct {
		A     string
		lower string
	}
	type leaf struct{ L string }
	type leftArm struct{ leaf }
	type rightArm struct{ leaf }
	type bothArms struct { // which L is meant nobody can tell, so none is written
		leftArm
		rightArm
		M string
	}
	type twice struct {
		Deep
		Other struct{ Name string }
	}
	for _, v := range []any{tagged{left: left{"a", "b"}, right: right{"a", "c"}, hidden: &hidden{}, Z: 1}, swapped{right{"a", "c"}, left{"a", "b"}}, twice{}, Ring{A: "a", Ring: &Ring{A: "b"}}, lowered{A: "a"}, bothArms{M: "m"}, Deep{Inner: &Base{Class: "x"}, Base: Base{Class: "y"}}, pointed2{Deep: &Deep{}}} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var want map[string]any
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, f := range jsonFields(reflect.TypeOf(v)) {
			field, err := reflect.ValueOf(v).FieldByIndexErr(f.index)
			if err != nil || f.omitEmpty && want[f.name] == nil {
				continue
			}
			got[f.name] = true
			if text := fmt.Sprint(field); field.Kind() == reflect.String && text != want[f.name] {
				t.Errorf("%T: %q is found to be %q, and written as %q", v, f.name, text, want[f.name])
			}
		}
		for name := range want {
			if !got[name] {
				t.Errorf("%T: %q is written and not found", v, name)
			}
			delete(got, name)
		}
		if len(got) > 0 {
			t.Errorf("%T: %v are found and not written", v, got)
		}
	}
	_, _, _ = tagged{}.lower, tagged{}.within, lowered{}.lower
}

// Ring embeds itself.
type Ring struct {
	A string
	*Ring
}

// TestHide: addresses of variables are used while the stack grows.
func TestHide(t *testing.T) {
	m, copied := map[string]string{"a": "x", "b": "y"}, map[string]string{"a": "x", "b": "y"}
	n := 0
	var grow func(depth int) int
	grow = func(depth int) int {
		var room [256]byte
		if depth == 0 {
			return int(room[0])
		}
		return grow(depth-1) + int(room[depth%256])
	}
	(&mapComparer{layout[string]{}, comparerFunc(func(value, other unsafe.Pointer) bool {
		grow(1000)
		if v := *(*string)(value); v == *(*string)(other) && (v == "x" || v == "y") {
			n++
		}
		return true
	})}).equal(unsafe.Pointer(&m), unsafe.Pointer(&copied), 0)
	if n != 2 {
		t.Errorf("%d values were read right, want 2", n)
	}
}

type comparerFunc func(a, b unsafe.Pointer) bool

func (f comparerFunc) equal(a, b unsafe.Pointer, _ int) bool { return f(a, b) }

// TestEndingOf: texts of one length with different endings differ, and what is not ASCII is found at every place.
func TestEndingOf(t *testing.T) {
	for n := range 40 {
		for at := range n {
			for _, letter := range []string{"a", "\x7f", "\x80", "\xff", "é"} {
				s := strings.Repeat("x", at) + letter + strings.Repeat("x", n-at-1)
				want := letter[0] < 0x80
				if _, letters := endingOf(s); (letters&highs == 0) != want {
					t.Errorf("%q: letters %x, want ASCII %v", s, letters, want)
				}
			}
		}
	}
	for _, pair := range [][2]string{{"", ""}, {"a", "b"}, {"ab", "ba"}, {"abc", "abd"}, {"node-8", "node-9"}, {"node-10", "node-11"}, {"a-long-name-1", "a-long-name-2"}} {
		a, _ := endingOf(pair[0])
		b, _ := endingOf(pair[1])
		if (a < b) != (pair[0] < pair[1]) {
			t.Errorf("%q and %q: %x and %x", pair[0], pair[1], a, b)
		}
	}
}
