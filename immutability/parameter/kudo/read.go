package kudo

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/internal/document"
	"github.com/fieldlock/fieldlock/immutability/parameter/internal/refuse"
)

// ReadOperatorVersion reads the parameters of an operator from YAML or JSON: a package's params.yaml, or an
// OperatorVersion as it is in a cluster, with its tasks and plans. The error is a *[parameter.ReadError]. Mistakes that
// KUDO's verifier reports are refusals of [OperatorVersion.Validate] instead.
func ReadOperatorVersion(data []byte) (*OperatorVersion, error) {
	root, err := document.LoadMapping(data, "a KUDO params.yaml or an OperatorVersion")
	if err != nil {
		return nil, err
	}
	return readOperatorVersion(root)
}

func readOperatorVersion(root *yaml.Node) (*OperatorVersion, error) {
	if isObject(root) {
		return readObject(root)
	}
	v := &OperatorVersion{read: true, Groups: []string{}}
	found, misspelled := document.Attributes(root, "apiVersion", "groups", "parameters")
	document.RefuseMisspelled(&v.mistakes, "", misspelled)
	if err := checkAPIVersion(&v.mistakes, found["apiVersion"], "params.yaml"); err != nil {
		return nil, err
	}
	if found["parameters"] == nil {
		return nil,
			&parameter.ReadError{Message: `there is no key "parameters": an operator without parameters has "parameters: []"`}
	}
	if err := v.readGroups(found["groups"]); err != nil {
		return nil, err
	}
	return v, v.readParameters(found["parameters"], packageSpelling)
}

// readObject reads an OperatorVersion.
func readObject(root *yaml.Node) (*OperatorVersion, error) {
	if err := checkObject(root, "OperatorVersion"); err != nil {
		return nil, err
	}
	found, _ := document.Attributes(root, "metadata", "spec")
	v := &OperatorVersion{read: true, Name: nameOf(found["metadata"])}
	spec := found["spec"]
	if spec == nil || document.IsNull(spec) {
		return v, nil
	}
	if spec.Kind != yaml.MappingNode {
		return nil, document.Errorf(spec, "spec is %s: it should be a mapping", document.Describe(spec))
	}
	found, misspelled := document.Attributes(spec, "parameters", "tasks", "plans", "operator", "version",
		"appVersion", "templates",
		"connectionString", "upgradableFrom")
	document.RefuseMisspelled(&v.mistakes, "", misspelled)
	if err := v.readOperator(found["tasks"], found["plans"]); err != nil {
		return nil, err
	}
	if found["parameters"] == nil {
		return v, nil
	}
	return v, v.readParameters(found["parameters"], objectSpelling)
}

// spelling is how a document writes a parameter.
type spelling struct {
	kind     string // the attribute of the type
	required bool   // what the absence of required means
}

var (
	packageSpelling = spelling{"type", true}
	objectSpelling  = spelling{"value-type", false} // KUDO fills in required where it creates the object
)

func (v *OperatorVersion) readParameters(n *yaml.Node, as spelling) error {
	items, err := document.Items(n, "parameters", "definitions")
	if err != nil {
		return err
	}
	for _, item := range items {
		if err := v.readParameter(item, as); err != nil {
			return err
		}
	}
	return nil
}

func (v *OperatorVersion) readParameter(n *yaml.Node, as spelling) error {
	p := Parameter{Line: n.Line}
	if n.Kind != yaml.MappingNode {
		return document.Errorf(n, "a parameter is %s: it should be a mapping with a name", document.Describe(n))
	}
	found, misspelled := document.Attributes(n, "name", "displayName", "description", "hint", "group",
		"advanced", as.kind,
		"enum", "default", "required", "immutable", "trigger", "forcePodRestart")
	var kind string
	var err error
	for _, text := range []struct {
		name string
		to   *string
	}{
		{"name", &p.Name}, {"displayName", &p.DisplayName}, {"description", &p.Description}, {"hint", &p.Hint},
		{"group", &p.Group}, {as.kind, &kind}, {"trigger", &p.Trigger},
	} {
		if *text.to, err = document.Text(found[text.name], text.name); err != nil {
			return err
		}
	}
	if p.Name == "" {
		return document.Errorf(n, "a parameter has no name")
	}
	document.RefuseMisspelled(&v.mistakes, p.Name, misspelled)
	if p.Type = Type(kind); !slices.Contains(types, p.Type) {
		return document.Errorf(n, "the parameter %q has the unknown type %q: %s", p.Name, kind, typesAre)
	}
	required, restart := as.required, true
	for _, mark := range []struct {
		name string
		to   *bool
	}{{"required", &required}, {"immutable", &p.Immutable}, {"forcePodRestart", &restart}, {"advanced", &p.Advanced}} {
		if *mark.to, err = document.Bool(found[mark.name], mark.name+" of "+strconv.Quote(p.Name),
			*mark.to); err != nil {
			return err
		}
	}
	p.Optional, p.NoRestart = !required, !restart
	if p.Default, err = readDefault(found["default"], p.Type); err != nil {
		return err
	}
	if p.Enum, err = readEnum(found["enum"], p.Name); err != nil {
		return err
	}
	v.Parameters = append(v.Parameters, p)
	return nil
}

// readDefault reads a default. KUDO stores an empty default of a list or a map as the text of null, which is a default.
func readDefault(n *yaml.Node, t Type) (parameter.Value, error) {
	switch {
	case n == nil:
		return parameter.Value{}, nil
	case document.IsNull(n) && (t == TypeArray || t == TypeMap):
		return parameter.Text("null\n"), nil
	}
	return document.Value(n)
}

func readEnum(n *yaml.Node, name string) ([]string, error) {
	if n == nil || document.IsNull(n) {
		return nil, nil
	}
	items, err := document.Items(n, "enum of "+strconv.Quote(name), "values")
	if err != nil {
		return nil, err
	}
	enum := make([]string, 0, len(items)) // an empty list is not nil: Validate refuses it
	for _, item := range items {
		value, err := document.Value(item)
		if err != nil {
			return nil, err
		}
		if value.IsNull() {
			return nil, document.Errorf(item, "enum of %q has an empty value: quote it", name)
		}
		enum = append(enum, value.Text)
	}
	return enum, nil
}

func (v *OperatorVersion) readGroups(n *yaml.Node) error {
	items, err := document.Items(n, "groups", "groups")
	if err != nil {
		return err
	}
	for _, item := range items {
		if item.Kind != yaml.MappingNode {
			return document.Errorf(item, "a group is %s: it should be a mapping with a name", document.Describe(item))
		}
		found, misspelled := document.Attributes(item, "name", "displayName", "description", "prio")
		document.RefuseMisspelled(&v.mistakes, "", misspelled)
		name, err := document.Text(found["name"], "name of a group")
		if err != nil {
			return err
		}
		v.Groups = append(v.Groups, name)
	}
	return nil
}

// isObject reports whether a mapping is a Kubernetes object rather than a file of a package.
func isObject(n *yaml.Node) bool {
	found, _ := document.Attributes(n, "apiVersion", "kind")
	return found["apiVersion"] != nil && found["kind"] != nil
}

// checkObject returns an error unless the object is of the given kind of KUDO's API.
func checkObject(n *yaml.Node, kind string) error {
	found, err := document.Strict(n, "apiVersion", "kind", "metadata", "spec", "status")
	if err != nil {
		return err
	}
	gotVersion, err := document.Text(found["apiVersion"], "apiVersion")
	if err != nil {
		return err
	}
	gotKind, err := document.Text(found["kind"], "kind")
	if err != nil {
		return err
	}
	if gotVersion != apiVersion || gotKind != kind {
		return document.Errorf(n, "the object is %s of %s: it should be %s of %s",
			orNothing(gotKind), orNothing(gotVersion), kind, apiVersion)
	}
	return nil
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return strings.ToValidUTF8(text, "?")
}

// checkAPIVersion refuses a file of a package with another apiVersion than KUDO's. None is KUDO's.
func checkAPIVersion(mistakes *parameter.Refusals, n *yaml.Node, file string) error {
	got, err := document.Text(n, "apiVersion")
	if err != nil {
		return err
	}
	if got != "" && got != apiVersion {
		refuse.Add(mistakes, "", refuse.Definition, "the %s has the apiVersion %q: KUDO reads %s only",
			file, got, apiVersion)
	}
	return nil
}

// nameOf returns metadata.name.
func nameOf(metadata *yaml.Node) string { return member(metadata, "name") }

// member returns a text of a mapping, or "".
func member(n *yaml.Node, name string) string {
	if n == nil || n.Kind != yaml.MappingNode {
		return ""
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name && n.Content[i+1].Kind == yaml.ScalarNode && !document.IsNull(n.Content[i+1]) {
			return n.Content[i+1].Value
		}
	}
	return ""
}

// apiVersion is the one that KUDO reads, in packages and in clusters.
const apiVersion = "kudo.dev/v1beta1"

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
