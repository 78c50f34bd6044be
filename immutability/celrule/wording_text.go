package celrule

import (
	"fmt"
	"regexp"
	"strings"
)

// sameKeys is the condition that a and b have equal list-map keys.
func sameKeys(keys []string, a, b string) string {
	var parts []string
	for _, key := range keys {
		parts = append(parts, fmt.Sprintf("%s.%s == %s.%s", a, escape(key), b, escape(key)))
	}
	return strings.Join(parts, " && ")
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// fieldPath is the fieldPath of a rule for the property name.
func fieldPath(name string) string {
	if plainName.MatchString(name) {
		return "." + name
	}
	return "['" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(name) + "']"
}
