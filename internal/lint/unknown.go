package lint

import (
	"fmt"
	"strings"

	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// UnknownKeys returns the extension keys that look like one of Kubernetes or fieldlock and are neither. They do nothing:
// a misspelled lock locks nothing. Those that must be mistakes are errors, the others warnings.
func UnknownKeys(t *schema.Tree) []Entry {
	var found list
	bodies := map[*schema.Body]bool{}
	t.Walk(func(v schema.Visit) {
		for _, u := range v.Location.UnknownKeys() {
			found.unknown(v.At, v.Path, &u)
		}
		if !bodies[v.Body] {
			bodies[v.Body] = true
			for _, u := range v.TargetUnknownKeys() {
				found.unknown(v.At, v.Body.Path, &u)
			}
		}
	})
	return found.done()
}

func (l *list) unknown(at, schemaPath *schema.Path, u *schema.UnknownKey) {
	severity, right := rule.Warning, "the locks are "+strings.Join(schema.LockKeys(), ", ")
	if u.Mistake {
		severity = rule.Error
	}
	if u.Meant != "" {
		right = fmt.Sprintf("did you mean %s?", u.Meant)
	}
	l.add(at, schemaPath, severity, rule.UnknownKey, "Kubernetes and fieldlock do not know %s, so it does nothing: %s", u.Key, right)
}
