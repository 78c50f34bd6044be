package kudo

import (
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/internal/document"
	"github.com/fieldlock/fieldlock/immutability/parameter/internal/refuse"
)

// ReadTasks replaces the tasks of v by those in data, YAML or JSON: one KudoOperator task, a list of one, or an
// operator.yaml. From an operator.yaml it takes the KudoOperator tasks and the names of the plans. It never looks at the
// packages that tasks name. The error is a *[parameter.ReadError].
func (v *OperatorVersion) ReadTasks(data []byte) error {
	root, err := document.Load(data)
	switch {
	case err != nil:
		return err
	case root == nil:
		return &parameter.ReadError{Message: "the document is empty: it should be a KudoOperator task or an operator.yaml"}
	case root.Kind == yaml.SequenceNode && len(root.Content) != 1:
		return document.Errorf(root, "the document is a list of %d tasks: it should have one", len(root.Content))
	case root.Kind == yaml.SequenceNode:
		root = root.Content[0]
	}
	if root.Kind != yaml.MappingNode {
		return document.Errorf(root, "the task is %s: it should be a mapping with name, kind and spec", document.Describe(root))
	}
	found, err := document.Strict(root, "kind", "spec", "apiVersion", "name", "description", "operatorVersion", "appVersion",
		"kudoVersion", "kubernetesVersion", "maintainers", "url", "tasks", "plans", "namespaceManifest")
	if err != nil {
		return err
	}
	if found["tasks"] != nil {
		if err := checkAPIVersion(&v.mistakes, found["apiVersion"], "operator.yaml"); err != nil {
			return err
		}
		return v.readOperator(found["tasks"], found["plans"])
	}
	kind, err := document.Text(found["kind"], "kind")
	if err != nil {
		return err
	}
	if kind != kindKudoOperator {
		return document.Errorf(root, "the task has the kind %q: only a KudoOperator has an enablingParameter", kind)
	}
	task, err := readTask(root)
	v.Tasks = []Task{task}
	return err
}

// readOperator reads the tasks and plans of an operator.yaml or an OperatorVersion.
func (v *OperatorVersion) readOperator(tasks, plans *yaml.Node) (err error) {
	if plans != nil && plans.Kind == yaml.MappingNode {
		v.Plans = nil
		for i := 0; i+1 < len(plans.Content); i += 2 {
			v.Plans = append(v.Plans, plans.Content[i].Value)
		}
	}
	v.Tasks, err = readTaskList(tasks)
	return err
}

// readTaskList returns the KudoOperator tasks of a list of tasks.
func readTaskList(n *yaml.Node) ([]Task, error) {
	items, err := document.Items(n, "tasks", "tasks")
	if err != nil {
		return nil, err
	}
	var tasks []Task
	for _, item := range items {
		if item.Kind != yaml.MappingNode {
			return nil, document.Errorf(item, "the task is %s: it should be a mapping with name, kind and spec", document.Describe(item))
		}
		found, err := document.Strict(item, "name", "kind", "spec")
		if err != nil {
			return nil, err
		}
		if kind := found["kind"]; kind == nil || kind.Value != kindKudoOperator {
			continue
		}
		task, err := readTask(item)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, task)
	}
	return tasks, nil
}

// readTask reads a KudoOperator task.
func readTask(n *yaml.Node) (task Task, err error) {
	found, err := document.Strict(n, "name", "kind", "spec")
	if err != nil {
		return task, err
	}
	if task.Name, err = document.Text(found["name"], "name"); err != nil {
		return task, err
	}
	if task.Name == "" {
		return task, document.Errorf(n, "the task has no name")
	}
	spec := found["spec"]
	if spec == nil || spec.Kind != yaml.MappingNode {
		return task, document.Errorf(n, "the task %q has no spec: it should be a mapping with the package and its parameters", task.Name)
	}
	if found, err = document.Strict(spec, "enablingParameter", "package", "instanceName", "appVersion", "operatorVersion", "parameterFile"); err != nil {
		return task, err
	}
	name := found["enablingParameter"]
	if task.EnablingParameter, err = document.Text(name, "enablingParameter"); err != nil {
		return task, err
	}
	if name != nil && !document.IsNull(name) && task.EnablingParameter == "" {
		return task, document.Errorf(name, "enablingParameter is empty: it names a parameter; leave it out for a child that is always there")
	}
	return task, nil
}

// kindKudoOperator is the only kind of task with an enablingParameter.
const kindKudoOperator = "KudoOperator"

// Children returns whether the instance of each task is there with these current values. The error is a
// [parameter.Refusals] where an enabling parameter is undefined, or neither a boolean nor a string that
// strconv.ParseBool accepts; its default counts (KEP-36, Validation).
func (v *OperatorVersion) Children(current parameter.Values) ([]Child, error) {
	var refusals parameter.Refusals
	children := v.children(v.index(), current, &refusals)
	return children, refusals.Err()
}

func (v *OperatorVersion) children(index map[string]*Parameter, values parameter.Values, refusals *parameter.Refusals) []Child {
	var out []Child
	for _, task := range v.Tasks {
		if task.EnablingParameter == "" {
			out = append(out, Child{Task: task.Name, Present: true})
			continue
		}
		if p, ok := task.enabling(index, refusals); ok {
			value, has := p.effective(values)
			out = append(out, Child{task.Name, task.reads(p, value, has, refusals), p.Name})
		}
	}
	return out
}

// enabling returns the parameter that enables the task's child, if there is one and it can.
func (t Task) enabling(index map[string]*Parameter, refusals *parameter.Refusals) (*Parameter, bool) {
	if t.EnablingParameter == "" {
		return nil, false
	}
	p := index[t.EnablingParameter]
	if p == nil {
		refuse.Add(refusals, t.EnablingParameter, parameter.RuleEnabling, "is not defined, and the task %q has it as its enablingParameter", t.Name)
		return nil, false
	}
	if kind := p.Type.name(); kind != TypeBoolean && kind != TypeString {
		refuse.Add(refusals, p.Name, parameter.RuleEnabling, "is of type %s and cannot enable the task %q: it should be a boolean, or a string that reads as one",
			kind, t.Name)
		return nil, false
	}
	return p, true
}

// reads returns the enabling value as a boolean.
func (t Task) reads(p *Parameter, value parameter.Value, has bool, refusals *parameter.Refusals) bool {
	present, err := strconv.ParseBool(value.Text)
	if err != nil {
		refuse.Add(refusals, p.Name, parameter.RuleEnabling, "has %s and cannot enable the task %q: it should be 1, t, T, TRUE, true, True or 0, f, F, FALSE, false, False",
			quoted(value, has), t.Name)
	}
	return present
}
