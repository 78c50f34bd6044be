package kind

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// A field whose Go type is one of Kubernetes' needs no data for what is below it: the type says which values count as
// absent.
//
//	Image   string           `json:"image,omitempty"`   "" counts as absent
//	Command []string         `json:"command,omitempty"` [] counts as absent, if it does in the whole field
//	Stdin   *bool            `json:"stdin,omitempty"`   false is a value
//	Limits  ResourceList     `json:"limits,omitempty"`  its values are amounts
//
// What the type lacks, as a later Kubernetes has it, stays unknown.

// GoTypes are the types that FieldData.Go names.
type GoTypes map[string]reflect.Type

var quantityType = reflect.TypeFor[resource.Quantity]()

// typed makes f what the Go type says that data names.
func (f *Field) typed(data FieldData, types GoTypes) error {
	if data.Go == "" {
		return nil
	}
	t, ok := types[data.Go]
	if !ok {
		return fmt.Errorf("unknown Go type %q", data.Go)
	}
	f.describeType(t, data.Normalize)
	return nil
}

// add adds data to what a Go type says of f.
func (f *Field) add(data FieldData) {
	if data.Go != "" || data.Normalize == "" {
		data.Normalize = f.Normalize
	}
	f.FieldData = data
}

// describeType makes f what a Go type says. lists is how the field compares lists and maps: undefined, or none where an
// empty one differs from an absent one.
func (f *Field) describeType(t reflect.Type, lists string) {
	switch {
	case t == quantityType:
		f.Type, f.Normalize = "quantity", "none"
		return
	case t.Kind() == reflect.Pointer:
		f.describeType(t.Elem(), lists)
		f.Normalize = "none"
		return
	case hasOwnJSON(t):
		f.Normalize = "unknown"
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		f.Normalize = "undefined"
		f.members(t, lists)
	case reflect.Slice:
		f.Normalize = lists
		if t.Elem().Kind() != reflect.Uint8 {
			f.items = &Field{}
			f.items.describeType(t.Elem(), lists)
		}
	case reflect.Map:
		f.Normalize = lists
		f.values = &Field{}
		f.values.describeType(t.Elem(), lists)
		f.values.Normalize = "none"
	default:
		f.Normalize = "zero"
	}
}

// members adds the members of a struct, and those of the structs that it embeds.
func (f *Field) members(t reflect.Type, lists string) {
	for i := range t.NumField() {
		member := t.Field(i)
		name, _, _ := strings.Cut(member.Tag.Get("json"), ",")
		switch {
		case member.Anonymous && name == "":
			f.members(member.Type, lists)
		case name != "" && name != "-":
			f.At([]any{name}).describeType(member.Type, lists)
		}
	}
}

// hasOwnJSON reports whether a type writes itself: a time, or an integer or a text.
func hasOwnJSON(t reflect.Type) bool {
	_, has := reflect.PointerTo(t).MethodByName("UnmarshalJSON")
	return has
}
