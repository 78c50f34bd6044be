package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/git"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit"
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/result"
)

// newRender returns the command.
func newRender(s streams) *cobra.Command {
	c := &renderCommand{streams: s}
	cmd := &cobra.Command{
		Use:   "render [--git REV] [PATH...]",
		Short: "Print the objects that check reads, and where each comes from",
		Long: `render prints the objects that are deployed from a directory, as check sees them. If a verdict surprises you, run render first.

render finds the units of PATH (by default, all), and renders each with the code of the tool that deploys it. Units are Flux
Kustomizations, HelmReleases, Argo CD Applications, kustomizations that no other kustomization includes, and charts, once
with their values and once with each ci/*-values.yaml, values-*.yaml, values.*.yaml and *-values.yaml. Files that no unit reads
are printed as they are. Above each object, comments name the unit, and the file and line where the object is written:

  # unit: kustomization overlays/prod
  # source: base/deployment.yaml:1

If PATH itself is a kustomization or a chart, only that is printed, as "kubectl kustomize PATH" or "helm template NAME PATH"
prints it. For any other PATH, render prints the units that read a file there.

In a git repository, units may read all files that git does not ignore; with --git, they are read at a revision. Nothing
outside the repository is read, and no other program is run. With --fetch, charts are downloaded from repositories and
registries. A unit that cannot be rendered, such as a chart in a registry without --fetch, is named in a warning.

Exit status: 0 everything was rendered or is listed as not covered, 2 a unit or file has a mistake (the rest is printed).`,
		Example: `  # What would be deployed from here?
  fieldlock render

  # One overlay, as "kubectl kustomize" prints it
  fieldlock render overlays/prod

  # The same before the change
  fieldlock render --git origin/main overlays/prod

  # Which units are there, and what is not covered?
  fieldlock render -o json | jq '.units[].unit, .notCovered'`,
		RunE: func(_ *cobra.Command, args []string) error { return c.run(args) },
	}
	cmd.Flags().StringVar(&c.git, "git", "", "read the files at a `REV` of the git repository")
	cmd.Flags().StringVar(&c.minor, "kubernetes-version", "",
		"the `MINOR` that charts see, such as 1.36; by default the newest known one")
	c.unitFlags.flags(cmd)
	c.output = addOutput(cmd, asText, asJSON)
	return cmd
}

// renderCommand is one run of render.
type renderCommand struct {
	streams
	unitFlags
	git, minor string
	output     *format

	project *project
	tree    *git.Tree // of --git
}

func (c *renderCommand) run(args []string) error {
	if err := c.configure(); err != nil {
		return err
	}
	kinds, err := builtin.For(cmp.Or(c.minor, c.project.old.KubernetesVersion))
	if err != nil {
		return fmt.Errorf("--kubernetes-version: %w", err)
	}
	everything := len(args) == 0
	if everything {
		args = []string{"."}
	}
	options := c.unitOptions(kinds, c.project, nil)
	options.Texts = true
	if repo, err := git.Open("."); err == nil {
		c.repository(&options, repo)
	}
	out := &deployed{Units: []deployedUnit{}, NotCovered: []notRendered{}, Errors: []string{}}
	if c.project.mistake != nil {
		out.errs = append(out.errs, c.project.mistake)
	}
	for _, arg := range args {
		side, done, err := c.side(arg, &options)
		if err != nil {
			return err
		}
		if !everything && side.Paths == nil {
			side.Paths = []string{"."}
		}
		set, err := unit.Load(side, options)
		if err != nil {
			done()
			return err
		}
		out.add(set)
		done()
	}
	return c.print(out)
}

// configure opens the tree of --git, and reads the settings: its own with --git.
func (c *renderCommand) configure() error {
	if c.git == "" {
		c.project = readProject(nil)
		return nil
	}
	repo, err := git.Open(".")
	if err != nil {
		return err
	}
	at, err := repo.Resolve(c.git)
	switch {
	case err != nil:
		return err
	case at.New != "":
		return fmt.Errorf("--git is %q: render reads one revision", c.git)
	}
	if c.tree, err = repo.Commit(at.Old, ""); err != nil {
		return err
	}
	s, mistake := treeSettings(repo, c.tree)
	c.project = &project{new: s, old: s, mistake: mistake}
	return nil
}

// side returns the tree that an argument is in, and what closes it. It sets what the settings say about the units
// there.
func (c *renderCommand) side(arg string, options *unit.Options) (*unit.Side, func(), error) {
	repo, err := git.Open(".")
	if err == nil {
		below, pathErr := repo.Path(arg)
		if pathErr == nil {
			return c.gitSide(repo, arg, below, options)
		}
		if c.tree != nil {
			return nil, nil, pathErr
		}
	}
	// Outside of a repository, the files below the working directory count, since a kustomization names others beside
	// it.
	root, below := arg, "."
	if filepath.IsLocal(arg) {
		root, below = ".", filepath.ToSlash(filepath.Clean(arg))
	}
	if !isDirectory(arg) {
		return nil, nil, fmt.Errorf("%s: give a directory", arg)
	}
	tree, err := unit.Dir(root)
	if err != nil {
		return nil, nil, err
	}
	side, err := directoryFiles(tree, root, below)
	if err != nil {
		tree.Close()
		return nil, nil, err
	}
	c.project.units(options, realPath(root))
	return side, func() { tree.Close() }, nil
}

// gitSide returns the tree of a repository: that of a revision, or the work tree.
func (c *renderCommand) gitSide(repo *git.Repository, arg, below string,
	options *unit.Options) (*unit.Side, func(), error) {
	tree, root := c.tree, "."
	if tree == nil {
		var err error
		if tree, err = repo.WorkTree(); err != nil {
			return nil, nil, err
		}
		root = realPath(repo.Root)
	}
	if !tree.Has(below) {
		return nil, nil, fmt.Errorf("%s: there is no such file or directory that git does not ignore", arg)
	}
	c.project.units(options, root)
	side, done := treeSide(tree, []string{below})
	return side, done, nil
}

// deployed is what render prints.
type deployed struct {
	Units      []deployedUnit `json:"units"`
	NotCovered []notRendered  `json:"notCovered"`
	Errors     []string       `json:"errors"`

	missing []result.NotCovered
	errs    []error
}

// notRendered is what render prints of a [result.NotCovered], without what concerns changes.
type notRendered struct {
	Unit   string `json:"unit"`
	Kind   string `json:"kind"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Reason string `json:"reason"`
}

// deployedUnit is one unit, or with the kind "files" the files that no unit reads.
type deployedUnit struct {
	Unit    string           `json:"unit"`
	Kind    string           `json:"kind"`
	File    string           `json:"file,omitempty"`
	Objects []deployedObject `json:"objects"`
}

type deployedObject struct {
	File     string         `json:"file"`
	Line     int            `json:"line"`
	Manifest map[string]any `json:"manifest"`

	text []byte
}

// add adds a set.
func (d *deployed) add(set *unit.Set) {
	for _, r := range set.Units {
		u := deployedUnit{Unit: r.Name, Kind: r.Kind, File: r.File, Objects: []deployedObject{}}
		for _, o := range r.Objects {
			file, line := set.Place(r.Unit, o)
			u.Objects = append(u.Objects, deployedObject{file, line, o.Object, o.Text})
		}
		d.Units = append(d.Units, u)
	}
	files := deployedUnit{Unit: "files", Kind: "files"}
	for _, f := range set.Files {
		if f.Err != nil {
			d.errs = append(d.errs, f.Err)
		}
		for _, document := range f.Documents {
			if document.Object["apiVersion"] == nil || document.Object["kind"] == nil {
				continue
			}
			files.Objects = append(files.Objects,
				deployedObject{document.File, document.Position().Line, document.Object, nil})
		}
	}
	if len(files.Objects) > 0 {
		d.Units = append(d.Units, files)
	}
	for _, n := range set.NotCovered {
		d.NotCovered = append(d.NotCovered, notRendered{n.Unit, n.Kind, n.File, n.Line, n.Reason})
	}
	d.missing = append(d.missing, set.NotCovered...)
	d.errs = append(d.errs, set.Errs...)
}

func (c *renderCommand) print(d *deployed) error {
	for _, err := range d.errs {
		d.Errors = append(d.Errors, err.Error())
	}
	if c.output.value == asJSON {
		encoder := json.NewEncoder(c.out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(d); err != nil {
			return err
		}
	} else if err := d.write(c.out); err != nil {
		return err
	}
	for _, line := range report.NotCovered(d.missing) {
		fmt.Fprintf(c.err, "warning: %s\n", line)
	}
	if len(d.Units)+len(d.NotCovered)+len(d.errs) == 0 {
		return errors.New("there is no object")
	}
	return joined(d.errs)
}

// write writes the objects as a stream of YAML.
func (d *deployed) write(w io.Writer) error {
	for _, u := range d.Units {
		name := u.Kind
		if u.Unit != u.Kind {
			name += " " + u.Unit
		}
		for _, o := range u.Objects {
			text := o.text
			if text == nil {
				var err error
				if text, err = yaml.Marshal(o.Manifest); err != nil {
					return err
				}
			}
			text = bytes.TrimSuffix(bytes.TrimPrefix(bytes.TrimLeft(text, "\n"), []byte("---\n")), []byte("\n"))
			if _, err := fmt.Fprintf(w, "---\n# unit: %s\n# source: %s:%d\n%s\n",
				report.Printable(name), report.Printable(o.File), o.Line, text); err != nil {
				return err
			}
		}
	}
	return nil
}
