package ownership

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/value"
)

// Owners returns the managers that own the field at path or anything below it, the newest first. Where nobody does,
// as for a field that was not set, it returns the managers of the nearest parent, each marked Parent. A nil path, and a
// path whose parents nobody owns, has no owners. Of an encoded object, only the items that the path leads through are
// decoded.
//
// A field.Path keeps its steps to itself, so its text is read against the managed fields: a map key that looks like
// two steps is taken as both.
func (m *Managers) Owners(path *field.Path) []Owner {
	return m.find(path, func(*fieldpath.Set) bool { return true })
}

// OwnersOfKey returns the managers that own an entry of the map or list at path, for a key that is gone: the string key
// of a map, the tuple of key fields (map[string]any) of a keyed list, or the item of a set. Where nobody owns the entry
// it returns the managers of the nearest parent, as Owners does.
func (m *Managers) OwnersOfKey(path *field.Path, key any) []Owner {
	return m.find(path, holdsKey(key))
}

func holdsKey(key any) func(below *fieldpath.Set) bool {
	return func(below *fieldpath.Set) bool {
		found := false
		forEach(below, func(step fieldpath.PathElement) {
			name, isName := key.(string)
			found = found || step.FieldName != nil && isName && *step.FieldName == name ||
				matches(step, view{value: key, there: true})
		})
		return found
	}
}

// find returns the owners in whose fields the path ends at a set that holds says yes to. A field owned as a whole
// holds everything below it.
func (m *Managers) find(path *field.Path, holds func(below *fieldpath.Set) bool) []Owner {
	if m == nil || path == nil {
		return nil
	}
	text := path.String()
	var owners []Owner
	nearest := 0
	for _, e := range m.entries {
		s := search{text: text, holds: holds}
		s.walk(e.fields, m.object, text)
		if s.reached == 0 || s.reached < nearest {
			continue
		}
		if s.reached > nearest {
			nearest, owners = s.reached, owners[:0]
		}
		owner := e.owner
		owner.Parent = s.reached <= len(text)
		owner.otherVersion = m.apiVersion != "" && owner.APIVersion != m.apiVersion
		owners = append(owners, owner)
	}
	slices.SortFunc(owners, newestFirst)
	return owners
}

// search finds how near to one path the fields of one manager come.
type search struct {
	text  string
	holds func(*fieldpath.Set) bool

	// reached is the length of the part of the text that leads to the nearest owned parent, and one more than the
	// whole text where the field itself is owned.
	reached int
}

// walk follows rest, the part of the path below set. The view shows the value there. It visits a node of the set at
// most once, and reads the item that rest leads to at most once.
func (s *search) walk(set *fieldpath.Set, v view, rest string) {
	at := cursor{view: v, rest: rest, first: len(rest) == len(s.text)}
	forEach(set, func(step fieldpath.PathElement) {
		after, below, ok := at.strip(step)
		if !ok {
			return
		}
		children, _ := set.Children.Get(step)
		switch {
		case children == nil: // owned as a whole
			s.reach(len(s.text) + 1)
			return
		case after != "":
			s.walk(children, below, after)
		case s.holds(children):
			s.reach(len(s.text) + 1)
		}
		if set.Members.Has(step) {
			s.reach(len(s.text) - len(after))
		}
	})
}

func (s *search) reach(n int) { s.reached = max(s.reached, n) }

// cursor is a value on the way, with the rest of the path below it.
type cursor struct {
	view
	rest  string
	first bool // rest is the whole path

	read  bool // the fields below are set
	index int  // in rest; -1 where it does not begin with an index
	after string
	item  view
}

// strip takes one step off the front of rest. It returns what is left of it and the value behind the step.
func (c *cursor) strip(step fieldpath.PathElement) (after string, below view, ok bool) {
	if step.FieldName != nil {
		name := *step.FieldName
		dot := "."
		if c.first {
			dot = ""
		}
		for _, prefix := range []string{dot + name, "[" + name + "]"} {
			if after, ok := strings.CutPrefix(c.rest, prefix); ok &&
				(after == "" || after[0] == '.' || after[0] == '[') {
				return after, c.member(name), true
			}
		}
		return "", view{}, false
	}
	if !c.read {
		c.readItem()
	}
	if c.index < 0 {
		return "", view{}, false
	}
	if step.Index != nil {
		return c.after, c.item, *step.Index == c.index
	}
	return c.after, c.item, matches(step, c.item)
}

// readItem reads the item that rest leads to.
func (c *cursor) readItem() {
	c.read, c.index = true, -1
	inside, isIndex := strings.CutPrefix(c.rest, "[")
	number, after, closed := strings.Cut(inside, "]")
	index, err := strconv.Atoi(number)
	if !isIndex || !closed || err != nil || index < 0 {
		return
	}
	if item, ok := c.view.item(index); ok {
		c.index, c.after, c.item = index, after, item
	}
}

// matches reports whether step, of a list, leads to item, or to the item with the key tuple item.
func matches(step fieldpath.PathElement, item view) bool {
	switch {
	case step.Key != nil:
		for _, key := range *step.Key {
			field := item.member(key.Name)
			if !field.known() || !value.Equals(key.Value, value.NewValueInterface(field.decoded())) {
				return false
			}
		}
		return true
	case step.Value != nil:
		return item.known() && value.Equals(*step.Value, value.NewValueInterface(item.decoded()))
	}
	return false
}

// forEach calls f for each step out of set.
func forEach(set *fieldpath.Set, f func(fieldpath.PathElement)) {
	set.Members.Iterate(f)
	set.Children.Iterate(func(step fieldpath.PathElement) {
		if !set.Members.Has(step) {
			f(step)
		}
	})
}
