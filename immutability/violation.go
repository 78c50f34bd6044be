package immutability

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Violation is one lock that an update breaks. Its values are those of the objects that
// were checked, not copies, but for redacted ones.
type Violation struct {
	// Path is the locked location, with indices of the new list. A key or set item that was added has its own path; one
	// that was removed has the path of its container.
	Path *field.Path
	// Lock is the lock that is broken, and SchemaPath where in the schema it stands: a JSON pointer such as
	// "/properties/spec/properties/class", or one that begins with the $ref of its target.
	Lock       Lock
	SchemaPath string
	// Old and New are the values at Path; HasOld and HasNew are false where there is none.
	Old, New       any
	HasOld, HasNew bool
	// Key is the key that was removed or, of incomparable items, that they share, when HasKey: the string of a map, an
	// object of the key fields of a keyed list, or the item of a set.
	Key    any
	HasKey bool
	// Differences is what differs below Path when a whole value is locked; empty when Path itself is what differs.
	// MoreDifferences is how many are not listed, once the paths of all that are have 300,000 steps together.
	Differences     []Difference
	MoreDifferences int

	note string
}

// shownDifferences is how many differences stand in a message.
const shownDifferences = 3

// Message says in a sentence what the update breaks, with the first few differences.
func (v *Violation) Message() string {
	var b strings.Builder
	b.WriteString(v.detail())
	for i, d := range v.Differences {
		if i == shownDifferences {
			b.WriteString(", " + andMore(len(v.Differences)-i+v.MoreDifferences, "difference"))
			break
		}
		b.WriteString([]string{": ", ", "}[min(i, 1)])
		fmt.Fprintf(&b, "%s %s → %s", d.Path, showSide(d.Old, d.HasOld), showSide(d.New, d.HasNew))
	}
	return b.String()
}

// detail is the message without values. Deployment tools look for its first three words.
func (v *Violation) detail() string {
	const immutable = "field is immutable"
	switch v.Lock {
	case Immutable:
		return immutable
	case NoSet:
		return immutable + ": it may not be set after creation"
	case NoUnset:
		return immutable + ": it may not be unset"
	case NoModify:
		return immutable + ": it may not be modified once set"
	case Incomparable:
		if v.HasKey {
			return fmt.Sprintf("%s: %s: %s", immutable, v.note, show(v.Key))
		}
		return immutable + ": " + v.note
	}
	if v.HasKey {
		return fmt.Sprintf("%s: %s may not be removed", immutable, show(v.Key))
	}
	return immutable + ": it may not be added"
}

// violation makes the report of b at path.
func (b *breach) violation(path *field.Path) Violation {
	p := b.place
	if p == nil {
		p = &place{}
	}
	v := Violation{
		Path: path, Lock: b.lock, SchemaPath: b.pointer.pointer(),
		Old: p.veil.cover(b.old.value), HasOld: b.old.ok,
		New: p.veil.cover(b.new.value), HasNew: b.new.ok,
		note: b.note,
	}
	if b.key.ok {
		v.Key, v.HasKey = p.veil.item().cover(b.key.value), true
	}
	return v
}

// show prints a value as JSON, cut where it is long.
func show(v any) string {
	const limit = 120
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // a message is text
	if err := encoder.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	data := bytes.TrimSpace(b.Bytes())
	if len(data) > limit {
		return strings.ToValidUTF8(string(data[:limit]), "") + "…"
	}
	return string(data)
}

func showSide(v any, ok bool) string {
	if !ok {
		return "absent"
	}
	return show(v)
}

func andMore(n int, noun string) string {
	if n == 1 {
		return "and 1 more " + noun
	}
	return fmt.Sprintf("and %d more %ss", n, noun)
}
