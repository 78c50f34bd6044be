package celrule

import (
	"strings"
	"testing"
)

func TestUnequal(t *testing.T) {
	for _, c := range []struct{ name, schema, reason string }{
		{"string", `{"type": "string"}`, ""},
		{"integer", `{"type": "integer"}`, ""},
		{"boolean", `{"type": "boolean"}`, ""},
		{"int-or-string has no type", `{"x-kubernetes-int-or-string": true}`, ""},
		{"no type", `{}`, "no single type"},
		{"two types", `{"type": ["string", "integer"]}`, "no single type"},
		{"null", `{"type": "null"}`, "not one that CEL compares"},
		{"$ref", `{"$ref": "#/definitions/a"}`, "$ref"},
		{"embedded resource", `{"type": "object", "x-kubernetes-embedded-resource": true}`, "embedded"},
		{"unknown fields", `{"type": "object", "x-kubernetes-preserve-unknown-fields": true}`, "preserve-unknown-fields"},
		{"date-time", `{"type": "string", "format": "date-time"}`, "date-time by value"},
		{"date, which has one spelling", `{"type": "string", "format": "date"}`, ""},
		{"set of dates", `{"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string", "format": "date"}}`, "sets of dates"},
		{"duration", `{"type": "string", "format": "duration"}`, "duration by value"},
		{"byte", `{"type": "string", "format": "byte"}`, "byte by value"},
		{"another format", `{"type": "string", "format": "uuid"}`, ""},
		{"number", `{"type": "number"}`, "2^53"},
		{"number without a minimum", `{"type": "number", "maximum": 1}`, "2^53"},
		{"number without a maximum", `{"type": "number", "minimum": 1}`, "2^53"},
		{"number within bounds", `{"type": "number", "minimum": -9007199254740992, "maximum": 9007199254740992}`, ""},
		{"number beyond the lower bound", `{"type": "number", "minimum": -9007199254740994, "maximum": 1}`, "2^53"},
		{"number beyond the upper bound", `{"type": "number", "minimum": 0, "maximum": 9007199254740994}`, "2^53"},
		{"map", `{"type": "object", "additionalProperties": {"type": "string"}}`, ""},
		{"map of anything", `{"type": "object", "additionalProperties": true}`, "additionalProperties: true"},
		{"map of nothing", `{"type": "object", "additionalProperties": false}`, ""},
		{"map of numbers", `{"type": "object", "additionalProperties": {"type": "number"}}`, "2^53"},
		{"map of objects or null", `{"type": "object", "additionalProperties": {"type": "object", "nullable": true}}`, "null"},
		{"map of lists or null", `{"type": "object", "additionalProperties": {"type": "array", "nullable": true, "items": {"type": "string"}}}`, "null"},
		{"map of strings or null", `{"type": "object", "additionalProperties": {"type": "string", "nullable": true}}`, ""},
		{"properties and additionalProperties", `{"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}`, "properties and additionalProperties"},
		{"object", `{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}`, ""},
		{"object with a number", `{"type": "object", "properties": {"a": {"type": "number"}}}`, "2^53"},
		{"a name that reads as an escape", `{"type": "object", "properties": {"a__dash__b": {"type": "string"}}}`, "a__dash__b"},
		{"one optional nullable property", `{"type": "object", "properties": {"a": {"type": "string", "nullable": true}}}`, ""},
		{"an optional nullable property and another", `{"type": "object", "properties": {"a": {"type": "string", "nullable": true}, "b": {"type": "string"}}}`, "nullable property a"},
		{"a defaulted nullable property and another", `{"type": "object", "properties": {"a": {"type": "string", "nullable": true, "default": "x"}, "b": {"type": "string"}}}`, "nullable property a"},
		{"a required nullable property and another", `{"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "nullable": true}, "b": {"type": "string"}}}`, ""},
		{"an optional nullable property and defaulted ones", `{"type": "object", "properties": {"a": {"type": "string", "nullable": true}, "b": {"type": "string", "default": "x"}}}`, ""},
		{"list", `{"type": "array", "items": {"type": "string"}}`, ""},
		{"list of anything", `{"type": "array"}`, "no single schema"},
		{"list of numbers", `{"type": "array", "items": {"type": "number"}}`, "2^53"},
		{"list of objects or null", `{"type": "array", "items": {"type": "object", "nullable": true}}`, "null"},
		{"set", `{"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}`, ""},
		{"set of integers", `{"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}}`, ""},
		{"set of booleans", `{"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "boolean"}}`, ""},
		{"set of int-or-string", `{"type": "array", "x-kubernetes-list-type": "set", "items": {"x-kubernetes-int-or-string": true}}`, ""},
		{"set of objects", `{"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}}`, "sets of strings"},
		{"set of strings or null", `{"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string", "nullable": true}}`, "sets of strings"},
		{"keyed list", keyedList(`"k"`, `{"type": "string"}`, ""), ""},
		{"keyed list without keys", `{"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}}`, "no keys"},
		{"keyed list without the key", keyedList(`"x"`, `{"type": "string"}`, ""), "missing"},
		{"keyed list with an optional key", strings.Replace(keyedList(`"k"`, `{"type": "string"}`, ""), `["k"], "properties"`, `[], "properties"`, 1), "neither required nor defaulted"},
		{"keyed list with a defaulted key", strings.Replace(keyedList(`"k"`, `{"type": "string", "default": "x"}`, ""), `["k"], "properties"`, `[], "properties"`, 1), ""},
		{"keyed list with a nullable key", keyedList(`"k"`, `{"type": "string", "nullable": true}`, ""), "nullable"},
		{"keyed list with an integer key", keyedList(`"k"`, `{"type": "integer"}`, ""), ""},
		{"keyed list with a boolean key", keyedList(`"k"`, `{"type": "boolean"}`, ""), ""},
		{"keyed list with a key of int-or-string", keyedList(`"k"`, `{"x-kubernetes-int-or-string": true}`, ""), ""},
		{"keyed list with a number as key", keyedList(`"k"`, `{"type": "number", "minimum": 0, "maximum": 1}`, ""), "spelling"},
		{"keyed list of objects or null", keyedList(`"k"`, `{"type": "string"}`, `"nullable": true,`), "null"},
		{"keyed list with three keys", keyedList(`"k", "a", "b"`, `{"type": "string"}`, ""), ""},
		{"keyed list with four keys", keyedList(`"k", "a", "b", "c"`, `{"type": "string"}`, ""), "more than three"},
		{"keyed list with an escaped key", strings.ReplaceAll(keyedList(`"k"`, `{"type": "string"}`, ""), `"k"`, `"my-key"`), "my-key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := unequal(decodeSchema(t, []byte(c.schema)))
			if (got == "") != (c.reason == "") || !strings.Contains(got, c.reason) {
				t.Errorf("got %q, want %q", got, c.reason)
			}
		})
	}
}

func keyedList(keys, key, more string) string {
	return `{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [` + keys + `], "items": {"type": "object", ` + more +
		`"required": [` + keys + `], "properties": {"k": ` + key + `, "a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}}}}`
}

func TestAdmits(t *testing.T) {
	for _, c := range []struct {
		name, schema string
		v            any
		want         bool
	}{
		{"a string", `{"type": "string"}`, "a", true},
		{"a string for an integer", `{"type": "integer"}`, "a", false},
		{"a string for a boolean", `{"type": "boolean"}`, "a", false},
		{"an integer for a string", `{"type": "string"}`, int64(1), false},
		{"an integer for a boolean", `{"type": "boolean"}`, int64(1), false},
		{"a boolean for a string", `{"type": "string"}`, true, false},
		{"a boolean for an integer", `{"type": "integer"}`, true, false},
		{"a boolean", `{"type": "boolean"}`, true, true},
		{"a string for int-or-string", `{"x-kubernetes-int-or-string": true}`, "a", true},
		{"an integer for int-or-string", `{"x-kubernetes-int-or-string": true}`, int64(1), true},
		{"of the enum", `{"type": "string", "enum": ["a", "b"]}`, "b", true},
		{"not of the enum", `{"type": "string", "enum": ["a", "b"]}`, "c", false},
		{"not of an enum of one", `{"type": "string", "enum": ["a"]}`, "b", false},
		{"an integer of the enum", `{"type": "integer", "enum": [1, 2]}`, int64(2), true},
		{"long enough", `{"type": "string", "minLength": 2}`, "ää", true},
		{"too short", `{"type": "string", "minLength": 2}`, "ä", false},
		{"short enough", `{"type": "string", "maxLength": 1}`, "ä", true},
		{"too long", `{"type": "string", "maxLength": 1}`, "ää", false},
		{"of the pattern", `{"type": "string", "pattern": "^a+$"}`, "aa", true},
		{"not of the pattern", `{"type": "string", "pattern": "^a+$"}`, "b", false},
		{"of a pattern that Go does not read", `{"type": "string", "pattern": "(?=a)"}`, "b", true},
		{"the minimum", `{"type": "integer", "minimum": 1}`, int64(1), true},
		{"below the minimum", `{"type": "integer", "minimum": 1}`, int64(0), false},
		{"the maximum", `{"type": "integer", "maximum": 1}`, int64(1), true},
		{"above the maximum", `{"type": "integer", "maximum": 1}`, int64(2), false},
	} {
		if got := admits(decodeSchema(t, []byte(c.schema)), c.v); got != c.want {
			t.Errorf("%s: admits %v: %v", c.name, c.v, got)
		}
	}
}
