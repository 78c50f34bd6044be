package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability/celrule"
)

func newExportPolicy(s streams) *cobra.Command {
	var output *format
	var builtin builtinKind
	command := &cobra.Command{
		Use:   "policy CRD.yaml",
		Short: "Print a ValidatingAdmissionPolicy and its binding, for types that you do not own",
		Long: `export policy says the locks of a CRD in a ValidatingAdmissionPolicy, so that the CRD itself need not change: take a copy
of it, add locks, export. One policy and binding is printed for each version with locks.

For a built-in kind give an OpenAPI document (v2, or v3 of one group and version) with locks in it, and --kind.

A policy sees objects without their schema. So it can say the order of keyed lists and unknown fields, which rules in a
CRD cannot, but no set inside a locked value. The report names what is not exported.`,
		Example: `  fieldlock export policy vendor-crd-with-locks.yaml | kubectl apply -f -

  fieldlock export policy --kind apps/v1/Deployment --resource deployments apis-apps-v1-with-locks.json`,
		Args: oneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			report := &exportReport{Documents: []any{}, Exported: []exportRule{}, Rest: []exportRest{}}
			types, err := builtin.types(args[0], s.in)
			if err != nil {
				return err
			}
			for _, t := range types {
				if err := report.addPolicy(t); err != nil {
					return refusedSchema(s.err, err)
				}
			}
			if output.value == asJSON {
				return writeJSON(s.out, report)
			}
			if err := writeYAML(s.out, report.Documents); err != nil {
				return err
			}
			report.print(s.err)
			return nil
		},
	}
	command.Flags().StringVar(&builtin.kind, "kind", "", "GROUP/VERSION/KIND, or VERSION/KIND, of a kind in an OpenAPI document")
	command.Flags().StringVar(&builtin.resource, "resource", "", "resource of --kind, such as deployments; the kind in lower case with an s unless given")
	output = addOutput(command, asText, asJSON)
	return command
}

// writeYAML prints documents, nothing for none.
func writeYAML(w io.Writer, documents []any) error {
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

// builtinKind names a kind of an OpenAPI document.
type builtinKind struct{ kind, resource string }

// types reads the versions of the CRDs in a file, or the kind of an OpenAPI document.
func (b *builtinKind) types(path string, in io.Reader) ([]policyType, error) {
	if b.kind != "" {
		return b.openAPI(path, in)
	}
	if b.resource != "" {
		return nil, errors.New("--resource goes with --kind; a CRD names its resource itself")
	}
	file, err := readCRDFile(path, in)
	if err != nil {
		return nil, err
	}
	var types []policyType
	for _, c := range file.crds {
		for _, v := range c.Versions {
			types = append(types, policyType{c.Group, v.Name, c.Plural, v.Schema})
		}
	}
	return types, nil
}

// openAPI reads the schema of the kind from an OpenAPI document, v2 or v3.
func (b *builtinKind) openAPI(path string, in io.Reader) ([]policyType, error) {
	parts := strings.Split(b.kind, "/")
	if len(parts) == 2 {
		parts = append([]string{""}, parts...)
	}
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" {
		return nil, fmt.Errorf("--kind is %q: it is GROUP/VERSION/KIND, such as apps/v1/Deployment, or VERSION/KIND", b.kind)
	}
	var data []byte
	var err error
	if path == "-" {
		data, err = io.ReadAll(in)
	} else {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, unreadable(path, err)
	}
	definitions, err := readOpenAPI(path, data)
	if err != nil {
		return nil, err
	}
	t := policyType{parts[0], parts[1], b.resource, nil}
	if t.resource == "" {
		t.resource = strings.ToLower(parts[2]) + "s"
	}
	for _, name := range definitions.names() {
		if definitions.is(name, parts[0], parts[1], parts[2]) {
			t.schema, err = definitions.inline(name)
			return []policyType{t}, err
		}
	}
	return nil, fmt.Errorf("%s: there is no schema of %s in it; the schema has it under x-kubernetes-group-version-kind", path, b.kind)
}

// addPolicy adds the policy and binding for t, none when it has no locks that a policy can say.
func (r *exportReport) addPolicy(t policyType) error {
	policy, err := celrule.ExportPolicy(t.schema)
	if err != nil {
		return fmt.Errorf("version %s of %s: %w", t.version, t.name(), err)
	}
	r.addRest(t.name(), t.version, policy.Rest)
	if len(policy.Validations) == 0 {
		return nil
	}
	var validations []any
	for _, v := range policy.Validations {
		validations = append(validations, map[string]any{"expression": v.Expression, "message": v.Message, "reason": "Invalid"})
		for _, lock := range v.Locks {
			r.Exported = append(r.Exported, exportRule{CRD: t.name(), Version: t.version, Path: lock.Path, Lock: lock.Lock, Rule: v.Expression})
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
