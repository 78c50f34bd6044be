package celrule

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/fieldlock/fieldlock/internal/celexpr"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// form is a way to say in CEL that an update does not make some changes to a value.
type form struct {
	refused schema.Change
	// text is the condition, in which A means that the new object has the value, B that the old one has it, and E that
	// the two values are equal. Where the value is always there, every form that refuses Modify is E.
	text string
	// example is the form for the optional field f, as a rule of its parent.
	example string
}

// forms is the table of forms for the locks of a value. Export writes the first form that refuses what a lock refuses;
// Import reads all of them, with their operands in any order and in other words for the same (celexpr.Conjuncts). Each
// refuses exactly the changes of its row: an absent operand of == is an error, which refuses too. So !B || E also
// refuses that the value is removed. A rule that is a conjunction of forms has the locks of all of them.
//
// Forms for keys and items are in the method keys of speller, as they depend on the kind of the list or map.
var forms = []form{
	{set | unset | modify, "A == B && (!A || E)",
		"has(self.f) == has(oldSelf.f) && (!has(self.f) || self.f == oldSelf.f)"},
	{set | unset | modify, "E || (!A && !B)", "self.f == oldSelf.f || (!has(self.f) && !has(oldSelf.f))"},
	{set | unset | modify, "(A && B && E) || (!A && !B)",
		"(has(self.f) && has(oldSelf.f) && self.f == oldSelf.f) || (!has(self.f) && !has(oldSelf.f))"},
	{unset | modify, "!B || (A && E)", "!has(oldSelf.f) || (has(self.f) && self.f == oldSelf.f)"},
	{unset | modify, "!B || E", "!has(oldSelf.f) || self.f == oldSelf.f"},
	{set | modify, "!A || (B && E)", "!has(self.f) || (has(oldSelf.f) && self.f == oldSelf.f)"},
	{set | modify, "!A || E", "has(self.f) ? self.f == oldSelf.f : true"},
	{modify, "(!A || !B || E)", "!has(self.f) || !has(oldSelf.f) || self.f == oldSelf.f"},
	{set | unset, "A == B", "has(self.f) == has(oldSelf.f)"},
	{set | unset, "(A && B) || (!A && !B)", "(has(self.f) && has(oldSelf.f)) || (!has(self.f) && !has(oldSelf.f))"},
	{set, "B || !A", "has(oldSelf.f) || !has(self.f)"},
	{unset, "!B || A", "!has(oldSelf.f) || has(self.f)"},
}

const (
	set    = schema.Set
	unset  = schema.Unset
	modify = schema.Modify
)

// formOf returns the form in which Export says what a lock refuses.
func formOf(refused schema.Change) form {
	for _, f := range forms {
		if f.refused == refused {
			return f
		}
	}
	return form{refused: refused}
}

// write returns the condition of f for a value. hasA and hasB spell A and B, "" where the value is always there.
func (f form) write(hasA, hasB string, equal func() string) string {
	switch {
	case hasA == "" && f.refused.Has(schema.Modify):
		return equal()
	case hasA == "":
		return "true"
	case !f.refused.Has(schema.Modify):
		return strings.NewReplacer("A", hasA, "B", hasB).Replace(f.text)
	}
	return strings.NewReplacer("A", hasA, "B", hasB, "E", equal()).Replace(f.text)
}

// reading is a transition rule, and how far it has been read.
type reading struct {
	rule      *Rule
	conjuncts []string // in normal form
	done      bool
	locks     []schemaLock // that were new when the rule was read
	reason    string       // why it is not read
}

type schemaLock struct {
	at   *schema.Location
	word schema.Lock
}

func (im *importer) newReading(r *Rule) *reading {
	u := &reading{rule: r, reason: im.uncorrelated[r.at]}
	switch {
	case u.reason != "":
	case r.OptionalOldSelf:
		u.reason = "it also judges new values (optionalOldSelf), which no lock does"
	case r.at.Marks.Normalize != "":
		u.reason = "locks in " + displayPath(r.at) + " do not apply while it counts as absent, because of " +
			schema.KeyNormalize
	default:
		u.conjuncts = celexpr.Conjuncts(r.expr, im.facts(r))
	}
	return u
}

// always reports whether every valid object that has the parent of l has l: the schema says so, or a plain rule of the
// parent that is has(self.f), or has it as an operand of &&.
func (im *importer) always(l *schema.Location) bool {
	if present(l) {
		return true
	}
	return l.Role == schema.Property && slices.ContainsFunc(im.rules[l.Parent()], func(r *Rule) bool {
		return r.expr != nil && !r.Transition &&
			slices.ContainsFunc(celexpr.Operands(r.expr, operators.LogicalAnd), func(x ast.Expr) bool {
				field, ok := hasOf(x)
				t, isTerm := r.term(field)
				return ok && isTerm && t.at == l && t.optional == nil
			})
	})
}

// hasOf returns x of the expression has(x).
func hasOf(x ast.Expr) (ast.Expr, bool) {
	if x.Kind() != ast.CallKind || x.AsCall().FunctionName() != "has" || x.AsCall().IsMemberFunction() ||
		len(x.AsCall().Args()) != 1 {
		return x, false
	}
	return x.AsCall().Args()[0], true
}

// facts returns what is known of the expressions of a rule when it judges valid objects.
func (im *importer) facts(r *Rule) func(ast.Expr) celexpr.Fact {
	// there returns the field that x selects, and whether it and whether its parent is always there.
	there := func(x ast.Expr) (l *schema.Location, always, reachable bool) {
		t, ok := r.term(x)
		if !ok || t.optional != nil {
			return nil, false, false
		}
		for l := t.at.Parent(); t.at != r.at && l != r.at; l = l.Parent() {
			if !im.always(l) {
				return t.at, false, false
			}
		}
		return t.at, t.at == r.at || im.always(t.at), true
	}
	differ := func(x, y ast.Expr) bool {
		l, always, _ := there(x)
		if !always || y.Kind() != ast.LiteralKind {
			return false
		}
		literal, ok := literalOf(y)
		return y.AsLiteral() == types.NullValue || ok && !admits(l.Schema, literal)
	}
	return func(x ast.Expr) celexpr.Fact {
		if field, ok := hasOf(x); ok {
			switch l, always, reachable := there(field); {
			case !reachable || l == r.at: // has(self) does not compile
				return celexpr.Unknown
			case always:
				return celexpr.Always
			}
			return celexpr.Total
		}
		if x.Kind() == ast.CallKind && x.AsCall().FunctionName() == operators.Equals {
			if args := x.AsCall().Args(); differ(args[0], args[1]) || differ(args[1], args[0]) {
				return celexpr.Never
			}
		}
		if l, always, _ := there(x); always && l.Schema.Type.Contains("boolean") {
			return celexpr.Total
		}
		return celexpr.Unknown
	}
}

// spelling is a form for a lock of one location, and what else its meaning depends on.
type spelling struct {
	form
	at        *schema.Location
	normalize string
	ordered   bool
	union     bool // of keys, see speller
	plain     bool // values are compared by ==, which is not the equality of a lock there
}

// match is a form that a rule has, alone or as some of its conjuncts.
type match struct {
	spelling
	conjuncts []string
}

// matches lists the forms that u has. Those of a location that together say all that the rule says come first, as the
// rule is likely to be about that location; of these and of the others, the deeper ones.
func (im *importer) matches(u *reading, normalized bool) []match {
	var whole, parts []match
	for _, l := range slices.Backward(im.named(u.rule)) {
		var here []match
		said := map[string]bool{}
		for _, s := range im.spellings(l, u.rule.at, normalized) {
			conjuncts := im.spelled(s, u.rule)
			if len(conjuncts) == 0 || !contains(u.conjuncts, conjuncts) {
				continue
			}
			here = append(here, match{s, conjuncts})
			for _, c := range conjuncts {
				said[c] = true
			}
		}
		if len(said) == len(u.conjuncts) {
			whole = append(whole, here...)
		} else {
			parts = append(parts, here...)
		}
	}
	return append(whole, parts...)
}

// read reads u as a conjunction of forms of locks, and adds the locks that it means to im.now: first what other locks
// refuse already, then what needs more. If normalized is set, forms count too that take empty values for absent.
func (im *importer) read(u *reading, normalized bool) {
	matches := im.matches(u, normalized)
	left := slices.Clone(u.conjuncts)
	take := func(m match) bool {
		before := len(left)
		left = slices.DeleteFunc(left, func(c string) bool { return slices.Contains(m.conjuncts, c) })
		return len(left) < before
	}
	for _, m := range matches {
		if im.covers(im.now, m.spelling, u.rule.at) {
			take(m)
		}
	}
	now, reason := im.now.clone(), ""
	var locks []schemaLock
	for _, m := range matches {
		if !slices.ContainsFunc(m.conjuncts, func(c string) bool { return slices.Contains(left, c) }) {
			continue
		}
		if why := im.unfit(now, m.spelling, u.rule.at); why != "" {
			reason = cmp.Or(reason, why)
			continue
		}
		locks = append(locks, now.add(m.spelling, im.refused(m.spelling, u.rule.at))...)
		take(m)
	}
	switch {
	case len(left) == 0:
		u.done, u.locks, im.now = true, locks, now
	case !normalized: // otherwise the reason of the forms without is the better one
		u.reason = cmp.Or(reason, "it has none of the forms that locks have")
	}
}

// contains reports whether all is a superset of some. Both are sorted.
func contains(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { _, found := slices.BinarySearch(all, s); return !found })
}

// named lists the locations at and below that of r whose names r has. It looks below lists and maps only for rules with
// a macro.
func (im *importer) named(r *Rule) []*schema.Location {
	names, macros := map[string]bool{}, false
	celexpr.Visit(r.expr, func(x ast.Expr) bool {
		switch x.Kind() {
		case ast.SelectKind:
			names[x.AsSelect().FieldName()] = true
		case ast.CallKind:
			_, ok := celexpr.MacroOf(x.AsCall())
			macros = macros || ok
		}
		return true
	})
	locations := []*schema.Location{r.at}
	var add func(l *schema.Location) bool
	add = func(l *schema.Location) bool {
		if l.Role == schema.Property && !names[celexpr.Escape(l.Name)] || l.Role != schema.Property && !macros {
			return true
		}
		locations = append(locations, l)
		l.Children(add)
		return true
	}
	r.at.Children(add)
	return locations
}

// spellings lists what a rule at the location at can say about l.
func (im *importer) spellings(l, at *schema.Location, normalized bool) []spelling {
	normalizations, orders, values := []string{l.Marks.Normalize}, []bool{true}, forms
	if normalized && l.Role == schema.Property && l != at && !normalizedAround(l) {
		normalizations = append(normalizations, schema.NormalizeUndefined, schema.NormalizeZero)
	} else if l == at || present(l) && l.Marks.Normalize == "" {
		values = forms[:1] // all others are the same there
	}
	if longMapList(l.Schema) {
		orders = append(orders, false)
	}
	var all, out []spelling
	for _, f := range values {
		all = append(all, spelling{form: f, at: l})
		if unequal(l.Schema) != "" {
			out = append(out, spelling{form: f, at: l, normalize: l.Marks.Normalize, plain: true})
		}
	}
	if keysOf(l) != noKeys && l.Marks.MapType != schema.MapAtomic {
		for _, change := range []schema.Change{schema.AddItem, schema.RemoveItem} {
			all = append(all, spelling{form: form{refused: change}, at: l},
				spelling{form: form{refused: change}, at: l, union: true})
		}
	}
	for _, s := range all {
		for _, s.normalize = range normalizations {
			for _, s.ordered = range orders {
				out = append(out, s)
			}
		}
	}
	return out
}

// spelled returns s as a rule beside r, as conjuncts in normal form; nil if CEL cannot say it.
func (im *importer) spelled(s spelling, r *Rule) []string {
	l := s.at
	if s.normalize != l.Marks.Normalize {
		marked := *l
		marked.Marks.Normalize = s.normalize
		l = &marked
	}
	var steps []*schema.Location
	for step := l; step != r.at && s.at != r.at; step = step.Parent() {
		steps = append(steps, step)
	}
	slices.Reverse(steps)
	w := &speller{typed: true, form: s.form, ordered: s.ordered, union: s.union, plain: s.plain}
	text := w.rule(l, steps)
	if w.reason != "" {
		return nil
	}
	if !mayEqual(text, r.Text, im.always(s.at)) {
		return nil
	}
	beside := ruleText{r.at, text}
	if _, known := im.parsed[beside]; !known {
		im.parsed[beside] = nil
		if x, err := celexpr.Parse(text); err == nil {
			im.parsed[beside] = celexpr.Conjuncts(x, im.facts(&Rule{at: r.at, expr: x}))
		}
	}
	return im.parsed[beside]
}

// mayEqual reports whether a form may be part of a rule, as far as the functions and operators in it show: parsing is
// what costs. Operators of one sort stand for each other. If always is set, has says nothing.
func mayEqual(form, rule string, always bool) bool {
	for _, function := range []string{"size(", "has(", "map("} {
		if strings.Contains(form, function) && !strings.Contains(rule, function) && !(always && function == "has(") {
			return false
		}
	}
	for _, operators := range [][]string{{".all(", ".exists("}, {"==", "!="}, {"&&", "||", "?"}} {
		has := func(text string) bool {
			return slices.ContainsFunc(operators, func(o string) bool { return strings.Contains(text, o) })
		}
		if has(form) && !has(rule) && !always {
			return false
		}
	}
	return true
}

// ruleText is the text of a rule at a location.
type ruleText struct {
	at   *schema.Location
	text string
}

// accepted are the locks of a schema as words of x-fieldlock-update: its own locks, and the locks that rules became.
type accepted struct {
	words map[*schema.Location][]schema.Lock
	// normalize are the fields of which some values count as absent, with the value of x-kubernetes-normalize.
	normalize map[*schema.Location]string
	// ordered are the fields whose locks compare the order of keyed lists.
	ordered map[*schema.Location]bool
}

func (a *accepted) clone() *accepted {
	return &accepted{maps.Clone(a.words), maps.Clone(a.normalize), maps.Clone(a.ordered)}
}

// refused returns the changes that a rule at the location at refuses with s. A field that is always there neither comes
// nor goes, and on the field itself CEL runs no rule then.
func (im *importer) refused(s spelling, at *schema.Location) schema.Change {
	if s.normalize == "" && (s.at == at || im.always(s.at)) {
		return s.refused &^ (schema.Set | schema.Unset)
	}
	return s.refused
}

// orders reports whether s compares the order of a keyed list.
func (s spelling) orders() bool {
	return s.ordered && s.refused.Has(schema.Modify) && longMapList(s.at.Schema)
}

// covers reports whether locks refuse all that a rule at the location at refuses with s.
func (im *importer) covers(a *accepted, s spelling, at *schema.Location) bool {
	return !s.plain && (a.refuses(s.at, im.refused(s, at), s.normalize, s.orders()) || a.frozenAbove(s))
}

// unfit returns why no lock refuses just what a rule at the location at refuses with s, or "".
func (im *importer) unfit(now *accepted, s spelling, at *schema.Location) string {
	l := s.at
	switch {
	case s.plain:
		return unequal(l.Schema)
	case im.unlockable[l] != "":
		return im.unlockable[l]
	case l == at && !present(l) && !now.keeps(l, s.refused):
		return fmt.Sprintf("it lets %s come or go as a whole, and a lock of its keys does not", l.Path)
	case normalizedAround(l):
		return "locks compare in another way there, because of " + schema.KeyNormalize
	case now.clash(l, s.normalize):
		return "the " + schema.KeyNormalize + " that it needs would change what other locks compare"
	case s.orders() && l.Marks.Has(schema.NoModify) && l.Marks.MapListOrder == schema.OrderIgnored:
		return "it compares the order of a list that the lock beside it ignores"
	}
	return ""
}

// add adds the words for the changes that s refuses, and returns those that were not there.
func (a *accepted) add(s spelling, refused schema.Change) (added []schemaLock) {
	for _, word := range schema.Words() {
		word := schema.Lock(word)
		if refused.Has(changesOf(word)) && !slices.Contains(a.words[s.at], word) {
			a.words[s.at] = append(slices.Clip(a.words[s.at]), word)
			added = append(added, schemaLock{s.at, word})
		}
	}
	if s.normalize != "" {
		a.normalize[s.at] = s.normalize
	}
	if s.orders() {
		a.ordered[s.at] = true
	}
	return added
}

// refuses reports whether the locks of l refuse the changes, where a value counts as absent as normalize says. If
// ordered is set, they also refuse another order of a keyed list.
func (a *accepted) refuses(l *schema.Location, changes schema.Change, normalize string, ordered bool) bool {
	given := l.Marks.Refuses()
	if given.Has(changes) && l.Marks.Normalize == normalize &&
		!(ordered && l.Marks.MapListOrder == schema.OrderIgnored) {
		return true
	}
	for _, word := range a.words[l] {
		given |= word.Refuses()
	}
	return len(a.words[l]) > 0 && given.Has(changes) && a.normalize[l] == normalize && (!ordered || a.ordered[l])
}

// frozenAbove reports whether a lock above s refuses every change that s refuses, as it compares a value that s is a
// part of.
func (a *accepted) frozenAbove(s spelling) bool {
	for up := s.at.Parent(); up != nil && !s.orders(); up = up.Parent() {
		if slices.Contains(a.words[up], schema.NoModify) && a.normalize[up] == "" {
			return true
		}
	}
	return false
}

// keeps reports whether l may not come as a whole, if items may not be added, and may not go as a whole, if they may
// not be removed. Otherwise a lock of its keys refuses more than a rule on it, which does not run then.
func (a *accepted) keeps(l *schema.Location, changes schema.Change) bool {
	return !(changes.Has(schema.AddItem) && !slices.Contains(a.words[l], schema.NoSet) ||
		changes.Has(schema.RemoveItem) && !slices.Contains(a.words[l], schema.NoUnset))
}

// clash reports whether a lock at l that takes some values for absent, as normalize says, or none, would change what
// the locks at, above or below it compare, or be changed by them.
func (a *accepted) clash(l *schema.Location, normalize string) bool {
	if normalize == "" {
		for normal := range a.normalize {
			if within(normal, l) || within(l, normal) {
				return true
			}
		}
		return false
	}
	for locked := range a.words {
		if (within(l, locked) || within(locked, l)) && !(locked == l && a.normalize[l] == normalize) {
			return true
		}
	}
	return false
}
