package compare

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	checks "github.com/fieldlock/fieldlock/internal/check"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// correlate returns the values at a path of newObj and the place of oldObj that it was before: items of keyed lists have
// the same keys, other items the same index. Both values are absent when the old place cannot be told.
func correlate(s *spec.Schema, newObj, oldObj map[string]any, at fieldpath.Path) (newVal, oldVal value) {
	newVal, oldVal = value{newObj, true}, value{oldObj, true}
	for _, step := range at {
		is, was := newVal.v, oldVal.v
		newVal, oldVal = child(is, step), child(was, step)
		if i, isIndex := step.(int); isIndex && s != nil && s.Items != nil {
			if oldVal, isIndex = oldItem(s, is, was, i); !isIndex {
				return value{}, value{}
			}
		}
		s = schema.Below(s, step)
	}
	return newVal, oldVal
}

// child returns the value one step below a value.
func child(v any, step any) value {
	below, ok := jsonvalue.Get(v, step)
	return value{below, ok}
}

// oldItem returns the item of an old list that item i of the new one was.
func oldItem(s *spec.Schema, newList, oldList any, i int) (value, bool) {
	marks, _ := schema.ReadMarks(s.Extensions)
	if marks.ListType != schema.ListMap {
		return child(oldList, i), true
	}
	item, isObject := child(newList, i).v.(map[string]any)
	olds, isList := oldList.([]any)
	if !isObject || !isList {
		return value{}, false
	}
	at := slices.IndexFunc(olds, func(old any) bool {
		was, _ := old.(map[string]any)
		return !slices.ContainsFunc(marks.ListMapKeys, func(key string) bool { return !jsonvalue.Equal(item[key], was[key]) })
	})
	if at < 0 {
		return value{}, true
	}
	return value{olds[at], true}, true
}

// itemKeys says which item of a list-type map a path leads through, by the values of its keys: an index alone tells
// people little. It is "" where the path leads through none; of several lists the innermost counts. Passwords are not shown.
func (l *laws) itemKeys(value any, at fieldpath.Path) string {
	var keys string
	s, redaction := l.schema, l.redaction()
	for _, step := range at.Reach(value) {
		if s == nil {
			break
		}
		value, redaction = yamldoc.At(value, step), redactedBelow(redaction, step)
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
func keysOf(r *checks.Redaction, item any, names []string) string {
	object, _ := item.(map[string]any)
	var redactor checks.Redactor
	var values []string
	for _, name := range names {
		if v, ok := object[name]; ok {
			values = append(values, fmt.Sprint(redactor.Hide(r.Member(name), v)))
		}
	}
	return strings.Join(values, ", ")
}

// redactionAt returns the redaction of what a path leads to.
func (l *laws) redactionAt(at fieldpath.Path) *checks.Redaction {
	redaction := l.redaction()
	for _, step := range at {
		redaction = redactedBelow(redaction, step)
	}
	return redaction
}

// redactedBelow returns the redaction one step below the location of r.
func redactedBelow(r *checks.Redaction, step any) *checks.Redaction {
	if name, ok := step.(string); ok {
		return r.Member(name)
	}
	return r.Item()
}

// hasRedacted reports whether a part of a value is not shown.
func hasRedacted(v any) bool { return hasScalar(v, checks.Redacted) }

// hasScalar reports whether a value is a scalar, or has it somewhere.
func hasScalar(v, scalar any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			if hasScalar(member, scalar) {
				return true
			}
		}
		return false
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return hasScalar(item, scalar) })
	}
	return v == scalar
}
