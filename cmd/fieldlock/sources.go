package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/git"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/internal/accept"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/settings"
)

// sources are the flags that tell where OLD and NEW come from.
type sources struct {
	git     string
	base    string   // the merge base that is OLD, "" for the first one
	bases   []string // the other ones
	renders []string
	timeout time.Duration
	accept  string

	writeAccept bool
	advisory    bool // refusals do not fail: by the flag, and after configure by the settings too
	project     *project
	unitFlags
	externalFlags
}

func (o *sources) gitFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.git, "git", "",
		"compare with a `REV` of the git repository, or REV..REV2, REV...REV2, REV... (from the merge base)")
}

func (o *sources) renderFlags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&o.renders, "render", nil,
		"a `COMMAND` that prints manifests, run in the trees of OLD and NEW; may be repeated")
	cmd.Flags().DurationVar(&o.timeout, "render-timeout", 5*time.Minute, "how long each command of --render may take")
}

func (o *sources) acceptFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.accept, "accept", "",
		"a `FILE` that lists accepted violations and findings; by default "+manifest.AcceptFile+
			" in the current directory, or at the root of the repository")
	cmd.Flags().BoolVar(&o.advisory, "advisory", false,
		"print everything, and exit with 0 instead of 1; mode: advisory in "+manifest.AcceptFile+" does the same")
	cmd.Flags().BoolVar(&o.writeAccept, "write-accept", false,
		"write an entry for each violation or finding of this run, and exit with 0")
}

// trees are the two sides of a comparison in git.
type trees struct {
	repo     *git.Repository
	new, old *git.Tree
}

// open opens the trees that --git names.
func (o *sources) open() (*trees, error) {
	repo, err := git.Open(".")
	if err != nil {
		return nil, err
	}
	between, err := repo.Resolve(o.git)
	if err != nil {
		return nil, err
	}
	if o.base != "" {
		between.Old = o.base
	} else if o.bases, err = repo.OtherBases(o.git, between); err != nil {
		return nil, err
	}
	t := &trees{repo: repo}
	if t.old, err = repo.Commit(between.Old, between.Old[:12]); err != nil {
		return nil, err
	}
	if between.New == "" {
		t.new, err = repo.WorkTree()
	} else {
		t.new, err = repo.Commit(between.New, "")
	}
	if err == nil {
		git.SkipUnchanged(t.new, t.old)
	}
	return t, err
}

// paths returns the paths of args below the root. Each has to be in one of the trees.
func (t *trees) paths(args []string) ([]string, error) {
	var list []string
	for _, arg := range args {
		below, err := t.repo.Path(arg)
		if err != nil {
			return nil, err
		}
		if !t.new.Has(below) && !t.old.Has(below) {
			return nil, fmt.Errorf("%s: neither OLD nor NEW has such a file or directory", arg)
		}
		list = append(list, below)
	}
	return list, nil
}

// schemas reads the schemas at args: those inside of the repository in both trees, the others once for both sides.
func (t *trees) schemas(r *manifest.Reader, args []string) (news, olds manifest.Schemas, errs []error, err error) {
	for _, arg := range args {
		file, _ := manifest.CutName(arg)
		below, err := t.repo.Path(file)
		if file == "-" || err != nil || !t.new.Has(below) && !t.old.Has(below) {
			found, mistakes, err := r.Schemas(arg)
			if err != nil {
				return news, olds, nil, err
			}
			news.Add(found)
			olds.Add(found)
			errs = append(errs, mistakes...)
			continue
		}
		for _, side := range [...]struct {
			tree *git.Tree
			into *manifest.Schemas
		}{{t.new, &news}, {t.old, &olds}} {
			if !side.tree.Has(below) {
				continue
			}
			files, err := side.tree.Files([]string{below})
			if err != nil {
				return news, olds, nil, err
			}
			found, mistakes, err := manifest.SchemasOf(arg, files)
			if err != nil && side.tree == t.new {
				return news, olds, nil, err
			}
			side.into.Add(found)
			errs = append(errs, mistakes...)
		}
	}
	return news, olds, errs, nil
}

// defaults reads the values.yaml of a chart in both trees; a tree without it has no defaults.
func (t *trees) defaults(path string) (news, olds map[string]any, err error) {
	below, err := t.repo.Path(path)
	if err != nil {
		return nil, nil, err
	}
	for _, side := range [...]struct {
		tree *git.Tree
		into *map[string]any
	}{{t.new, &news}, {t.old, &olds}} {
		if !side.tree.Has(below) {
			continue
		}
		files, err := side.tree.Files([]string{below})
		if err != nil {
			return nil, nil, err
		}
		if *side.into, err = defaultsOf(files); err != nil {
			return nil, nil, err
		}
	}
	return news, olds, nil
}

// checkout returns a directory with the files of a tree, and what removes it: the work tree itself, or a copy.
func checkout(t *git.Tree) (dir string, remove func(), err error) {
	if dir, ok := t.Directory(); ok {
		return dir, func() {}, nil
	}
	dir, err = os.MkdirTemp("", "fieldlock-")
	if err != nil {
		return "", func() {}, err
	}
	return dir, func() { os.RemoveAll(dir) }, t.Write(dir)
}

// defaultsOf returns the values in the values.yaml of a chart; an empty file has none.
func defaultsOf(files []manifest.File) (map[string]any, error) {
	for _, f := range files {
		if f.Err != nil {
			return nil, f.Err
		}
		if len(f.Documents) > 0 {
			return f.Documents[0].Object, nil
		}
	}
	return nil, nil
}

// objects reads the objects at args and the output of the commands into both sides of in.
func (o *checkCommand) objects(t *trees, args []string, in *compare.Input, stderr io.Writer) error {
	if len(args) == 0 && len(o.renders) == 0 {
		args = []string{"."}
	}
	paths, err := t.paths(args)
	if err != nil {
		return err
	}
	in.Hidden = func([]string) []manifest.File {
		files, _ := t.new.Hidden(paths) // for a note only; Files has told what is wrong
		return files
	}
	if len(paths) > 0 {
		if err := o.compareUnits(o.gitSide(t.new, paths), o.gitSide(t.old, paths), in, "."); err != nil {
			return err
		}
	}
	if len(o.renders) == 0 {
		return nil
	}
	ctx, stop := untilInterrupted() // the copies are removed all the same
	defer stop()
	oldDir, remove, err := checkout(t.old)
	defer remove()
	if err != nil {
		return err
	}
	newDir, remove, err := checkout(t.new)
	defer remove()
	if err != nil {
		return err
	}
	return o.render(ctx, filepath.Join(oldDir, t.repo.Prefix), filepath.Join(newDir, t.repo.Prefix), in, stderr)
}

// untilInterrupted returns a context that a signal ends, in place of the program.
func untilInterrupted() (ctx context.Context, stop context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// render runs the commands in both directories.
func (o *sources) render(ctx context.Context, oldDir, newDir string, in *compare.Input, stderr io.Writer) error {
	r := &manifest.Renderer{Timeout: o.timeout, Stderr: printableWriter{stderr}}
	for _, command := range o.renders {
		for _, side := range [...]struct {
			dir, name string
			files     *[]manifest.File
		}{{oldDir, "OLD", &in.Old}, {newDir, "NEW", &in.New}} {
			f, err := r.Render(ctx, command, side.dir)
			if err != nil {
				return fmt.Errorf("in %s: %w", side.name, err)
			}
			*side.files = append(*side.files, f)
		}
	}
	return nil
}

// printableWriter makes the lines that are written to it harmless.
type printableWriter struct{ w io.Writer }

func (p printableWriter) Write(data []byte) (int, error) {
	_, err := io.WriteString(p.w, report.PrintableLines(string(data)))
	return len(data), err
}

// configure reads the settings. With t nil there is only one side.
func (o *sources) configure(t *trees) {
	o.project = readProject(t)
	o.advisory = o.advisory || o.project.old.Advisory
}

// acceptances returns the lists of accepted findings of both sides, nil for none. The file of --accept takes the place
// of both.
func (o *sources) acceptances() (newList, oldList *accept.List, err error) {
	if o.accept == "" {
		return o.project.new.Accept, o.project.old.Accept, nil
	}
	data, err := os.ReadFile(o.accept)
	switch {
	case o.writeAccept && errors.Is(err, os.ErrNotExist):
		return nil, nil, nil // it is about to be made
	case err != nil:
		return nil, nil, fmt.Errorf("--accept: %w", err)
	}
	given, err := settings.Parse(filepath.ToSlash(o.accept), data)
	if err != nil {
		return nil, nil, err
	}
	return given.Accept, nil, nil
}

// refused returns the error of a run with refusals: none in advisory mode.
func (o *sources) refused(stderr io.Writer) error {
	if !o.advisory {
		return errRefused
	}
	fmt.Fprintln(stderr, "note: the exit status is 0 instead of 1, since the mode is advisory")
	return nil
}

// acceptAll writes the entries that accept everything that was found.
func (o *sources) acceptAll(out io.Writer, entries func(reason string) []accept.Entry, noun string) error {
	path := o.accept
	if path == "" {
		path = manifest.AcceptFile
		if repo, err := git.Open("."); err == nil {
			if _, err := os.Stat(path); err != nil {
				path = filepath.Join(repo.Root, path)
			}
		}
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("--write-accept: %w", err)
	}
	list := entries("accepted with --write-accept")
	if data, err = accept.Add(path, data, list); err != nil {
		return fmt.Errorf("--write-accept: %w", err)
	}
	if err := manifest.WriteFile(path, data, ""); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s accepted in %s; give each entry its reason\n",
		report.Count(len(list), noun), report.Printable(path))
	return nil
}
