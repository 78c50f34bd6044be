package witness

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/pointer"
)

// sequence is objects in the order of writing, each in a version. One object alone is only created.
type sequence struct {
	versions []*Version
	objects  []map[string]any // as written
	stored   *Version
	edits    int // how many the search has made

	// gone and target are where the middle object lacks a value, and the guarded value in the others; nil for ways that
	// are not staged.
	gone, target path
}

// problem is why a sequence is not what is wanted.
type problem struct {
	at      int // index of the object whose writing fails; for a direct update that is accepted, of the last one
	kind    problemKind
	path    path         // in the object, where the problem has one
	rule    *celrun.Rule // for brokenRule
	error   *field.Error
	message string
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

// Refusal is why the direct update is refused.
type Refusal struct {
	Path    string // of the object
	Rule    string // the text of the CEL rule; "" for a lock
	Message string

	node path        // where the rule is, or the locked field
	rule celrun.Rule // of a transition rule
}

// judge returns the problems of s, and where s has several objects the reasons for which the direct update from the first
// to the last is refused.
func judge(s *sequence) ([]problem, []Refusal) {
	var problems []problem
	prepared := make([]map[string]any, len(s.objects))
	for i, obj := range s.objects {
		v := s.versions[i]
		var err error
		if prepared[i], err = v.prepare(obj); err != nil {
			return append(problems, problem{at: i, kind: unreadable, message: err.Error()}), nil
		}
		var old map[string]any
		if i > 0 {
			if old, err = v.read(prepared[i-1], s.stored); err != nil {
				return append(problems, problem{at: i, kind: unreadable, message: err.Error()}), nil
			}
		}
		problems = append(problems, v.step(i, prepared[i], old)...)
	}
	last := len(s.objects) - 1
	if last == 0 {
		return problems, nil
	}
	v := s.versions[last]
	old, err := v.read(prepared[0], s.stored)
	if err != nil {
		return append(problems, problem{at: last, kind: unreadable, message: err.Error()}), nil
	}
	refusals := v.refused(prepared[last], old)
	if len(refusals) == 0 {
		problems = append(problems, problem{at: last, kind: notRefused})
	}
	return problems, refusals
}

// problems returns the problems of writing obj over old, nil for a create.
func (v *Version) problems(obj, old map[string]any) []problem {
	var problems []problem
	for _, err := range v.errors(obj) {
		problems = append(problems, problem{kind: invalid, path: locate(obj, v.Schema, fieldOf(err)), error: err, message: err.Error()})
		if err.Type == field.ErrorTypeTypeInvalid {
			return append(problems, problem{kind: unevaluated}, problem{kind: unevaluated})
		}
	}
	broken, err := v.rules.ValidateUpdate(obj, old)
	if err != nil {
		return append(problems, problem{kind: unreadable, message: err.Error()})
	}
	for _, b := range broken {
		problems = append(problems, problem{kind: brokenRule, path: locate(obj, v.Schema, b.Path), rule: &b.Rule, message: b.Message})
	}
	if old != nil && v.Locks != nil {
		for _, err := range v.Locks.ValidateUpdate(obj, old) {
			problems = append(problems, problem{kind: brokenLock, path: locate(obj, v.Schema, err.Field), error: err, message: err.Error()})
		}
	}
	return problems
}

// fieldOf returns the path of an error. Where a schema fails as a whole, as with oneOf, the server gives the path at the
// beginning of the message only.
func fieldOf(err *field.Error) string {
	if m := whole.FindStringSubmatch(err.Detail); m != nil && err.Field == "<nil>" {
		return m[1]
	}
	return err.Field
}

var whole = regexp.MustCompile(`^"(.*)" must (not )?validate `)

// refusals returns the locks and transition rules that refuse an update.
func (v *Version) refusals(obj, old map[string]any) []Refusal {
	var found []Refusal
	broken, err := v.rules.ValidateUpdate(obj, old)
	if err != nil {
		return nil
	}
	for _, b := range broken {
		if v.transition[b.Rule] {
			found = append(found, Refusal{Path: b.Path, Rule: b.Rule.Text, Message: b.Message, node: locate(obj, v.Schema, b.Path), rule: b.Rule})
		}
	}
	if v.Locks != nil {
		for _, err := range v.Locks.ValidateUpdate(obj, old) {
			found = append(found, Refusal{Path: err.Field, Message: err.Detail, node: locate(obj, v.Schema, err.Field)})
		}
	}
	return found
}

// patternOf turns a schema path into the pattern of the values there.
func patternOf(schemaPath string) []string {
	pattern := []string{}
	for steps := pointer.Names(schemaPath); len(steps) > 0; {
		switch {
		case steps[0] == "properties" && len(steps) > 1:
			pattern = append(pattern, steps[1])
			steps = steps[2:]
		case (steps[0] == "allOf" || steps[0] == "anyOf" || steps[0] == "oneOf") && len(steps) > 1:
			steps = steps[2:]
		default:
			pattern = append(pattern, anyStep)
			steps = steps[1:]
		}
	}
	return pattern
}
