package parameter

import "github.com/fieldlock/fieldlock/internal/jsonvalue"

// Value is one value of a parameter. The zero value is null, which means no value; [Text] makes a string.
type Value struct {
	// Text is a scalar as it was written, without quotes: 0755, 1.0 and 1048576 stay what they are. For a list or a map
	// it is the YAML that KUDO stores: block style, keys sorted.
	Text string

	// Data is the decoded value: nil, string, bool, json.Number, []any or map[string]any. A number that JSON cannot
	// write, such as 0x10, is a string.
	Data any
}

// Text returns the string value s.
func Text(s string) Value { return Value{Text: s, Data: s} }

// IsNull reports whether the value is null.
func (v Value) IsNull() bool { return v.Data == nil }

// MarshalJSON writes the decoded value, numbers with the digits that they were written with.
func (v Value) MarshalJSON() ([]byte, error) { return jsonvalue.Encode(v.Data) }

// Values are values by the name of their parameter. A null means different things in different places: no value where
// it is stored, and a removal where it is requested.
type Values map[string]Value

// FromTexts returns the values with the given texts, such as spec.parameters of a KUDO Instance.
func FromTexts(texts map[string]string) Values {
	out := make(Values, len(texts))
	for name, text := range texts {
		out[name] = Text(text)
	}
	return out
}

// Texts returns the text of each value that is not null.
func (v Values) Texts() map[string]string {
	out := make(map[string]string, len(v))
	for name, value := range v {
		if !value.IsNull() {
			out[name] = value.Text
		}
	}
	return out
}
