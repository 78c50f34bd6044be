package main

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/fetch"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/git"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/worker"
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// unitFlags say how units are found and rendered.
type unitFlags struct {
	plain  bool
	urls   []string
	limits worker.Limits
	memory int // in MB
	fetch  bool
	cache  string
}

func (o *unitFlags) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&o.urls, "repo-url", nil,
		"a `URL` of the repository besides those of its remotes: Flux and Argo CD deploy such sources from its "+
			"files; may be repeated")
	cmd.Flags().BoolVar(&o.fetch, "fetch", false,
		"download charts, chart dependencies and pinned remote bases that changed units need and the tree lacks")
	cmd.Flags().StringVar(&o.cache, "fetch-cache", "",
		"the `DIR` where --fetch keeps what is pinned (default fieldlock in the cache directory of the user)")
	cmd.Flags().DurationVar(&o.limits.Unit, "unit-timeout", 0, "how long rendering one unit may take (default 1m0s)")
	cmd.Flags().DurationVar(&o.limits.All, "units-timeout", 0, "how long rendering all units may take (default 5m0s)")
	cmd.Flags().IntVar(&o.memory, "unit-memory", 0,
		"how much memory rendering one unit may take, in `MB` (default 1024)")
}

// unitOptions returns the options of package unit. kinds may be nil. p has the hosts of private networks that --fetch
// may ask.
func (o *unitFlags) unitOptions(kinds *builtin.Kinds, p *project, step func()) unit.Options {
	limits := o.limits
	limits.Memory = uint64(o.memory) << 20
	options := unit.Options{Plain: o.plain, Limits: limits, Step: step}
	if o.fetch {
		dir := o.cache
		if user, err := os.UserCacheDir(); dir == "" && err == nil {
			dir = filepath.Join(user, "fieldlock")
		}
		options.Fetch = fetch.New(dir, p.old.FetchHosts...)
	}
	if kinds != nil {
		options.Cluster.KubeVersion = kinds.Minor + ".0" // as Helm writes it
		served := map[[2]string]bool{}
		for _, k := range kinds.All() {
			served[[2]string{k.Group, k.Kind}] = true
		}
		options.Builtin = func(group, kind string) bool { return served[[2]string{group, kind}] }
	}
	return options
}

// gitSide is a tree of git, and what paths name in it.
func (c *checkCommand) gitSide(t *git.Tree, paths []string) *unit.Side {
	side, done := treeSide(t, paths)
	c.after = append(c.after, done)
	return side
}

func treeSide(t *git.Tree, paths []string) (side *unit.Side, done func()) {
	files := t.FS()
	side = &unit.Side{Tree: files, Files: files.Sources(paths), Partial: t.HasSubmodules()}
	if len(paths) != 1 || paths[0] != "." {
		side.Paths = paths
		side.Others = func() []manifest.File {
			return slices.DeleteFunc(files.Sources([]string{"."}), func(f manifest.File) bool {
				return slices.ContainsFunc(side.Files, func(named manifest.File) bool { return named.Path == f.Path })
			})
		}
	}
	return side, files.Close
}

// directorySide is a directory of the disk.
func (c *checkCommand) directorySide(dir string) (*unit.Side, error) {
	tree, err := unit.Dir(dir)
	if err != nil {
		return nil, err
	}
	c.after = append(c.after, func() { tree.Close() })
	return directoryFiles(tree, dir, ".")
}

// directoryFiles is the tree of a directory of the disk, with the files that are below a path in it. Files as they are
// written may be links that lead out of it.
func directoryFiles(tree *unit.Directory, dir, below string) (*unit.Side, error) {
	files, err := manifest.Find(filepath.Join(dir, filepath.FromSlash(below)))
	if err != nil {
		return nil, err
	}
	side := &unit.Side{Tree: tree, Read: func(f *manifest.File) ([]byte, error) { return os.ReadFile(f.Name) }}
	if below != "." {
		side.Paths = []string{below}
	}
	for _, f := range files {
		f.Path = path.Join(below, f.Path)
		side.Files = append(side.Files, f)
	}
	return side, nil
}

// repository tells what the tree is a revision of, if it is one of a repository; repo may be nil.
func (o *unitFlags) repository(options *unit.Options, repo *git.Repository) {
	options.InTree = o.inTree(repo)
	if repo != nil {
		options.Repository = &revisions{Repository: repo}
	}
}

// revisions are those of a repository.
type revisions struct {
	*git.Repository
	once           sync.Once
	tags, branches []string
}

var _ unit.Repository = (*revisions)(nil)

func (r *revisions) read() {
	r.once.Do(func() { r.tags, r.branches = r.Refs() })
}

func (r *revisions) Tags() []string { r.read(); return r.tags }

func (r *revisions) HasBranch(name string) bool { r.read(); return slices.Contains(r.branches, name) }

func (r *revisions) At(name string) (unit.Tree, func(), error) {
	t, err := r.Repository.At(name)
	if err != nil {
		return nil, nil, err
	}
	files := t.FS()
	return files, files.Close, nil
}

// inTree returns a function that reports whether a URL is one of the repository, by its host and path; nil if it has no
// URL, so that all count. repo may be nil.
func (o *unitFlags) inTree(repo *git.Repository) func(string) bool {
	known := map[string]bool{}
	urls := o.urls
	if repo != nil {
		urls = slices.Concat(urls, repo.Remotes())
	}
	for _, url := range urls {
		if place := hostAndPath(url); place != "" {
			known[place] = true
		}
	}
	if len(known) == 0 {
		return nil
	}
	return func(url string) bool { return known[hostAndPath(url)] }
}

// hostAndPath returns what identifies a repository in its URL, or in the form user@host:path; "" for a path of the
// disk. Like Argo CD, it takes a slash for the colon of that form, and ignores the case of letters.
func hostAndPath(url string) string {
	_, rest, isURL := strings.Cut(url, "://")
	if !isURL {
		i := strings.IndexAny(url, ":/\\")
		if i < 2 || url[i] != ':' && (url[i] != '/' || !strings.Contains(url[:i], "@")) {
			return ""
		}
		rest = url[:i] + "/" + url[i+1:]
	} else if strings.HasPrefix(url, "file:") {
		return ""
	}
	host, path, _ := strings.Cut(rest, "/")
	if _, after, ok := strings.Cut(host, "@"); ok {
		host = after
	}
	host, _, _ = strings.Cut(host, ":")
	return strings.ToLower(host + "/" + strings.TrimSuffix(strings.Trim(path, "/"), ".git"))
}

// bothDirectories reports whether OLD and NEW are directories.
func bothDirectories(oldArg, newArg string) bool { return isDirectory(oldArg) && isDirectory(newArg) }

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// deployedBy sets who deploys the files of a tree that no unit deploys.
func deployedBy(who func(name string) tool.Name, files []manifest.File) {
	for i, f := range files {
		if f.Unit == "" {
			files[i].AppliedBy = f.AppliedBy.By(who(f.Path))
		}
	}
}

// deployedBySettings sets who deploys files that were named themselves.
func (c *checkCommand) deployedBySettings(files []manifest.File) {
	for i, f := range files {
		dir, name := filepath.Split(realPath(f.Name))
		files[i].AppliedBy = f.AppliedBy.By(c.project.old.Tools(dir)(name))
	}
}

// compareUnits compares what two sides deploy, whose trees are at some roots, and adds it to in.
func (c *checkCommand) compareUnits(newSide, oldSide *unit.Side, in *compare.Input, roots ...string) error {
	options := c.unitOptions(c.options.Builtin, c.project, c.progress.step)
	c.project.units(&options, roots...)
	c.repository(&options, c.repo)
	options.Values = c.chart != "" || len(in.NewSchemas.Documents)+len(in.OldSchemas.Documents) > 0
	for _, o := range slices.Concat(in.NewSchemas.Objects, in.OldSchemas.Objects) {
		options.Policies = append(options.Policies, o.Document)
	}
	found, err := unit.Compare(newSide, oldSide, options)
	if err != nil {
		return err
	}
	if c.repo != nil {
		c.repo.Forget()
	}
	deployedBy(options.Tool, found.New)
	deployedBy(options.Tool, found.Old)
	deployedBy(options.Tool, found.Unsure)
	in.New, in.Old = append(in.New, found.New...), append(in.Old, found.Old...)
	in.Unsure = found.Unsure
	in.NewWritten, in.OldWritten, in.Readers, in.Failing = found.NewWritten, found.OldWritten, found.Readers, found.Failing
	in.Errs = append(in.Errs, found.Errs...)
	in.Unchanged = found.Unchanged
	slices.Sort(found.Warnings)
	in.Warnings = append(in.Warnings, slices.Compact(found.Warnings)...)
	if hidden := in.Hidden; len(found.Excluded) > 0 {
		in.Hidden = func(names []string) []manifest.File {
			return slices.Concat(hidden(names), newSide.Parse(found.Excluded))
		}
	}
	in.Units = append(in.Units, found.Units...)
	addNotCovered(in, found.NotCovered)
	return nil
}

// addNotCovered adds what could not be rendered, and what the settings exclude, to in.
func addNotCovered(in *compare.Input, missing []result.NotCovered) {
	for _, n := range missing {
		switch {
		case n.Reason != unit.Excluded:
			in.NotCovered = append(in.NotCovered, n)
		case n.Changed:
			in.Excluded = append(in.Excluded, n.Unit)
		}
	}
}

// readDeployed reads what is deployed from args into NEW: from directories as their tools do it, unless --plain asks
// for the files as they are written, and from other arguments as they are.
func (c *checkCommand) readDeployed(r *manifest.Reader, args []string, in *compare.Input) error {
	options := c.unitOptions(c.options.Builtin, c.project, c.progress.step)
	if repo, err := git.Open("."); err == nil {
		c.repository(&options, repo)
	}
	for _, arg := range args {
		if c.plain || !isDirectory(arg) {
			files, err := r.Read(arg)
			if err != nil {
				return err
			}
			in.New = append(in.New, files...)
			continue
		}
		side, done, err := (&renderCommand{unitFlags: c.unitFlags, project: c.project}).side(arg, &options)
		if err != nil {
			return err
		}
		c.after = append(c.after, done) // places are looked up when they are reported
		set, err := unit.Load(side, options)
		if err != nil {
			return err
		}
		in.New = append(in.New, set.Manifests()...)
		in.Errs = append(in.Errs, set.Errs...)
		for _, u := range set.Units {
			in.Units = append(in.Units, result.Unit{Unit: u.Name, Kind: u.Kind, Objects: len(u.Objects), Changed: true})
		}
		addNotCovered(in, set.NotCovered)
	}
	return nil
}
