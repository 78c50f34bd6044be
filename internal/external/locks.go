// Package external reads external locks, which are for schemas that somebody else owns, and what the keys of other
// dialects mean: the keys locks and aliases of the settings, and the files of --locks.
//
//	locks:
//	- {kind: Widget.example.com, path: spec.class, lock: immutable}
//	aliases: {x-acme-fixed: [NoUnset, NoModify]}
package external

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Entry is an external lock with its place.
type Entry struct {
	schema.External
	File string
	Line int
	// Standing is set for an entry of settings that are for more than what is read now: its kind may be elsewhere.
	Standing bool
}

func (e *Entry) same(f *Entry) bool {
	return f.Kind == e.Kind && f.Path == e.Path && slices.Equal(f.Locks, e.Locks)
}

// Stand marks the entries that other has too, or with nil all, as standing.
func (l *Locks) Stand(other *Locks) {
	for i := range l.Entries {
		e := &l.Entries[i]
		e.Standing = e.Standing || other == nil || slices.ContainsFunc(other.Entries, func(f Entry) bool {
			return f.same(e)
		})
	}
}

// Errorf returns an error about the entry.
func (e *Entry) Errorf(err error) error {
	return &yamldoc.Error{File: e.File, Line: e.Line, Object: cmp.Or(e.Kind, "locks"), Path: e.Path,
		Message: err.Error()}
}

// Locks are the entries and aliases of one or more files. A nil Locks has none.
type Locks struct {
	Entries []Entry
	Aliases schema.Aliases
}

// Empty reports whether there are no entries and no aliases.
func (l *Locks) Empty() bool { return l == nil || len(l.Entries)+len(l.Aliases) == 0 }

// Add adds the entries and aliases of other, nil for none. A key that means different locks in the two means both.
func (l *Locks) Add(other *Locks) {
	if other == nil {
		return
	}
	for _, e := range other.Entries {
		if !slices.ContainsFunc(l.Entries, func(f Entry) bool { return f.same(&e) }) {
			l.Entries = append(l.Entries, e)
		}
	}
	if l.Aliases == nil && other.Aliases != nil {
		l.Aliases = schema.Aliases{}
	}
	for key, locks := range other.Aliases {
		for _, lock := range locks {
			if !slices.Contains(l.Aliases[key], lock) {
				l.Aliases[key] = append(l.Aliases[key], lock)
			}
		}
	}
}

// Keys are the keys of a file that this package reads.
var Keys = []string{"locks", "aliases"}

// Parse reads the locks and aliases of a file; messages call it name. Other keys are left to their readers. Every
// mistake is an error, since an entry that is not understood would lock nothing.
func Parse(name string, data []byte) (*Locks, error) {
	documents, err := yamldoc.Read(name, data)
	if err != nil {
		return nil, err
	}
	l := &Locks{}
	for _, d := range documents {
		if err := l.locks(d); err != nil {
			return nil, err
		}
		if err := l.aliases(d); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// ParseOnly is Parse for a file that has nothing else.
func ParseOnly(name string, data []byte) (*Locks, error) {
	documents, err := yamldoc.Read(name, data)
	if err != nil {
		return nil, err
	}
	for _, d := range documents {
		for _, key := range slices.Sorted(maps.Keys(d.Object)) {
			if !slices.Contains(Keys, key) {
				return nil, d.Errorf([]any{key}, "the key is not known; the file has the keys %s",
					strings.Join(Keys, " and "))
			}
		}
	}
	return Parse(name, data)
}

// locks reads the entries of a document.
func (l *Locks) locks(d *yamldoc.Document) error {
	value := d.Object["locks"]
	items, isList := value.([]any)
	if !isList && value != nil {
		return d.Errorf([]any{"locks"}, "it is %s; it is a list of entries", yamldoc.Describe(value))
	}
	for i, item := range items {
		e, err := entry(d, []any{"locks", i}, item)
		if err != nil {
			return err
		}
		l.Entries = append(l.Entries, e)
	}
	return nil
}

// entry reads one entry, which is at steps.
func entry(d *yamldoc.Document, at []any, item any) (Entry, error) {
	e := Entry{File: d.File, Line: d.Position(at...).Line}
	object, isObject := item.(map[string]any)
	if !isObject {
		return e, d.Errorf(at, "it is %s; an entry is an object with kind, path, and lock or update",
			yamldoc.Describe(item))
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		below := append(slices.Clone(at), key)
		text, isText := object[key].(string)
		if !isText && key != "update" {
			return e, d.Errorf(below, "it is %s; it is a string", yamldoc.Describe(object[key]))
		}
		switch key {
		case "kind":
			e.Kind = text
		case "path":
			e.Path = text
		case "lock":
			if slices.Contains(schema.Words(), text) {
				return e, d.Errorf(below, "%s is a word of update: write update: [%s]", text, text)
			}
			e.Locks = append(e.Locks, schema.Lock(text))
		case "update":
			words, err := wordsAt(d, below, object[key])
			if err != nil {
				return e, err
			}
			for _, word := range words {
				if !slices.Contains(schema.Words(), string(word)) {
					return e, d.Errorf(below, "there is no word %q; the words are %s",
						word, strings.Join(schema.Words(), ", "))
				}
			}
			e.Locks = append(e.Locks, words...)
		default:
			return e, d.Errorf(below, "the key is not known; an entry has kind, path, and lock or update")
		}
	}
	switch {
	case e.Kind == "" || e.Path == "":
		return e, d.Errorf(at, "the entry needs kind and path")
	case len(e.Locks) == 0:
		return e, d.Errorf(at, "the entry needs lock or update")
	}
	if err := schema.CheckLocks(e.Locks); err != nil {
		return e, d.Errorf(append(slices.Clone(at), "lock"), "%v", err)
	}
	return e, nil
}

// aliases reads the aliases of a document.
func (l *Locks) aliases(d *yamldoc.Document) error {
	value := d.Object["aliases"]
	object, isObject := value.(map[string]any)
	if !isObject && value != nil {
		return d.Errorf([]any{"aliases"}, "it is %s; it is an object with the locks that each key means",
			yamldoc.Describe(value))
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		at := []any{"aliases", key}
		locks, err := wordsAt(d, at, object[key])
		if err != nil {
			return err
		}
		if err := (schema.Aliases{key: locks}).Check(); err != nil {
			return d.Errorf(at, "%v", err)
		}
		if l.Aliases == nil {
			l.Aliases = schema.Aliases{}
		}
		l.Aliases[key] = locks
	}
	return nil
}

// wordsAt reads a list of names, or a single one.
func wordsAt(d *yamldoc.Document, at []any, value any) ([]schema.Lock, error) {
	if text, ok := value.(string); ok {
		return []schema.Lock{schema.Lock(text)}, nil
	}
	list, isList := value.([]any)
	if !isList || len(list) == 0 {
		return nil, d.Errorf(at, "it is %s; it is a list of one or more locks", yamldoc.Describe(value))
	}
	var words []schema.Lock
	for _, item := range list {
		text, isText := item.(string)
		if !isText {
			return nil, d.Errorf(at, "%s is in the list; it is a list of one or more locks", yamldoc.Describe(item))
		}
		words = append(words, schema.Lock(text))
	}
	return words, nil
}
