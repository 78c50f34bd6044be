package compare

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/celrule"
	"github.com/fieldlock/fieldlock/internal/celrun"
	checks "github.com/fieldlock/fieldlock/internal/check"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// laws are the locks and CEL transition rules of one version of a CRD. The API server's validator judges the rules. A rule
// that equals locks is reported as what they find: they name the value that changed, and they decide nothing.
type laws struct {
	schema *spec.Schema
	locks  *immutability.Validator

	once      sync.Once // the rest is made at the first use: most CRDs of a directory have no changed object
	rules     *celrun.Validator
	guard     *immutability.Validator // of values that the rules cannot compare
	onCluster *statusRules            // nil if there are none

	named     func() *names
	validity  func() func(newObj, oldObj map[string]any) []string // the mistakes that the server finds
	redaction func() *checks.Redaction                            // of the whole object
}

// newLaws returns the laws of a schema whose own locks are compiled already.
func newLaws(s *spec.Schema, locks *immutability.Validator) *laws {
	return &laws{
		schema: s, locks: locks, named: sync.OnceValue(func() *names { return newNames(s) }),
		validity:  sync.OnceValue(func() func(newObj, oldObj map[string]any) []string { return newValidity(s) }),
		redaction: sync.OnceValue(func() *checks.Redaction { return checks.Passwords(schema.Read(s, nil)) }),
	}
}

// load sorts the transition rules into those that run here and those that only the cluster can run.
func (l *laws) load() {
	l.once.Do(func() {
		if l.schema == nil {
			return
		}
		var onCluster []celrun.Rule
		var guarded []string
		l.rules = celrun.New(l.schema, func(r celrun.Rule) bool {
			if !celrun.Transition(r) {
				return false
			}
			if readsStatus(r) && !l.named().knows(r) {
				onCluster = append(onCluster, r)
				return false
			}
			guarded = append(guarded, r.SchemaPath)
			return true
		})
		l.guard = newGuard(l.schema, guarded)
		l.onCluster = newStatusRules(l.schema, onCluster)
	})
}

// empty reports whether nothing can be refused.
func (l *laws) empty() bool {
	l.load()
	return l.locks.Empty() && l.rules == nil && l.onCluster == nil
}

// check adds to v what a pair of prepared objects breaks. Locked is the new object as the locks of the schema compare it:
// without what the server does not store. Place completes each violation. It returns an error if the rules cannot be run.
func (l *laws) check(v *verdict, newObj, oldObj, locked map[string]any, place func(v *Violation)) error {
	l.load()
	report := l.locks.Check(locked, oldObj)
	found := findings{laws: l, newObj: newObj, oldObj: oldObj, at: map[lockID]int{}, whole: map[string][]string{}, more: report.More}
	for i := range report.Violations {
		found.add(&report.Violations[i])
	}
	refused, err := l.rules.ValidateUpdate(newObj, oldObj)
	if err != nil {
		return err
	}
	found.addIncomparable()
	if len(refused) > 0 {
		found.addRefused(refused)
	}
	violations := found.complete()
	for i := range violations {
		place(&violations[i])
	}
	v.merge(violations)
	v.more += found.more
	v.unknown = append(v.unknown, l.onCluster.remarks(newObj, oldObj)...)
	return nil
}

// findings are what one update breaks.
type findings struct {
	*laws
	newObj, oldObj map[string]any

	locked []Violation         // of locks, with the rules that refuse the update too
	at     map[lockID]int      // where in locked
	whole  map[string][]string // the paths of those that cover all below them, by their steps
	ruled  []refusedRule       // that no violation of a lock names
	more   int                 // beyond the limit of a report
}

// refusedRule is a rule that refuses the update of the field at a path, and the path of the value that has the rule. The text
// counts too: m.a.b and m[a.b] can have the same steps where a map has the key a.b beside a property a.
type refusedRule struct {
	*celrun.Violation
	at, node fieldpath.Path
	nodeText string
}

// lockID identifies a violation of a lock.
type lockID struct{ path, lock, key string }

// add adds a violation, unless it is there already, and the rules that it names.
func (f *findings) add(v *immutability.Violation, by ...celrun.Rule) {
	path := v.Path.String()
	at := f.resolve(path)
	id := lockID{path, string(v.Lock), string(raw(value{v.Key, v.HasKey}))}
	i, known := f.at[id]
	if !known {
		i = len(f.locked)
		f.at[id] = i
		f.locked = append(f.locked, newViolation(v, path, at))
		if !v.HasKey && (v.Lock == immutability.LockImmutable || v.Lock == immutability.LockNoModify || v.Lock == immutability.LockIncomparable) {
			f.whole[at.String()] = append(f.whole[at.String()], path)
		}
	}
	for _, r := range by {
		if !slices.Contains(f.locked[i].by, r) {
			f.locked[i].by = append(f.locked[i].by, r)
		}
	}
}

// resolve reads a path of the prepared objects.
func (f *findings) resolve(path string) fieldpath.Path {
	return fieldpath.Resolve(path, f.newObj, f.oldObj)
}

// covers reports whether a violation covers all that is at a path: of a lock of the whole value there or above, or of two
// values that cannot be compared.
func (f *findings) covers(path string, at fieldpath.Path) bool {
	for above := range at.Prefixes() {
		if slices.ContainsFunc(f.whole[above], func(whole string) bool { return fieldpath.Within(path, whole) }) {
			return true
		}
	}
	return false
}

// addIncomparable adds the places of fields with rules at which the two sides are of different kinds, or a key occurs twice.
// The server runs no rule there, as it refuses such a new object before. If only the old value is wrong, the CRD was another one
// when it was stored, and the rules decide.
func (f *findings) addIncomparable() {
	if f.guard == nil {
		return
	}
	report := f.guard.Check(f.newObj, f.oldObj)
	for i := range report.Violations {
		v := &report.Violations[i]
		if v.Lock != immutability.LockIncomparable || f.covers(v.Path.String(), f.resolve(v.Path.String())) || f.corrects(f.resolve(v.Path.String())) {
			continue
		}
		f.add(v, slices.DeleteFunc(f.rules.Rules(), func(r celrun.Rule) bool {
			return r.SchemaPath != v.SchemaPath && !strings.HasPrefix(r.SchemaPath, v.SchemaPath+"/")
		})...)
	}
}

// corrects reports whether an update gives a value the type that the schema asks for.
func (f *findings) corrects(at fieldpath.Path) bool {
	s := f.schema
	for _, step := range at {
		s = schema.Below(s, step)
	}
	newVal, oldVal := correlate(f.schema, f.newObj, f.oldObj, at)
	_, isWrong := mistyped(s, newVal.v, nil)
	_, wasWrong := mistyped(s, oldVal.v, nil)
	return wasWrong && !isWrong
}

// addRefused adds what rules refuse, as violations of the locks that they equal where these are violated too.
func (f *findings) addRefused(violations []celrun.Violation) {
	type refusal struct {
		rule ruleID
		node string
	}
	names := f.named()
	indices := map[refusal][]int{}
	refused := make([]refusedRule, len(violations))
	for i := range violations {
		r := refusedRule{Violation: &violations[i], at: f.resolve(violations[i].Path)}
		if r.node, r.nodeText = r.at, r.Path; r.Rule.FieldPath != "" { // which leads from the value to the path
			r.node = r.at[:min(len(r.at), schema.PathOf(r.Rule.SchemaPath).Depth())]
			r.nodeText = f.textOf(r.node, r.Path)
		}
		if f.redactionAt(r.node) != nil { // CEL may have quoted a password
			r.Message = r.Rule.Says()
		}
		if r.Rule.MessageExpression != "" && r.Message != r.Rule.Says() {
			r.Rule.Message = r.Message
		}
		refused[i] = r
		id := refusal{ruleID{r.Rule.SchemaPath, r.Rule.Index}, r.node.String()}
		indices[id] = append(indices[id], i)
	}
	isNamed := make([]bool, len(refused))
	var report immutability.Report
	if names.locks != nil {
		report = names.locks.Check(f.newObj, f.oldObj)
	}
	for i := range report.Violations {
		v := &report.Violations[i]
		for _, rule := range names.rules[v.SchemaPath] {
			for node := range f.resolve(v.Path.String()).Prefixes() {
				for _, at := range indices[refusal{rule, node}] {
					f.add(v, refused[at].Rule)
					isNamed[at] = true
				}
			}
		}
	}
	for i, r := range refused {
		switch {
		case isNamed[i], readsStatus(r.Rule), names.knows(r.Rule) && f.explains(r):
		case len(f.locked)+len(f.ruled) >= maxViolations:
			f.more++
		default:
			f.ruled = append(f.ruled, r)
		}
	}
}

// explains reports whether the violations of locks have the reason for which a rule, which equals locks, refuses the update:
// other rules have the same locks, or stronger ones. It adds the rule to those at and below its value.
func (f *findings) explains(r refusedRule) bool {
	explained := f.covers(r.nodeText, r.node)
	for i := range f.locked {
		v := &f.locked[i]
		if v.at.Within(r.node) && (r.nodeText == "" || fieldpath.Within(v.Path, r.nodeText)) && !slices.Contains(v.by, r.Rule) {
			v.by, explained = append(v.by, r.Rule), true
		}
	}
	return explained
}

// textOf returns how a node at or above a path is printed in it.
func (f *findings) textOf(node fieldpath.Path, path string) string {
	if len(node) == 0 {
		return ""
	}
	for i, c := range path {
		if i > 0 && (c == '.' || c == '[') && slices.Equal(f.resolve(path[:i]), node) {
			return path[:i]
		}
	}
	return path
}

// maxViolations bounds the violations of one object, as the report of a validator is bounded.
const maxViolations = 10_000

// complete returns the violations of locks, with their rules and digests, and those of rules.
func (f *findings) complete() []Violation {
	known := digests{}
	for i := range f.locked {
		f.completeLocked(&f.locked[i], &known)
	}
	var whole string // digest of all that changes
	for _, r := range f.ruled {
		f.locked = append(f.locked, f.ruleViolation(r, &whole))
	}
	return f.locked
}

// completeLocked adds what the rules say and the digest of the change to a violation of a lock.
func (f *findings) completeLocked(v *Violation, known *digests) {
	var texts, messages []string
	for _, r := range v.by {
		if !slices.Contains(texts, r.Text) {
			texts = append(texts, r.Text)
		}
		if r.Message != "" && !slices.Contains(messages, r.Message) {
			messages = append(messages, r.Message)
		}
	}
	v.Rule, v.Says = strings.Join(texts, "; "), strings.Join(messages, "; ")
	if v.Says != "" {
		v.Message += "; the rule says: " + v.Says
	}
	if v.Change = known.of(v.old, v.new); hasRedacted(v.old.v) || hasRedacted(v.new.v) {
		newVal, oldVal := correlate(f.schema, f.newObj, f.oldObj, v.at)
		v.Change = known.of(oldVal, newVal)
	}
}

// ruleViolation returns the violation of a rule that refuses prepared objects. Whole remembers the digest of all that changes.
func (f *findings) ruleViolation(v refusedRule, whole *string) Violation {
	b := Violation{Path: v.Path, at: v.at, Lock: lockRule, Rule: v.Rule.Text, SchemaPath: v.Rule.SchemaPath, Message: v.Message}
	newVal, oldVal := correlate(f.schema, f.newObj, f.oldObj, v.node) // the rule refuses a change somewhere in them
	b.Change = digest(oldVal, newVal)
	if len(v.node) == 0 || newVal.equal(oldVal) {
		if *whole == "" {
			*whole = digestObjects(f.newObj, f.oldObj)
		}
		b.Change = *whole
	}
	if v.Path != "" {
		newVal, oldVal = correlate(f.schema, f.newObj, f.oldObj, v.at)
		redaction, redactor := f.redactionAt(v.at), checks.Redactor{}
		b.new, b.old = value{redactor.Hide(redaction, newVal.v), newVal.ok}, value{redactor.Hide(redaction, oldVal.v), oldVal.ok}
	}
	return b
}

// lockRule is the lock of violations of CEL rules that equal no lock.
const lockRule = "rule"

// names are the locks that transition rules equal.
type names struct {
	locks      *immutability.Validator // of the schema with these locks and its own; nil if they cannot be compiled
	rules      map[string][]ruleID     // by the schema path of the lock
	recognized map[ruleID]bool         // also those whose locks other rules have, or the schema itself
}

// ruleID names a rule of a schema.
type ruleID struct {
	schemaPath string
	index      int
}

// newNames reads the rules of s as locks. What cannot be read has no name, and is reported as a rule.
func newNames(s *spec.Schema) *names {
	n := &names{rules: map[string][]ruleID{}, recognized: map[ruleID]bool{}}
	imported := celrule.Import(s)
	locks, err := immutability.Compile(celrule.Apply(s, imported.Changes))
	if err != nil {
		return n
	}
	n.locks = locks
	for _, r := range imported.Recognized {
		n.recognized[ruleID{r.SchemaPath, r.Index}] = true
		for _, lock := range r.Locks {
			n.rules[lock.SchemaPath] = append(n.rules[lock.SchemaPath], ruleID{r.SchemaPath, r.Index})
		}
	}
	return n
}

// knows reports whether a rule equals locks.
func (n *names) knows(r celrun.Rule) bool { return n.recognized[ruleID{r.SchemaPath, r.Index}] }

// newGuard returns a validator that reports where values at and above the fields at schemaPaths cannot be compared. It locks
// these fields; violations of the locks themselves mean nothing. It is nil if there are no such fields.
func newGuard(s *spec.Schema, schemaPaths []string) *immutability.Validator {
	var changes []celrule.Change
	for _, path := range slices.Compact(schemaPaths) {
		if path != "" {
			changes = append(changes, celrule.Change{SchemaPath: path, SetKeys: map[string]any{schema.KeyUpdate: []any{string(schema.NoSet)}}})
		}
	}
	for len(changes) > 0 {
		guard, err := immutability.Compile(celrule.Apply(s, changes))
		if err == nil {
			return guard
		}
		var mistakes *immutability.SchemaError
		if !errors.As(err, &mistakes) {
			return nil
		}
		before := len(changes)
		changes = slices.DeleteFunc(changes, func(c celrule.Change) bool { // a field that takes no lock, such as an item of a set
			return slices.ContainsFunc(mistakes.Findings, func(f immutability.Finding) bool { return f.SchemaPath == c.SchemaPath })
		})
		if len(changes) == before {
			return nil
		}
	}
	return nil
}

// statusRules are transition rules that read the status, which an apply of a manifest does not bring along.
type statusRules struct {
	rules   []celrun.Rule
	certain *celrun.Validator // of conditions that imply the rules whatever the status is; with the same indices
}

// wholeStatus finds a reference to the status of the whole object in the text of a rule.
var wholeStatus = regexp.MustCompile(`\b(self|oldSelf)\s*\.\s*\??\s*status\b`)

// readsStatus reports whether a rule of the root reads the status.
func readsStatus(r celrun.Rule) bool { return r.SchemaPath == "" && wholeStatus.MatchString(r.Text) }

// field finds a reference to a field of the whole object, and wholeObject one to all of it.
var (
	field       = regexp.MustCompile(`\b(self|oldSelf)\s*\.\s*\??\s*\w`)
	wholeObject = regexp.MustCompile(`\b(self|oldSelf)\b`)
)

// mayReadStatus reports whether a condition of such a rule may read the status, perhaps as a part of the object.
func mayReadStatus(condition string) bool {
	return wholeStatus.MatchString(condition) || wholeObject.MatchString(field.ReplaceAllString(condition, ""))
}

// newStatusRules returns nil if there are no rules. They are rules of the root of s.
func newStatusRules(s *spec.Schema, rules []celrun.Rule) *statusRules {
	if len(rules) == 0 {
		return nil
	}
	entries := make([]any, len(rules))
	for i, r := range rules {
		entries[i] = map[string]any{"rule": celrun.Certain(r.Text, mayReadStatus), "optionalOldSelf": r.OptionalOldSelf}
	}
	root := *s
	root.Extensions = maps.Clone(s.Extensions)
	root.Extensions[schema.KeyValidations] = entries
	certain := celrun.New(&root, func(r celrun.Rule) bool { return r.SchemaPath == "" })
	return &statusRules{rules, certain.Strict(new(celrun.Shared))}
}

// remarks are about the rules that may refuse an update, with some status.
func (s *statusRules) remarks(newObj, oldObj map[string]any) []Remark {
	if s == nil {
		return nil
	}
	violations, err := s.certain.ValidateUpdate(newObj, oldObj)
	mayRefuse := func(i int) bool {
		return err != nil || slices.ContainsFunc(violations, func(v celrun.Violation) bool { return v.Rule.Text == "" || v.Rule.Index == i })
	}
	var list []Remark
	for i, r := range s.rules {
		m := Remark{Path: strings.TrimPrefix(r.FieldPath, "."), Message: fmt.Sprintf("the rule %s depends on the status, which only the cluster knows", r.Text)}
		if mayRefuse(i) && !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}
