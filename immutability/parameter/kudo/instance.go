package kudo

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/internal/document"
)

// Instance is what an Instance says about its operator and its parameters.
type Instance struct {
	Namespace, Name string
	OperatorVersion string           // spec.operatorVersion.name
	Parameters      parameter.Values // spec.parameters
}

// ReadInstance reads an Instance from YAML or JSON. The error is a *[parameter.ReadError].
func ReadInstance(data []byte) (*Instance, error) {
	root, err := document.LoadMapping(data, "an Instance")
	if err != nil {
		return nil, err
	}
	return readInstance(root)
}

// InstanceOf returns the Instance in a decoded object: a map[string]any as an unstructured client has it, or any Go type
// that encodes to the same JSON.
func InstanceOf(object any) (*Instance, error) {
	root, err := document.FromObject(object)
	if err != nil {
		return nil, err
	}
	return readInstance(root)
}

// ReadValues reads values by the name of their parameter from YAML or JSON: a mapping of names to values, or an
// Instance, of which it returns spec.parameters. Data without a document has no values. The error is a
// *[parameter.ReadError].
func ReadValues(data []byte) (parameter.Values, error) {
	root, err := document.Load(data)
	switch {
	case err != nil:
		return nil, err
	case root == nil:
		return parameter.Values{}, nil
	case root.Kind == yaml.MappingNode && isObject(root):
		instance, err := readInstance(root)
		if err != nil {
			return nil, err
		}
		return instance.Parameters, nil
	}
	return document.Values(root)
}

// IsInstance reports whether data, which [ReadValues] can read, is an Instance rather than a mapping of names to values.
func IsInstance(data []byte) bool {
	root, err := document.Load(data)
	return err == nil && root != nil && root.Kind == yaml.MappingNode && isObject(root)
}

func readInstance(root *yaml.Node) (*Instance, error) {
	if err := checkObject(root, "Instance"); err != nil {
		return nil, err
	}
	found, _ := document.Attributes(root, "metadata", "spec")
	instance := &Instance{
		Namespace:  member(found["metadata"], "namespace"),
		Name:       nameOf(found["metadata"]),
		Parameters: parameter.Values{},
	}
	spec := found["spec"]
	if spec == nil || document.IsNull(spec) {
		return instance, nil
	}
	if spec.Kind != yaml.MappingNode {
		return nil, document.Errorf(spec, "spec is %s: it should be a mapping", document.Describe(spec))
	}
	found, err := document.Strict(spec, "operatorVersion", "parameters", "planExecution")
	if err != nil {
		return nil, err
	}
	instance.OperatorVersion = nameOf(found["operatorVersion"])
	if values := found["parameters"]; values != nil && !document.IsNull(values) {
		if instance.Parameters, err = document.Values(values); err != nil {
			return nil, err
		}
	}
	return instance, nil
}

// FindLive returns the live object of a rendered one; ok is false if there is none. Both have the same group, kind, namespace
// and name; a rendered object without a namespace has any, since KUDO fills in the Instance's. It returns an error if several
// live objects match.
func FindLive(object map[string]any, live []map[string]any) (found map[string]any, ok bool, err error) {
	for _, candidate := range live {
		namespace := metadataOf(object, "namespace")
		if groupKind(object) != groupKind(candidate) || metadataOf(object, "name") != metadataOf(candidate, "name") ||
			namespace != "" && namespace != metadataOf(candidate, "namespace") {
			continue
		}
		if ok {
			return nil, false, fmt.Errorf("several live objects have the kind %v and the name %q: give the manifest a namespace", object["kind"], metadataOf(object, "name"))
		}
		found, ok = candidate, true
	}
	return found, ok, nil
}

// groupKind returns the kind and its group, which an object keeps in all versions of the API.
func groupKind(object map[string]any) [2]string {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	group, _, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group = ""
	}
	return [2]string{group, kind}
}

func metadataOf(object map[string]any, field string) string {
	metadata, _ := object["metadata"].(map[string]any)
	text, _ := metadata[field].(string)
	return text
}
