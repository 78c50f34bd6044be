package operators

import (
	"strings"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
)

// text returns the string at a path, or "".
func text(value any, path string) string {
	found, _ := fieldpath.At(value, path)
	t, _ := found.(string)
	return t
}

// changes returns the paths that a JSON merge patch from oldVal to newVal would name: those of values that were set, changed
// or removed. A list is one value.
func changes(newVal, oldVal any, path []string) [][]string {
	newObj, isObj := newVal.(map[string]any)
	if !isObj {
		return [][]string{append([]string(nil), path...)}
	}
	oldObj, _ := oldVal.(map[string]any)
	var all [][]string
	for name, member := range newObj {
		if was, had := oldObj[name]; !had || !same(member, was) {
			all = append(all, changes(member, was, append(path, name))...)
		}
	}
	for name := range oldObj {
		if _, kept := newObj[name]; !kept {
			all = append(all, append(append([]string(nil), path...), name))
		}
	}
	return all
}

// allows reports whether a path is one of a list in which "a.*" is what is below a.
func allows(list []string, path []string) bool {
	for _, allowed := range list {
		below := strings.HasSuffix(allowed, ".*")
		steps := fieldpath.Split(strings.TrimSuffix(allowed, ".*"))
		if len(path) < len(steps) || below != (len(path) > len(steps)) {
			continue
		}
		match := true
		for i, s := range steps {
			match = match && path[i] == string(s)
		}
		if match {
			return true
		}
	}
	return false
}
