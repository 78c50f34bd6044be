package witness

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/cel-go/common/ast"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fieldlock/fieldlock/internal/celexpr"
	"github.com/fieldlock/fieldlock/internal/celrun"
)

// problem is why a sequence is not what is wanted.
type problem struct {
	at      int // index of the object whose writing fails; for a direct update that is accepted, of the last one
	kind    problemKind
	path    path         // in the object, where the problem has one
	rule    *celrun.Rule // for brokenRule
	error   *field.Error
	message string
}

// Refusal is why the direct update is refused.
type Refusal struct {
	Path    string // of the object
	Rule    string // the text of the CEL rule; "" for a lock
	Message string

	node path        // where the rule is, or the locked field
	rule celrun.Rule // of a transition rule
}

// String says where an update is refused and why, with the rule unless the message has it already.
func (r Refusal) String() string {
	text := cmp.Or(r.Path, "the object") + ": " + r.Message
	if r.Rule != "" && !strings.Contains(r.Message, r.Rule) {
		text += " (rule: " + r.Rule + ")"
	}
	return text
}

type problemKind int

const (
	invalid     problemKind = iota // the schema refuses the object
	brokenRule                     // a rule refuses the object or the step
	brokenLock                     // a lock refuses the step
	notRefused                     // nothing refuses the direct way
	unreadable                     // the object cannot be prepared
	unevaluated                    // an object with the wrong types was not judged further
)

// fieldOf returns the path of an error. Where a schema fails as a whole, as with oneOf, the server gives the path at
// the beginning of the message only.
func fieldOf(err *field.Error) string {
	if m := whole.FindStringSubmatch(err.Detail); m != nil && err.Field == "<nil>" {
		return m[1]
	}
	return err.Field
}

var whole = regexp.MustCompile(`^"(.*)" must (not )?validate `)

// problems returns the problems of writing obj over old, nil for a create.
func (v *Version) problems(c *contents, old map[string]any) []problem {
	var problems []problem
	obj := c.value
	for _, err := range c.invalid() {
		problems = append(problems, problem{kind: invalid, path: locate(obj, v.node(), fieldOf(err)), error: err,
			message: err.Error()})
		if err.Type == field.ErrorTypeTypeInvalid {
			return append(problems, problem{kind: unevaluated}, problem{kind: unevaluated})
		}
	}
	broken, err := v.rules.ValidateUpdate(obj, old)
	if err != nil {
		return append(problems, problem{kind: unreadable, message: err.Error()})
	}
	for _, b := range broken {
		problems = append(problems, problem{kind: brokenRule, path: locate(obj, v.node(), b.Path), rule: &b.Rule,
			message: b.Message})
	}
	if old != nil && v.Locks != nil {
		for _, err := range v.Locks.ValidateUpdate(obj, old) {
			problems = append(problems, problem{kind: brokenLock, path: locate(obj, v.node(), err.Field), error: err,
				message: err.Error()})
		}
	}
	return problems
}

// refusals returns the locks and transition rules that refuse an update.
func (v *Version) refusals(obj, old map[string]any) []Refusal {
	var found []Refusal
	broken, err := v.rules.ValidateUpdate(obj, old)
	if err != nil {
		return nil
	}
	for _, b := range broken {
		if v.transition[b.Rule] {
			found = append(found, Refusal{Path: b.Path, Rule: b.Rule.Text, Message: b.Message,
				node: locate(obj, v.node(), b.Path), rule: b.Rule})
		}
	}
	if v.Locks != nil {
		for _, err := range v.Locks.ValidateUpdate(obj, old) {
			found = append(found, Refusal{Path: err.Field, Message: err.Detail, node: locate(obj, v.node(), err.Field)})
		}
	}
	return found
}

// ruleReads is what the text of a rule says about where to look for a repair.
type ruleReads struct {
	patterns [][]string // what it reads below self and oldSelf, each once, in the order of the text
	literals []any      // its constants: string, int64, float64, bool
	regexes  []string   // arguments of matches

	transition bool // it is a transition rule
}

// readsOf reads a rule; one that does not parse reads nothing.
func readsOf(text string) *ruleReads {
	found := &ruleReads{}
	x, err := celexpr.Parse(text)
	if err != nil {
		return found
	}
	seen := map[string]bool{}
	for _, read := range celexpr.Reads(x) {
		if !read.OfRule() {
			continue
		}
		pattern := read.Properties()
		for n := range len(pattern) + 1 {
			above := pattern[:n:n]
			if id := fmt.Sprintf("%q", above); !seen[id] {
				seen[id] = true
				found.patterns = append(found.patterns, above)
			}
		}
	}
	found.literals = celexpr.Literals(x)
	celexpr.Visit(x, func(x ast.Expr) bool {
		if x.Kind() == ast.CallKind {
			found.addCall(x.AsCall())
		}
		return true
	})
	return found
}

// addCall adds what a call says about the texts of its arguments.
func (r *ruleReads) addCall(call ast.CallExpr) {
	for _, text := range samples[call.FunctionName()] {
		r.literals = append(r.literals, text)
	}
	if call.FunctionName() != "matches" {
		return
	}
	for _, arg := range call.Args() {
		if arg.Kind() != ast.LiteralKind {
			continue
		}
		if text, ok := arg.AsLiteral().Value().(string); ok {
			r.regexes = append(r.regexes, text)
		}
	}
}

// samples are texts that functions of CEL read: two of one sort, and one of another.
var samples = map[string][]string{
	"ip": {"10.0.0.1", "10.0.0.2", "2001:db8::1"}, "isIP": {"10.0.0.1", "10.0.0.2", "2001:db8::1"},
	"cidr":      {"10.0.0.0/8", "192.168.0.0/16", "2001:db8::/32"},
	"isCIDR":    {"10.0.0.0/8", "192.168.0.0/16", "2001:db8::/32"},
	"timestamp": {"2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z"},
	"duration":  {"1h", "2h", "3h"}, "quantity": {"1", "2", "3"},
	"url": {"https://a.example", "https://b.example"}, "isURL": {"https://a.example", "https://b.example"},
}
