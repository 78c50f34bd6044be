package celrule

import (
	"fmt"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// companion returns the rule that keeps l from being removed while its parent exists, nil if CEL cannot select l. It
// cannot make an existing object invalid, because it reads oldSelf.
func companion(l *schema.Location) *immutability.Fix {
	name := escape(l.Name)
	if name == "" {
		return nil
	}
	return addRule(l.Parent(), fmt.Sprintf("!has(oldSelf.%s) || has(self.%s)", name, name), l.Name+" may not be removed", true)
}

// keepKeys returns the rule that keeps the keys of l from being removed, nil if CEL cannot select them. Only the author
// knows whether keys are to stay.
func keepKeys(l *schema.Location) *immutability.Fix {
	switch keysOf(l) {
	case mapKeys:
		return addRule(l, "oldSelf.all(key, key in self)", "no key may be removed", false)
	case listKeys:
		return addRule(l, "oldSelf.all(key, self.exists(other, "+sameKeys(l.Marks.ListMapKeys, "other", "key", selected)+"))", "no key may be removed", false)
	}
	return nil
}

func addRule(l *schema.Location, text, message string, safe bool) *immutability.Fix {
	return &immutability.Fix{
		SchemaPath: l.Path.Pointer(), Safe: safe, AddRules: []map[string]any{{"rule": text, "message": message}},
		Text: fmt.Sprintf("# %s\nx-kubernetes-validations:\n- rule: %q\n  message: %q\n", displayPath(l), text, message),
	}
}
