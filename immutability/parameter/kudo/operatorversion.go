// Package kudo evaluates the parameters of KUDO operators: immutable parameters (KEP-30), forced pod restarts (KEP-27)
// and child operators that a parameter switches on and off (KEP-36).
//
// A webhook on Instances needs one call:
//
//	find := func(ctx context.Context, name string) (*kudo.OperatorVersion, error) {
//		object, err := client.Resource(operatorVersions).Namespace(request.Namespace).Get(ctx, name, metav1.GetOptions{})
//		if err != nil {
//			return nil, err
//		}
//		data, err := object.MarshalJSON()
//		if err != nil {
//			return nil, err
//		}
//		return kudo.ReadOperatorVersion(data)
//	}
//	admission, err := kudo.Review(ctx, request.Object.Raw, request.OldObject.Raw, find)
//
// It denies the request with admission.Err(), or admits it and stores admission.Resulting in spec.parameters. The
// program examples/instances is such a webhook.
//
// [Review] and [OperatorVersion.Admit] take a value as given explicitly when the new Instance has it: a webhook cannot
// see more, and KUDO itself decides like this. A command line knows what its user asks for in this very operation, so
// [OperatorVersion.Install], [OperatorVersion.Update] and [OperatorVersion.Upgrade] take the requested values apart
// from the current ones, and only the requested ones are explicit.
//
// Every evaluation starts with [OperatorVersion.Validate], since a definition that KUDO's verifier refuses may not mean
// what its author intended.
package kudo

import (
	"cmp"
	"slices"

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
// cluster, or be built by hand. Evaluations do not change it. Those of the zero OperatorVersion or a nil one, and
// upgrades from the zero one, are refused.
type OperatorVersion struct {
	Name       string
	Parameters []Parameter
	Groups     []string // names of the parameter groups; nil where they are not known, as in a cluster
	Tasks      []Task   // the KudoOperator tasks
	Plans      []string // names of the plans; nil where they are not known

	read     bool               // rather than built by hand
	mistakes parameter.Refusals // what else the reader found
}

// undefined reports whether v is nil or has nothing to say.
func (v *OperatorVersion) undefined() bool {
	return v == nil || !v.read && v.Name == "" && len(v.Parameters)+len(v.Tasks)+len(v.Groups)+len(v.Plans) == 0
}

// orZero returns v, or the zero OperatorVersion for nil.
func (v *OperatorVersion) orZero() *OperatorVersion {
	if v == nil {
		return &OperatorVersion{}
	}
	return v
}

// List returns a row per parameter, sorted by name (KEP-30, Other).
func (v *OperatorVersion) List() []parameter.Row {
	v = v.orZero()
	rows := make([]parameter.Row, 0, len(v.Parameters))
	for i := range v.Parameters {
		p := &v.Parameters[i]
		rows = append(rows, parameter.Row{Name: p.Name, Default: p.Default.Text, Required: !p.Optional,
			Immutable: p.Immutable})
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

// ReadTasks replaces the tasks of v by those in data, YAML or JSON: one KudoOperator task, a list of one, or an
// operator.yaml. From an operator.yaml it takes the KudoOperator tasks and the names of the plans. It never looks at
// the packages that tasks name. The error is a *[parameter.ReadError].
func (v *OperatorVersion) ReadTasks(data []byte) error {
	root, err := document.Load(data)
	switch {
	case err != nil:
		return err
	case root == nil:
		return &parameter.ReadError{Message: "the document is empty: it should be a KudoOperator task or an " +
			"operator.yaml"}
	case root.Kind == yaml.SequenceNode && len(root.Content) != 1:
		return document.Errorf(root, "the document is a list of %d tasks: it should have one", len(root.Content))
	case root.Kind == yaml.SequenceNode:
		root = root.Content[0]
	}
	if root.Kind != yaml.MappingNode {
		return document.Errorf(root, "the task is %s: it should be a mapping with name, kind and spec",
			document.Describe(root))
	}
	found, err := document.Strict(root, "kind", "spec", "apiVersion", "name", "description",
		"operatorVersion", "appVersion",
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
			return nil, document.Errorf(item, "the task is %s: it should be a mapping with name, kind and spec",
				document.Describe(item))
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
		return task, document.Errorf(n,
			"the task %q has no spec: it should be a mapping with the package and its parameters", task.Name)
	}
	if found, err = document.Strict(spec, "enablingParameter", "package", "instanceName", "appVersion",
		"operatorVersion", "parameterFile"); err != nil {
		return task, err
	}
	name := found["enablingParameter"]
	if task.EnablingParameter, err = document.Text(name, "enablingParameter"); err != nil {
		return task, err
	}
	if name != nil && !document.IsNull(name) && task.EnablingParameter == "" {
		return task, document.Errorf(name,
			"enablingParameter is empty: it names a parameter; leave it out for a child that is always there")
	}
	return task, nil
}

// kindKudoOperator is the only kind of task with an enablingParameter.
const kindKudoOperator = "KudoOperator"
