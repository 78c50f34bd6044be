package kudo

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/internal/document"
)

// planDeploy is the plan that every operator has; planUpdate runs for changes without a trigger, where it exists.
const (
	planDeploy = "deploy"
	planUpdate = "update"
)

// OperatorVersion is what one version of an operator says about parameters. It may be read from a package or from a
// cluster, or be built by hand. Evaluations do not change it.
type OperatorVersion struct {
	Name       string
	Parameters []Parameter
	Groups     []string // names of the parameter groups; nil where they are not known, as in a cluster
	Tasks      []Task   // the KudoOperator tasks
	Plans      []string // names of the plans; nil where they are not known

	mistakes parameter.Refusals // what else the reader found
}

// List returns a row per parameter, sorted by name (KEP-30, Other).
func (v *OperatorVersion) List() []parameter.Row {
	rows := make([]parameter.Row, 0, len(v.Parameters))
	for i := range v.Parameters {
		p := &v.Parameters[i]
		rows = append(rows, parameter.Row{Name: p.Name, Default: p.Default.Text, Required: !p.Optional, Immutable: p.Immutable})
		if p.Default.IsNull() {
			rows[i].Default = ""
		}
	}
	slices.SortStableFunc(rows, func(a, b parameter.Row) int { return cmp.Compare(a.Name, b.Name) })
	return rows
}

// index returns the parameters by name. Of two with one name, which Validate refuses, the first counts.
func (v *OperatorVersion) index() map[string]*Parameter {
	index := make(map[string]*Parameter, len(v.Parameters))
	for i := range v.Parameters {
		if _, twice := index[v.Parameters[i].Name]; !twice {
			index[v.Parameters[i].Name] = &v.Parameters[i]
		}
	}
	return index
}

// Task is a task whose work depends on a parameter of the operator.
type Task struct {
	Name string

	// EnablingParameter names the parameter that decides whether the child instance of a KudoOperator task is there
	// (KEP-36). Empty means that it always is.
	EnablingParameter string
}

// Type is the type of a parameter. Every value is a text; the type says which texts are allowed.
type Type string

// The types. The empty type is TypeString.
const (
	TypeString  Type = "string"
	TypeBoolean Type = "boolean" // what strconv.ParseBool accepts
	TypeInteger Type = "integer" // what strconv.ParseInt accepts
	TypeNumber  Type = "number"  // what strconv.ParseFloat accepts
	TypeArray   Type = "array"   // a list in YAML or JSON, or null
	TypeMap     Type = "map"     // a mapping in YAML or JSON, or null
)

const typesAre = "the types are string, boolean, integer, number, array and map"

var types = []Type{"", TypeString, TypeBoolean, TypeInteger, TypeNumber, TypeArray, TypeMap}

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

func (t Type) check(value parameter.Value) string {
	_, list := value.Data.([]any)
	_, mapping := value.Data.(map[string]any)
	switch {
	case list && t != TypeArray:
		return fmt.Sprintf("its type is %s and the value is a list", t.name())
	case mapping && t != TypeMap:
		return fmt.Sprintf("its type is %s and the value is a map", t.name())
	case list || mapping:
		return ""
	}
	ok, want := true, ""
	switch t {
	case TypeBoolean:
		_, err := strconv.ParseBool(value.Text)
		ok, want = err == nil, "true or false"
	case TypeInteger:
		_, err := strconv.ParseInt(value.Text, 10, 64)
		ok, want = err == nil, "a whole number of 64 bits"
	case TypeNumber:
		_, err := strconv.ParseFloat(value.Text, 64)
		ok, want = err == nil, "a number"
	case TypeArray:
		ok, want = holds(value.Text, yaml.SequenceNode), "a list in YAML"
	case TypeMap:
		ok, want = holds(value.Text, yaml.MappingNode), "a mapping in YAML"
	}
	if ok {
		return ""
	}
	return fmt.Sprintf("its type is %s, which is %s", t, want)
}

func (t Type) name() Type {
	if t == "" {
		return TypeString
	}
	return t
}

// holds reports whether text is one YAML document of the given kind. KUDO reads null as an empty list or map.
func holds(text string, kind yaml.Kind) bool {
	root, err := document.Load([]byte(text))
	return err == nil && (root == nil || root.Kind == kind)
}

// quoted shows a value in a message.
func quoted(v parameter.Value, ok bool) string {
	if !ok {
		return "no value"
	}
	return strconv.Quote(v.Text)
}
