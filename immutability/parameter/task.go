package parameter

import (
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Task is a KudoOperator task: it manages a child instance (KEP-36).
type Task struct {
	Name string

	// EnablingParameter names the parameter of the parent that decides whether the child is there; empty means that it
	// always is.
	EnablingParameter string
}

// ReadTask reads a KudoOperator task from YAML or JSON: one mapping with name, kind and spec, or a list of one. The
// package that it names is never read. The error is a *[ReadError] with the line.
func ReadTask(data []byte) (Task, error) {
	var task Task
	root, err := load(data)
	if err != nil {
		return task, err
	}
	if root == nil {
		return task, &ReadError{Message: "the document is empty: it is a KudoOperator task"}
	}
	if root.Kind == yaml.SequenceNode {
		if len(root.Content) != 1 {
			return task, unreadable(root, "the document is a list of %d tasks: it has one", len(root.Content))
		}
		root = root.Content[0]
	}
	if root.Kind != yaml.MappingNode {
		return task, unreadable(root, "the task is %s: it is a mapping with name, kind and spec", describe(root))
	}
	found, err := attributes(root, "name", "kind", "spec")
	if err != nil {
		return task, err
	}
	kind, err := textAttribute(found["kind"], "kind")
	if err != nil {
		return task, err
	}
	if kind != "KudoOperator" {
		return task, unreadable(root, "the task has the kind %q: only a KudoOperator has an enablingParameter", kind)
	}
	if task.Name, err = textAttribute(found["name"], "name"); err != nil {
		return task, err
	}
	if task.Name == "" {
		return task, unreadable(root, "the task has no name")
	}
	spec := found["spec"]
	if spec == nil || spec.Kind != yaml.MappingNode {
		return task, unreadable(root, "the task %q has no spec: it is a mapping with the package and its parameters", task.Name)
	}
	found, err = attributes(spec, "enablingParameter")
	if err != nil {
		return task, err
	}
	n := found["enablingParameter"]
	if task.EnablingParameter, err = textAttribute(n, "enablingParameter"); err != nil {
		return task, err
	}
	if n != nil && !isNull(n) && task.EnablingParameter == "" {
		return task, unreadable(n, "enablingParameter is empty: it names a parameter, and a child that is always there has no enablingParameter")
	}
	return task, nil
}

// Child returns whether the task's instance is there with these stored values. The error is an *[Error] where the
// enabling parameter is undefined, or is neither a boolean nor a string that strconv.ParseBool takes; its default
// counts (KEP-36, Validation).
func (d *Definitions) Child(task Task, stored Values) (Child, error) {
	e := evaluation{defs: d, next: stored}
	children := e.children([]Task{task})
	if len(e.errs) > 0 {
		return Child{}, e.errs[0]
	}
	return children[0], nil
}

// children returns the state of each task's child under the next values.
func (e *evaluation) children(tasks []Task) []Child {
	var out []Child
	for _, task := range tasks {
		if task.EnablingParameter == "" {
			out = append(out, Child{Task: task.Name, Present: true})
			continue
		}
		if definition, ok := e.enabling(task); ok {
			value, has := effective(definition, e.next)
			out = append(out, Child{task.Name, e.toggle(task, definition, value, has), definition.Name})
		}
	}
	return out
}

// enabling returns the definition of the parameter that enables the task's child, if it can. There is none for an
// unconditional task.
func (e *evaluation) enabling(task Task) (*Definition, bool) {
	if task.EnablingParameter == "" {
		return nil, false
	}
	definition, ok := e.defs.Lookup(task.EnablingParameter)
	if !ok {
		e.errs.refuse(task.EnablingParameter, RuleEnabling, "is not defined, and the task %q has it as its enablingParameter", task.Name)
		return nil, false
	}
	if definition.Type != TypeBoolean && definition.Type != TypeString {
		e.errs.refuse(definition.Name, RuleEnabling, "is of type %s and cannot enable the task %q: it is a boolean, or a string that reads as one",
			definition.Type, task.Name)
		return nil, false
	}
	return definition, true
}

// toggle reads the enabling value.
func (e *evaluation) toggle(task Task, definition *Definition, value Value, has bool) bool {
	present, err := strconv.ParseBool(value.Text)
	if err != nil {
		e.errs.refuse(definition.Name, RuleEnabling, "has %s and cannot enable the task %q: it is 1, t, T, TRUE, true, True or 0, f, F, FALSE, false, False",
			valueText(value, has), task.Name)
	}
	return present
}
