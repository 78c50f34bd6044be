package typed_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
}

func (v *Volume) DeepCopyObject() runtime.Object {
	out := *v
	v.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Modes = slices.Clone(v.Spec.Modes)
	return &out
}

// byHand is the validation that the schema below replaces.
func byHand(newVolume, oldVolume *Volume) field.ErrorList {
	path := field.NewPath("spec")
	errs := validation.ValidateImmutableField(newVolume.Spec.Class, oldVolume.Spec.Class, path.Child("class"))
	errs = append(errs, validation.ValidateImmutableField(newVolume.Spec.Modes, oldVolume.Spec.Modes, path.Child("modes"))...)
	errs = append(errs, validation.ValidateImmutableField(newVolume.Spec.Selector, oldVolume.Spec.Selector, path.Child("selector"))...)
	return append(errs, validation.ValidateImmutableField(newVolume.Spec.Size, oldVolume.Spec.Size, path.Child("size"))...)
}

// volumeLocks is what the markers +immutable and, for modes, +normalize=zero make of the type's schema.
func volumeLocks() *immutability.Validator {
	var s spec.Schema
	if err := yaml.Unmarshal([]byte(`
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
`), &s); err != nil {
		panic(err)
	}
	return immutability.MustCompile(&s)
}

func TestAsByHand(t *testing.T) {
	fast, slow := "fast", "slow"
	base := func() *Volume {
		return &Volume{Spec: VolumeSpec{Class: &fast, Size: 1, Modes: []string{"rw"}, Selector: map[string]string{"a": "b"}}}
	}
	v := volumeLocks()
	for _, row := range []struct {
		reason   string
		old, new func(*VolumeSpec)
		want     int
	}{
		{reason: "nothing changes"},
		{reason: "an unlocked field changes", new: func(s *VolumeSpec) { s.Reclaim = "Delete" }},
		{reason: "a pointer's value changes", new: func(s *VolumeSpec) { s.Class = &slow }, want: 1},
		{reason: "a pointer is unset", new: func(s *VolumeSpec) { s.Class = nil }, want: 1},
		{reason: "a pointer is set", old: func(s *VolumeSpec) { s.Class = nil }, want: 1},
		{reason: "a number becomes zero", new: func(s *VolumeSpec) { s.Size = 0 }, want: 1},
		{reason: "a list is reordered", old: func(s *VolumeSpec) { s.Modes = []string{"a", "b"} }, new: func(s *VolumeSpec) { s.Modes = []string{"b", "a"} }, want: 1},
		{reason: "nil and empty list are one", old: func(s *VolumeSpec) { s.Modes = nil }, new: func(s *VolumeSpec) { s.Modes = []string{} }},
		{reason: "nil and empty map are one", old: func(s *VolumeSpec) { s.Selector = nil }, new: func(s *VolumeSpec) { s.Selector = map[string]string{} }},
		{reason: "a map's value changes", new: func(s *VolumeSpec) { s.Selector["a"] = "c" }, want: 1},
		{reason: "all change", new: func(s *VolumeSpec) { *s = VolumeSpec{} }, want: 4},
	} {
		t.Run(row.reason, func(t *testing.T) {
			oldVolume, newVolume := base(), base()
			if row.old != nil {
				row.old(&oldVolume.Spec)
			}
			if row.new != nil {
				row.new(&newVolume.Spec)
			}
			got, err := typed.ValidateUpdate(v, newVolume, oldVolume)
			if err != nil {
				t.Fatal(err)
			}
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

func TestRefusesWhatItCannotCheck(t *testing.T) {
	v := volumeLocks()
	for reason, pair := range map[string][2]runtime.Object{
		"two types":    {&Volume{}, &metav1.Status{}},
		"no objects":   {nil, nil},
		"nil pointers": {(*Volume)(nil), (*Volume)(nil)},
		"no old one":   {&Volume{}, nil},
	} {
		if errs, err := typed.ValidateUpdate(v, pair[0], pair[1]); err == nil {
			t.Errorf("%s: got %v and no error", reason, errs)
		}
	}
}

func BenchmarkValidateUpdate(b *testing.B) {
	v, obj := volumeLocks(), &Volume{Spec: VolumeSpec{Size: 1, Modes: []string{"rw"}}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := typed.ValidateUpdate(v, obj, obj); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleValidateUpdate() {
	oldVolume := &Volume{Spec: VolumeSpec{Size: 10}}
	newVolume := &Volume{Spec: VolumeSpec{Size: 20}}

	errs, err := typed.ValidateUpdate(volumeLocks(), newVolume, oldVolume)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(errs.ToAggregate())
	// Output: spec.size: Invalid value: 20: field is immutable
}
