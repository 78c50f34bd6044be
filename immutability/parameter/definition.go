package parameter

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Definition is one parameter of a KUDO operator, as params.yaml defines it.
type Definition struct {
	Name        string
	DisplayName string
	Description string

	Type Type     // empty counts as TypeString
	Enum []string // the texts that a value may have; nil allows all

	Default   Value  // the zero Value, or Null, is no default
	Required  bool   // true where params.yaml says nothing
	Immutable bool   // KEP-30
	Trigger   string // the plan that a change starts; empty leaves the choice to KUDO

	ForcePodRestart bool // KEP-27; true where params.yaml says nothing
	Line            int  // where the definition begins; 0 where it was not read

	badDefault string // why the default is not of its type or enum
}

// HasDefault reports whether the definition has a default. An empty text is one.
func (d *Definition) HasDefault() bool { return !d.Default.none() }

// Definitions are the parameters of one version of a KUDO operator.
type Definitions struct {
	list  []Definition // sorted by name
	index map[string]int
}

// NewDefinitions returns the given definitions. The error names a definition without a name, a name that stands
// twice, or an unknown type. What a package author would want to know besides is [Definitions.Validate]'s.
func NewDefinitions(list ...Definition) (*Definitions, error) {
	d := &Definitions{list: slices.Clone(list), index: make(map[string]int, len(list))}
	slices.SortStableFunc(d.list, func(a, b Definition) int { return cmp.Compare(a.Name, b.Name) })
	for i := range d.list {
		definition := &d.list[i]
		definition.Type = cmp.Or(definition.Type, TypeString)
		switch first, twice := d.index[definition.Name]; {
		case definition.Name == "":
			return nil, &ReadError{definition.Line, "a parameter has no name"}
		case twice:
			return nil, &ReadError{definition.Line, fmt.Sprintf("the parameter %q is defined a second time, first in line %d",
				definition.Name, d.list[first].Line)}
		case !slices.Contains(types, definition.Type):
			return nil, &ReadError{definition.Line, fmt.Sprintf("the parameter %q has the unknown type %q: the types are string, boolean, integer, number, array and map",
				definition.Name, definition.Type)}
		}
		d.index[definition.Name] = i
		if definition.HasDefault() {
			definition.badDefault = cmp.Or(definition.Type.check(definition.Default),
				checkEnum(definition.Enum, definition.Default.Text))
		}
	}
	return d, nil
}

// Lookup returns the definition of name. The result is shared and must not be changed.
func (d *Definitions) Lookup(name string) (*Definition, bool) {
	i, ok := d.index[name]
	if !ok {
		return nil, false
	}
	return &d.list[i], true
}

// All returns a copy of the definitions, sorted by name.
func (d *Definitions) All() []Definition { return slices.Clone(d.list) }

// Row is one line of the list of parameters (KEP-30, Other).
type Row struct {
	Name      string `json:"name"`
	Default   string `json:"default"` // "" where there is none
	Required  bool   `json:"required"`
	Immutable bool   `json:"immutable"`
}

// Rows returns a row per parameter, sorted by name.
func (d *Definitions) Rows() []Row {
	rows := make([]Row, 0, len(d.list))
	for i := range d.list {
		definition := &d.list[i]
		row := Row{Name: definition.Name, Required: definition.Required, Immutable: definition.Immutable}
		if definition.HasDefault() {
			row.Default = definition.Default.Text
		}
		rows = append(rows, row)
	}
	return rows
}

// ReadDefinitions reads a KUDO params.yaml. apiVersion, groups and unknown attributes are ignored. The error is a
// *[ReadError] with the line.
func ReadDefinitions(data []byte) (*Definitions, error) {
	found, err := membersOf(data, "a KUDO params.yaml", "parameters")
	if err != nil {
		return nil, err
	}
	parameters := found["parameters"]
	if parameters == nil {
		return nil, &ReadError{Message: `there is no key "parameters": an operator without parameters has "parameters: []"`}
	}
	if isNull(parameters) {
		return NewDefinitions()
	}
	if parameters.Kind != yaml.SequenceNode {
		return nil, unreadable(parameters, "parameters is %s: it is a list of definitions", describe(parameters))
	}
	list := make([]Definition, 0, len(parameters.Content))
	for _, n := range parameters.Content {
		definition, err := readDefinition(n)
		if err != nil {
			return nil, err
		}
		list = append(list, definition)
	}
	return NewDefinitions(list...)
}

// membersOf returns those members of the mapping in data whose names are known.
func membersOf(data []byte, what string, known ...string) (map[string]*yaml.Node, error) {
	root, err := load(data)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return nil, &ReadError{Message: "the document is empty: it is " + what}
	}
	if root.Kind != yaml.MappingNode {
		return nil, unreadable(root, "the document is %s: it is %s", describe(root), what)
	}
	return attributes(root, known...)
}

func readDefinition(n *yaml.Node) (Definition, error) {
	d := Definition{Line: n.Line}
	if n.Kind != yaml.MappingNode {
		return d, unreadable(n, "a parameter is %s: it is a mapping with a name", describe(n))
	}
	found, err := attributes(n, "name", "displayName", "description", "type", "enum", "default",
		"required", "immutable", "trigger", "forcePodRestart")
	if err != nil {
		return d, err
	}
	var kind string
	for _, text := range []struct {
		name string
		to   *string
	}{{"name", &d.Name}, {"displayName", &d.DisplayName}, {"description", &d.Description}, {"type", &kind}, {"trigger", &d.Trigger}} {
		if *text.to, err = textAttribute(found[text.name], text.name); err != nil {
			return d, err
		}
	}
	d.Type = Type(kind)
	for _, mark := range []struct {
		name     string
		to       *bool
		fallback bool
	}{{"required", &d.Required, true}, {"immutable", &d.Immutable, false}, {"forcePodRestart", &d.ForcePodRestart, true}} {
		if *mark.to, err = boolAttribute(found[mark.name], mark.name+" of "+strconv.Quote(d.Name), mark.fallback); err != nil {
			return d, err
		}
	}
	if n := found["default"]; n != nil {
		if d.Default, err = valueOf(n); err != nil {
			return d, err
		}
	}
	d.Enum, err = readEnum(found["enum"], d.Name)
	return d, err
}

func readEnum(n *yaml.Node, name string) ([]string, error) {
	switch {
	case n == nil || isNull(n):
		return nil, nil
	case n.Kind != yaml.SequenceNode:
		return nil, unreadable(n, "enum of %q is %s: it is a list of values", name, describe(n))
	}
	enum := make([]string, 0, len(n.Content))
	for _, item := range n.Content {
		value, err := valueOf(item)
		if err != nil {
			return nil, err
		}
		if value.Kind == Null {
			return nil, unreadable(item, "enum of %q has an empty value: quote it", name)
		}
		enum = append(enum, value.Text)
	}
	return enum, nil
}
