package compare

import (
	"slices"
	"strings"
	"sync"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/celrule"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// laws are the locks and CEL transition rules of one version of a CRD. A rule that equals a lock is checked as the lock:
// it says which value changed, and it is reported once.
type laws struct {
	schema *spec.Schema

	once      sync.Once // the rest is made at the first use: most CRDs of a directory have no changed object
	locks     *immutability.Validator
	asLocks   map[string]ruleTexts // the rules that are checked as locks, by the schema path of the locks
	rules     *celrun.Validator
	onCluster *statusRules // nil if there are none
	err       error
}

// ruleTexts are the CEL expressions and the messages of the rules that equal the locks of a field.
type ruleTexts struct{ texts, messages []string }

// newLaws returns the laws of a schema whose own locks are compiled already.
func newLaws(s *spec.Schema, locks *immutability.Validator) *laws {
	return &laws{schema: s, locks: locks}
}

// load sorts the transition rules into locks, rules and those that only the cluster can run.
func (l *laws) load() error {
	l.once.Do(func() {
		if l.schema == nil {
			return
		}
		rules := celrun.New(l.schema, celrun.Transition)
		if rules == nil {
			return
		}
		type place struct {
			schemaPath string
			index      int
		}
		messages := map[place]string{}
		for _, r := range rules.Rules() {
			messages[place{r.SchemaPath, r.Index}] = r.Message
		}
		imported := celrule.Import(l.schema)
		l.asLocks = map[string]ruleTexts{}
		for _, r := range imported.Recognized {
			at := place{r.SchemaPath, r.Index}
			for _, lock := range r.Locks {
				of := l.asLocks[lock.SchemaPath]
				if !slices.Contains(of.texts, r.Text) {
					of.texts = append(of.texts, r.Text)
				}
				if m := messages[at]; m != "" && !slices.Contains(of.messages, m) {
					of.messages = append(of.messages, m)
				}
				l.asLocks[lock.SchemaPath] = of
			}
		}
		locked := celrule.Apply(l.schema, imported.Changes)
		if l.locks, l.err = immutability.Compile(locked); l.err != nil {
			return
		}
		var onCluster []celrun.Rule
		l.rules = celrun.New(locked, func(r celrun.Rule) bool {
			if !celrun.Transition(r) {
				return false
			}
			if readsStatus(r) {
				onCluster = append(onCluster, r)
				return false
			}
			return true
		})
		l.onCluster = newStatusRules(locked, onCluster)
	})
	return l.err
}

// empty reports whether nothing can be refused. It is exact only after load.
func (l *laws) empty() bool { return l.locks.Empty() && l.rules == nil && l.onCluster == nil }

// check adds to v what a pair of prepared objects breaks. Place completes each breach; of is nil for that of a rule. It
// returns an error if the rules cannot be run.
func (l *laws) check(v *verdict, newObj, oldObj map[string]any, place func(b *breach, of *immutability.Violation)) error {
	report := l.locks.Check(newObj, oldObj)
	breaches, digests := make([]breach, len(report.Violations)), digests{}
	for i := range breaches {
		breaches[i] = l.lockBreach(&report.Violations[i], &digests, newObj, oldObj)
		place(&breaches[i], &report.Violations[i])
	}
	byRules, err := l.ruleBreaches(newObj, oldObj)
	if err != nil {
		return err
	}
	for i := range byRules {
		place(&byRules[i], nil)
	}
	v.merge(append(breaches, byRules...))
	v.more += report.More
	v.unknown = append(v.unknown, l.onCluster.remarks(newObj, oldObj)...)
	return nil
}

// lockBreach makes a breach of a violation that the locks found in prepared objects.
func (l *laws) lockBreach(v *immutability.Violation, known *digests, newObj, oldObj map[string]any) breach {
	b := newBreach(v)
	if of := l.asLocks[v.SchemaPath]; of.texts != nil {
		b.rule, b.says = strings.Join(of.texts, "; "), strings.Join(of.messages, "; ")
		if b.says != "" {
			b.message += "; the rule says: " + b.says
		}
	}
	if b.change = known.of(b.old, b.new); hasRedacted(b.old) || hasRedacted(b.new) {
		newVal, oldVal := correlate(l.schema, newObj, oldObj, b.path)
		b.change = known.of(oldVal, newVal)
	}
	return b
}

// ruleBreaches runs the rules on prepared objects.
func (l *laws) ruleBreaches(newObj, oldObj map[string]any) ([]breach, error) {
	violations, err := l.rules.ValidateUpdate(newObj, oldObj)
	if err != nil {
		return nil, err
	}
	breaches := make([]breach, len(violations))
	for i, v := range violations {
		b := breach{path: v.Path, lock: lockRule, rule: v.Rule.Text, schemaPath: v.Rule.SchemaPath, message: v.Message}
		newVal, oldVal := correlate(l.schema, newObj, oldObj, v.Path)
		b.change = digest(oldVal, newVal)
		if v.Path == "" || newVal.ok == oldVal.ok && jsonvalue.Equal(newVal.v, oldVal.v) {
			b.change = digestObjects(newObj, oldObj) // the rule refuses a change somewhere in them
		}
		if v.Path != "" {
			hide := passwordsAt(l.schema, newObj, oldObj, v.Path)
			b.new, b.old = hide(newVal), hide(oldVal)
		}
		breaches[i] = b
	}
	return breaches, nil
}

// lockRule is the lock of violations of CEL rules that equal no lock.
const lockRule = "rule"
