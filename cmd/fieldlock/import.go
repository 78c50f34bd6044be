package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/immutability/celrule"
	"github.com/fieldlock/fieldlock/immutability/crd"
)

func newImport(s streams) *cobra.Command {
	command := &cobra.Command{
		Use:   "import cel",
		Short: "Turn CEL transition rules into locks",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("import needs what to import: fieldlock import cel CRD.yaml")
		},
	}
	command.AddCommand(newImportCEL(s))
	return command
}

func newImportCEL(s streams) *cobra.Command {
	var output *format
	command := &cobra.Command{
		Use:   "cel CRD.yaml",
		Short: "Print the CRD with those CEL rules replaced by locks that say exactly what a lock says",
		Long: `import cel reads the transition rules of a CRD, those that speak of oldSelf. A rule that gives the same verdict as
a lock, for every update from one valid object to another, is replaced by that lock; the rules of a field and of its
parents are read together. All other rules stay, and the report says why.

The CRD goes to the standard output, the report to the standard error. With -o json both are one JSON object on the
standard output. A CRD with locks is for fieldlock: a stock API server drops them, see fieldlock export cel.`,
		Example: `  # self == oldSelf on a required field becomes x-kubernetes-immutable: true
  fieldlock import cel config/crd/bases/example.com_widgets.yaml > widgets.locked.yaml`,
		Args: oneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			file, err := readCRDFile(args[0], s.in)
			if err != nil {
				return err
			}
			report, err := importCEL(file)
			if err != nil {
				return err
			}
			if output.value == asJSON {
				if report.Documents, err = file.objects(); err != nil {
					return err
				}
				return writeJSON(s.out, report)
			}
			if err := file.write(s.out); err != nil {
				return err
			}
			report.print(s.err)
			return nil
		},
	}
	output = addOutput(command, asText, asJSON)
	return command
}

// importReport is what import cel did.
type importReport struct {
	Documents  []any        `json:"documents"`
	Recognized []importRule `json:"recognized"`
	Left       []importRule `json:"left"`
}

// importRule is one transition rule of a report.
type importRule struct {
	CRD        string       `json:"crd"`
	Version    string       `json:"version"`
	Path       string       `json:"path"`
	SchemaPath string       `json:"schemaPath"`
	Rule       string       `json:"rule"`
	Locks      []importLock `json:"locks,omitempty"`
	Reason     string       `json:"reason,omitempty"`
}

type importLock struct {
	Path string `json:"path"`
	Lock string `json:"lock"`
}

// importCEL replaces rules in the file by locks. Locks that an annotation carried move to their place in the schema.
func importCEL(file *crdFile) (*importReport, error) {
	report := &importReport{Recognized: []importRule{}, Left: []importRule{}}
	for i := range file.crds {
		c := &file.crds[i]
		for _, v := range c.Versions {
			if err := c.restore(v); err != nil {
				return nil, err
			}
			imported := celrule.Import(v.Schema)
			if err := c.change(v.Name, imported.Changes); err != nil {
				return nil, err
			}
			report.add(c.Name, v.Name, imported)
		}
		if err := c.setAnnotation(crd.AnnotationKey, ""); err != nil {
			return nil, err
		}
	}
	return report, nil
}

func (r *importReport) add(name, version string, imported celrule.Imported) {
	rule := func(rule celrule.Rule) importRule {
		return importRule{CRD: name, Version: version, Path: rule.Path, SchemaPath: rule.SchemaPath, Rule: rule.Text}
	}
	for _, recognized := range imported.Recognized {
		row := rule(recognized.Rule)
		for _, lock := range recognized.Locks {
			row.Locks = append(row.Locks, importLock{lock.Path, lock.Lock})
		}
		r.Recognized = append(r.Recognized, row)
	}
	for _, left := range imported.Left {
		row := rule(left.Rule)
		row.Reason = left.Reason
		r.Left = append(r.Left, row)
	}
}

// print writes the report for people.
func (r *importReport) print(w io.Writer) {
	colour := paletteOf(w)
	for _, rule := range r.Recognized {
		fmt.Fprintf(w, "%s %s: %s\n", colour.green("lock"), rule.where(), show(rule.Rule))
		fmt.Fprintf(w, "     %s\n", rule.becomes())
	}
	for _, rule := range r.Left {
		fmt.Fprintf(w, "%s %s: %s\n", colour.yellow("left"), rule.where(), show(rule.Rule))
		fmt.Fprintf(w, "     %s\n", printable(rule.Reason))
	}
	fmt.Fprintf(w, "%d of %s became locks\n", len(r.Recognized), count(len(r.Recognized)+len(r.Left), "transition rule"))
}

func (r *importRule) where() string {
	path := r.Path
	if path == "" {
		path = "the root"
	}
	return printable(fmt.Sprintf("%s %s %s", r.CRD, r.Version, path))
}

// becomes lists the locks of a rule for people.
func (r *importRule) becomes() string {
	if len(r.Locks) == 0 {
		return "other locks say it already"
	}
	var locks []string
	for _, lock := range r.Locks {
		locks = append(locks, lock.Lock+" on "+lock.Path)
	}
	return printable(strings.Join(locks, ", "))
}
