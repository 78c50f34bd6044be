package check

import (
	"reflect"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// Value is the value at a location in one of the two objects. OK is false where it is absent, which differs from null.
type Value struct {
	Data any
	OK   bool
}

// set reports whether v is neither absent nor null: a container that exists, or a value for x-fieldlock-update.
func (v Value) set() bool { return v.OK && !jsonvalue.IsNull(v.Data) }

// kind returns the kind of v, Null where it is absent.
func (v Value) kind() jsonvalue.Kind {
	if !v.OK {
		return jsonvalue.Null
	}
	return jsonvalue.KindOf(v.Data)
}

// member returns the member key of an object.
func member(object map[string]any, key string) Value {
	data, ok := object[key]
	return Value{data, ok}
}

// present returns an item or member that exists.
func present(data any) Value { return Value{data, true} }

func allObjects(list []any) bool {
	for _, item := range list {
		if jsonvalue.KindOf(item) != jsonvalue.Object {
			return false
		}
	}
	return true
}

// Identity tells containers apart: the address of an object, or the address and length of a list.
type Identity struct {
	address uintptr
	length  int
}

// IdentityOf returns the Identity of a container. ok is false for scalars, and for empty lists, which share an address.
func IdentityOf(v any) (id Identity, ok bool) {
	switch v := v.(type) {
	case map[string]any:
		return Identity{address: reflect.ValueOf(v).Pointer()}, v != nil
	case []any:
		return Identity{reflect.ValueOf(v).Pointer(), len(v)}, len(v) > 0
	}
	return Identity{}, false
}

// IsContainer reports whether differences can be below v.
func IsContainer(v any) bool {
	k := jsonvalue.KindOf(v)
	return k == jsonvalue.Object || k == jsonvalue.List
}
