package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/markers"
)

func newMarkers(s streams) *cobra.Command {
	var o markersOptions
	cmd := &cobra.Command{
		Use:   "markers --crds DIR PACKAGE...",
		Short: "Write the immutability markers of Go types into the CRDs that controller-gen made",
		Long: `markers reads the markers of Go types, such as +immutable, and writes the keys that they ask for into the CRDs below DIR
that belong to the packages' API groups, in every version. Run it after each run of controller-gen, which overwrites the
files. It adds lines and changes nothing else; a second run changes nothing.

+k8s:immutable has two meanings. If the CRD has controller-gen's rules for the field, an unset field may be set, and is then
locked. Otherwise the marker locks the field from creation, so that it can be neither set nor unset, as in native types: you
notice a lock that is too strict at the first update that it refuses, but you do not notice one that is too loose.
--k8s-immutable chooses one meaning for all fields.

A stock API server refuses or drops the keys in the schema, but keeps the annotation that --annotation writes. With
--annotation-only, the locks are written into the annotation only, and any cluster accepts the file. With --cel, the file
also has the CEL rules that fieldlock export cel makes of the locks, so that every API server enforces them.

Exit status: 0 done or up to date, 1 markers that cannot be written or, with --check, files that are out of date,
2 the input cannot be used.`,
		Example: `  # After controller-gen crd paths=./api/... output:crd:dir=config/crd
  fieldlock markers --crds config/crd ./api/...

  # The same with CEL rules, which every API server enforces, in place of the keys
  fieldlock markers --cel --crds config/crd ./api/...

  # In CI: are the files up to date?
  fieldlock markers --check --crds config/crd ./api/...

  # For an aggregated API server, which adds them to its OpenAPI definitions
  fieldlock markers --definitions pkg/openapi/marks.json ./api/...`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || o.crds == "" && o.definitions == "" {
				return errors.New("markers needs Go packages, and --crds DIR or --definitions FILE; see fieldlock " +
					"markers --help")
			}
			if o.cel && (o.crds == "" || o.annotation || o.annotationOnly) {
				return errors.New("--cel needs --crds DIR, and writes the annotation itself: leave out --annotation " +
					"and --annotation-only")
			}
			return runMarkers(cmd.Context(), s, o, args)
		},
	}
	o.output = addOutput(cmd, asText, asJSON)
	cmd.Flags().StringVar(&o.crds, "crds", "", "the CRDs to write into: a `DIR` or a file")
	cmd.Flags().StringVar(&o.definitions, "definitions", "",
		"write the keys into a JSON `FILE` for openapi-gen, one entry for each definition")
	cmd.Flags().BoolVar(&o.check, "check", false, "write nothing, and fail if something would be written")
	cmd.Flags().BoolVar(&o.annotation, "annotation", false,
		"write the annotation fieldlock.dev/locks into the CRDs too")
	cmd.Flags().BoolVar(&o.annotationOnly, "annotation-only", false,
		"write the locks into the annotation fieldlock.dev/locks and no extension keys, which a stock API server "+
			"accepts")
	cmd.Flags().BoolVar(&o.cel, "cel", false, "write the locks as CEL rules, as fieldlock export cel does")
	cmd.Flags().StringVar(&o.k8sImmutable, "k8s-immutable", "",
		"the `MEANING` of +k8s:immutable, locked or set-once; by default the rules of the CRD decide")
	return cmd
}

type markersOptions struct {
	output                            *format
	crds, definitions, k8sImmutable   string
	check, annotation, annotationOnly bool
	cel                               bool
}

// markersFile is one item of markers -o json.
type markersFile struct {
	File    string `json:"file"`
	Missing int    `json:"missing"` // keys that were not there
	Written bool   `json:"written"`
}

type markersProblem struct {
	File    string   `json:"file"`
	Line    int      `json:"line,omitempty"`
	Marker  string   `json:"marker,omitempty"`
	Message string   `json:"message"`
	Rule    string   `json:"-"`
	Fix     []string `json:"fix,omitempty"`
}

// markersReport is what markers -o json prints.
type markersReport struct {
	UpToDate bool             `json:"upToDate"` // what the files are when the command ends
	Files    []markersFile    `json:"files"`
	Problems []markersProblem `json:"problems,omitempty"`
	Notices  []string         `json:"notices,omitempty"`
}

func runMarkers(ctx context.Context, s streams, o markersOptions, packages []string) error {
	result := markersReport{UpToDate: true, Files: []markersFile{}}
	writes, err := planMarkers(ctx, s, o, packages)
	var mistakes *markers.Error
	switch {
	case errors.As(err, &mistakes):
		result.UpToDate = false
		for _, p := range mistakes.Problems {
			result.Problems = append(result.Problems, markersProblem(p))
		}
	case err != nil:
		return err
	}
	for _, w := range writes {
		file := markersFile{File: w.Name, Missing: w.Keys, Written: w.Keys > 0 && !o.check}
		if file.Written {
			if err := manifest.WriteFile(w.Name, w.Data, o.folder(w.Name)); err != nil {
				return err
			}
		}
		result.UpToDate = result.UpToDate && (w.Keys == 0 || file.Written)
		result.Files = append(result.Files, file)
		result.Notices = append(result.Notices, w.Notices...)
	}
	if o.output.value == asJSON {
		if err := report.WriteJSON(s.out, result); err != nil {
			return err
		}
	} else {
		writeMarkers(s.out, result, report.PaletteFor(s.out))
	}
	if !result.UpToDate {
		return errRefused
	}
	return nil
}

// planMarkers returns the files as they should be; Keys tells how many keys are missing in each.
func planMarkers(ctx context.Context, s streams, o markersOptions, packages []string) ([]markers.Written, error) {
	var files []markers.File
	if o.crds != "" {
		paths, err := manifest.List(o.crds)
		if err != nil {
			return nil, err
		}
		reader := &manifest.Reader{Stdin: s.in}
		for _, path := range paths {
			name, data, err := reader.Bytes(path)
			if err != nil {
				return nil, err
			}
			files = append(files, markers.File{Name: name, Data: data})
		}
	}
	source, err := markers.Load(ctx, ".", packages, markers.Options{K8sImmutable: markers.K8sImmutable(o.k8sImmutable)})
	if err != nil {
		return nil, err
	}
	var all []markers.Written
	if o.crds != "" {
		annotate := markers.CRDOptions{Annotation: o.annotation || o.annotationOnly, AnnotationOnly: o.annotationOnly}
		written, err := source.WriteCRDs(files, annotate)
		if err != nil {
			return nil, err
		}
		for i, w := range written {
			if w.CRDs == 0 {
				continue
			}
			if o.cel {
				if err := asCEL(&w, files[i].Data); err != nil {
					return nil, err
				}
			}
			all = append(all, w)
		}
		if len(all) == 0 {
			return nil, noCRDs(o.crds, source.Groups())
		}
	}
	if o.definitions != "" {
		w, err := definitionsFile(o.definitions, source)
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

// asCEL replaces the locks in w, whose text was was, with CEL rules.
func asCEL(w *markers.Written, was []byte) error {
	exported, err := toCEL(w.Name, w.Data)
	if err != nil {
		return err
	}
	if w.Data = exported.Is; bytes.Equal(was, w.Data) {
		w.Keys = 0
	} else {
		w.Keys = max(w.Keys, 1) // a rule is missing, if not a key
	}
	for _, rest := range exported.Rest {
		w.Notices = append(w.Notices, fmt.Sprintf("%s: no API server enforces %s on %s of version %s: %s",
			w.Name, rest.Lock, rest.Path, rest.Version, rest.Reason))
	}
	return nil
}

func noCRDs(dir string, groups []string) error {
	if len(groups) == 0 {
		return errors.New("the packages have no API group: put +groupName=example.com above the package clause of " +
			"one of their files")
	}
	return fmt.Errorf("no CRD below %s is of an API group of the packages, which is %s; run controller-gen first, or "+
		"name other packages", dir, strings.Join(groups, " or "))
}

// definitionsFile returns the file of --definitions, unchanged where the content is the same.
func definitionsFile(path string, source *markers.Source) (markers.Written, error) {
	marks := source.Definitions()
	var data bytes.Buffer
	if err := report.WriteJSON(&data, marks); err != nil {
		return markers.Written{}, err
	}
	w := markers.Written{File: markers.File{Name: filepath.ToSlash(path), Data: data.Bytes()}}
	was, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return w, fmt.Errorf("%s cannot be read: %w", path, err)
	case bytes.Equal(was, w.Data):
		return w, nil
	}
	if err == nil && !json.Valid(was) {
		return w, fmt.Errorf("%s: it is not JSON, so it is not overwritten; name a file that markers may write", path)
	}
	for _, paths := range marks {
		for _, keys := range paths {
			w.Keys += len(keys)
		}
	}
	w.Keys = max(w.Keys, 1) // a file that should be empty is out of date too
	return w, nil
}

// folder returns the directory that a file to be written must be in, "" for one that was named itself.
func (o *markersOptions) folder(name string) string {
	if info, err := os.Stat(o.crds); err != nil || !info.IsDir() || name == filepath.ToSlash(o.definitions) {
		return ""
	}
	return o.crds
}

// writeMarkers prints a line for each file, or the problems.
func writeMarkers(w io.Writer, r markersReport, p report.Palette) {
	for _, problem := range r.Problems {
		fmt.Fprintln(w, report.Printable(markers.Problem(problem).String()))
	}
	for _, f := range r.Files {
		switch {
		case f.Missing == 0:
			fmt.Fprintf(w, "%s %s: up to date\n", p.Green("✓"), report.Printable(f.File))
		case f.Written:
			fmt.Fprintf(w, "%s %s: %s written\n",
				p.Green("✓"), report.Printable(f.File), report.Count(f.Missing, "mark"))
		default:
			fmt.Fprintf(w, "%s %s: out of date by %s; run fieldlock markers without --check\n",
				p.Red("✗"), report.Printable(f.File), report.Count(f.Missing, "mark"))
		}
	}
	for _, n := range r.Notices {
		fmt.Fprintf(w, "%s %s\n", p.Yellow("!"), report.Printable(n))
	}
	if len(r.Problems) > 0 {
		fmt.Fprintf(w, "%s %s; nothing was written\n", p.Red("✗"), report.Count(len(r.Problems), "problem"))
	}
}
