package lint

import (
	"fmt"
	"strings"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// withNoUnset returns the words of l with NoUnset among them, as YAML.
func withNoUnset(l *schema.Location) string {
	var words []string
	for _, word := range schema.Words() {
		if lock := schema.Lock(word); lock == schema.NoUnset || l.Marks.Has(lock) {
			words = append(words, word)
		}
	}
	return fmt.Sprintf("%s: [%s]\n", schema.KeyUpdate, strings.Join(words, ", "))
}

// lockedKeys returns the lock on the keys of l as YAML, with the locks on the key properties that it asks for.
func lockedKeys(l *schema.Location) string {
	text := schema.KeyImmutableKeys + ": true\n"
	var keys strings.Builder
	for _, name := range l.Marks.ListMapKeys {
		if field := l.KeyField(name); field != nil && !field.Marks.Has(schema.Immutable) {
			fmt.Fprintf(&keys, "    %q:\n      %s: true\n", name, schema.KeyImmutable)
		}
	}
	if keys.Len() > 0 {
		text += "items:\n  properties:\n" + keys.String()
	}
	return text
}
