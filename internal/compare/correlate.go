package compare

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	checks "github.com/fieldlock/fieldlock/internal/check"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// correlate returns the values at a path of newObj and the place of oldObj that it was before: items of keyed lists have
// the same keys, other items the same index. Both values are absent when the old place cannot be told, or neither object
// has the path.
func correlate(s *spec.Schema, newObj, oldObj map[string]any, path string) (newVal, oldVal value) {
	newVal, oldVal = value{newObj, true}, value{oldObj, true}
	steps, ok := stepsTo(newObj, oldObj, path)
	if !ok {
		return value{}, value{}
	}
	for _, step := range steps {
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

// stepsTo returns the steps of a path of newObj or, if it leads nowhere there, of oldObj, as far as it leads; ok is set if it
// leads all the way.
func stepsTo(newObj, oldObj map[string]any, path string) (steps []any, ok bool) {
	if steps, ok = yamldoc.Steps(newObj, path); !ok {
		steps, ok = yamldoc.Steps(oldObj, path)
	}
	return steps, ok
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
func (l *laws) itemKeys(value any, path string) string {
	var keys string
	s, redaction := l.schema, l.redaction()
	steps, _ := yamldoc.Steps(value, path)
	for _, step := range steps {
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

// redactionAt returns the redaction of what steps lead to.
func (l *laws) redactionAt(steps []any) *checks.Redaction {
	redaction := l.redaction()
	for _, step := range steps {
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
func hasRedacted(v any) bool {
	switch v := v.(type) {
	case string:
		return v == checks.Redacted
	case map[string]any:
		for _, member := range v {
			if hasRedacted(member) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasRedacted)
	}
	return false
}
