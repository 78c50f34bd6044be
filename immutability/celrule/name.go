package celrule

import (
	"regexp"
	"strings"

	"k8s.io/apiserver/pkg/cel"
)

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// escape returns name the way CEL spells it in a selection: my-field is my__dash__field. It returns "" for a name that
// CEL cannot select.
func escape(name string) string {
	escaped, ok := cel.Escape(name)
	if !ok {
		return ""
	}
	return escaped
}

// fieldPath returns the fieldPath of a rule for the property name.
func fieldPath(name string) string {
	if plainName.MatchString(name) {
		return "." + name
	}
	return "['" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(name) + "']"
}

// sameKeys returns the condition that the list items a and b have equal keys; member spells the selection of a key.
func sameKeys(keys []string, a, b string, member func(item, key string) string) string {
	var same []string
	for _, key := range keys {
		same = append(same, member(a, key)+" == "+member(b, key))
	}
	return strings.Join(same, " && ")
}

// selected returns item.key, escaped.
func selected(item, key string) string { return item + "." + escape(key) }
