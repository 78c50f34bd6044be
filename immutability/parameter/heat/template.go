// Package heat evaluates the parameters of OpenStack Heat stacks, with parameters that are not updatable: the proposal
// "Immutable Parameters", and the shipped Heat where the proposal is silent.
//
// [Template.Create], [Template.Update] and [Template.Patch] preview what Heat would do with a stack, before it starts.
// A parameter that is not updatable (updatable: false, or the shipped spelling immutable: true) may not change its
// effective value, compared after conversion to its type.
package heat

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/internal/document"
)

// Parameter is the definition of a parameter.
type Parameter struct {
	Name        string
	Type        Type
	Label       string
	Description string
	Default     parameter.Value // null: it has no default
	Hidden      bool            // messages do not show its values
	Immutable   bool            // updatable: false, or the shipped spelling immutable: true
	Line        int

	constraints []constraint
}

// Template is what a Heat Orchestration Template says about its parameters. Get one from ReadTemplate: operations on
// the zero Template or a nil one, and from the zero Template, are refused.
type Template struct {
	read     bool
	list     []Parameter // sorted by name
	index    map[string]int
	mistakes parameter.Refusals // attributes that look misspelled
}

// Parameters returns a copy of the parameters, sorted by name.
func (t *Template) Parameters() []Parameter { return slices.Clone(t.orUnread().list) }

// orUnread returns t, or the zero Template for nil.
func (t *Template) orUnread() *Template {
	if t == nil {
		return &Template{}
	}
	return t
}

// List returns a row per parameter, sorted by name. A parameter without default is required.
func (t *Template) List() []parameter.Row {
	t = t.orUnread()
	rows := make([]parameter.Row, 0, len(t.list))
	for i := range t.list {
		p := &t.list[i]
		row := parameter.Row{Name: p.Name, Required: p.Default.IsNull(), Immutable: p.Immutable}
		if !p.Default.IsNull() {
			row.Default = p.Default.Text
		}
		rows = append(rows, row)
	}
	return rows
}

func (t *Template) lookup(name string) (*Parameter, bool) {
	i, ok := t.index[name]
	if !ok {
		return nil, false
	}
	return &t.list[i], true
}

// ReadTemplate reads the parameters of a Heat Orchestration Template from YAML or JSON, and ignores everything else in
// it. A template that names its heat_template_version may have no parameters. The error is a *[parameter.ReadError].
// Attributes that look misspelled are refusals of [Template.Validate] instead.
func ReadTemplate(data []byte) (*Template, error) {
	root, err := document.LoadMapping(data, "a Heat Orchestration Template", "description", "resources", "outputs",
		"conditions", "environment", "parameter_groups")
	if err != nil {
		return nil, err
	}
	if name, ok := cloudFormation(root); ok {
		return nil, document.Errorf(root,
			"this is a CloudFormation template (it has %s): only Heat Orchestration Templates, which have a "+
				"heat_template_version, are supported", name)
	}
	t := &Template{read: true, index: map[string]int{}}
	found, misspelled := document.Attributes(root, "heat_template_version", "description", "parameters",
		"parameter_groups", "resources",
		"outputs", "conditions", "environment")
	document.RefuseMisspelled(&t.mistakes, "", misspelled)
	parameters := found["parameters"]
	switch {
	case parameters == nil && found["heat_template_version"] == nil:
		return nil, &parameter.ReadError{Message: "this is not a Heat Orchestration Template: it has neither " +
			"parameters nor a heat_template_version"}
	case parameters == nil || document.IsNull(parameters):
		return t, nil
	case parameters.Kind != yaml.MappingNode:
		return nil, document.Errorf(parameters, "parameters is %s: it should be a mapping of names to definitions",
			document.Describe(parameters))
	}
	for i := 0; i+1 < len(parameters.Content); i += 2 {
		if err := t.readParameter(parameters.Content[i], parameters.Content[i+1]); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(t.list, func(a, b Parameter) int { return strings.Compare(a.Name, b.Name) })
	for i := range t.list {
		t.index[t.list[i].Name] = i
	}
	return t, nil
}

// cloudFormation returns the key that tells a CloudFormation template, which Heat reads as well.
func cloudFormation(root *yaml.Node) (string, bool) {
	for i := 0; i < len(root.Content); i += 2 {
		switch name := root.Content[i].Value; name {
		case "AWSTemplateFormatVersion", "HeatTemplateFormatVersion", "Parameters", "Resources":
			return name, true
		}
	}
	return "", false
}

func (t *Template) readParameter(key, n *yaml.Node) error {
	p := Parameter{Name: key.Value, Line: key.Line}
	if n.Kind != yaml.MappingNode {
		return document.Errorf(key, "the parameter %q is %s: it should be a mapping with a type",
			p.Name, document.Describe(n))
	}
	if p.Name == "" {
		return document.Errorf(key, "a parameter has no name")
	}
	found, misspelled := document.Attributes(n, "type", "label", "description", "default", "hidden", "constraints",
		"updatable", "immutable", "schema", "tags")
	document.RefuseMisspelled(&t.mistakes, p.Name, misspelled)
	var kind string
	var err error
	for _, text := range []struct {
		name string
		to   *string
	}{{"type", &kind}, {"label", &p.Label}, {"description", &p.Description}} {
		if *text.to, err = document.Text(found[text.name], text.name); err != nil {
			return err
		}
	}
	p.Type = Type(kind)
	if !slices.Contains(types, p.Type) {
		return document.Errorf(key, "the parameter %q has the unknown type %q: the types are string, number, "+
			"comma_delimited_list, json and boolean", p.Name, kind)
	}
	updatable := true
	for _, mark := range []struct {
		name     string
		to       *bool
		fallback bool
	}{{"updatable", &updatable, true}, {"immutable", &p.Immutable, false}, {"hidden", &p.Hidden, false}} {
		if *mark.to, err = document.Bool(found[mark.name], mark.name+" of "+strconv.Quote(p.Name),
			mark.fallback); err != nil {
			return err
		}
	}
	p.Immutable = p.Immutable || !updatable
	if p.constraints, err = readConstraints(found["constraints"], p.Name, p.Type); err != nil {
		return err
	}
	if n := found["default"]; n != nil {
		if p.Default, err = document.Value(n); err != nil {
			return err
		}
	}
	t.list = append(t.list, p)
	return nil
}

// check reports why value is not of the parameter's type or breaks its constraints, "" when it is fine. For a hidden
// parameter it tells nothing of the value.
func (p *Parameter) check(value parameter.Value) string {
	converted, problem := p.Type.convert(value)
	if problem != "" {
		if p.Hidden {
			return "its type is " + string(p.Type)
		}
		return problem
	}
	for i := range p.constraints {
		c := &p.constraints[i]
		if problem := c.check(p.Type, converted); problem != "" {
			if p.Hidden {
				problem = "it breaks a constraint of kind " + string(c.kind)
			}
			return cmp.Or(c.description, problem)
		}
	}
	return ""
}

// show returns the value for a message.
func (p *Parameter) show(value parameter.Value) string {
	if p.Hidden {
		return "a hidden value"
	}
	return "the value " + strconv.Quote(value.Text)
}
