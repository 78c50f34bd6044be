package compare

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// itemKeys says which item of a list-type map a path leads through, by the values of its keys: an index alone tells
// people little. It is "" where the path leads through none; of several lists the innermost counts.
func itemKeys(s *spec.Schema, value any, path string) string {
	var keys string
	hidden := false
	for path != "" && s != nil {
		hidden = hidden || isPassword(s)
		switch at := value.(type) {
		case map[string]any:
			name, rest, ok := cutMember(at, path)
			if !ok {
				return keys
			}
			value, path, s = at[name], rest, below(s, name)
		case []any:
			number, rest, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
			i, err := strconv.Atoi(number)
			if err != nil || i < 0 || i >= len(at) || s.Items == nil {
				return keys
			}
			if marks, _ := schema.ReadMarks(s.Extensions); marks.ListType == schema.ListMap {
				keys = keysOf(s.Items.Schema, at[i], marks.ListMapKeys, hidden)
			}
			value, path, s = at[i], rest, s.Items.Schema
		default:
			return keys
		}
	}
	return keys
}

// cutMember takes the longest name of a member off the front of path.
func cutMember(object map[string]any, path string) (name, rest string, ok bool) {
	best := -1
	for key := range object {
		for _, text := range [...]string{key, "." + key, "[" + key + "]"} {
			after, found := strings.CutPrefix(path, text)
			if found && len(text) > best && (after == "" || after[0] == '.' || after[0] == '[') {
				name, rest, best = key, after, len(text)
			}
		}
	}
	return name, rest, best >= 0
}

// keysOf prints the values of the key fields that item has, except passwords; hidden says that all of them are passwords. s is the
// schema of the items.
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
