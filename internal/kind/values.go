package kind

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/check"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Correlate returns the values at a path of newObj and the place of oldObj that it was before: items of keyed lists
// have the same keys, other items the same index. Both values are absent when the old place cannot be told.
func Correlate(s *spec.Schema, newObj, oldObj map[string]any, at fieldpath.Path) (newVal, oldVal result.Value) {
	newVal, oldVal = result.Value{Data: newObj, OK: true}, result.Value{Data: oldObj, OK: true}
	for _, step := range at {
		is, was := newVal.Data, oldVal.Data
		newVal, oldVal = Child(is, step), Child(was, step)
		if i, isIndex := step.(int); isIndex && s != nil && s.Items != nil {
			if oldVal, isIndex = OldItem(s, is, was, i); !isIndex {
				return result.Value{}, result.Value{}
			}
		}
		s = schema.Below(s, step)
	}
	return newVal, oldVal
}

// Child returns the value one step below a value.
func Child(v, step any) result.Value {
	below, ok := fieldpath.Get(v, step)
	return result.Value{Data: below, OK: ok}
}

// OldItem returns the item of an old list that item i of the new one was. ok is false where that cannot be told.
func OldItem(s *spec.Schema, newList, oldList any, i int) (was result.Value, ok bool) {
	marks, _ := schema.ReadMarks(s.Extensions)
	if marks.ListType != schema.ListMap {
		return Child(oldList, i), true
	}
	item, isObject := Child(newList, i).Data.(map[string]any)
	olds, isList := oldList.([]any)
	if !isObject || !isList {
		return result.Value{}, false
	}
	at := slices.IndexFunc(olds, func(old any) bool {
		was, _ := old.(map[string]any)
		return !slices.ContainsFunc(marks.ListMapKeys,
			func(key string) bool { return !jsonvalue.Equal(item[key], was[key]) })
	})
	if at < 0 {
		return result.Value{}, true
	}
	return result.Value{Data: olds[at], OK: true}, true
}

// equal reports whether two values are both absent, or equal.
func equal(a, b result.Value) bool { return a.OK == b.OK && jsonvalue.Equal(a.Data, b.Data) }

// Mistyped returns the steps to the first value that is of another type than its schema says. To a server-side apply, a
// text with a format can be any scalar, unless the format is byte. The metadata of the object does not count.
func Mistyped(s *spec.Schema, v any) (fieldpath.Path, bool) { return mistyped(s, v, nil) }

func mistyped(s *spec.Schema, v any, at fieldpath.Path) (fieldpath.Path, bool) {
	if s == nil || len(s.Type) == 0 || v == nil {
		return nil, false
	}
	is, loose := "", s.Type.Contains("string") && s.Format != "" && s.Format != "byte"
	switch v := v.(type) {
	case map[string]any:
		if is = "object"; !s.Type.Contains(is) {
			return at, true
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if len(at) == 0 && name == "metadata" {
				continue
			}
			if found, ok := mistyped(schema.Below(s, name), v[name], append(slices.Clip(at), name)); ok {
				return found, true
			}
		}
	case []any:
		if is = "array"; !s.Type.Contains(is) {
			return at, true
		}
		for i := range v {
			if found, ok := mistyped(schema.Below(s, i), v[i], append(slices.Clip(at), i)); ok {
				return found, true
			}
		}
	case string:
		is = "string"
	case bool:
		return at, !loose && !s.Type.Contains("boolean")
	default:
		return at, !loose && !s.Type.Contains("integer") && !s.Type.Contains("number")
	}
	return at, !s.Type.Contains(is)
}

// RedactionAt returns the redaction of the value at a path; nil where nothing is hidden.
func (d *Definition) RedactionAt(at fieldpath.Path) *check.Redaction {
	if d.redaction == nil {
		return nil // of data
	}
	redaction := d.redaction()
	for _, step := range at {
		redaction = redactedBelow(redaction, step)
	}
	return redaction
}

// redactedBelow returns the redaction one step below the location of r.
func redactedBelow(r *check.Redaction, step any) *check.Redaction {
	if name, ok := step.(string); ok {
		return r.Member(name)
	}
	return r.Item()
}

// HasRedacted reports whether a part of a value is not shown.
func HasRedacted(v any) bool { return jsonvalue.HasScalar(v, check.Redacted) }

// ItemKeys says which item of a list-type map a path leads through, by the values of its keys: an index alone tells
// people little. It is "" where the path leads through none; of several lists the innermost counts. Passwords are not
// shown.
func (d *Definition) ItemKeys(value any, at fieldpath.Path) string {
	var keys string
	s, redaction := d.schema, d.redaction()
	for _, step := range at.Reach(value) {
		if s == nil {
			break
		}
		value, redaction = Child(value, step).Data, redactedBelow(redaction, step)
		if _, isIndex := step.(int); isIndex && s.Items != nil {
			if marks, _ := schema.ReadMarks(s.Extensions); marks.ListType == schema.ListMap {
				keys = keysOf(redaction, value, marks.ListMapKeys)
			}
		}
		s = schema.Below(s, step)
	}
	return keys
}

// keysOf prints the values of the key fields that item has.
func keysOf(r *check.Redaction, item any, names []string) string {
	object, _ := item.(map[string]any)
	var redactor check.Redactor
	var values []string
	for _, name := range names {
		if v, ok := object[name]; ok {
			values = append(values, fmt.Sprint(redactor.Hide(r.Member(name), v)))
		}
	}
	return strings.Join(values, ", ")
}
