package parameter

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// StackParameter is one parameter of a Heat Orchestration Template.
type StackParameter struct {
	Name        string
	Type        StackType
	Label       string
	Description string
	Default     Value // the zero Value, or Null, is no default
	Constraints []Constraint
	Hidden      bool // messages do not show its values
	Immutable   bool // updatable: false, or the shipped spelling immutable: true
	Line        int

	badDefault string
}

// HasDefault reports whether the parameter has a default.
func (p *StackParameter) HasDefault() bool { return !p.Default.none() }

// Template is what a Heat Orchestration Template says about its parameters.
type Template struct {
	list  []StackParameter // sorted by name
	index map[string]int
}

// Lookup returns the parameter of that name. The result is shared and must not be changed.
func (t *Template) Lookup(name string) (*StackParameter, bool) {
	i, ok := t.index[name]
	if !ok {
		return nil, false
	}
	return &t.list[i], true
}

// All returns a copy of the parameters, sorted by name.
func (t *Template) All() []StackParameter { return slices.Clone(t.list) }

// Rows returns a row per parameter, sorted by name. A parameter without default is required.
func (t *Template) Rows() []Row {
	rows := make([]Row, 0, len(t.list))
	for i := range t.list {
		p := &t.list[i]
		row := Row{Name: p.Name, Required: !p.HasDefault(), Immutable: p.Immutable}
		if p.HasDefault() {
			row.Default = p.Default.Text
		}
		rows = append(rows, row)
	}
	return rows
}

// ReadTemplate reads the parameters of a Heat Orchestration Template; parameter groups, resources, outputs and
// unknown attributes are ignored. A template without parameters has none, if it names its heat_template_version. The
// error is a *[ReadError] with the line.
func ReadTemplate(data []byte) (*Template, error) {
	found, err := membersOf(data, "a Heat Orchestration Template", "parameters", "heat_template_version")
	if err != nil {
		return nil, err
	}
	t := &Template{index: map[string]int{}}
	parameters := found["parameters"]
	switch {
	case parameters == nil && found["heat_template_version"] == nil:
		return nil, &ReadError{Message: "there are neither parameters nor a heat_template_version: it is no Heat Orchestration Template"}
	case parameters == nil || isNull(parameters):
		return t, nil
	case parameters.Kind != yaml.MappingNode:
		return nil, unreadable(parameters, "parameters is %s: it is a mapping of names to definitions", describe(parameters))
	}
	for i := 0; i+1 < len(parameters.Content); i += 2 {
		p, err := readStackParameter(parameters.Content[i], parameters.Content[i+1])
		if err != nil {
			return nil, err
		}
		t.list = append(t.list, p)
	}
	slices.SortFunc(t.list, func(a, b StackParameter) int { return strings.Compare(a.Name, b.Name) })
	for i := range t.list {
		t.index[t.list[i].Name] = i
	}
	return t, nil
}

func readStackParameter(key, n *yaml.Node) (StackParameter, error) {
	p := StackParameter{Name: key.Value, Line: key.Line}
	if n.Kind != yaml.MappingNode {
		return p, unreadable(key, "the parameter %q is %s: it is a mapping with a type", p.Name, describe(n))
	}
	if p.Name == "" {
		return p, unreadable(key, "a parameter has no name")
	}
	found, err := attributes(n, "type", "label", "description", "default", "hidden", "constraints", "updatable", "immutable")
	if err != nil {
		return p, err
	}
	var kind string
	for _, text := range []struct {
		name string
		to   *string
	}{{"type", &kind}, {"label", &p.Label}, {"description", &p.Description}} {
		if *text.to, err = textAttribute(found[text.name], text.name); err != nil {
			return p, err
		}
	}
	p.Type = StackType(kind)
	if !slices.Contains(stackTypes, p.Type) {
		return p, unreadable(key, "the parameter %q has the unknown type %q: the types are string, number, comma_delimited_list, json and boolean", p.Name, kind)
	}
	updatable := true
	for _, mark := range []struct {
		name     string
		to       *bool
		fallback bool
	}{{"updatable", &updatable, true}, {"immutable", &p.Immutable, false}, {"hidden", &p.Hidden, false}} {
		if *mark.to, err = boolAttribute(found[mark.name], mark.name+" of "+strconv.Quote(p.Name), mark.fallback); err != nil {
			return p, err
		}
	}
	p.Immutable = p.Immutable || !updatable
	if p.Constraints, err = readConstraints(found["constraints"], &p); err != nil {
		return p, err
	}
	if n := found["default"]; n != nil {
		if p.Default, err = valueOf(n); err != nil {
			return p, err
		}
	}
	if p.HasDefault() {
		p.badDefault = p.check(p.Default)
	}
	return p, nil
}

// check reports why value is not of the parameter's type or breaks its constraints, "" when it is fine. For a hidden
// parameter it tells nothing of the value.
func (p *StackParameter) check(value Value) string {
	converted, problem := p.Type.convert(value)
	if problem != "" {
		if p.Hidden {
			return "its type is " + string(p.Type)
		}
		return problem
	}
	for _, constraint := range p.Constraints {
		if problem := constraint.check(p.Type, converted); problem != "" {
			if p.Hidden {
				problem = "it breaks a constraint of kind " + string(constraint.Kind)
			}
			return cmp.Or(constraint.Description, problem)
		}
	}
	return ""
}

// show returns the value for a message.
func (p *StackParameter) show(value Value) string {
	if p.Hidden {
		return "a hidden value"
	}
	return "the value " + strconv.Quote(value.Text)
}

// ImmutableParameterModified refuses a stack update that changes parameters which are not updatable.
type ImmutableParameterModified struct {
	Names []string // sorted
}

func (e *ImmutableParameterModified) Error() string {
	return fmt.Sprintf("The following parameters are immutable and may not be updated: %s", strings.Join(e.Names, ", "))
}
