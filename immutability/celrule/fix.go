package celrule

import (
	"fmt"
	"maps"

	"sigs.k8s.io/yaml"

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
	fix := &immutability.Fix{SchemaPath: l.Parent().Path.Pointer(), Safe: true}
	addRule(fix, map[string]any{"rule": fmt.Sprintf("!has(oldSelf.%s) || has(self.%s)", name, name), "message": l.Name + " may not be removed"})
	return fix
}

// keepKeys returns the rule that keeps the keys of l from being removed, nil if CEL cannot select them. It is not safe:
// only the author knows whether keys are to stay.
func keepKeys(l *schema.Location) *immutability.Fix {
	text := ""
	switch keysOf(l) {
	case mapKeys:
		text = "oldSelf.all(key, key in self)"
	case listKeys:
		text = "oldSelf.all(key, self.exists(other, " + sameKeys(l.Marks.ListMapKeys, "other", "key", selected) + "))"
	default:
		return nil
	}
	fix := &immutability.Fix{SchemaPath: l.Path.Pointer()}
	addRule(fix, map[string]any{"rule": text, "message": "no key may be removed"})
	return fix
}

// alsoCopy adds to fix, nil for none yet, that r of another version is copied. It is safe if the version has every field
// that r reads, and r is about updates alone.
func alsoCopy(fix *immutability.Fix, version string, r *readRule, known bool) *immutability.Fix {
	if fix == nil {
		fix = &immutability.Fix{Version: version, SchemaPath: r.SchemaPath, Safe: true}
	}
	fix.Safe = fix.Safe && known && !r.OptionalOldSelf
	addRule(fix, maps.Clone(r.entry()))
	return fix
}

func addRule(fix *immutability.Fix, entry map[string]any) {
	fix.AddRules = append(fix.AddRules, entry)
	text, err := yaml.Marshal(map[string]any{schema.KeyValidations: fix.AddRules})
	if err != nil {
		panic(err) // strings and booleans from a schema
	}
	where := schema.Readable(fix.SchemaPath)
	if where == "" {
		where = "the root"
	}
	fix.Text = "# " + where + "\n" + string(text)
}
