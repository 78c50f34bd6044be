// Package parameter holds what the parameters of KUDO operators and of Heat stacks have in common: values, changes
// of values, and refusals. The evaluators are in its subpackages, each in the words of its own system:
//
//   - Package kudo: immutable parameters (KEP-30), forcePodRestart (KEP-27) and enablingParameter (KEP-36).
//   - Package heat: updatable parameters of Heat Orchestration Templates.
//
// An evaluator is a pure function of definitions, current values and requested values. It answers with a [Decision],
// before anything is done. It reports every refusal, sorted by parameter, and a refusal leaves the current values as
// they are. What it cannot read or compare, it refuses. Evaluators are safe for concurrent use; they neither change nor
// keep their inputs. They render no templates and run no plans.
package parameter

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// Decision says what an operation would do. The zero Decision, which is that of an operation nobody decided on, allows
// nothing.
type Decision struct {
	Refusals Refusals

	// Resulting holds the values to store afterwards, never nil. After a refusal they are the current ones.
	Resulting Values

	// Changes are the parameters whose effective value would differ afterwards, sorted by name, of a refused operation
	// too. An installation changes each parameter that has a value.
	Changes []Change
}

// Allowed reports whether the operation may be done.
func (d Decision) Allowed() bool { return d.Err() == nil }

// Err returns the refusals as an error of type [Refusals], in one line, and nil for an allowed operation.
func (d Decision) Err() error {
	if d.Resulting == nil && len(d.Refusals) == 0 {
		return Refusals{{Message: "the operation was not decided on"}}
	}
	return d.Refusals.Err()
}

// Change is the change of one parameter's effective value: the stored value, otherwise the default.
type Change struct {
	Name           string
	New, Old       Value
	HasNew, HasOld bool
	Hidden         bool // Heat: the values are not for display
}

// Row is one line of a list of parameters.
type Row struct {
	Name      string `json:"name"`
	Default   string `json:"default"` // "" where there is none
	Required  bool   `json:"required"`
	Immutable bool   `json:"immutable"`
}

// Rule names what a refused parameter breaks.
type Rule string

// The rules, in the order in which the refusals of one parameter are reported.
const (
	// RuleUnknown: a value without a definition.
	RuleUnknown Rule = "unknown"
	// RuleDefinition: a mistake in the definition itself.
	RuleDefinition Rule = "definition"
	// RuleImmutable: an immutable value changes, or an upgrade needs it spelled out.
	RuleImmutable Rule = "immutable"
	// RuleRequired: neither value nor default.
	RuleRequired Rule = "required"
	// RuleType: a value that its type, its enum or its constraints do not allow.
	RuleType Rule = "type"
	// RuleTrigger: a change starts a plan that cannot run now.
	RuleTrigger Rule = "trigger"
	// RuleEnabling: the parameter cannot switch a child instance on or off.
	RuleEnabling Rule = "enabling"
)

// Refusal is one reason against an operation.
type Refusal struct {
	Parameter string // "" where the mistake concerns no single parameter
	Rule      Rule
	Message   string // one line
	Cause     error  // the error that the system itself raises; may be nil
}

// Error returns the message.
func (r *Refusal) Error() string {
	if r == nil {
		return "refused without a reason"
	}
	return r.Message
}

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error {
	if r == nil {
		return nil
	}
	return r.Cause
}

// Refusals are the reasons against one operation, sorted by parameter, then by rule. Nil means that nothing was found
// against it; whether an operation was decided on at all, and is allowed, is for [Decision.Allowed].
type Refusals []*Refusal

// Error joins the messages in one line, each once.
func (r Refusals) Error() string {
	var messages []string
	for _, refusal := range r {
		if message := refusal.Error(); !slices.Contains(messages, message) {
			messages = append(messages, message)
		}
	}
	return strings.Join(messages, "; ")
}

// Unwrap returns the refusals, for errors.As and errors.Is.
func (r Refusals) Unwrap() []error {
	out := make([]error, len(r))
	for i, refusal := range r {
		out[i] = refusal
	}
	return out
}

// ErrorList returns the refusals as Kubernetes' validation reports errors, for a webhook or a strategy that has others
// too: each at the key of its parameter below path, such as spec.parameters, or at path itself where no single
// parameter is meant. Nil for no refusals. Values are left out: a parameter may be a password.
func (r Refusals) ErrorList(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, refusal := range r {
		at := path
		if refusal != nil && refusal.Parameter != "" {
			at = path.Key(refusal.Parameter)
		}
		errs = append(errs, refusal.fieldError(at))
	}
	return errs
}

func (r *Refusal) fieldError(at *field.Path) *field.Error {
	if r == nil {
		return field.InternalError(at, r)
	}
	switch r.Rule {
	case RuleRequired:
		return field.Required(at, r.Message)
	case RuleUnknown, RuleTrigger:
		return field.Forbidden(at, r.Message)
	case RuleImmutable:
		return field.Invalid(at, field.OmitValueType{}, r.Message).WithOrigin(string(RuleImmutable))
	}
	return field.Invalid(at, field.OmitValueType{}, r.Message)
}

// Err returns the refusals as an error, or nil.
func (r Refusals) Err() error {
	if len(r) == 0 {
		return nil
	}
	return r
}

// ReadError says why a document cannot be read.
type ReadError struct {
	Line    int // from 1; 0 where the document as a whole is meant, and in objects that are decoded already
	Message string
}

// Error returns the message, behind its line where that is known.
func (e *ReadError) Error() string {
	if e == nil {
		return "the document cannot be read"
	}
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}

// Value is one value of a parameter. The zero value is null, which means no value; [Text] makes a string.
type Value struct {
	// Text is a scalar as it was written, without quotes: 0755, 1.0 and 1048576 stay what they are. For a list or a map
	// it is the YAML that KUDO stores: block style, keys sorted.
	Text string

	// Data is the decoded value: nil, string, bool, json.Number, []any or map[string]any. A number that JSON cannot
	// write, such as 0x10, is a string.
	Data any
}

// Text returns the string value s.
func Text(s string) Value { return Value{Text: s, Data: s} }

// IsNull reports whether the value is null.
func (v Value) IsNull() bool { return v.Data == nil }

// MarshalJSON writes the decoded value, numbers with the digits that they were written with.
func (v Value) MarshalJSON() ([]byte, error) { return jsonvalue.Encode(v.Data) }

// Values are values by the name of their parameter. A null means different things in different places: no value where
// it is stored, and a removal where it is requested. Nil Values are none.
type Values map[string]Value

// FromTexts returns the values with the given texts, such as spec.parameters of a KUDO Instance.
func FromTexts(texts map[string]string) Values {
	out := make(Values, len(texts))
	for name, text := range texts {
		out[name] = Text(text)
	}
	return out
}

// Texts returns the text of each value that is not null.
func (v Values) Texts() map[string]string {
	out := make(map[string]string, len(v))
	for name, value := range v {
		if !value.IsNull() {
			out[name] = value.Text
		}
	}
	return out
}
