package witness

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
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

// fieldOf returns the path of an error. Where a schema fails as a whole, as with oneOf, the server gives the path at the
// beginning of the message only.
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
		problems = append(problems, problem{kind: invalid, path: locate(obj, v.node(), fieldOf(err)), error: err, message: err.Error()})
		if err.Type == field.ErrorTypeTypeInvalid {
			return append(problems, problem{kind: unevaluated}, problem{kind: unevaluated})
		}
	}
	broken, err := v.rules.ValidateUpdate(obj, old)
	if err != nil {
		return append(problems, problem{kind: unreadable, message: err.Error()})
	}
	for _, b := range broken {
		problems = append(problems, problem{kind: brokenRule, path: locate(obj, v.node(), b.Path), rule: &b.Rule, message: b.Message})
	}
	if old != nil && v.Locks != nil {
		for _, err := range v.Locks.ValidateUpdate(obj, old) {
			problems = append(problems, problem{kind: brokenLock, path: locate(obj, v.node(), err.Field), error: err, message: err.Error()})
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
			found = append(found, Refusal{Path: b.Path, Rule: b.Rule.Text, Message: b.Message, node: locate(obj, v.node(), b.Path), rule: b.Rule})
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
	r := &readsVisitor{found: &ruleReads{}, seen: map[string]bool{}}
	x, err := celexpr.Parse(text)
	if err != nil {
		return r.found
	}
	r.vars = map[string][]string{"self": {}, "oldSelf": {}}
	r.visit(x)
	return r.found
}

type readsVisitor struct {
	found *ruleReads
	seen  map[string]bool
	vars  map[string][]string // variables in scope: the pattern of what they hold
}

// note keeps a pattern, and returns it.
func (r *readsVisitor) note(pattern []string) []string {
	id := ""
	for _, step := range pattern {
		id += "\x01" + step
	}
	if !r.seen[id] {
		r.seen[id] = true
		r.found.patterns = append(r.found.patterns, pattern)
	}
	return pattern
}

// visit notes what x reads, and returns the pattern of its value, nil when that is not read from self or oldSelf.
func (r *readsVisitor) visit(x ast.Expr) []string {
	switch x.Kind() {
	case ast.LiteralKind:
		switch v := x.AsLiteral().Value().(type) {
		case string, int64, float64, bool:
			r.found.literals = append(r.found.literals, v)
		}
	case ast.IdentKind:
		if pattern, ok := r.vars[x.AsIdent()]; ok && pattern != nil {
			return r.note(pattern)
		}
	case ast.SelectKind:
		return r.below(r.visit(x.AsSelect().Operand()), x.AsSelect().FieldName())
	case ast.CallKind:
		return r.call(x.AsCall())
	case ast.ListKind:
		for _, e := range x.AsList().Elements() {
			r.visit(e)
		}
	case ast.MapKind:
		for _, e := range x.AsMap().Entries() {
			r.visit(e.AsMapEntry().Key())
			r.visit(e.AsMapEntry().Value())
		}
	}
	return nil
}

func (r *readsVisitor) below(pattern []string, step string) []string {
	if pattern == nil {
		return nil
	}
	return r.note(append(pattern[:len(pattern):len(pattern)], celexpr.Unescape(step)))
}

func (r *readsVisitor) call(call ast.CallExpr) []string {
	args := call.Args()
	switch name := call.FunctionName(); {
	case (name == operators.Index || name == operators.OptIndex || name == operators.OptSelect) && len(args) == 2:
		in := r.visit(args[0])
		if args[1].Kind() == ast.LiteralKind {
			if step, ok := args[1].AsLiteral().Value().(string); ok {
				return r.below(in, step)
			}
		}
		r.visit(args[1])
		return r.below(in, anyStep)
	case call.IsMemberFunction() && macros[name] && len(args) >= 2 && args[0].Kind() == ast.IdentKind:
		return r.macro(name, call)
	case call.IsMemberFunction():
		target := r.visit(call.Target())
		for _, arg := range args {
			r.visit(arg)
			if name == "matches" && arg.Kind() == ast.LiteralKind {
				if text, ok := arg.AsLiteral().Value().(string); ok {
					r.found.regexes = append(r.found.regexes, text)
				}
			}
		}
		if name == "value" || name == "orValue" || name == "lowerAscii" || name == "trim" || name == "sort" {
			return target
		}
		return nil
	}
	for _, arg := range args {
		r.visit(arg)
	}
	for _, text := range samples[call.FunctionName()] {
		r.found.literals = append(r.found.literals, text)
	}
	return nil
}

// samples are texts that functions of CEL read: two of one sort, and one of another.
var samples = map[string][]string{
	"ip": {"10.0.0.1", "10.0.0.2", "2001:db8::1"}, "isIP": {"10.0.0.1", "10.0.0.2", "2001:db8::1"},
	"cidr": {"10.0.0.0/8", "192.168.0.0/16", "2001:db8::/32"}, "isCIDR": {"10.0.0.0/8", "192.168.0.0/16", "2001:db8::/32"},
	"timestamp": {"2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z"},
	"duration":  {"1h", "2h", "3h"}, "quantity": {"1", "2", "3"},
	"url": {"https://a.example", "https://b.example"}, "isURL": {"https://a.example", "https://b.example"},
}

var macros = map[string]bool{
	"all": true, "exists": true, "exists_one": true, "existsOne": true, "filter": true, "map": true, "transformList": true, "transformMap": true,
}

// macro visits a comprehension, whose variables hold the items of its target.
func (r *readsVisitor) macro(name string, call ast.CallExpr) []string {
	target := r.visit(call.Target())
	items := r.below(target, anyStep)
	args := call.Args()
	outer := map[string][]string{}
	bound := 1
	if len(args) > 2 && args[1].Kind() == ast.IdentKind && name != "map" {
		bound = 2
	}
	for _, variable := range args[:bound] {
		v := variable.AsIdent()
		outer[v] = r.vars[v]
		r.vars[v] = items
	}
	for _, arg := range args[bound:] {
		r.visit(arg)
	}
	for v, pattern := range outer {
		r.vars[v] = pattern
	}
	if name == "filter" {
		return target
	}
	return nil
}
