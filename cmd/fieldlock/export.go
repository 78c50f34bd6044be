package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/celrule"
	"github.com/fieldlock/fieldlock/immutability/crd"
)

func newExport(s streams) *cobra.Command {
	command := &cobra.Command{
		Use:   "export cel|policy",
		Short: "Say locks in CEL, for clusters without fieldlock",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("export needs what to export: fieldlock export cel CRD.yaml, or fieldlock export policy CRD.yaml")
		},
	}
	command.AddCommand(newExportCEL(s), newExportPolicy(s))
	return command
}

func newExportCEL(s streams) *cobra.Command {
	var output *format
	var webhook webhookOptions
	var strict bool
	command := &cobra.Command{
		Use:   "cel CRD.yaml",
		Short: "Print the CRD as a stock cluster accepts it: CEL rules in, extensions out",
		Long: `export cel replaces the locks of a CRD by x-kubernetes-validations that give the same verdict for every update from
one valid object to another, within the cost budget of the API server. The locks themselves stay in the annotation
` + crd.AnnotationKey + `, so that nothing is lost.

A lock that CEL cannot say exactly, or cannot afford, has no rule: the report names it, with the reason and what would
help. --webhook-for-rest adds the webhook configuration that sends such objects to fieldlock. With --strict, a lock that
neither a rule nor that webhook enforces makes the exit status 1.

The CRD goes to the standard output, the report to the standard error. With -o json both are one JSON object on the
standard output.`,
		Example: `  fieldlock export cel widgets.yaml | kubectl apply -f -

  # locks without an exact rule are checked by a webhook
  fieldlock export cel --webhook-for-rest --service fieldlock-system/fieldlock widgets.yaml`,
		Args: oneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := webhook.check(); err != nil {
				return err
			}
			file, err := readCRDFile(args[0], s.in)
			if err != nil {
				return err
			}
			report, err := exportCEL(file, &webhook)
			if err != nil {
				return refusedSchema(s.err, err)
			}
			if err := printExport(s, file, report, output.value); err != nil {
				return err
			}
			if strict && len(report.Rest) > 0 && !webhook.wanted {
				return errRefused
			}
			return nil
		},
	}
	webhook.flags(command)
	command.Flags().BoolVar(&strict, "strict", false, "exit with 1 when a lock is not exported and there is no --webhook-for-rest")
	output = addOutput(command, asText, asJSON)
	return command
}

// printExport prints the changed file and the report, as one JSON object or apart.
func printExport(s streams, file *crdFile, report *exportReport, format string) error {
	if format == asJSON {
		objects, err := file.objects()
		if err != nil {
			return err
		}
		report.Documents = append(objects, report.Documents...)
		return writeJSON(s.out, report)
	}
	if err := file.write(s.out, report.Documents...); err != nil {
		return err
	}
	report.print(s.err)
	return nil
}

// oneFile is the error for any other number of arguments than one.
func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	command := strings.TrimPrefix(cmd.CommandPath(), "fieldlock ")
	return fmt.Errorf("%s needs one file, or - for standard input; it has %s", command, enumerate(args, "none"))
}

// refusedSchema prints the errors of a schema whose locks are wrong; other errors stay what they are.
func refusedSchema(w io.Writer, err error) error {
	var schema *immutability.SchemaError
	if !errors.As(err, &schema) {
		return err
	}
	fmt.Fprintln(w, printableLines(err.Error()))
	return errRefused
}

func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// exportReport is what export did.
type exportReport struct {
	Documents []any        `json:"documents"`
	Exported  []exportRule `json:"exported"`
	Rest      []exportRest `json:"notExported"`
}

// exportRule is a lock and the rule that says it.
type exportRule struct {
	CRD        string `json:"crd,omitempty"`
	Version    string `json:"version"`
	Path       string `json:"path"`
	Lock       string `json:"lock"`
	SchemaPath string `json:"schemaPath,omitempty"` // where the rule stands
	Rule       string `json:"rule"`
}

// exportRest is a lock that no rule says.
type exportRest struct {
	CRD     string `json:"crd,omitempty"`
	Version string `json:"version"`
	Path    string `json:"path"`
	Lock    string `json:"lock"`
	Reason  string `json:"reason"`
	Remedy  string `json:"remedy,omitempty"`
}

// exportCEL replaces locks in the file by rules.
func exportCEL(file *crdFile, webhook *webhookOptions) (*exportReport, error) {
	report := &exportReport{Exported: []exportRule{}, Rest: []exportRest{}}
	for i := range file.crds {
		c := &file.crds[i]
		annotation, err := c.Annotation()
		if err != nil {
			return nil, err
		}
		var rest []string
		for _, v := range c.Versions {
			exported, err := celrule.Export(v.Schema)
			if err != nil {
				return nil, fmt.Errorf("%s: version %s of the CRD %s: %w", c.File, v.Name, c.Name, err)
			}
			if err := c.change(v.Name, exported.Changes); err != nil {
				return nil, err
			}
			report.add(c.Name, v.Name, exported)
			if len(exported.Rest) > 0 {
				rest = append(rest, v.Name)
			}
		}
		if err := c.setAnnotation(crd.AnnotationKey, annotation); err != nil {
			return nil, err
		}
		if webhook.wanted && len(rest) > 0 {
			report.Documents = append(report.Documents, webhook.configuration(c.CRD, rest))
		}
	}
	return report, nil
}

func (r *exportReport) add(name, version string, exported celrule.Exported) {
	for _, rule := range exported.Rules {
		for _, lock := range rule.Locks {
			r.Exported = append(r.Exported, exportRule{name, version, lock.Path, lock.Lock, rule.SchemaPath, rule.Rule})
		}
	}
	r.addRest(name, version, exported.Rest)
}

func (r *exportReport) addRest(name, version string, rest []celrule.Unexported) {
	for _, lock := range rest {
		r.Rest = append(r.Rest, exportRest{name, version, lock.Path, lock.Lock, lock.Reason, lock.Remedy})
	}
}

// print writes the report for people.
func (r *exportReport) print(w io.Writer) {
	colour := paletteOf(w)
	for _, rule := range r.Exported {
		fmt.Fprintf(w, "%s %s\n", colour.green("exported"), printable(fmt.Sprintf("%s %s: %s on %s", rule.CRD, rule.Version, rule.Lock, rule.Path)))
		fmt.Fprintf(w, "         %s\n", printable(rule.Rule))
	}
	for _, rest := range r.Rest {
		fmt.Fprintf(w, "%s %s\n", colour.yellow("not exported"), printable(fmt.Sprintf("%s %s: %s on %s", rest.CRD, rest.Version, rest.Lock, rest.Path)))
		fmt.Fprintf(w, "         %s\n", printable(rest.Reason))
		if rest.Remedy != "" {
			fmt.Fprintf(w, "         what would help: %s\n", printable(rest.Remedy))
		}
	}
	fmt.Fprintf(w, "%s exported, %d not\n", count(len(r.Exported), "lock"), len(r.Rest))
}
