package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

func newParamsEnhance(s streams) *cobra.Command {
	var e kudo.Enhancement
	var templates, live string
	var output *format
	command := &cobra.Command{
		Use: "enhance --templates FILE|DIR --instance NAME --operator NAME --operator-version V --plan P --phase P " +
			"--step S --plan-uid UID",
		Short: "Print manifests with the labels and annotations that KUDO adds to them",
		Long: `enhance reads the rendered manifests of an operator and prints them with KUDO's marks (KEP-27): static labels on the
objects and their templates; plan, phase, step, operator version and the plan's UID as annotations of the objects; and
with --restart the UID in the templates too, which restarts their pods. Without --restart, the templates keep the UIDs
that they have in --live, so nothing restarts. -o json prints one List instead of YAML documents.`,
		Example: `  fieldlock params enhance --templates rendered/ --instance ring --operator cassandra --operator-version 1.0.0 \
    --plan deploy --phase nodes --step rack --plan-uid 4f9a --restart`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			for _, required := range []struct{ flag, value string }{
				{"templates", templates}, {"instance", e.Instance}, {"operator", e.Operator},
				{"operator-version", e.OperatorVersion},
				{"plan", e.Plan}, {"phase", e.Phase}, {"step", e.Step}, {"plan-uid", e.PlanUID},
			} {
				if required.value == "" {
					return fmt.Errorf("--%s is missing: enhance needs it for its marks; see fieldlock params enhance "+
						"--help", required.flag)
				}
			}
			objects, err := enhance(&manifest.Reader{Stdin: s.in}, e, templates, live)
			if err != nil {
				return err
			}
			return printManifests(s.out, output.value, objects)
		},
	}
	flags := command.Flags()
	flags.StringVar(&templates, "templates", "", "`FILE` or directory of rendered manifests (required)")
	flags.StringVar(&e.Instance, "instance", "", "`NAME` of the instance (required)")
	flags.StringVar(&e.Operator, "operator", "", "`NAME` of the operator (required)")
	flags.StringVar(&e.OperatorVersion, "operator-version", "", "`VERSION` of the operator (required)")
	flags.StringVar(&e.Plan, "plan", "", "`NAME` of the plan (required)")
	flags.StringVar(&e.Phase, "phase", "", "`NAME` of the phase (required)")
	flags.StringVar(&e.Step, "step", "", "`NAME` of the step (required)")
	flags.StringVar(&e.PlanUID, "plan-uid", "", "`UID` of this run of the plan (required)")
	flags.BoolVar(&e.Restart, "restart", false,
		"restart the pods; fieldlock params restart says whether that is needed")
	flags.StringVar(&live, "live", "", "`FILE` or directory of the objects as they are in the cluster")
	output = addOutput(command, asText, asJSON)
	return command
}

// enhance reads the manifests and the live objects, and marks the manifests.
func enhance(r *manifest.Reader, e kudo.Enhancement, templates, live string) ([]map[string]any, error) {
	rendered, err := readManifests(r, templates)
	if err != nil {
		return nil, err
	}
	var current []map[string]any
	if live != "" {
		documents, err := readManifests(r, live)
		if err != nil {
			return nil, err
		}
		for _, document := range documents {
			current = append(current, document.Object)
		}
	}
	objects := make([]map[string]any, 0, len(rendered))
	for _, document := range rendered {
		before, err := liveOf(document.Object, current)
		if err != nil {
			return nil, document.Errorf([]any{"metadata"}, "%v", err)
		}
		marked, err := e.Apply(document.Object, before)
		if err != nil {
			return nil, document.Errorf(nil, "%v", err)
		}
		objects = append(objects, marked)
	}
	return objects, nil
}

// liveOf returns the live object that a rendered object belongs to, or nil if the cluster has no such object. Both have
// the same group, kind, namespace and name; a rendered object without a namespace has any, since KUDO fills in the
// Instance's. It returns an error if several live objects match.
func liveOf(rendered map[string]any, live []map[string]any) (map[string]any, error) {
	r := unstructured.Unstructured{Object: rendered}
	var found map[string]any
	for _, candidate := range live {
		c := unstructured.Unstructured{Object: candidate}
		if r.GroupVersionKind().GroupKind() != c.GroupVersionKind().GroupKind() || r.GetName() != c.GetName() ||
			r.GetNamespace() != "" && r.GetNamespace() != c.GetNamespace() {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("several live objects have the kind %v and the name %q: give the manifest a "+
				"namespace", rendered["kind"], r.GetName())
		}
		found = candidate
	}
	return found, nil
}

// readManifests returns the objects of a file or a directory. It returns no objects when some cannot be read.
func readManifests(r *manifest.Reader, path string) ([]*yamldoc.Document, error) {
	files, err := r.Read(path)
	if err != nil {
		return nil, err
	}
	var documents []*yamldoc.Document
	var errs []error
	for _, file := range files {
		errs = append(errs, file.Err)
		for _, r := range file.Repeated {
			errs = append(errs, r.Err())
		}
		for _, document := range file.Documents {
			apiVersion, _ := document.Object["apiVersion"].(string)
			kind, _ := document.Object["kind"].(string)
			if apiVersion == "" || kind == "" {
				errs = append(errs, document.Errorf(nil,
					"the document has no apiVersion and kind: it should be a Kubernetes object"))
			}
			documents = append(documents, document)
		}
	}
	return documents, errors.Join(errs...)
}

func printManifests(out io.Writer, format string, objects []map[string]any) error {
	if format == asJSON {
		return report.WriteJSON(out, map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	}
	for i, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return err
		}
		if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	return nil
}
