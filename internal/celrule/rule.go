package celrule

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/celexpr"
	"github.com/fieldlock/fieldlock/internal/schema"
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

	terms map[ast.Expr]readTerm // results of the method term
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
		if x, err := celexpr.Parse(text); err == nil {
			r.expr, r.Transition = x, celexpr.Mentions(x, "oldSelf")
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

// CustomMessage is Message without the messages that Export writes, which say what a lock says by itself.
func (r *Rule) CustomMessage() string {
	text := r.Message()
	if exportedMessage.MatchString(text) {
		return ""
	}
	return text
}

var exportedMessage = regexp.MustCompile("^" + schema.Refused +
	`( once it is set|: it may be neither set nor unset|: it may not be (set|unset)|: no (keys|items) may be (added|removed))?(, at .*)?$`)

// readRule is a rule with the fields that it reads.
type readRule struct {
	*Rule
	// reads are the fields; of lists and maps that the rule may ask for keys, their items and values too.
	reads []*schema.Location
	// guards are the fields that a transition rule reads from the old object.
	guards []*schema.Location
}

func newReadRule(r *Rule) *readRule {
	read := &readRule{Rule: r}
	seen := map[*[]*schema.Location]map[*schema.Location]bool{&read.reads: {}, &read.guards: {}}
	add := func(to *[]*schema.Location, l *schema.Location) {
		if !seen[to][l] {
			seen[to][l] = true
			*to = append(*to, l)
		}
	}
	for _, t := range termsIn(r, r.expr) {
		add(&read.reads, t.at)
		if keysOf(t.at) != noKeys {
			add(&read.reads, inside(t.at))
		}
		if t.side == oldSide && r.Transition && !t.at.IsMapKey() {
			add(&read.guards, t.at)
		}
	}
	return read
}

// Reads returns the locations that r reads, of self or of oldSelf; that of the rule if it names none.
func (r *Rule) Reads() []*schema.Location {
	if r.expr != nil {
		if reads := newReadRule(r).reads; len(reads) > 0 {
			return reads
		}
	}
	return []*schema.Location{r.at}
}

// Location returns the location that has the rule.
func (r *Rule) Location() *schema.Location { return r.at }

// HasMessageExpression reports whether the server makes the message of r from the objects.
func (r *Rule) HasMessageExpression() bool { return r.entry()["messageExpression"] != nil }

// guardsWithin lists the fields at or below l that r guards.
func (r *readRule) guardsWithin(l *schema.Location) []*schema.Location {
	return slices.DeleteFunc(slices.Clone(r.guards), func(g *schema.Location) bool { return !within(g, l) })
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

// way lists the locations from below the root to l.
func way(l *schema.Location) []*schema.Location {
	var steps []*schema.Location
	for ; l.In != nil; l = l.Parent() {
		steps = append(steps, l)
	}
	slices.Reverse(steps)
	return steps
}

// displayPath returns the path of l, with a name for the root.
func displayPath(l *schema.Location) string {
	if path := l.Path.String(); path != "" {
		return path
	}
	return "the root"
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

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
func selected(item, key string) string { return item + "." + celexpr.Escape(key) }

// Change is what Import and Export do to one node of a schema.
type Change struct {
	SchemaPath string
	DropRules  []int            // indices in x-kubernetes-validations to remove
	AddRules   []map[string]any // rules to append, in the form of the schema
	DropKeys   []string         // extension keys to remove
	SetKeys    map[string]any   // extension keys to set
}

// Make makes the change in node, the JSON form of a node of a schema or its extensions.
func (c *Change) Make(node map[string]any) {
	for _, key := range c.DropKeys {
		delete(node, key)
	}
	maps.Copy(node, c.SetKeys)
	if len(c.DropRules)+len(c.AddRules) == 0 {
		return
	}
	rules, _ := node[schema.KeyValidations].([]any)
	var kept []any
	for i, rule := range rules {
		if !slices.Contains(c.DropRules, i) {
			kept = append(kept, rule)
		}
	}
	for _, rule := range c.AddRules {
		kept = append(kept, rule)
	}
	delete(node, schema.KeyValidations)
	if len(kept) > 0 {
		node[schema.KeyValidations] = kept
	}
}

// Apply returns s with changes made. It copies only the nodes on the way to a change and leaves s as it is. Changes at
// schema paths that s does not have are ignored.
func Apply(s *spec.Schema, changes []Change) *spec.Schema {
	byPath := map[string]func(spec.Extensions) error{}
	for _, c := range changes {
		byPath[c.SchemaPath] = func(extensions spec.Extensions) error {
			c.Make(extensions)
			return nil
		}
	}
	out, _ := schema.Edit(s, byPath)
	return out
}

// changes collects the changes of a schema by schema path.
type changes map[string]*Change

// at returns the change at l, which the caller may add to.
func (c changes) at(l *schema.Location) *Change {
	path := l.Path.Pointer()
	if c[path] == nil {
		c[path] = &Change{SchemaPath: path}
	}
	return c[path]
}

func (c changes) sorted() []Change {
	var all []Change
	for _, path := range slices.Sorted(maps.Keys(c)) {
		all = append(all, *c[path])
	}
	return all
}

// LockAt is a lock and the field that has it. The lock is "immutable" and the like, or a word of x-fieldlock-update.
type LockAt struct {
	Path, SchemaPath string
	Lock             string
}

func lockAt(l *schema.Location, lock schema.Lock) LockAt {
	return LockAt{l.Path.String(), l.Path.Pointer(), string(lock)}
}
