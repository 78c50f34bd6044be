package jsonvalue

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
	return [...]string{"null", "a scalar", "an object", "a list", "a value of a Go type that JSON does not decode to"}[k]
}
