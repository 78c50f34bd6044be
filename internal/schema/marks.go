package schema

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/finding"
)

// Marks is what the extension keys of one schema node say.
type Marks struct {
	Locks        []Lock   // each once, in the order of Locks
	Normalize    string   // "", NormalizeUndefined or NormalizeZero
	MapListOrder string   // "" or OrderIgnored
	ListType     string   // "", ListAtomic, ListSet or ListMap
	ListMapKeys  []string // names of the key fields
	MapType      string   // "", MapAtomic or MapGranular
	Embedded     bool     // an embedded resource, with metadata of its own
}

// IsPassword reports whether the values of s, and all that is in them, are not shown. Nil s has none.
func IsPassword(s *spec.Schema) bool { return s != nil && s.Format == "password" }

// Has reports whether the node has this lock.
func (m *Marks) Has(l Lock) bool { return slices.Contains(m.Locks, l) }

// Locked reports whether the node has a lock.
func (m *Marks) Locked() bool { return len(m.Locks) > 0 }

// KeyLock returns the lock on keys that the node has as a key of its own (x-kubernetes-immutable-keys, -addition-only
// or -deletion-only), or "".
func (m *Marks) KeyLock() Lock {
	for _, l := range m.Locks {
		if l.OnKeys() && l.Key() != KeyUpdate {
			return l
		}
	}
	return ""
}

// Refuses returns the changes that the locks of the node refuse together.
func (m *Marks) Refuses() Change {
	var c Change
	for _, l := range m.Locks {
		c |= l.Refuses()
	}
	return c
}

// merge adds the marks of a $ref's target to those at the $ref, which win.
func merge(site, target Marks) Marks {
	if len(target.Locks) > 0 {
		site.Locks = slices.DeleteFunc(Locks(), func(l Lock) bool { return !site.Has(l) && !target.Has(l) })
	}
	site.Embedded = site.Embedded || target.Embedded
	for _, p := range [...][2]*string{
		{&site.Normalize, &target.Normalize}, {&site.MapListOrder, &target.MapListOrder},
		{&site.ListType, &target.ListType}, {&site.MapType, &target.MapType},
	} {
		if *p[0] == "" {
			*p[0] = *p[1]
		}
	}
	if site.ListMapKeys == nil {
		site.ListMapKeys = target.ListMapKeys
	}
	return site
}

// Problem is a mistake in the keys of one schema node.
type Problem struct {
	Key     string // as it is written in the schema
	Rule    string // ID of the rule that it breaks
	Message string // what was found and what would be right
}

// ReadMarks returns what the keys in ext say, and the problems of those that cannot be read, sorted by key. A lock that
// cannot be read is not in the marks; the caller refuses the schema. Cost: O(keys), and no allocation if fieldlock
// reads none of them.
//
// It knows the forms that schemas come in: a decoded document keeps the letter case of its keys while the getters of
// kube-openapi look up in lower case; a structural schema stores []string where JSON stores []any; openapi-gen writes
// the string "true" where a document has the boolean.
func ReadMarks(ext map[string]any) (Marks, []Problem) {
	var keys []string
	for key := range ext {
		if exactKey(key) != "" {
			keys = append(keys, key)
		}
	}
	if keys == nil {
		return Marks{}, nil
	}
	slices.Sort(keys)
	var r marksReader
	for _, key := range keys {
		if exact := exactKey(key); exact != key {
			r.bad(key, finding.KeyCase, "%q is not read: the key is spelled %q", key, exact)
			continue
		}
		r.key(key, ext[key])
	}
	if len(r.marks.Locks) > 1 {
		r.marks.Locks = slices.DeleteFunc(Locks(), func(l Lock) bool { return !r.marks.Has(l) })
	}
	return r.marks, r.problems
}

type marksReader struct {
	marks    Marks
	problems []Problem
}

func (r *marksReader) bad(key, id, format string, args ...any) {
	r.problems = append(r.problems, Problem{key, id, fmt.Sprintf(format, args...)})
}

// key reads one key, correctly spelled.
func (r *marksReader) key(key string, value any) {
	m := &r.marks
	switch key {
	case KeyUpdate:
		r.update(value)
	case KeyNormalize:
		m.Normalize = r.oneOf(key, value, finding.NormalizeValue, NormalizeUndefined, NormalizeZero)
	case KeyMapListOrder:
		m.MapListOrder = r.oneOf(key, value, finding.MapListOrderValue, OrderIgnored)
	case KeyListType:
		m.ListType = r.oneOf(key, value, finding.ListTypeValue, ListAtomic, ListSet, ListMap)
	case KeyMapType:
		m.MapType = r.oneOf(key, value, finding.MapTypeValue, MapAtomic, MapGranular)
	case KeyListMapKeys:
		names, ok := stringsOf(value)
		if !ok {
			r.bad(key, finding.ListMapKeysValue, "%s is %s: it must be a list of property names", key, show(value))
			return
		}
		m.ListMapKeys = names
	case KeyEmbedded:
		m.Embedded = isTrue(value)
	default:
		if !isTrue(value) {
			r.bad(key, finding.LockValue, "%s is %s: the only value is true, and a child cannot lift the lock of its "+
				"parent; remove the key", key, show(value))
			return
		}
		for i := range locks {
			if locks[i].key == key {
				m.Locks = append(m.Locks, locks[i].lock)
			}
		}
	}
}

// update reads the words of x-fieldlock-update.
func (r *marksReader) update(value any) {
	known := Words()
	words, ok := stringsOf(value)
	if !ok || len(words) == 0 {
		r.bad(KeyUpdate, finding.UpdateWord, "%s is %s: it must be a list of one or more of %s",
			KeyUpdate, show(value), strings.Join(known, ", "))
		return
	}
	for _, word := range words {
		if !slices.Contains(known, word) {
			r.bad(KeyUpdate, finding.UpdateWord, "%s has the unknown word %q: the words are %s",
				KeyUpdate, word, strings.Join(known, ", "))
		} else if l := Lock(word); !r.marks.Has(l) {
			r.marks.Locks = append(r.marks.Locks, l)
		}
	}
}

// oneOf returns value if it is one of allowed, otherwise "".
func (r *marksReader) oneOf(key string, value any, id string, allowed ...string) string {
	if s, _ := value.(string); slices.Contains(allowed, s) {
		return s
	}
	r.bad(key, id, "%s is %s: it must be %s", key, show(value), strings.Join(allowed, " or "))
	return ""
}

// isTrue reports whether value is true or, as openapi-gen writes it, "true".
func isTrue(value any) bool { return value == true || value == "true" }

// stringsOf reads a list of strings: []any as decoded, []string as a structural schema stores it, or a single string,
// as openapi-gen may write it.
func stringsOf(value any) ([]string, bool) {
	switch value := value.(type) {
	case []string:
		return value, true
	case string:
		return []string{value}, true
	case []any:
		list := make([]string, 0, len(value))
		for _, item := range value {
			s, ok := item.(string)
			if !ok {
				return nil, false
			}
			list = append(list, s)
		}
		return list, true
	}
	return nil, false
}

// show prints a value of a schema for a message.
func show(value any) string {
	if s, ok := value.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprint(value)
}

// Unchecked is a lock or normalization in a part of the schema that validates but leads to no location of an object. It
// would never be applied, so a schema with one is refused.
type Unchecked struct {
	Path *Path
	// Keyword is what it is below: "allOf", "anyOf", "oneOf", "not", or another one that no update is compared along.
	Keyword string
	// Lock reports whether it is a lock, and not a normalization.
	Lock bool
}

// Combines reports whether the mark is in allOf, anyOf, oneOf or not.
func (u *Unchecked) Combines() bool {
	switch u.Keyword {
	case "allOf", "anyOf", "oneOf", "not":
		return true
	}
	return false
}

// nextToRef is the Keyword of a mark that the target of a $ref hides.
const nextToRef = "a schema with $ref"

// resolver resolves the $refs of one schema.
type resolver struct {
	resolve  Resolver
	searched map[string]bool // $refs that a search has followed
}

// search finds unchecked marks. It follows each $ref once in the whole schema: a definition that is used in many places
// is reported for the first one.
type search struct {
	*resolver
	found    []Unchecked
	problems []Problem
	inLock   bool // below a lock that was found, and stands for those below it
}

// hidden returns the marks below what is next to the $ref of s: its target hides them.
func (r *resolver) hidden(at *Path, s, wrapped *spec.Schema, problems []Problem) ([]Unchecked, []Problem) {
	e := search{resolver: r, problems: problems}
	rest := *s
	if wrapped != nil {
		rest.AllOf = nil
		inside := at.keyword("allOf/0")
		if HasLock(wrapped.Extensions) {
			e.found = append(e.found, Unchecked{inside, "allOf", true})
		}
		e.below(nextToRef, wrapped, inside)
	}
	e.below(nextToRef, &rest, at)
	return e.found, e.problems
}

// part searches p of the schema at a path, which leads to no location.
func (e *search) part(p part, at *Path) {
	switch p.keyword {
	case "definitions": // searched where a $ref leads there
	case "items":
		e.schema("a list of items schemas", p.schema, at.keyword(p.pointer("")[1:]))
	default:
		e.schema(p.keyword, p.schema, at.keyword(p.pointer("")[1:]))
	}
}

// schema searches s, which is below keyword, and everything below it.
func (e *search) schema(keyword string, s *spec.Schema, at *Path) {
	if HasLock(s.Extensions) && !e.inLock {
		e.found = append(e.found, Unchecked{at, keyword, true})
		e.inLock = true
		defer func() { e.inLock = false }()
	}
	marks, problems := ReadMarks(s.Extensions)
	if marks.Normalize != "" {
		e.found = append(e.found, Unchecked{at, keyword, false})
	}
	for _, p := range problems {
		if strings.EqualFold(p.Key, KeyNormalize) {
			e.problems = append(e.problems, p)
		}
	}
	if ref := s.Ref.String(); ref != "" && !e.searched[ref] {
		e.searched[ref] = true
		target, err := e.resolve(ref)
		switch {
		case err != nil:
			e.problems = append(e.problems, unresolvable(ref, err))
		case target == nil:
			e.problems = append(e.problems, unresolvable(ref, fmt.Errorf("there is no such schema")))
		default:
			e.schema(keyword, target, at)
		}
	}
	e.below(keyword, s, at)
}

// below searches everything below s, which is below keyword.
func (e *search) below(keyword string, s *spec.Schema, at *Path) {
	for p := range parts(s) {
		switch p.role {
		case Property:
			e.schema(keyword, p.schema, at.Property(p.name))
		case Values:
			e.schema(keyword, p.schema, at.Values())
		case Items:
			e.schema(keyword, p.schema, at.Items())
		default:
			e.part(p, at)
		}
	}
}
