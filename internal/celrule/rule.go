package celrule

import (
	"cmp"
	"container/heap"
	"errors"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/google/cel-go/common/ast"
	"k8s.io/apiserver/pkg/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Rule is one entry of x-kubernetes-validations.
type Rule struct {
	Path            string // of the field that has the rule: "spec.nodes[*]", "" for the root
	SchemaPath      string
	Index           int    // among the rules of its field
	Text            string // the CEL expression
	OptionalOldSelf bool
	// Transition reports whether the rule reads oldSelf.
	Transition bool

	at   *schema.Location
	expr ast.Expr // nil when the text does not parse

	terms map[ast.Expr]readTerm // what term has found
}

// rulesOf reads the rules at l. Entries that are not rules are skipped: the API server refuses them.
func rulesOf(l *schema.Location) []*Rule {
	list, _ := l.Schema.Extensions[schema.KeyValidations].([]any)
	var rules []*Rule
	for i, entry := range list {
		fields, _ := entry.(map[string]any)
		text, ok := fields["rule"].(string)
		if !ok {
			continue
		}
		r := &Rule{Path: l.Path.String(), SchemaPath: l.Path.Pointer(), Index: i, Text: text, at: l}
		r.OptionalOldSelf, _ = fields["optionalOldSelf"].(bool)
		if x, err := parse(text); err == nil {
			r.expr, r.Transition = x, mentions(x, "oldSelf")
		}
		rules = append(rules, r)
	}
	return rules
}

// entry returns the entry of r in x-kubernetes-validations.
func (r *Rule) entry() map[string]any {
	list, _ := r.at.Schema.Extensions[schema.KeyValidations].([]any)
	entry, _ := list[r.Index].(map[string]any)
	return entry
}

// Message returns the message that the author gave the rule, "" for none; an expression in place of a message as it is.
func (r *Rule) Message() string {
	entry := r.entry()
	for _, key := range []string{"message", "messageExpression"} {
		if text, _ := entry[key].(string); text != "" {
			return text
		}
	}
	return ""
}

// tree is a schema with its rules. $refs are not followed: the schemas of CRDs have none.
type tree struct {
	*schema.Tree
	rules map[*schema.Location][]*Rule
	// unlockable is why a location can have no lock.
	unlockable map[*schema.Location]string
	// uncorrelated is why CEL does not pair the old and new values of a location the way a lock does.
	uncorrelated map[*schema.Location]string
}

func readTree(s *spec.Schema) *tree {
	read := schema.Read(s, func(string) (*spec.Schema, error) { return nil, errors.New("a CRD has no $ref") })
	t := &tree{read, map[*schema.Location][]*Rule{}, map[*schema.Location]string{}, map[*schema.Location]string{}}
	read.Walk(func(v schema.Visit) {
		l := v.Location
		if rules := rulesOf(l); rules != nil {
			t.rules[l] = rules
		}
		switch {
		case l.In == nil:
			t.unlockable[l] = "a lock is not allowed at the root of an object"
			return
		case v.InMetadata || ofResource(l):
			t.unlockable[l] = "a lock is not allowed in " + l.Name
		case v.InSet:
			t.unlockable[l] = "a lock is not allowed below the items of a set"
		}
		reason := t.uncorrelated[l.Parent()]
		if l.Role == schema.Items && reason == "" {
			reason = itemsApart(l.Parent())
		}
		if reason != "" {
			t.uncorrelated[l] = reason
		}
	})
	return t
}

// ofResource reports whether l is metadata, apiVersion or kind of the object or of an embedded resource.
func ofResource(l *schema.Location) bool {
	if l.Role != schema.Property || l.Name != "metadata" && l.Name != "apiVersion" && l.Name != "kind" {
		return false
	}
	return l.Parent().Role == schema.Root || l.Parent().Marks.Embedded
}

// itemsApart returns why CEL does not pair the old and new items of list l the way a lock does, or "".
func itemsApart(l *schema.Location) string {
	switch l.Marks.ListType {
	case schema.ListMap:
		return keysApart(l.Schema)
	case schema.ListSet:
		return "the API server does not correlate the items of a set"
	}
	return "the API server does not correlate the items of an atomic list"
}

// present reports whether a valid object has a value other than null at l wherever it has the parent of l.
func present(l *schema.Location) bool {
	switch {
	case l.Schema.Nullable:
		return false
	case l.Role == schema.Property:
		return l.Required || l.Schema.Default != nil || fillsParent(l.Parent())
	}
	return true
}

// fillsParent reports whether minProperties asks for every property that an object at l can have.
func fillsParent(l *schema.Location) bool {
	s := l.Schema
	return s.MinProperties != nil && *s.MinProperties >= int64(len(s.Properties)) && len(s.Properties) > 0 &&
		s.AdditionalProperties == nil && !preservesUnknown(s) && !l.Marks.Embedded
}

// inside returns the location of the values or items of l, nil if it has neither.
func inside(l *schema.Location) *schema.Location {
	if l.Values != nil {
		return l.Values
	}
	return l.Items
}

// within reports whether l is at or below top.
func within(l, top *schema.Location) bool {
	for ; l != nil; l = l.Parent() {
		if l == top {
			return true
		}
	}
	return false
}

// displayPath returns the path of l, with a name for the root.
func displayPath(l *schema.Location) string {
	if path := l.Path.String(); path != "" {
		return path
	}
	return "the root"
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// escape returns name the way CEL spells it in a selection: my-field is my__dash__field. It returns "" for a name that
// CEL cannot select.
func escape(name string) string {
	escaped, ok := cel.Escape(name)
	if !ok {
		return ""
	}
	return escaped
}

// fieldPath returns the fieldPath of a rule for the property name.
func fieldPath(name string) string {
	if plainName.MatchString(name) {
		return "." + name
	}
	return "['" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(name) + "']"
}

// sameKeys returns the condition that the list items a and b have equal keys; member spells the selection of a key.
func sameKeys(keys []string, a, b string, member func(item, key string) string) string {
	var same []string
	for _, key := range keys {
		same = append(same, member(a, key)+" == "+member(b, key))
	}
	return strings.Join(same, " && ")
}

// selected returns item.key, escaped.
func selected(item, key string) string { return item + "." + escape(key) }

// ruleIndex finds rules by the fields that they read, so that a search looks only at rules that have something to do with
// it.
type ruleIndex struct {
	rules []*readRule
	// By location: the positions of the rules that read it, and of those that read something at or below it.
	readers, below map[*schema.Location][]int
}

func newRuleIndex(rules []*readRule, e *effort) *ruleIndex {
	x := &ruleIndex{rules: rules, readers: map[*schema.Location][]int{}, below: map[*schema.Location][]int{}}
	add := func(to map[*schema.Location][]int, l *schema.Location, i int) {
		if list := to[l]; len(list) == 0 || list[len(list)-1] != i {
			to[l] = append(list, i)
		}
	}
	for i, r := range rules {
		for _, l := range r.reads {
			add(x.readers, l, i)
			for ; l != nil; l = l.Parent() {
				add(x.below, l, i)
				e.spend(1)
			}
		}
	}
	return x
}

// nearestFirst returns the rules by depth, the deepest first.
func nearestFirst(rules []*readRule) []*readRule {
	depth := map[*readRule]int{}
	for _, r := range rules {
		depth[r] = len(way(r.at))
	}
	return slices.SortedStableFunc(slices.Values(rules), func(a, b *readRule) int { return cmp.Compare(depth[b], depth[a]) })
}

// related completes rules with those that read gone from above, those that read something below fields, and those that
// read a field that another one of them reads. It goes through the rules of the index again and again, in their order,
// until it finds no more: an added rule is found from then on by what it reads.
func (x *ruleIndex) related(rules []*readRule, below []*schema.Location, gone *schema.Location, e *effort) []*readRule {
	w := rounds{round: -1, known: map[*schema.Location]bool{}}
	in := map[*readRule]bool{}
	for _, r := range rules {
		in[r] = true
	}
	read := func(fields []*schema.Location) {
		for _, l := range fields {
			for ; l != nil && !w.known[l]; l = l.Parent() {
				w.known[l] = true
				w.add(span{list: x.readers[l]})
				e.spend(1)
			}
		}
	}
	read(below)
	for _, l := range below {
		w.add(span{list: x.below[l]})
	}
	if gone != nil {
		w.add(span{list: x.below[gone], above: true})
		for l := gone; l != nil; l = l.Parent() {
			w.add(span{list: x.readers[l], above: true})
		}
	}
	for len(rules) < maxRelevant {
		i, above, ok := w.next()
		if !ok {
			break
		}
		e.spend(1)
		r := x.rules[i]
		if in[r] || above && (r.at == gone || !within(gone, r.at)) {
			continue
		}
		in[r], w.found = true, true
		rules = append(rules, r)
		read(r.reads)
	}
	return rules
}

// rounds goes through sorted lists of positions as if they were one, round after round. A list that is added in the middle
// of a round counts from there on in this round, and with its beginning in the next.
type rounds struct {
	now   spans
	later []span
	round int  // the position that the round has come to
	found bool // in this round
	known map[*schema.Location]bool
}

// span is a list of positions; above marks those that count only for rules above what is gone.
type span struct {
	list  []int
	above bool
}

func (w *rounds) add(s span) {
	from := sort.SearchInts(s.list, w.round+1)
	if from < len(s.list) {
		heap.Push(&w.now, span{s.list[from:], s.above})
	}
	if from > 0 {
		w.later = append(w.later, span{s.list[:from], s.above})
	}
}

// next returns the next position; false when a round has found nothing.
func (w *rounds) next() (i int, above, ok bool) {
	if len(w.now) == 0 {
		if !w.found || len(w.later) == 0 {
			return 0, false, false
		}
		w.now, w.later, w.round, w.found = w.later, nil, -1, false
		heap.Init(&w.now)
	}
	s := &w.now[0]
	i, above = s.list[0], s.above
	w.round = i
	if s.list = s.list[1:]; len(s.list) == 0 {
		heap.Pop(&w.now)
	} else {
		heap.Fix(&w.now, 0)
	}
	return i, above, true
}

// spans is a heap by the first position.
type spans []span

func (s spans) Len() int           { return len(s) }
func (s spans) Less(i, j int) bool { return s[i].list[0] < s[j].list[0] }
func (s spans) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *spans) Push(x any)        { *s = append(*s, x.(span)) }
func (s *spans) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}
