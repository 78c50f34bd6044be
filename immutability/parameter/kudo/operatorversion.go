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
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/internal/document"
	"github.com/fieldlock/fieldlock/immutability/parameter/internal/refuse"
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

// Type is the type of a parameter. Every value is a text; the type says which texts are allowed:
//
//   - "string", and the empty type: any.
//   - "boolean", "integer" and "number": what strconv.ParseBool, ParseInt and ParseFloat accept.
//   - "array" and "map": a list or a mapping in YAML or JSON, or null.
type Type string

// The types.
const (
	TypeString  Type = "string"
	TypeBoolean Type = "boolean"
	TypeInteger Type = "integer"
	TypeNumber  Type = "number"
	TypeArray   Type = "array"
	TypeMap     Type = "map"
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

// ReadTasks replaces the tasks of v by those in data, YAML or JSON: one KudoOperator task, a list of one, or an
// operator.yaml. From an operator.yaml it takes the KudoOperator tasks and the names of the plans. It never looks at
// the packages that tasks name. The error is a *[parameter.ReadError].
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
	if v.undefined() {
		return nil, v.Validate().Err()
	}
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
		refuse.Add(refusals, t.EnablingParameter, refuse.Enabling, "is not defined, and the task %q has it as its enablingParameter", t.Name)
		return nil, false
	}
	if kind := p.Type.name(); kind != TypeBoolean && kind != TypeString {
		refuse.Add(refusals, p.Name, refuse.Enabling, "is of type %s and cannot enable the task %q: it should be a boolean, or a string that reads as one",
			kind, t.Name)
		return nil, false
	}
	return p, true
}

// reads returns the enabling value as a boolean.
func (t Task) reads(p *Parameter, value parameter.Value, has bool, refusals *parameter.Refusals) bool {
	present, err := strconv.ParseBool(value.Text)
	if err != nil {
		refuse.Add(refusals, p.Name, refuse.Enabling, "has %s and cannot enable the task %q: it should be 1, t, T, TRUE, true, True or 0, f, F, FALSE, false, False",
			quoted(value, has), t.Name)
	}
	return present
}
