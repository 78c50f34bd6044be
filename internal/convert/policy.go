package convert

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/celrule"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/schemadoc"
)

// ToPolicies exports the locks of each version of each CRD in a file, with those of an Amender (nil for none), as a
// ValidatingAdmissionPolicy with its binding.
func ToPolicies(file *File, a *manifest.Amender) (*Export, error) {
	for i := range file.crds {
		file.crds[i].CRD = a.CRD(file.crds[i].CRD)
	}
	if err := errors.Join(a.Errs()...); err != nil {
		return nil, err
	}
	if err := file.compile(); err != nil {
		return nil, err
	}
	var types []policyType
	for _, c := range file.crds {
		for _, v := range c.Versions {
			types = append(types, policyType{c.Group, v.Name, c.Plural, v.Schema})
		}
	}
	return policies(types)
}

// KindToPolicy exports the locks of one kind of an OpenAPI document, v2 or v3, with those of an Amender (nil for none).
// The kind is GROUP/VERSION/KIND or VERSION/KIND; resource is its plural, by default the kind in lower case with an s.
func KindToPolicy(name string, data []byte, a *manifest.Amender, kind, resource string) (*Export, error) {
	parts := strings.Split(kind, "/")
	if len(parts) == 2 {
		parts = append([]string{""}, parts...)
	}
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" {
		return nil, fmt.Errorf("--kind is %q: it is GROUP/VERSION/KIND, such as apps/v1/Deployment, or VERSION/KIND",
			kind)
	}
	document, err := schemadoc.Read(name, data)
	if err != nil {
		return nil, err
	}
	apiVersion := strings.TrimPrefix(parts[0]+"/"+parts[1], "/")
	found, ok := document.Find(apiVersion, parts[2])
	if !ok {
		return nil, fmt.Errorf("%s: it has no schema of %s; such a schema names the kind under "+
			"x-kubernetes-group-version-kind", name, kind)
	}
	a.Documents([]*schemadoc.Document{document})
	if err := errors.Join(a.Errs()...); err != nil {
		return nil, err
	}
	s, resolve, _, err := a.Compile(document, found)
	if err != nil {
		return nil, err
	}
	// The rules of a policy read the whole schema: it is written out.
	inlined, err := schema.Read(s, resolve).Inline()
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", name, kind, err)
	}
	if resource == "" {
		resource = strings.ToLower(parts[2]) + "s"
	}
	return policies([]policyType{{parts[0], parts[1], resource, inlined}})
}

func policies(types []policyType) (*Export, error) {
	report := &Export{Documents: []any{}, Exported: []ExportedLock{}, Rest: []UnexportedLock{}}
	for _, t := range types {
		if err := report.addPolicy(t); err != nil {
			return nil, err
		}
	}
	return report, nil
}

// WriteYAML prints documents, nothing for none.
func WriteYAML(w io.Writer, documents []any) error {
	if len(documents) == 0 {
		return nil // an encoder that has seen no document cannot be closed
	}
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	for _, document := range documents {
		if err := encoder.Encode(document); err != nil {
			return err
		}
	}
	return encoder.Close()
}

// policyType is one version of a resource that a policy is for.
type policyType struct {
	group, version, resource string
	schema                   *spec.Schema
}

// addPolicy adds the policy and binding for t, none when it has no locks that a policy can say.
func (r *Export) addPolicy(t policyType) error {
	policy, err := celrule.ExportPolicy(t.schema)
	if err != nil {
		return fmt.Errorf("version %s of %s: %w", t.version, t.name(), err)
	}
	r.addNeedless(t.name(), t.version, policy.Needless)
	r.addRest(t.name(), t.version, policy.Rest)
	if len(policy.Rules) == 0 {
		return nil
	}
	var validations []any
	for _, v := range policy.Rules {
		validations = append(validations,
			map[string]any{"expression": v.Rule, "message": v.Message, "reason": "Invalid"})
		for _, lock := range v.Locks {
			r.Exported = append(r.Exported,
				ExportedLock{CRD: t.name(), Version: t.version, Path: lock.Path, Lock: lock.Lock, Rule: v.Rule})
		}
	}
	name := "fieldlock." + t.version + "." + t.name()
	r.Documents = append(r.Documents, map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1",
		"kind":       "ValidatingAdmissionPolicy",
		"metadata":   map[string]any{"name": name},
		"spec": map[string]any{
			"failurePolicy": "Fail",
			"matchConstraints": map[string]any{
				"matchPolicy": "Equivalent",
				"resourceRules": []any{map[string]any{
					"apiGroups": []any{t.group}, "apiVersions": []any{t.version}, "operations": []any{"UPDATE"},
					"resources": slices.Compact([]any{t.resource, t.resource + "/status"}),
				}},
			},
			"validations": validations,
		},
	}, map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1",
		"kind":       "ValidatingAdmissionPolicyBinding",
		"metadata":   map[string]any{"name": name},
		"spec":       map[string]any{"policyName": name, "validationActions": []any{"Deny"}},
	})
	return nil
}

// name is the resource with its group: "deployments.apps".
func (t *policyType) name() string {
	if t.group == "" {
		return t.resource
	}
	return t.resource + "." + t.group
}
