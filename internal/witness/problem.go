package witness

import (
	"cmp"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

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
