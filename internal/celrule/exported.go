package celrule

import (
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/celexpr"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// spelledLock is a lock that Export writes as a rule that no chain of states describes: on or below the items of an atomic
// list, on values that may be null or count as absent when they are empty, on keyed lists with their order.
type spelledLock struct {
	at   *schema.Location
	lock schema.Lock
}

// readSpelled reads rules that are written as Export writes a lock, up to spaces and parentheses. It spells the locks that
// Export would write at the location of the rule and compares.
func (im *importer) readSpelled() {
	for _, u := range im.read {
		if u.done() || u.rule.OptionalOldSelf || u.rule.expr == nil || im.uncorrelated[u.rule.at] != "" {
			continue
		}
		text, err := celexpr.Print(u.rule.expr)
		if err != nil {
			continue
		}
		for _, l := range im.spelledFrom(u.rule.at, text) {
			if im.saysLock(l, u.rule.at, text) {
				u.spelled = []spelledLock{}
				break
			}
			if s := im.spellingOf(l, u.rule.at, text); s != nil {
				u.spelled = im.accept(*s)
				break
			}
		}
	}
}

// spelledFrom lists the locations whose locks Export writes as a rule at l, as far as text names them: what is directly below
// it, what is below the items of an atomic list and below normalized values, and last l itself.
func (im *importer) spelledFrom(l *schema.Location, text string) []*schema.Location {
	var all []*schema.Location
	var add func(l *schema.Location) bool
	add = func(l *schema.Location) bool {
		if l.Role == schema.Property && (l.Name == "" || !strings.Contains(text, celexpr.Escape(l.Name))) {
			return true
		}
		if all = append(all, l); im.uncorrelated[l] != "" || l.Marks.Normalize != "" {
			l.Children(add)
		}
		return true
	}
	l.Children(add)
	return slices.DeleteFunc(append(all, l), func(l *schema.Location) bool { return im.unlockable[l] != "" })
}

// spelling is a way to write a lock: what it refuses, and what else its meaning depends on.
type spelling struct {
	at        *schema.Location
	refused   schema.Change
	normalize string
	ordered   bool
	union     bool // of keys, see speller
}

// spellingOf returns the lock at l that is written as text at the location at, nil for none.
func (im *importer) spellingOf(l, at *schema.Location, text string) *spelling {
	normalizations, orders := []string{""}, []bool{true}
	if normalizedAround(l) || l.Marks.Locked() {
		return nil
	}
	if l.Role == schema.Property {
		normalizations = append(normalizations, schema.NormalizeUndefined, schema.NormalizeZero)
	}
	if longMapList(l.Schema) {
		orders = append(orders, false)
	}
	for _, normalize := range normalizations {
		if im.now.clash(l, candidate{zero: normalize != ""}) {
			continue
		}
		for _, s := range allSpellings(l) {
			for _, s.ordered = range orders {
				if s.normalize = normalize; im.writes(s, at, text) {
					s.ordered = s.ordered && s.refused.Has(schema.Modify) && len(orders) > 1
					return &s
				}
			}
		}
	}
	return nil
}

// saysLock reports whether text, at the location at, is what Export writes for locks that l has.
func (im *importer) saysLock(l, at *schema.Location, text string) bool {
	forms := formsOf(l, l.Marks.Locks)
	for _, lock := range l.Marks.Locks {
		forms = append(forms, formsOf(l, []schema.Lock{lock})...)
	}
	ordered := l.Marks.MapListOrder != schema.OrderIgnored
	return slices.ContainsFunc(forms, func(f form) bool {
		s := spelling{at: l, refused: f.refused, normalize: l.Marks.Normalize, ordered: ordered}
		union := s
		union.union = true
		return im.writes(s, at, text) || f.refused&schema.ChangeItems != 0 && im.writes(union, at, text)
	})
}

// writes reports whether s is written as text at the location at.
func (im *importer) writes(s spelling, at *schema.Location, text string) bool {
	l := s.at
	if s.normalize != l.Marks.Normalize {
		marked := *l
		marked.Marks.Normalize = s.normalize
		l = &marked
	}
	place, steps := im.place(l, form{refused: s.refused}, s.union)
	if place != at { // a normalized field never has its rule itself
		return false
	}
	w := &speller{typed: true, refused: s.refused, ordered: s.ordered, union: s.union}
	rule := w.rule(l, steps)
	if w.reason != "" || !alike(rule, text) { // most are not, and parsing is what costs
		return false
	}
	spelled, err := celexpr.Parse(rule)
	if err != nil {
		return false
	}
	printed, err := celexpr.Print(spelled)
	return err == nil && printed == text
}

// alike reports whether two texts are the same up to spaces, line breaks and parentheses, which is all that printing a rule changes.
func alike(a, b string) bool {
	const ignored = " \n()"
	for {
		a, b = strings.TrimLeft(a, ignored), strings.TrimLeft(b, ignored)
		if a == "" || b == "" {
			return a == b
		}
		if a[0] != b[0] {
			return false
		}
		a, b = a[1:], b[1:]
	}
}

// allSpellings lists what a rule about l can say.
func allSpellings(l *schema.Location) []spelling {
	all := []spelling{
		{at: l, refused: schema.ChangeValue}, {at: l, refused: schema.Unset | schema.Modify}, {at: l, refused: schema.Modify},
		{at: l, refused: schema.Set | schema.Unset}, {at: l, refused: schema.Set}, {at: l, refused: schema.Unset},
	}
	if keysOf(l) != noKeys && l.Marks.MapType != schema.MapAtomic {
		for _, change := range []schema.Change{schema.AddItem, schema.RemoveItem} {
			all = append(all, spelling{at: l, refused: change}, spelling{at: l, refused: change, union: true})
		}
	}
	return all
}

// accept adds the words of s to those that are accepted.
func (im *importer) accept(s spelling) []spelledLock {
	var locks []spelledLock
	for _, word := range schema.Words() {
		if word := schema.Lock(word); s.refused.Has(changesOf(word)) {
			locks = append(locks, spelledLock{s.at, word})
			im.now.words[s.at] = append(slices.Clip(im.now.words[s.at]), word)
		}
	}
	if s.normalize != "" {
		im.now.normalize[s.at] = s.normalize
	}
	if s.ordered {
		im.now.ordered[s.at] = true
	}
	return locks
}
