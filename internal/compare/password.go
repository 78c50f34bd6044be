package compare

import (
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// passwordsAt returns a function that replaces the passwords in a value at a path of newObj or oldObj.
func passwordsAt(s *spec.Schema, newObj, oldObj map[string]any, path string) func(value) value {
	hidden := schema.IsPassword(s)
	for _, step := range stepsTo(newObj, oldObj, path) {
		s = schema.Below(s, step)
		hidden = hidden || schema.IsPassword(s)
	}
	return func(v value) value {
		switch {
		case hidden && v.v != nil:
			v.v = immutability.Redacted
		case !hidden:
			v.v = hidePasswords(s, v.v)
		}
		return v
	}
}

// hidePasswords returns a copy of v without the passwords in it.
func hidePasswords(s *spec.Schema, v any) any {
	switch {
	case s == nil || v == nil:
		return v
	case schema.IsPassword(s):
		return immutability.Redacted
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			out[name] = hidePasswords(schema.Below(s, name), member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = hidePasswords(schema.Below(s, i), item)
		}
		return out
	}
	return v
}

// hasRedacted reports whether a part of a value is not shown.
func hasRedacted(v value) bool {
	switch v := v.v.(type) {
	case string:
		return v == immutability.Redacted
	case map[string]any:
		for _, member := range v {
			if hasRedacted(value{member, true}) {
				return true
			}
		}
	case []any:
		for _, item := range v {
			if hasRedacted(value{item, true}) {
				return true
			}
		}
	}
	return false
}
