package kind

import (
	"slices"
	"strings"
	"sync"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/check"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// The locks and CEL transition rules of a schema. The API server's validator judges the rules. A rule that equals locks
// is reported as what they find: they name the value that changed, and they decide nothing. With
//
//	zone: {type: string, x-kubernetes-validations: [{rule: self == oldSelf, message: zone stays}]}
//
// an update of zone from a to b is refused by the server for the rule, and the finding is the one of
// x-kubernetes-immutable at zone, with the rule and its message. A rule such as self >= oldSelf equals no lock: its
// finding has LockRule and the path that the server names.

var _ part = (*ruled)(nil)

// ruled are the locks and transition rules of a schema.
type ruled struct {
	*Definition
	locks     *immutability.Validator
	rules     *celrun.Validator
	guard     *immutability.Validator // of values that the rules cannot compare
	onCluster *statusRules            // nil if there are none
	named     func() *names
}

// newRuled sorts the transition rules of a definition's schema into those that run here and those that only the cluster
// can run. It returns nil if nothing can be refused.
func newRuled(d *Definition, locks *immutability.Validator) *ruled {
	r := &ruled{Definition: d, locks: locks, named: namesOf(d.schema)}
	if d.schema != nil {
		var onCluster []celrun.Rule
		var guarded []string
		r.rules = celrun.New(d.schema, func(rule celrun.Rule) bool {
			if !celrun.Transition(rule) {
				return false
			}
			if ReadsStatus(rule) && !r.named().knows(rule) {
				onCluster = append(onCluster, rule)
				return false
			}
			guarded = append(guarded, rule.SchemaPath)
			return true
		})
		r.guard = newGuard(d.schema, guarded)
		r.onCluster = newStatusRules(d.schema, onCluster)
	}
	if locks.Empty() && r.rules == nil && r.onCluster == nil {
		return nil
	}
	return r
}

// find returns the objections to an update: first the broken locks, with the rules that refuse the update too, then the
// other broken rules, then the rules that may refuse it.
func (r *ruled) find(u *update) (found []Objection, more int, err error) {
	locked := u.Locked
	if locked == nil {
		locked = u.New
	}
	report := r.locks.Check(locked, u.Old)
	j := &judgement{ruled: r, update: u, at: map[lockID]int{}, whole: map[string][]string{}, more: report.More}
	for i := range report.Violations {
		j.add(&report.Violations[i])
	}
	refused, err := r.rules.ValidateUpdate(u.New, u.Old)
	if err != nil {
		return nil, 0, err
	}
	j.addIncomparable()
	if len(refused) > 0 {
		j.addRefused(refused)
	}
	return append(j.findings(), r.onCluster.findings(u)...), j.more, nil
}

// judgement collects the objections to one update.
type judgement struct {
	*ruled
	update *update

	locked  []Objection         // of locks, with the rules that refuse the update too
	at      map[lockID]int      // where in locked
	whole   map[string][]string // the paths of those that cover all below them, by their steps
	unnamed []refusedRule       // that no finding of a lock names
	more    int                 // beyond the limit of a report
}

// refusedRule is a rule that refuses the update of the field at a path, and the path of the value that has the rule.
// The text counts too: m.a.b and m[a.b] can have the same steps where a map has the key a.b beside a property a.
type refusedRule struct {
	*celrun.RuleError
	at, node fieldpath.Path
	nodeText string
}

// lockID identifies a finding of a lock.
type lockID struct{ path, lock, key string }

// coversAll are the locks whose findings are about all of the value at their path.
var coversAll = []immutability.Lock{
	immutability.LockImmutable, immutability.LockNoModify, immutability.LockIncomparable,
}

// add adds what a lock finds, unless it is there already, and the rules that it names.
func (j *judgement) add(v *immutability.Violation, by ...celrun.Rule) {
	path := v.Path.String()
	id := lockID{path, string(v.Lock), result.Value{Data: v.Key, OK: v.HasKey}.String()}
	i, known := j.at[id]
	if !known {
		i = len(j.locked)
		j.at[id] = i
		at := j.resolve(path)
		j.locked = append(j.locked, Objection{Violation: violation(v, at)})
		if !v.HasKey && slices.Contains(coversAll, v.Lock) {
			j.whole[at.String()] = append(j.whole[at.String()], path)
		}
	}
	for _, rule := range by {
		if !slices.Contains(j.locked[i].rules, rule) {
			j.locked[i].rules = append(j.locked[i].rules, rule)
		}
	}
}

// resolve reads a path of the two objects.
func (j *judgement) resolve(path string) fieldpath.Path {
	return fieldpath.Resolve(path, j.update.New, j.update.Old)
}

// covers reports whether a finding covers all that is at a path: of a lock of the whole value there or above, or of two
// values that cannot be compared.
func (j *judgement) covers(path string, at fieldpath.Path) bool {
	for above := range at.Prefixes() {
		if slices.ContainsFunc(j.whole[above], func(whole string) bool { return fieldpath.Within(path, whole) }) {
			return true
		}
	}
	return false
}

// addIncomparable adds the places of fields with rules at which the two sides are of different kinds, or a key occurs
// twice. The server runs no rule there, as it refuses such a new object before. If only the old value is wrong, the CRD
// was another one when it was stored, and the rules decide.
func (j *judgement) addIncomparable() {
	if j.guard == nil {
		return
	}
	report := j.guard.Check(j.update.New, j.update.Old)
	for i := range report.Violations {
		v := &report.Violations[i]
		if v.Lock != immutability.LockIncomparable {
			continue
		}
		path := v.Path.String()
		at := j.resolve(path)
		if j.covers(path, at) || j.corrects(at) {
			continue
		}
		j.add(v, slices.DeleteFunc(j.rules.Rules(), func(rule celrun.Rule) bool {
			return rule.SchemaPath != v.SchemaPath && !strings.HasPrefix(rule.SchemaPath, v.SchemaPath+"/")
		})...)
	}
}

// corrects reports whether an update gives a value the type that the schema asks for.
func (j *judgement) corrects(at fieldpath.Path) bool {
	s := j.schema
	for _, step := range at {
		s = schema.Below(s, step)
	}
	newVal, oldVal := Correlate(j.schema, j.update.New, j.update.Old, at)
	_, isWrong := Mistyped(s, newVal.Data)
	_, wasWrong := Mistyped(s, oldVal.Data)
	return wasWrong && !isWrong
}

// refusal identifies what a rule refuses at a value.
type refusal struct {
	rule ruleID
	node string
}

// maxFindings bounds the findings of one update, as the report of a validator is bounded.
const maxFindings = 10_000

// addRefused adds what rules refuse, as findings of the locks that they equal where these are broken too.
func (j *judgement) addRefused(violations []celrun.RuleError) {
	indices := map[refusal][]int{}
	refused := make([]refusedRule, len(violations))
	for i := range violations {
		refused[i] = j.refusedRule(&violations[i])
		id := refusal{idOf(refused[i].Rule), refused[i].node.String()}
		indices[id] = append(indices[id], i)
	}
	names, isNamed := j.named(), make([]bool, len(refused))
	var report immutability.Report
	if names.locks != nil {
		report = names.locks.Check(j.update.New, j.update.Old)
	}
	for i := range report.Violations {
		v := &report.Violations[i]
		for _, rule := range names.rules[v.SchemaPath] {
			for node := range j.resolve(v.Path.String()).Prefixes() {
				for _, at := range indices[refusal{rule, node}] {
					j.add(v, refused[at].Rule)
					isNamed[at] = true
				}
			}
		}
	}
	for i, r := range refused {
		switch {
		case isNamed[i], ReadsStatus(r.Rule), names.knows(r.Rule) && j.explains(r):
		case len(j.locked)+len(j.unnamed) >= maxFindings:
			j.more++
		default:
			j.unnamed = append(j.unnamed, r)
		}
	}
}

// refusedRule resolves the paths of a rule that refuses the update. Its message does not quote passwords.
func (j *judgement) refusedRule(v *celrun.RuleError) refusedRule {
	r := refusedRule{RuleError: v, at: j.resolve(v.Path)}
	r.node, r.nodeText = r.at, r.Path
	if r.Rule.FieldPath != "" { // which leads from the value to the path
		r.node = r.at[:min(len(r.at), schema.PathOf(r.Rule.SchemaPath).Depth())]
		r.nodeText = j.textOf(r.node, r.Path)
	}
	if j.RedactionAt(r.node) != nil { // CEL may have quoted a password
		r.Message = r.Rule.Says()
	}
	if r.Rule.MessageExpression != "" && r.Message != r.Rule.Says() {
		r.Rule.Message = r.Message
	}
	return r
}

// textOf returns how a node at or above a path is printed in it.
func (j *judgement) textOf(node fieldpath.Path, path string) string {
	if len(node) == 0 {
		return ""
	}
	for i, c := range path {
		if i > 0 && (c == '.' || c == '[') && slices.Equal(j.resolve(path[:i]), node) {
			return path[:i]
		}
	}
	return path
}

// explains reports whether the findings of locks have the reason for which a rule, which equals locks, refuses the
// update: other rules have the same locks, or stronger ones. It adds the rule to those at and below its value.
func (j *judgement) explains(r refusedRule) bool {
	explained := j.covers(r.nodeText, r.node)
	for i := range j.locked {
		f := &j.locked[i]
		isBelow := fieldpath.Path(f.Steps).Within(r.node) && (r.nodeText == "" || fieldpath.Within(f.Path, r.nodeText))
		if isBelow && !slices.Contains(f.rules, r.Rule) {
			f.rules, explained = append(f.rules, r.Rule), true
		}
	}
	return explained
}

// findings returns the objections of locks and those of rules, each with its message and the digest of the change.
func (j *judgement) findings() []Objection {
	var known digests
	for i := range j.locked {
		f := &j.locked[i]
		f.Rule, f.Says = texts(f.rules)
		if f.Says != "" {
			f.Message += "; the rule says: " + f.Says
		}
		newVal, oldVal := f.New, f.Old
		if HasRedacted(oldVal.Data) || HasRedacted(newVal.Data) {
			newVal, oldVal = Correlate(j.schema, j.update.New, j.update.Old, f.Steps)
		}
		f.Change = known.of(oldVal, newVal)
	}
	whole := ""
	for _, r := range j.unnamed {
		f := j.finding(r)
		newVal, oldVal := Correlate(j.schema, j.update.New, j.update.Old, r.node)
		isWhole := len(r.node) == 0 || equal(newVal, oldVal)
		if isWhole && whole == "" {
			whole = DigestObjects(j.update.New, j.update.Old)
		}
		if f.Change = whole; !isWhole {
			f.Change = known.of(oldVal, newVal)
		}
		j.locked = append(j.locked, f)
	}
	return j.locked
}

// finding returns the objection of a rule that equals no lock. The rule refuses a change somewhere in its value.
func (j *judgement) finding(r refusedRule) Objection {
	f := Objection{rules: []celrun.Rule{r.Rule}, Violation: result.Violation{
		Path: r.Path, Steps: r.at, Lock: string(LockRule), SchemaPath: r.Rule.SchemaPath, Rule: r.Rule.Text,
		Message: r.Message,
	}}
	if r.Path != "" {
		newVal, oldVal := Correlate(j.schema, j.update.New, j.update.Old, r.at)
		redaction, redactor := j.RedactionAt(r.at), check.Redactor{}
		f.New = result.Value{Data: redactor.Hide(redaction, newVal.Data), OK: newVal.OK}
		f.Old = result.Value{Data: redactor.Hide(redaction, oldVal.Data), OK: oldVal.OK}
	}
	return f
}

// texts returns the texts of rules, and their messages, each once.
func texts(rules []celrun.Rule) (text, says string) {
	var list, messages []string
	for _, r := range rules {
		list, messages = append(list, r.Text), append(messages, r.Message)
	}
	return strings.Join(EachOnce(list), "; "), strings.Join(EachOnce(messages), "; ")
}

// FromSchema returns the definition of a kind that a schema describes. Its own locks are compiled already; the
// transition rules are compiled at the first use, as most CRDs of a directory have no changed object. A nil schema has
// no rules. stored prepares objects; nil leaves them as they are.
func FromSchema(s *spec.Schema, locks *immutability.Validator, stored Preparer) *Definition {
	d := &Definition{schema: s, stored: stored}
	d.redaction = sync.OnceValue(func() *check.Redaction { return check.Passwords(schema.Read(s, nil)) })
	d.parts = sync.OnceValue(func() []part {
		if ruled := newRuled(d, locks); ruled != nil {
			return []part{ruled}
		}
		return nil
	})
	return d
}
