package kudo

import (
	"context"
	"fmt"
	"maps"

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

// ReadInstance reads an Instance from YAML or JSON. It returns a *[parameter.ReadError] if the document cannot be read
// or is anything but an Instance.
func ReadInstance(data []byte) (*Instance, error) {
	root, err := document.LoadMapping(data, "an Instance")
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

// Review evaluates a request that a webhook on Instances receives: the Instance after and before it, as the
// AdmissionReview has them; oldRaw is empty for a creation. It reads them, gets the OperatorVersions that they name
// with find, which is given ctx, and calls [OperatorVersion.Admit]. A request that changes neither the values nor the
// version needs no OperatorVersion. It returns an error if an Instance cannot be read or find fails; a nil
// OperatorVersion from find is an error, too.
//
// A webhook that admits the request stores Resulting in spec.parameters of the Instance: it has the defaults of
// immutable parameters, and lacks the values of removed ones.
func Review(
	ctx context.Context, newRaw, oldRaw []byte, find func(ctx context.Context, name string) (*OperatorVersion, error),
) (Admission, error) {
	newInstance, err := ReadInstance(newRaw)
	if err != nil {
		return Admission{}, err
	}
	version := func(name string) (*OperatorVersion, error) {
		v, err := find(ctx, name)
		if err == nil && v == nil { // without an old version an upgrade would be judged as an update
			err = fmt.Errorf("the OperatorVersion %q was not found", name)
		}
		return v, err
	}
	var oldInstance *Instance
	var old *OperatorVersion
	if len(oldRaw) > 0 {
		if oldInstance, err = ReadInstance(oldRaw); err != nil {
			return Admission{}, err
		}
		switch {
		case newInstance.OperatorVersion != oldInstance.OperatorVersion:
			if old, err = version(oldInstance.OperatorVersion); err != nil {
				return Admission{}, err
			}
		case maps.Equal(newInstance.Parameters.Texts(), oldInstance.Parameters.Texts()):
			return (&OperatorVersion{read: true}).Admit(newInstance, oldInstance, nil), nil
		}
	}
	v, err := version(newInstance.OperatorVersion)
	if err != nil {
		return Admission{}, err
	}
	return v.Admit(newInstance, oldInstance, old), nil
}

// Admit evaluates a request that a webhook on Instances receives: an installation where oldInstance is nil, an upgrade
// where old is not nil, otherwise an update. A value counts as given explicitly when newInstance has it, as in KUDO. A
// value that no version defines may stay as it is. A request that changes no value is allowed whatever the
// definitions look like. A nil newInstance is refused.
//
// [Review] does this for the objects of an AdmissionReview.
func (v *OperatorVersion) Admit(newInstance, oldInstance *Instance, old *OperatorVersion) Admission {
	if newInstance == nil {
		return Admission{}
	}
	if v.undefined() {
		return v.Install(newInstance.Parameters)
	}
	if oldInstance == nil {
		return v.Install(newInstance.Parameters)
	}
	newTexts, oldTexts := newInstance.Parameters.Texts(), oldInstance.Parameters.Texts()
	if old == nil && maps.Equal(newTexts, oldTexts) {
		return Admission{Decision: parameter.Decision{Resulting: parameter.FromTexts(newTexts)}}
	}
	index, oldIndex := v.index(), map[string]*Parameter{}
	if old != nil {
		oldIndex = old.index()
	}
	requested, current, orphans := parameter.Values{}, parameter.Values{}, parameter.Values{}
	for name, text := range newTexts {
		if oldText, stored := oldTexts[name]; index[name] == nil && stored && text == oldText {
			continue // left over, and not asked for by this request
		}
		requested[name] = parameter.Text(text)
	}
	for name, text := range oldTexts {
		newText, stays := newTexts[name]
		switch {
		case index[name] != nil || oldIndex[name] != nil:
			current[name] = parameter.Text(text)
			if !stays {
				requested[name] = parameter.Value{}
			}
		case stays && text == newText && old == nil:
			orphans[name] = parameter.Text(text)
		}
	}
	admission := v.Upgrade(requested, old, current)
	if !admission.Allowed() {
		admission.Resulting = parameter.FromTexts(oldTexts)
		return admission
	}
	maps.Copy(admission.Resulting, orphans)
	return admission
}
