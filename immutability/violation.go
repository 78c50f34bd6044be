package immutability

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fieldlock/fieldlock/internal/check"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Violation is one lock that an update breaks. Its values are shared with the objects that were checked, except
// redacted ones, which are copies.
type Violation struct {
	// Path is the locked location, with indices of the new list. A key or set item that was added has its own path; one
	// that was removed has the path of its container.
	Path *field.Path
	// Lock is the lock that is broken. SchemaPath is where it is in the schema: a JSON pointer such as
	// "/properties/spec/properties/class", or one that begins with a $ref.
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

// Difference is one field below a violation in which the two objects differ.
type Difference struct {
	// Path is the field, with indices of the new list. What was removed from a set, or from a list that is compared by
	// key, has the path of the list.
	Path *field.Path
	// Old and New are the values; HasOld and HasNew are false where there is none.
	Old, New       any
	HasOld, HasNew bool
}

// shownDifferences is how many differences a message shows.
const shownDifferences = 3

// Message says in a sentence what the update breaks, with the first few differences. It is "" for nil.
func (v *Violation) Message() string {
	if v == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(v.detail())
	for i, d := range v.Differences {
		if i == shownDifferences {
			b.WriteString(", " + andMore(len(v.Differences)-i+v.MoreDifferences, "difference"))
			break
		}
		b.WriteString([]string{": ", ", "}[min(i, 1)])
		oldText, newText := d.texts()
		fmt.Fprintf(&b, "%s %s → %s", d.Path, oldText, newText)
	}
	return b.String()
}

// detail is the message without differences.
func (v *Violation) detail() string {
	switch v.Lock {
	case LockImmutable, LockNoSet, LockNoUnset, LockNoModify:
		return schema.Lock(v.Lock).Refusal()
	case LockIncomparable:
		if v.HasKey {
			return fmt.Sprintf("%s: %s: %s", schema.Refused, v.note, show(v.Key))
		}
		return schema.Refused + ": " + v.note
	}
	if v.HasKey {
		return fmt.Sprintf("%s: %s may not be removed", schema.Refused, show(v.Key))
	}
	return schema.Refused + ": it may not be added"
}

// violation makes the report of r, found at path.
func violation(path *field.Path, r *check.Refusal, hide func(*check.Redaction, any) any) Violation {
	f := r.Field
	if f == nil {
		f = &check.Field{}
	}
	v := Violation{
		Path: path, Lock: Lock(r.Lock), SchemaPath: r.LockPath.Pointer(),
		Old: hide(f.Redaction, r.Old.Data), HasOld: r.Old.OK,
		New: hide(f.Redaction, r.New.Data), HasNew: r.New.OK,
		note: r.Note,
	}
	if r.Key.OK {
		v.Key, v.HasKey = hide(f.Redaction.Item(), r.Key.Data), true
	}
	return v
}

// texts shows the two values.
func (d *Difference) texts() (oldText, newText string) {
	const absent = "absent"
	switch {
	case d.HasOld && d.HasNew:
		return showChange(d.Old, d.New)
	case d.HasOld:
		return show(d.Old), absent
	case d.HasNew:
		return absent, show(d.New)
	}
	return absent, absent
}

func andMore(n int, noun string) string {
	if n == 1 {
		return "and 1 more " + noun
	}
	return fmt.Sprintf("and %d more %ss", n, noun)
}

// shownBytes is how much of a value a message shows.
const shownBytes = 120

// show prints a value as JSON, cut where it is long. Cost: what is shown, and sorting the keys of the objects in it.
func show(v any) string {
	data := appendJSON(nil, v)
	if len(data) > shownBytes {
		return strings.ToValidUTF8(string(data[:shownBytes]), "") + "…"
	}
	return string(data)
}

// showChange shows two different values. Long strings that begin alike are cut around their first difference. Cost:
// what is shown, and comparing the strings.
func showChange(oldVal, newVal any) (oldText, newText string) {
	was, wasString := oldVal.(string)
	is, isString := newVal.(string)
	if !wasString || !isString {
		return show(oldVal), show(newVal)
	}
	was, is = aroundDifference(was, is)
	return jsonvalue.Excerpts(string(appendScalar(nil, was)), string(appendScalar(nil, is)), shownBytes)
}

// aroundDifference cuts two long strings to more than what is shown on both sides of their first difference.
func aroundDifference(oldText, newText string) (string, string) {
	const enough = 8 * shownBytes // so that the ends of cut strings are not among what is shown
	if max(len(oldText), len(newText)) <= enough {
		return oldText, newText
	}
	same := 0
	for n := 1 << 12; n > 0; n /= 64 { // whole blocks first: many messages can show the same long strings
		for same+n <= min(len(oldText), len(newText)) && oldText[same:same+n] == newText[same:same+n] {
			same += n
		}
	}
	around := func(text string) string {
		return strings.ToValidUTF8(text[max(0, same-enough):min(len(text), same+enough)], "")
	}
	return around(oldText), around(newText)
}

// appendJSON appends v as JSON to b, as far as it is shown.
func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return append(b, "null"...)
		}
		b = append(b, '{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if len(b) > shownBytes {
				return b
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(append(appendScalar(b, cut(key)), ':'), v[key])
		}
		return append(b, '}')
	case []any:
		if v == nil {
			return append(b, "null"...)
		}
		b = append(b, '[')
		for i, item := range v {
			if len(b) > shownBytes {
				return b
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, item)
		}
		return append(b, ']')
	case string:
		return appendScalar(b, cut(v))
	}
	return appendScalar(b, v)
}

// cut returns the beginning of s, longer than what is shown.
func cut(s string) string { return s[:min(len(s), 2*shownBytes)] }

func appendScalar(b []byte, v any) []byte {
	text, err := jsonvalue.Encode(v)
	if err != nil {
		return fmt.Append(b, v)
	}
	return append(b, text...)
}

// sizeOf returns about how many bytes v takes as JSON. It stops counting beyond limit.
func sizeOf(v any, limit int) int {
	const scalar = 8
	sum := scalar
	switch v := v.(type) {
	case string:
		sum += len(v)
	case map[string]any:
		for key, member := range v {
			if sum > limit {
				break
			}
			sum += len(key) + scalar + sizeOf(member, limit-sum)
		}
	case []any:
		for _, item := range v {
			if sum > limit {
				break
			}
			sum += sizeOf(item, limit-sum)
		}
	}
	return sum
}
