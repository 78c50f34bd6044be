package typed_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/typed"
)

// Volume is a native type whose update was validated by hand.
type Volume struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec VolumeSpec `json:"spec"`
}

// VolumeSpec has fields of the shapes that differ between Go and JSON.
type VolumeSpec struct {
	Class    *string           `json:"class,omitempty"`
	Size     int64             `json:"size"`
	Modes    []string          `json:"modes"`
	Selector map[string]string `json:"selector,omitempty"`
	Reclaim  string            `json:"reclaim,omitempty"`
	Weight   float64           `json:"weight,omitempty"`
}

// byHand is the validation that the schema below replaces.
func byHand(newVolume, oldVolume *Volume) field.ErrorList {
	path := field.NewPath("spec")
	errs := validation.ValidateImmutableField(newVolume.Spec.Class, oldVolume.Spec.Class, path.Child("class"))
	errs = append(errs, validation.ValidateImmutableField(newVolume.Spec.Modes, oldVolume.Spec.Modes, path.Child("modes"))...)
	errs = append(errs, validation.ValidateImmutableField(newVolume.Spec.Selector, oldVolume.Spec.Selector, path.Child("selector"))...)
	return append(errs, validation.ValidateImmutableField(newVolume.Spec.Size, oldVolume.Spec.Size, path.Child("size"))...)
}

func validatorOf(schema string) *immutability.Validator {
	var s spec.Schema
	if err := yaml.Unmarshal([]byte(schema), &s); err != nil {
		panic(err)
	}
	return immutability.MustCompile(&s)
}

// volumeLocks is what the markers +immutable and, for modes, +normalize=zero make of the type's schema.
func volumeLocks() *immutability.Validator {
	return validatorOf(`
type: object
properties:
  spec:
    type: object
    properties:
      class: {type: string, x-kubernetes-immutable: true}
      size: {type: integer, x-kubernetes-immutable: true}
      modes: {type: array, items: {type: string}, x-kubernetes-immutable: true, x-kubernetes-normalize: zero}
      selector: {type: object, additionalProperties: {type: string}, x-kubernetes-immutable: true}
      reclaim: {type: string}
`)
}

func compile[T any](t testing.TB, v *immutability.Validator) *typed.Validator[T] {
	t.Helper()
	validator, err := typed.Compile[T](v)
	if err != nil {
		t.Fatal(err)
	}
	return validator
}

func TestAsByHand(t *testing.T) {
	fast, slow := "fast", "slow"
	base := func() *Volume {
		return &Volume{Spec: VolumeSpec{Class: &fast, Size: 1, Modes: []string{"rw"}, Selector: map[string]string{"a": "b"}}}
	}
	v := compile[Volume](t, volumeLocks())
	for _, row := range []struct {
		reason         string
		oldVal, newVal func(*VolumeSpec)
		want           int
	}{
		{reason: "nothing changes"},
		{reason: "an unlocked field changes", newVal: func(s *VolumeSpec) { s.Reclaim = "Delete" }},
		{reason: "a pointer's value changes", newVal: func(s *VolumeSpec) { s.Class = &slow }, want: 1},
		{reason: "a pointer is unset", newVal: func(s *VolumeSpec) { s.Class = nil }, want: 1},
		{reason: "a pointer is set", oldVal: func(s *VolumeSpec) { s.Class = nil }, want: 1},
		{reason: "a number becomes zero", newVal: func(s *VolumeSpec) { s.Size = 0 }, want: 1},
		{reason: "a list is reordered", oldVal: func(s *VolumeSpec) { s.Modes = []string{"a", "b"} }, newVal: func(s *VolumeSpec) { s.Modes = []string{"b", "a"} }, want: 1},
		{reason: "nil and empty list are one", oldVal: func(s *VolumeSpec) { s.Modes = nil }, newVal: func(s *VolumeSpec) { s.Modes = []string{} }},
		{reason: "nil and empty map are one", oldVal: func(s *VolumeSpec) { s.Selector = nil }, newVal: func(s *VolumeSpec) { s.Selector = map[string]string{} }},
		{reason: "a map's value changes", newVal: func(s *VolumeSpec) { s.Selector["a"] = "c" }, want: 1},
		{reason: "all change", newVal: func(s *VolumeSpec) { *s = VolumeSpec{} }, want: 4},
	} {
		t.Run(row.reason, func(t *testing.T) {
			oldVolume, newVolume := base(), base()
			newVolume.Spec.Class = &[]string{fast}[0]
			if row.oldVal != nil {
				row.oldVal(&oldVolume.Spec)
			}
			if row.newVal != nil {
				row.newVal(&newVolume.Spec)
			}
			got := v.ValidateUpdate(newVolume, oldVolume)
			want := byHand(newVolume, oldVolume)
			if len(want) != row.want {
				t.Fatalf("the validation by hand gives %v, want %d errors", want, row.want)
			}
			if diff := cmp.Diff(texts(want), texts(got)); diff != "" {
				t.Errorf("(-by hand +locks):\n%s", diff)
			}
		})
	}
}

// texts are the errors without their values, which a Go object and decoded JSON print in two ways.
func texts(errs field.ErrorList) []string {
	var list []string
	for _, err := range errs {
		list = append(list, fmt.Sprintf("%s: %s: %s", err.Field, err.Type, err.Detail[:min(len(err.Detail), len("field is immutable"))]))
	}
	return list
}

func TestNilAndUnwritable(t *testing.T) {
	v := compile[Volume](t, validatorOf(`{type: object, properties: {spec: {type: object, x-kubernetes-immutable: true}}}`))
	for _, row := range []struct {
		reason         string
		newObj, oldObj *Volume
		want           string
	}{
		{"nil is an object without fields", nil, nil, ""},
		{"its spec is absent", &Volume{}, nil, "spec: Invalid value"},
		{"on either side", nil, &Volume{}, "spec: Invalid value"},
		{"a NaN has no JSON form", &Volume{Spec: VolumeSpec{Weight: math.NaN()}}, &Volume{}, "writing the new object"},
		{"on either side", &Volume{}, &Volume{Spec: VolumeSpec{Weight: math.NaN()}}, "writing the old object"},
		{"not even twice", &Volume{Spec: VolumeSpec{Weight: math.NaN()}}, &Volume{Spec: VolumeSpec{Weight: math.NaN()}}, "cannot be checked"},
		{"nor has an infinity", &Volume{Spec: VolumeSpec{Weight: math.Inf(1)}}, &Volume{Spec: VolumeSpec{Weight: math.Inf(1)}}, "cannot be checked"},
		{"of either sign", &Volume{Spec: VolumeSpec{Weight: math.Inf(-1)}}, &Volume{Spec: VolumeSpec{Weight: math.Inf(-1)}}, "cannot be checked"},
	} {
		errs := v.ValidateUpdate(row.newObj, row.oldObj)
		if text := fmt.Sprint(errs.ToAggregate()); (len(errs) == 0) != (row.want == "") || !strings.Contains(text, row.want) {
			t.Errorf("%s: %v, want %q", row.reason, errs, row.want)
		}
		report, err := v.Check(row.newObj, row.oldObj)
		if allowed := err == nil && report.Allowed(); allowed != (row.want == "") {
			t.Errorf("%s: Check gives %v, %v", row.reason, report, err)
		}
		if err != nil && !strings.Contains(err.Error(), row.want) && !strings.Contains(err.Error(), "writing the") {
			t.Errorf("%s: Check does not name the side: %v", row.reason, err)
		}
	}
	if _, err := typed.Compile[Volume](&immutability.Validator{}); err == nil {
		t.Error("a validator without a schema is compiled")
	}
	type loose struct {
		V any `json:"v"`
	}
	anyLocked := compile[loose](t, validatorOf(`{type: object, properties: {v: {x-kubernetes-immutable: true, x-kubernetes-preserve-unknown-fields: true}}}`))
	for _, value := range []any{math.Inf(1), float32(math.Inf(-1)), []any{math.Inf(1)}} {
		if errs := anyLocked.ValidateUpdate(&loose{value}, &loose{value}); len(errs) != 1 {
			t.Errorf("%v in any has no JSON form: %v", value, errs)
		}
	}
	type shared struct {
		V *float64 `json:"v"`
	}
	weight := math.NaN()
	if errs := compile[shared](t, validatorOf(`{type: object, properties: {v: {x-kubernetes-immutable: true}}}`)).ValidateUpdate(&shared{&weight}, &shared{&weight}); errs != nil {
		t.Errorf("what both objects share is written: %v", errs)
	}
	empty := compile[Volume](t, validatorOf(`{type: object}`))
	for _, old := range []*Volume{nil, {}} {
		if errs := empty.ValidateUpdate(&Volume{}, old); errs != nil {
			t.Errorf("without locks: %v", errs)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	type loop struct {
		Done chan int `json:"done"`
	}
	type keys struct {
		List []struct {
			Name json.RawMessage `json:"name"`
		} `json:"list"`
		Texts []string       `json:"texts"`
		Time  metav1.Time    `json:"time"`
		Loop  loop           `json:"loop"`
		Any   any            `json:"any"`
		Odd   map[loop2]bool `json:"odd"`
		Bytes []byte         `json:"bytes"`
		Loops []struct {
			Name string   `json:"name"`
			Done chan int `json:"done"`
		} `json:"loops"`
		Chans   []chan int          `json:"chans"`
		Named   map[string]chan int `json:"named"`
		Pointed *chan int           `json:"pointed"`
		Outer   struct{ loop }      `json:"outer"`
	}
	inSpec := func(schema string) string {
		return `{type: object, properties: {` + schema + `}}`
	}
	for _, row := range []struct {
		name, reason, schema string
		want                 []string
	}{
		{"no field", "a lock that nothing would enforce", inSpec(`class: {type: string, x-kubernetes-immutable: true}`), []string{`"class"`, "typed_test.keys"}},
		{"no JSON form", "encoding/json fails", inSpec(`loop: {type: object, x-kubernetes-immutable: true}`), []string{"keys.Loop.Done", "chan int"}},
		{"values of no JSON form", "they are compared as a whole, because the keys are those of a struct", inSpec(`loop: {type: object, additionalProperties: {x-kubernetes-immutable: true}}`), []string{"keys.Loop.Done", "chan int"}},
		{"whole items of no JSON form", "they are compared as a whole, too", inSpec(`loops: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, x-kubernetes-immutable: true, properties: {name: {type: string}}}}`), []string{"keys.Loops[].Done", "chan int"}},
		{"a set of no JSON form", "its items are the keys", inSpec(`chans: {type: array, x-kubernetes-list-type: set, items: {type: string}, x-kubernetes-addition-only: true}`), []string{"keys.Chans[]", "chan int"}},
		{"an item of no JSON form", "they belong together by index", inSpec(`chans: {type: array, items: {type: string, x-kubernetes-immutable: true}}`), []string{"keys.Chans[]", "chan int"}},
		{"a value of no JSON form", "its lock cannot be planned", inSpec(`named: {type: object, additionalProperties: {x-kubernetes-immutable: true}}`), []string{"keys.Named[]", "chan int"}},
		{"an optional value of no JSON form", "the same behind a pointer", inSpec(`pointed: {x-fieldlock-update: [NoUnset]}`), []string{"keys.Pointed", "chan int"}},
		{"a whole value of no JSON form", "it is compared as a whole", inSpec(`named: {type: object, x-kubernetes-immutable: true}`), []string{"keys.Named[]", "chan int"}},
		{"an embedded part of no JSON form", "it is written in the outer object", inSpec(`outer: {type: object, x-kubernetes-immutable: true}`), []string{"keys.Outer.loop.Done", "chan int"}},
		{"inside a named map", "the schema has a list", inSpec(`named: {type: array, items: {x-kubernetes-immutable: true}}`), []string{"keys.Named", "has a list"}},
		{"keys of no form", "encoding/json fails", inSpec(`odd: {type: object, x-kubernetes-immutable: true}`), []string{"keys.Odd", "map[typed_test.loop2]bool"}},
		{"inside its own JSON", "where its parts are is not known", inSpec(`time: {type: object, properties: {a: {type: string, x-kubernetes-immutable: true}}}`), []string{"keys.Time", "v1.Time writes its own JSON"}},
		{"inside any", "the same", inSpec(`any: {type: object, properties: {a: {type: string, x-kubernetes-immutable: true}}}`), []string{"keys.Any", "interface"}},
		{"inside bytes", "they are written as text", inSpec(`bytes: {type: array, items: {type: integer, x-kubernetes-immutable: true}}`), []string{"keys.Bytes", "uint8"}},
		{"object for a list", "the schema is another type's", inSpec(`texts: {type: object, properties: {a: {type: string, x-kubernetes-immutable: true}}}`), []string{"keys.Texts", "[]string"}},
		{"list for an object", "the schema is another type's", inSpec(`loop: {type: array, items: {type: string, x-kubernetes-immutable: true}}`), []string{"keys.Loop", "has a list"}},
		{"keyed texts", "texts have no keys", inSpec(`texts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], x-kubernetes-immutable-keys: true, items: {type: object, properties: {name: {type: string, x-kubernetes-immutable: true}}}}`), []string{"keys.Texts", "only structs have keys"}},
		{"key of no form", "it is compared with a default", inSpec(`list: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], x-kubernetes-immutable-keys: true, items: {type: object, properties: {name: {type: string, x-kubernetes-immutable: true}}}}`), []string{"keys.List[].Name", `list-map key "name"`}},
		{"key without a field", "no item would have it", inSpec(`list: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id], x-kubernetes-immutable-keys: true, items: {type: object, properties: {id: {type: string, x-kubernetes-immutable: true}}}}`), []string{"keys.List[]", `list-map key "id"`}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := typed.Compile[keys](validatorOf(row.schema))
			if err == nil {
				t.Fatalf("no error: %s", row.reason)
			}
			for _, want := range row.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v; want %q in it: %s", err, want, row.reason)
				}
			}
		})
	}
	if _, err := typed.Compile[Volume](nil); err == nil {
		t.Error("a nil validator is taken")
	}
	if _, err := typed.Compile[string](volumeLocks()); err == nil {
		t.Error("a string is taken for an object")
	}
	if _, err := typed.CompileType(volumeLocks(), nil); err == nil {
		t.Error("no type is taken for an object")
	}
	plan, err := typed.CompileType(volumeLocks(), reflect.TypeFor[Volume]())
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]any{{Volume{}, Volume{}}, {&Volume{}, nil}, {&Volume{}, &metav1.Status{}}} {
		if errs := plan.ValidateUpdate(pair[0], pair[1]); len(errs) != 1 || errs[0].Type != field.ErrorTypeInternal || !strings.Contains(errs[0].Error(), "the locks are planned for *typed_test.Volume") {
			t.Errorf("%T and %T: %v", pair[0], pair[1], errs)
		}
		if _, err := plan.Check(pair[0], pair[1]); err == nil {
			t.Errorf("%T and %T: Check takes them", pair[0], pair[1])
		}
	}
	if errs := plan.ValidateUpdate((*Volume)(nil), &Volume{}); errs != nil {
		t.Errorf("a nil pointer is an object without fields, and a spec may come: %v", errs)
	}
}

type loop2 struct{ A string }

// Knot can refer to itself in every way.
type Knot struct {
	Name    string           `json:"name"`
	Zone    string           `json:"zone,omitempty"`
	Next    *Knot            `json:"next,omitempty"`
	List    []Knot           `json:"list,omitempty"`
	Keyed   []Knot           `json:"keyed,omitempty"`
	Unkeyed []*Knot          `json:"unkeyed,omitempty"`
	Named   map[string]Knot  `json:"named,omitempty"`
	ByName  map[string]*Knot `json:"byName,omitempty"`
	Any     any              `json:"any,omitempty"`
}

// TestKeyedListsInKeyedLists: of each list the first item is in its place and the others are not. 60 levels
// would never end if some level looked at its items twice.
func TestKeyedListsInKeyedLists(t *testing.T) {
	const depth = 60
	const items = `type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {$ref: "#/definitions/k"}`
	v := compile[Knot](t, validatorOf(`{type: object, properties: {keyed: {`+items+`}, unkeyed: {`+items+`}},
		definitions: {k: {type: object, properties: {name: {type: string}, zone: {type: string, x-kubernetes-immutable: true}, keyed: {`+items+`}, unkeyed: {`+items+`}}}}}`))
	for _, names := range [][2]string{{"abc", "acb"}, {"abcdefghij", "acbdefghij"}, {"äbc", "äcb"}, {"abc", "cba"}, {"abc", "acbd"}} {
		first := string([]rune(names[0])[0])
		for _, pointers := range []bool{false, true} {
			nest := func(names, zone string) *Knot {
				inner := Knot{Name: first, Zone: zone}
				for range depth {
					outer := Knot{Name: inner.Name}
					for _, name := range names {
						item := Knot{Name: string(name)}
						if item.Name == inner.Name {
							item = inner
						}
						if pointers {
							outer.Unkeyed = append(outer.Unkeyed, &item)
						} else {
							outer.Keyed = append(outer.Keyed, item)
						}
					}
					inner = outer
				}
				return &inner
			}
			oldObj := nest(names[0], "x")
			if errs := v.ValidateUpdate(nest(names[1], "x"), oldObj); errs != nil {
				t.Errorf("%q: %v", names, errs)
			}
			if errs := v.ValidateUpdate(nest(names[1], "y"), oldObj); len(errs) != 1 {
				t.Errorf("%q, and the innermost zone changed: %d errors, want 1", names, len(errs))
			}
		}
	}
}

// TestEndless: values that refer to themselves have no JSON form, so an update of them is refused, and the check ends.
func TestEndless(t *testing.T) {
	const keyed = `type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {$ref: "#/definitions/k"}`
	validators := map[string]*typed.Validator[Knot]{
		"locks on the way": compile[Knot](t, validatorOf(`{type: object, properties: {next: {$ref: "#/definitions/k"}, list: {type: array, items: {$ref: "#/definitions/k"}}, keyed: {`+keyed+`}, unkeyed: {`+keyed+`},
			named: {type: object, additionalProperties: {$ref: "#/definitions/k"}}, byName: {type: object, additionalProperties: {$ref: "#/definitions/k"}}, any: {x-kubernetes-immutable: true}},
			definitions: {k: {type: object, properties: {name: {type: string}, zone: {type: string, x-kubernetes-immutable: true}, next: {$ref: "#/definitions/k"}, list: {type: array, items: {$ref: "#/definitions/k"}},
			keyed: {`+keyed+`}, unkeyed: {`+keyed+`}, named: {type: object, additionalProperties: {$ref: "#/definitions/k"}}, byName: {type: object, additionalProperties: {$ref: "#/definitions/k"}}}}}}`)),
		"all is locked": compile[Knot](t, validatorOf(`{type: object, properties: {next: {type: object, x-kubernetes-immutable: true}, list: {type: array, items: {type: object}, x-kubernetes-immutable: true},
			keyed: {type: array, items: {type: object}, x-kubernetes-immutable: true}, unkeyed: {type: array, items: {type: object}, x-kubernetes-immutable: true}, named: {type: object, x-kubernetes-immutable: true},
			byName: {type: object, x-kubernetes-immutable: true}, any: {x-kubernetes-immutable: true}}}`)),
	}
	for name, tie := range map[string]func(k *Knot, isNew bool){
		"a pointer":     func(k *Knot, _ bool) { k.Next = k },
		"a list":        func(k *Knot, _ bool) { k.List = []Knot{{}}; k.List[0].List = k.List },
		"a list by key": func(k *Knot, _ bool) { k.Keyed = []Knot{{Name: "a"}}; k.Keyed[0].Keyed = k.Keyed },
		"a list by key in another order": func(k *Knot, isNew bool) {
			k.Keyed = []Knot{{Name: "a"}, {Name: "b"}}
			if isNew {
				k.Keyed[0].Name, k.Keyed[1].Name = "b", "a"
			}
			k.Keyed[0].Keyed, k.Keyed[1].Keyed = k.Keyed, k.Keyed
		},
		"a list of pointers by key in another order": func(k *Knot, isNew bool) {
			k.Unkeyed = []*Knot{{Name: "a"}, {Name: "b"}}
			if isNew {
				k.Unkeyed[0].Name, k.Unkeyed[1].Name = "b", "a"
			}
			k.Unkeyed[0].Unkeyed, k.Unkeyed[1].Unkeyed = k.Unkeyed, k.Unkeyed
		},
		"a list of pointers by key": func(k *Knot, _ bool) { k.Unkeyed = []*Knot{k} },
		"a map":                     func(k *Knot, _ bool) { k.Named = map[string]Knot{}; k.Named["a"] = Knot{Named: k.Named} },
		"a map of pointers":         func(k *Knot, _ bool) { k.ByName = map[string]*Knot{"a": k} },
		"a list in any":             func(k *Knot, _ bool) { l := []any{nil}; l[0] = l; k.Any = l },
		"a map in any":              func(k *Knot, _ bool) { m := map[string]any{}; m["a"] = m; k.Any = m },
	} {
		for locks, v := range validators {
			newObj, oldObj := new(Knot), new(Knot)
			tie(newObj, true)
			tie(oldObj, false)
			if errs := v.ValidateUpdate(newObj, oldObj); len(errs) != 1 || errs[0].Type != field.ErrorTypeInternal || !strings.Contains(errs[0].Error(), "cycle") {
				t.Errorf("%s, %s: %v", name, locks, errs)
			}
		}
	}
}

func ExampleCompile() {
	validator, err := typed.Compile[Volume](volumeLocks())
	if err != nil {
		fmt.Println(err)
		return
	}
	oldVolume := &Volume{Spec: VolumeSpec{Size: 10}}
	newVolume := &Volume{Spec: VolumeSpec{Size: 20}}
	fmt.Println(validator.ValidateUpdate(newVolume, oldVolume).ToAggregate())
	// Output: spec.size: Invalid value: 20: field is immutable
}
