package kudo

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/parameter"
)

// Parameter is the definition of a parameter. The zero value of each field means what its absence from params.yaml
// means.
type Parameter struct {
	Name        string
	DisplayName string
	Description string
	Hint        string
	Group       string
	Advanced    bool

	Type    Type
	Enum    []string        // the allowed values; nil allows all
	Default parameter.Value // null: it has no default

	Optional  bool   // required: false
	Immutable bool   // KEP-30
	Trigger   string // the plan that a change starts; empty leaves the choice to KUDO
	NoRestart bool   // forcePodRestart: false (KEP-27)

	Line int // where the definition begins; 0 where it was not read from a file
}

// check reports why value is not allowed, "" when it is.
func (p *Parameter) check(value parameter.Value) string {
	if problem := p.Type.check(value); problem != "" {
		return problem
	}
	if len(p.Enum) > 0 && !slices.Contains(p.Enum, value.Text) { // Validate refuses an empty enum
		quoted := make([]string, len(p.Enum))
		for i, text := range p.Enum {
			quoted[i] = strconv.Quote(text)
		}
		return "its enum allows " + strings.Join(quoted, ", ")
	}
	return ""
}

// effective returns the value that templates see: the stored one, otherwise the default.
func (p *Parameter) effective(stored parameter.Values) (parameter.Value, bool) {
	if value := stored[p.Name]; !value.IsNull() {
		return value, true
	}
	return p.Default, !p.Default.IsNull()
}

// quoted shows a value in a message.
func quoted(v parameter.Value, ok bool) string {
	if !ok {
		return "no value"
	}
	return strconv.Quote(v.Text)
}
