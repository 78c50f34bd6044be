package compare

import (
	"fmt"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// itemKeys says which item of a list-type map a path leads through, by the values of its keys: an index alone tells
// people little. It is "" where the path leads through none; of several lists the innermost counts.
func itemKeys(s *spec.Schema, value any, path string) string {
	var keys string
	hidden := false
	for _, step := range yamldoc.Steps(value, path) {
		if s == nil {
			break
		}
		hidden = hidden || isPassword(s)
		value = yamldoc.At(value, step)
		if _, isIndex := step.(int); isIndex && s.Items != nil {
			if marks, _ := schema.ReadMarks(s.Extensions); marks.ListType == schema.ListMap {
				keys = keysOf(s.Items.Schema, value, marks.ListMapKeys, hidden)
			}
		}
		s = below(s, step)
	}
	return keys
}

// keysOf prints the values of the key fields that item has, except passwords; hidden says that all of them are passwords.
// s is the schema of the items.
func keysOf(s *spec.Schema, item any, names []string, hidden bool) string {
	hidden = hidden || s != nil && isPassword(s)
	object, _ := item.(map[string]any)
	var values []string
	for _, name := range names {
		v, ok := object[name]
		switch {
		case !ok:
		case hidden || s != nil && isPassword(below(s, name)):
			values = append(values, immutability.Redacted)
		default:
			values = append(values, fmt.Sprint(v))
		}
	}
	return strings.Join(values, ", ")
}
