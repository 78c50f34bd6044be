// Package accept reads and writes lists of findings that somebody has accepted, as the file .fieldlock.yaml has them:
//
//	accept:
//	- object: shop/orders
//	  kind: StatefulSet
//	  path: spec.serviceName
//	  rule: immutable
//	  reason: the database moves on Friday, see OPS-12
//	  until: "2026-12-31"
//
// The file has other settings too, see package settings.
package accept

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Entry accepts the violations and findings that it matches. A field that is "" matches everything.
type Entry struct {
	Object, Kind string // of a violation
	CRD          string // of a finding of lint
	Path         string
	Rule         string // the lock or CEL rule of a violation, the rule of a finding
	Change       string // digest of old and new value
	Reason       string
	Until        string // the last day, "2026-12-31"
}

// List is the entries of one file.
type List struct {
	File    string
	Entries []Entry

	lines   []int
	matched []bool
	changed []bool // matches a finding in everything except the change
}

// keys are the keys of an entry, in the order in which they are written.
var keys = []string{"object", "kind", "crd", "path", "rule", "change", "reason", "until"}

// field returns the field of a key.
func (e *Entry) field(key string) *string {
	return map[string]*string{
		"object": &e.Object, "kind": &e.Kind, "crd": &e.CRD, "path": &e.Path, "rule": &e.Rule, "change": &e.Change,
		"reason": &e.Reason, "until": &e.Until,
	}[key]
}

// Parse reads the list of a file; messages call it name. An empty file is an empty list, and keys other than accept are
// left to their readers. Every mistake in an entry is an error, so that a misspelled key cannot accept more than it
// says.
func Parse(name string, data []byte) (*List, error) {
	documents, err := yamldoc.Read(name, data)
	if err != nil {
		return nil, err
	}
	l := &List{File: name}
	for _, d := range documents {
		if err := l.read(d); err != nil {
			return nil, err
		}
	}
	l.matched, l.changed = make([]bool, len(l.Entries)), make([]bool, len(l.Entries))
	return l, nil
}

func (l *List) read(d *yamldoc.Document) error {
	items, isList := d.Object["accept"].([]any)
	if !isList && d.Object["accept"] != nil {
		return d.Errorf([]any{"accept"}, "it is %s; it is a list of entries", yamldoc.Describe(d.Object["accept"]))
	}
	for i, item := range items {
		at := []any{"accept", i}
		object, isObject := item.(map[string]any)
		if !isObject {
			return d.Errorf(at, "it is %s; an entry is an object with the keys %v", yamldoc.Describe(item), keys)
		}
		var e Entry
		for key, v := range object {
			text, isText := v.(string)
			if !isText {
				return d.Errorf(append(at, key),
					"it is %s; it has to be a string, in quotes where YAML reads it as something else",
					yamldoc.Describe(v))
			}
			field := e.field(key)
			if field == nil {
				return d.Errorf(append(at, key), "the key is not known; an entry has the keys %v", keys)
			}
			*field = text
		}
		if e.Reason == "" {
			return d.Errorf(at, "the entry has no reason")
		}
		if _, err := time.Parse(time.DateOnly, e.Until); e.Until != "" && err != nil {
			return d.Errorf(append(at, "until"),
				"it is %q; it is the last day that counts, such as 2026-12-31", e.Until)
		}
		l.Entries = append(l.Entries, e)
		l.lines = append(l.lines, d.Position(at...).Line)
	}
	return nil
}

// Match returns the first entry that accepts what f accepts and counts on the day of now, or nil. Text is another name
// of f.Rule, the text of a CEL rule. A nil List has no entries.
func (l *List) Match(f Entry, text string, now time.Time) *Entry {
	if l == nil {
		return nil
	}
	var found *Entry
	for i := range l.Entries {
		e := &l.Entries[i]
		if !e.matches(&f, text) {
			continue
		}
		if e.Change != "" && e.Change != f.Change {
			l.changed[i] = true
			continue
		}
		l.matched[i] = true
		if found == nil && !e.expired(now) {
			found = e
		}
	}
	return found
}

// MatchFile returns the first entry that accepts that a file or unit is not covered, and counts on the day of now; nil
// if there is none. Such an entry has one of names as its path, and the change.
func (l *List) MatchFile(change string, now time.Time, names ...string) *Entry {
	if l == nil {
		return nil
	}
	for i := range l.Entries {
		e := &l.Entries[i]
		about := e.Path != "" && slices.Contains(names, e.Path) && e.Object == "" && e.CRD == "" && e.Rule == ""
		switch {
		case !about || e.Change == "":
		case e.Change != change:
			l.changed[i] = true
		default:
			l.matched[i] = true
			if !e.expired(now) {
				return e
			}
		}
	}
	return nil
}

// matches compares everything but the change.
func (e *Entry) matches(f *Entry, text string) bool {
	for _, pair := range [...][2]string{{e.Object, f.Object}, {e.Kind, f.Kind}, {e.CRD, f.CRD}, {e.Path, f.Path}} {
		if pair[0] != "" && pair[0] != pair[1] {
			return false
		}
	}
	return e.Rule == "" || e.Rule == f.Rule || e.Rule == text
}

func (e *Entry) expired(now time.Time) bool {
	return e.Until != "" && now.UTC().Format(time.DateOnly) > e.Until
}

// Has reports whether the list has an equal entry. A nil List has none.
func (l *List) Has(e *Entry) bool {
	return l != nil && slices.Contains(l.Entries, *e)
}

// Warnings names the entries that matched nothing or another change, and those whose last day is over: with forLint the
// entries for CRDs, otherwise the others. A nil List has none.
func (l *List) Warnings(now time.Time, forLint bool) []string {
	if l == nil {
		return nil
	}
	var list []string
	for i := range l.Entries {
		switch e := &l.Entries[i]; {
		case e.CRD != "" != forLint:
		case !l.matched[i] && l.changed[i]:
			list = append(list, fmt.Sprintf("%s:%d: the entry accepted another change; review the new one",
				l.File, l.lines[i]))
		case !l.matched[i]:
			list = append(list, fmt.Sprintf("%s:%d: the entry matches nothing; remove it", l.File, l.lines[i]))
		case e.expired(now):
			list = append(list, fmt.Sprintf("%s:%d: the entry no longer counts: its last day was %s",
				l.File, l.lines[i], e.Until))
		}
	}
	return list
}

// Add returns the text of a file with entries added. They take the place of entries for other changes of the same
// fields; what else the file has stays as it is, comments included. An empty file becomes a list.
func Add(name string, data []byte, entries []Entry) ([]byte, error) {
	if strings.TrimSpace(string(data)) == "" {
		data = []byte("accept: []\n")
	}
	file, err := yamldoc.Parse(name, data)
	if err != nil {
		return nil, err
	}
	for _, d := range file.Documents {
		items, _ := d.Object["accept"].([]any)
		items = slices.DeleteFunc(slices.Clone(items), func(item any) bool {
			return slices.ContainsFunc(entries, func(e Entry) bool { return e.replaces(item) })
		})
		for i := range entries {
			item := map[string]any{}
			for _, key := range keys {
				if text := *entries[i].field(key); text != "" {
					item[key] = text
				}
			}
			items = append(items, item)
		}
		d.Object["accept"] = items
	}
	return file.Bytes()
}

// replaces reports whether item is an entry for another change of the same field as e.
func (e *Entry) replaces(item any) bool {
	object, _ := item.(map[string]any)
	for _, key := range [...]string{"object", "kind", "crd", "path", "rule"} {
		if text, _ := object[key].(string); text != *e.field(key) {
			return false
		}
	}
	return e.Change != "" && object["change"] != nil && object["change"] != e.Change
}
