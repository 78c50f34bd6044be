package compare

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// correlate returns the values at a path of newObj and the place of oldObj that it was before: items of keyed lists have
// the same keys, other items the same index. Both values are absent when the old place cannot be told, or neither object
// has the path.
func correlate(s *spec.Schema, newObj, oldObj map[string]any, path string) (newVal, oldVal value) {
	newVal, oldVal = value{newObj, true}, value{oldObj, true}
	steps := stepsTo(newObj, oldObj, path)
	if yamldoc.PathString(steps...) != path {
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

// stepsTo returns the steps of a path of newObj or, if it leads nowhere there, of oldObj, as far as it leads.
func stepsTo(newObj, oldObj map[string]any, path string) []any {
	steps := yamldoc.Steps(newObj, path)
	if yamldoc.PathString(steps...) != path {
		steps = yamldoc.Steps(oldObj, path)
	}
	return steps
}

// child returns the value one step below a value.
func child(v any, step any) value {
	switch v := v.(type) {
	case map[string]any:
		name, _ := step.(string)
		member, ok := v[name]
		return value{member, ok}
	case []any:
		if i, ok := step.(int); ok && i < len(v) {
			return value{v[i], true}
		}
	}
	return value{}
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
// people little. It is "" where the path leads through none; of several lists the innermost counts.
func itemKeys(s *spec.Schema, value any, path string) string {
	var keys string
	hidden := false
	for _, step := range yamldoc.Steps(value, path) {
		if s == nil {
			break
		}
		hidden = hidden || schema.IsPassword(s)
		value = yamldoc.At(value, step)
		if _, isIndex := step.(int); isIndex && s.Items != nil {
			if marks, _ := schema.ReadMarks(s.Extensions); marks.ListType == schema.ListMap {
				keys = keysOf(s.Items.Schema, value, marks.ListMapKeys, hidden)
			}
		}
		s = schema.Below(s, step)
	}
	return keys
}

// keysOf prints the values of the key fields that item has, except passwords; hidden says that all of them are passwords.
// s is the schema of the items.
func keysOf(s *spec.Schema, item any, names []string, hidden bool) string {
	hidden = hidden || schema.IsPassword(s)
	object, _ := item.(map[string]any)
	var values []string
	for _, name := range names {
		v, ok := object[name]
		switch {
		case !ok:
		case hidden || schema.IsPassword(schema.Below(s, name)):
			values = append(values, immutability.Redacted)
		default:
			values = append(values, fmt.Sprint(v))
		}
	}
	return strings.Join(values, ", ")
}
