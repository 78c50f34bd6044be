package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/convert"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

func newExport(s streams) *cobra.Command {
	command := &cobra.Command{
		Use:   "export cel|policy|annotation",
		Short: "Convert locks to CEL rules, a policy or an annotation, which every cluster accepts",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("say what to export: fieldlock export cel CRD.yaml, fieldlock export policy CRD.yaml, " +
				"or fieldlock export annotation CRD.yaml")
		},
	}
	command.AddCommand(newExportCEL(s), newExportPolicy(s), newExportAnnotation(s))
	return command
}

func newExportCEL(s streams) *cobra.Command {
	var output *format
	var webhook webhookOptions
	var strict, write, check bool
	command := &cobra.Command{
		Use:   "cel CRD.yaml | -w FILE|DIR... | --check FILE|DIR...",
		Short: "Print the CRD with CEL rules in place of its locks, which a stock cluster accepts",
		Long: `export cel replaces the locks of a CRD with x-kubernetes-validations that give the same verdict for every update from
one valid object to another, within the cost budget of the API server. The locks themselves stay in the annotation
` + crd.AnnotationKey + `, so that nothing is lost.

If CEL cannot express a lock exactly, or only beyond the cost budget, the lock gets no rule, and the report gives the reason
and a remedy. --webhook-for-rest adds the webhook configuration that sends such objects to fieldlock. The API server
has to trust the webhook's certificate: name its authority with --ca-bundle or --cert-manager. The report lists the steps
that are left to you. With --strict, the exit status is 1 if neither a rule nor that webhook enforces a lock.

If the rules of the CRD are already equivalent to a lock, no rule is added. A second export changes nothing.

The CRD goes to standard output, the report to standard error. With -o json, both are one JSON object on standard
output. -w writes the rules into the files instead. --check writes nothing: it shows the lines that -w would change, and
exits with 1 if there are any. In a directory, -w and --check read every file that has a CRD.`,
		Example: `  fieldlock export cel widgets.yaml | kubectl apply -f -

  # in place, and in CI
  fieldlock export cel -w config/crd
  fieldlock export cel --check config/crd

  # locks without an exact rule are checked by a webhook
  fieldlock export cel --webhook-for-rest --service fieldlock-system/fieldlock --cert-manager fieldlock-system/fieldlock widgets.yaml`,
		Args: func(command *cobra.Command, args []string) error {
			if (write || check) && len(args) > 0 {
				return nil
			}
			return oneFile(command, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			target, err := webhook.target()
			switch {
			case err != nil:
				return err
			case write && check:
				return errors.New("-w and --check exclude each other: --check writes nothing")
			case (write || check) && target != nil:
				return errors.New("--webhook-for-rest prints a document of its own: run it without -w and --check")
			case write || check:
				return inPlace{check, strict, output.value, writeAgain(args)}.run(s, args)
			}
			file, err := readCRDFile(s, args[0])
			if err != nil {
				return err
			}
			result, err := convert.ToCEL(file, target)
			if err != nil {
				return err
			}
			if err := printExport(s, file, result, output.value); err != nil {
				return err
			}
			if strict && len(result.Rest) > 0 && target == nil {
				return errRefused
			}
			return nil
		},
	}
	webhook.flags(command)
	command.Flags().BoolVarP(&write, "write", "w", false, "write the rules into the files")
	command.Flags().BoolVar(&check, "check", false, "write nothing, and exit with 1 if -w would change a file")
	command.Flags().BoolVar(&strict, "strict", false,
		"exit with 1 when a lock is not exported and there is no --webhook-for-rest")
	output = addOutput(command, asText, asJSON)
	return command
}

// printExport prints the changed file and the report, as one JSON object or apart.
func printExport(s streams, file *convert.File, result *convert.Export, format string) error {
	if format == asJSON {
		objects, err := file.Objects()
		if err != nil {
			return err
		}
		result.Documents = append(objects, result.Documents...)
		return report.WriteJSON(s.out, result)
	}
	if err := file.Write(s.out, result.Documents...); err != nil {
		return err
	}
	report.Export(s.err, result)
	return nil
}

func newExportPolicy(s streams) *cobra.Command {
	var output *format
	var kind, resource string
	var external externalFlags
	command := &cobra.Command{
		Use:   "policy FILE",
		Short: "Print a ValidatingAdmissionPolicy and its binding, for types that you do not own",
		Long: `export policy prints the locks of a CRD as a ValidatingAdmissionPolicy with its binding, for each version with locks. The
CRD itself does not have to change: list the fields in a file for --locks, or under the key locks of .fieldlock.yaml.

For a built-in kind, give an OpenAPI document (v2, or v3 of one group and version) that has locks, and --kind.

A policy sees objects without their schema. So it can check unknown fields, which rules in a CRD cannot, but not sets inside
a locked value. The report lists the locks that are not exported.`,
		Example: `  fieldlock export policy --locks locks.yaml vendor-crd.yaml | kubectl apply -f -

  fieldlock export policy --kind apps/v1/Deployment --resource deployments apis-apps-v1-with-locks.json`,
		Args: oneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			result, err := exportPolicy(s, args[0], &external, kind, resource)
			switch {
			case err != nil:
				return err
			case output.value == asJSON:
				return report.WriteJSON(s.out, result)
			}
			if err := convert.WriteYAML(s.out, result.Documents); err != nil {
				return err
			}
			report.Export(s.err, result)
			return nil
		},
	}
	external.flags(command)
	command.Flags().StringVar(&kind, "kind", "",
		"`GROUP/VERSION/KIND`, or VERSION/KIND, of a kind in an OpenAPI document")
	command.Flags().StringVar(&resource, "resource", "",
		"`RESOURCE` of --kind, such as deployments; by default the kind in lower case, with an s")
	output = addOutput(command, asText, asJSON)
	return command
}

// exportPolicy makes the policies for the CRDs of a file, or for a kind of an OpenAPI document.
func exportPolicy(s streams, path string, external *externalFlags, kind, resource string) (*convert.Export, error) {
	p := readProject(nil)
	if p.mistake != nil {
		return nil, p.mistake
	}
	added, err := external.standing(p)
	if err != nil {
		return nil, err
	}
	amender := manifest.NewAmender(added)
	name, data, err := (&manifest.Reader{Stdin: s.in}).Bytes(path)
	switch {
	case err != nil:
		return nil, err
	case kind != "":
		return convert.KindToPolicy(name, data, amender, kind, resource)
	case resource != "":
		return nil, errors.New("--resource goes with --kind; a CRD names its resource itself")
	}
	file, err := convert.Read(name, data)
	if err != nil {
		return nil, err
	}
	return convert.ToPolicies(file, amender)
}

func newExportAnnotation(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "annotation CRD.yaml",
		Short: "Print the CRD with its locks in the annotation only, which a stock cluster accepts",
		Long: `export annotation moves the locks of a CRD from its schemas into the annotation ` + crd.AnnotationKey + `. A stock API
server refuses or drops extension keys that it does not know, but it keeps annotations. fieldlock reads locks from both.

Only the changed lines differ from the input. The CRD goes to standard output.`,
		Example: `  fieldlock export annotation widgets.yaml | kubectl apply -f -`,
		Args:    oneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			file, err := readCRDFile(s, args[0])
			if err != nil {
				return err
			}
			moved, err := convert.ToAnnotation(file)
			if err != nil {
				return err
			}
			if err := file.Write(s.out); err != nil {
				return err
			}
			fmt.Fprintf(s.err, "%s moved into the annotation\n", report.Count(moved, "key"))
			return nil
		},
	}
}

// webhookOptions are the flags for a webhook that checks what CEL does not.
type webhookOptions struct {
	wanted                bool
	service, path         string
	caBundle, certManager string
}

func (o *webhookOptions) flags(command *cobra.Command) {
	command.Flags().BoolVar(&o.wanted, "webhook-for-rest", false,
		"add the ValidatingWebhookConfiguration for the locks that are not exported")
	command.Flags().StringVar(&o.service, "service", "fieldlock-system/fieldlock",
		"`NAMESPACE/NAME` of the webhook's service")
	command.Flags().StringVar(&o.path, "path", "/", "`PATH` of the webhook at its service")
	command.Flags().StringVar(&o.caBundle, "ca-bundle", "",
		"PEM `FILE` with the certificates of the authority that signed the webhook's certificate")
	command.Flags().StringVar(&o.certManager, "cert-manager", "",
		"`NAMESPACE/NAME` of the webhook's Certificate of cert-manager, whose authority is taken")
}

// target returns where the webhook runs, or nil if none is wanted.
func (o *webhookOptions) target() (*convert.Webhook, error) {
	namespace, name, ok := namespaced(o.service)
	if !ok {
		return nil, fmt.Errorf("--service is %q: it should be NAMESPACE/NAME of the webhook's service", o.service)
	}
	if _, _, ok := namespaced(o.certManager); o.certManager != "" && !ok {
		return nil, fmt.Errorf("--cert-manager is %q: it should be NAMESPACE/NAME of a Certificate", o.certManager)
	}
	switch {
	case !o.wanted && (o.caBundle != "" || o.certManager != ""):
		return nil, fmt.Errorf("--ca-bundle and --cert-manager are for the webhook: add --webhook-for-rest")
	case !o.wanted:
		return nil, nil
	case o.caBundle != "" && o.certManager != "":
		return nil, fmt.Errorf("--ca-bundle and --cert-manager are two ways to say the same: give one of them")
	}
	webhook := &convert.Webhook{Namespace: namespace, Service: name, Path: o.path, CertManager: o.certManager}
	if o.caBundle == "" {
		return webhook, nil
	}
	data, err := os.ReadFile(o.caBundle)
	if err != nil {
		return nil, fmt.Errorf("--ca-bundle: %w", err)
	}
	if err := convert.CheckCABundle(data); err != nil {
		return nil, fmt.Errorf("--ca-bundle %s: %w", o.caBundle, err)
	}
	webhook.CABundle = data
	return webhook, nil
}

// namespaced cuts NAMESPACE/NAME.
func namespaced(text string) (namespace, name string, ok bool) {
	namespace, name, ok = strings.Cut(text, "/")
	return namespace, name, ok && namespace != "" && name != "" && !strings.Contains(name, "/")
}

// inPlace is export cel with -w or --check: into the files themselves.
type inPlace struct {
	check, strict bool
	output        string
	again         string // the command that writes the files
}

// run exports the files that paths name. Of a directory, files without a CRD are skipped. A file that cannot be read
// does not keep the others from being written.
func (x inPlace) run(s streams, paths []string) error {
	result := report.InPlace{UpToDate: true, Files: []report.InPlaceFile{}}
	var errs []error
	for _, path := range paths {
		if path == "-" {
			return errors.New("-w and --check are for files and directories: without them, export cel takes - for " +
				"standard input")
		}
		names, err := manifest.List(path)
		if err != nil {
			errs = append(errs, err)
		}
		for _, name := range names {
			file, err := x.file(name, path)
			if err != nil {
				errs = append(errs, err)
			} else if file != nil {
				result.Files = append(result.Files, *file)
			}
		}
	}
	refused := x.print(s, &result)
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return refused
}

// file exports one file below path; nil if it has no CRD.
func (x inPlace) file(name, path string) (*report.InPlaceFile, error) {
	_, data, err := (&manifest.Reader{}).Bytes(name)
	if err != nil {
		return nil, err
	}
	if name != path {
		if crds, err := crd.Read(name, data); err == nil && len(crds) == 0 {
			return nil, nil
		}
	}
	file, err := toCEL(name, data)
	if err != nil {
		return nil, err
	}
	if file.Changed && !x.check {
		dir := ""
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			dir = path
		}
		if err := manifest.WriteFile(name, file.Is, dir); err != nil {
			return nil, err
		}
		file.Written = true
	}
	return file, nil
}

// toCEL exports the CRDs in data.
func toCEL(name string, data []byte) (*report.InPlaceFile, error) {
	file, err := convert.Read(name, data)
	if err != nil {
		return nil, err
	}
	exported, err := convert.ToCEL(file, nil)
	if err != nil {
		return nil, err
	}
	text, err := file.Bytes()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &report.InPlaceFile{File: name, Changed: !bytes.Equal(data, text), Exported: exported.Exported,
		Rest: exported.Rest, Was: data, Is: text}, nil
}

// print prints the report, and returns errRefused where files are out of date or, with strict, locks have no rule.
func (x inPlace) print(s streams, result *report.InPlace) error {
	rest := 0
	for _, f := range result.Files {
		result.UpToDate = result.UpToDate && (!f.Changed || f.Written)
		rest += len(f.Rest)
	}
	if x.output == asJSON {
		if err := report.WriteJSON(s.out, result); err != nil {
			return err
		}
	} else {
		report.WriteInPlace(s.out, result, x.again)
	}
	if !result.UpToDate || x.strict && rest > 0 {
		return errRefused
	}
	return nil
}

// writeAgain spells the command that writes paths.
func writeAgain(paths []string) string {
	return "fieldlock export cel -w " + strings.Join(paths, " ")
}
