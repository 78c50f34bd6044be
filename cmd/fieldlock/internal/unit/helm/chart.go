package helm

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/ignore"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// What a chart may cost before it is rendered. maxBytes is Helm's own limit, here for a chart with all its
// dependencies.
const (
	maxBytes  = 100 << 20
	maxFiles  = 50_000
	maxNested = 32 // directories, links and dependencies in each other
)

// recovered turns a panic of Helm's code into an error.
func recovered(dir string, err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%s: Helm fails: %v", dir, r)
	}
}

// Dependency is a dependency of a chart that is in a repository.
type Dependency struct{ Repository, Name, Version string }

// Elsewhere lists the dependencies that the chart in a directory names, or one of those that the tree has, and that are
// in repositories. They do not depend on values: a disabled dependency is among them.
func Elsewhere(tree fs.FS, dir string) (list []Dependency, err error) {
	defer recovered(dir, &err)
	l := newLoading(tree)
	l.elsewhere = &list
	_, err = l.directory(path.Clean(dir))
	return list, err
}

// loading is a chart on its way from the tree: Helm's loader makes each chart of its own files, and loading adds the
// dependencies, since only it knows which file of the tree a template comes from.
type loading struct {
	tree  fs.FS
	read  []string
	bytes int64
	files int
	// open are the directories of the charts that are being loaded, each a dependency of the one before.
	open []string
	// origins are the paths of templates and CRDs in the tree. Helm copies charts, but shares their files.
	origins map[*common.File]string
	// missing are the dependencies that the tree does not have, by the only file of a chart that stands for them.
	missing map[*common.File]*rendered.NotCovered
	// rendering is set in a worker, which has what was fetched. elsewhere, unless nil, lists the missing ones in
	// repositories.
	rendering bool
	elsewhere *[]Dependency
}

func newLoading(tree fs.FS) *loading {
	return &loading{tree: tree, origins: map[*common.File]string{}, missing: map[*common.File]*rendered.NotCovered{}}
}

// file is a file of a chart: its name below the chart's directory, and the file of the tree that holds it.
type file struct {
	name, path string
	data       []byte
}

// directory loads the chart in a directory of the tree with its dependencies.
func (l *loading) directory(dir string) (*chart.Chart, error) {
	if slices.Contains(l.open, dir) {
		return nil, fmt.Errorf("the chart in %s depends on itself", dir)
	}
	if len(l.open) == maxNested {
		return nil, fmt.Errorf("%s: more than %d dependencies in each other", dir, maxNested)
	}
	l.open = append(l.open, dir)
	defer func() { l.open = l.open[:len(l.open)-1] }()

	rules, err := l.ignoreRules(dir)
	if err != nil {
		return nil, err
	}
	files, err := l.walk(dir, "", rules, nil, 0)
	if err != nil {
		return nil, err
	}
	return l.chart(files, dir, dir)
}

// ignoreRules reads the .helmignore of a chart.
func (l *loading) ignoreRules(dir string) (*ignore.Rules, error) {
	rules := ignore.Empty()
	name := path.Join(dir, ignore.HelmIgnore)
	data, err := l.readFile(name)
	switch {
	case err == nil:
		if rules, err = ignore.Parse(bytes.NewReader(data)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	rules.AddDefaults()
	return rules, nil
}

// walk appends the files below a directory of a chart that its rules do not ignore. It follows links, as Helm does.
func (l *loading) walk(dir, below string, rules *ignore.Rules, files []file, depth int) ([]file, error) {
	if depth > maxNested {
		return nil, fmt.Errorf("%s: more than %d directories in each other", path.Join(dir, below), maxNested)
	}
	entries, err := fs.ReadDir(l.tree, path.Join(dir, below))
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		name := path.Join(below, entry.Name())
		info, err := l.stat(path.Join(dir, name), entry)
		if rules.Ignore(name, info) {
			continue
		}
		if err != nil {
			return nil, err
		}
		switch {
		case info.IsDir():
			files, err = l.walk(dir, name, rules, files, depth+1)
		case info.Mode().IsRegular():
			var data []byte
			data, err = l.readFile(path.Join(dir, name))
			files = append(files, file{name: name, path: path.Join(dir, name),
				data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))})
		default:
			err = fmt.Errorf("%s is not a regular file", path.Join(dir, name))
		}
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// stat describes what a directory entry is or links to. With an error, it describes the link.
func (l *loading) stat(name string, entry fs.DirEntry) (fs.FileInfo, error) {
	info, err := entry.Info()
	if err != nil || entry.Type()&fs.ModeSymlink == 0 {
		return info, err
	}
	target, err := fs.Stat(l.tree, name)
	if err != nil {
		return info, err
	}
	return target, nil
}

// readFile reads a file of the tree, unless the chart then has too many files or bytes.
func (l *loading) readFile(name string) ([]byte, error) {
	f, err := l.tree.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes-l.bytes+1))
	if err != nil {
		return nil, err
	}
	l.read = append(l.read, name)
	return data, l.count(name, 1, int64(len(data)))
}

// count adds files to what the chart has cost so far.
func (l *loading) count(name string, files int, bytes int64) error {
	l.files += files
	l.bytes += bytes
	if l.files > maxFiles || l.bytes > maxBytes {
		return fmt.Errorf("%s: the chart and its dependencies have more than %d MiB or %d files",
			name, maxBytes>>20, maxFiles)
	}
	return nil
}

// chart makes a chart of its files, with its dependencies. The place is where errors locate it; dir is its directory in
// the tree, "" for a chart in an archive.
func (l *loading) chart(files []file, place, dir string) (*chart.Chart, error) {
	var own []*archive.BufferedFile
	paths := map[string]file{}
	packed := map[string][]file{}
	for _, f := range files {
		name, ok := strings.CutPrefix(f.name, "charts/")
		if !ok || path.Ext(name) == ".prov" {
			own = append(own, &archive.BufferedFile{Name: f.name, Data: f.data})
			paths[f.name] = f
			continue
		}
		top, _, _ := strings.Cut(name, "/")
		f.name = name
		packed[top] = append(packed[top], f)
	}
	if i := slices.IndexFunc(own, func(f *archive.BufferedFile) bool {
		return isValues(f.Name) &&
			len(f.Data) > maxValues
	}); i >= 0 {
		return nil, tooLarge(path.Join(place, own[i].Name))
	}
	c, err := loader.LoadFiles(own)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	for _, f := range slices.Concat(c.Templates, c.Files) {
		l.origins[f] = paths[f.Name].path
	}
	if err := l.packed(c, packed, place, dir); err != nil {
		return nil, err
	}
	return c, l.dependencies(c, paths, place, dir)
}

func isValues(name string) bool {
	return name == "values.yaml" || name == "Chart.yaml" || name == "requirements.yaml"
}

// packed adds the dependencies in the charts directory of a chart. As in Helm, a name that begins with "_" or "." hides
// one.
func (l *loading) packed(c *chart.Chart, packed map[string][]file, place, dir string) error {
	for _, name := range slices.Sorted(maps.Keys(packed)) {
		if strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") {
			continue
		}
		dependency, err := l.packedChart(name, packed[name], path.Join(place, "charts", name), dir)
		if err != nil {
			return err
		}
		c.AddDependency(dependency)
	}
	return nil
}

func (l *loading) packedChart(name string, files []file, place, dir string) (*chart.Chart, error) {
	if path.Ext(name) == ".tgz" {
		return l.archive(files[0], place)
	}
	below := files[:0:0]
	for _, f := range files {
		var ok bool
		if _, f.name, ok = strings.Cut(f.name, "/"); ok {
			below = append(below, f)
		}
	}
	if dir != "" {
		dir = place
	}
	return l.chart(below, place, dir)
}

// archive loads a chart that is packed into one file.
func (l *loading) archive(packed file, place string) (*chart.Chart, error) {
	if len(l.open) == maxNested {
		return nil, fmt.Errorf("%s: more than %d dependencies in each other", place, maxNested)
	}
	l.open = append(l.open, place)
	defer func() { l.open = l.open[:len(l.open)-1] }()

	unpacked, err := gzip.NewReader(bytes.NewReader(packed.data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	size, err := io.Copy(io.Discard, io.LimitReader(unpacked, maxBytes-l.bytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	if err := l.count(place, 0, size); err != nil {
		return nil, err
	}
	contents, err := archive.LoadArchiveFiles(bytes.NewReader(packed.data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	if err := l.count(place, len(contents), 0); err != nil {
		return nil, err
	}
	files := make([]file, len(contents))
	for i, f := range contents {
		files[i] = file{name: f.Name, path: packed.path, data: f.Data}
	}
	return l.chart(files, place, "")
}

// standInVersion is the version of the charts that stand for missing dependencies.
const standInVersion = "0.0.0"

// dependencies adds the dependencies that Chart.yaml names and the charts directory lacks.
//
// Whether a missing dependency is enabled is known only with the values, and Helm decides it: a chart without templates
// stands for the dependency, and when Helm has removed the disabled dependencies, missingIn looks for those that are
// left.
func (l *loading) dependencies(c *chart.Chart, files map[string]file, place, dir string) error {
	present := map[string]bool{}
	for _, dependency := range c.Dependencies() {
		present[dependency.Name()] = true
	}
	standIn := map[string]bool{}
	for i, dependency := range c.Metadata.Dependencies {
		if dependency == nil || present[dependency.Name] {
			continue
		}
		locked(c, dependency)
		sub, err := l.local(dependency, dir)
		missing, notCovered := errors.AsType[*rendered.NotCovered](err)
		switch {
		case err == nil:
			present[dependency.Name] = true
			c.AddDependency(sub)
			continue
		case !notCovered:
			return err
		}
		version := dependency.Version
		dependency.Version = standInVersion
		if standIn[dependency.Name] {
			continue
		}
		standIn[dependency.Name] = true
		if l.elsewhere != nil && dir != "" && dependency.Repository != "" {
			*l.elsewhere = append(*l.elsewhere, Dependency{dependency.Repository, dependency.Name, version})
		}
		l.locate(missing, i, files, place)
		mark := &common.File{Name: "missing"}
		l.missing[mark] = missing
		c.AddDependency(&chart.Chart{
			Metadata: &chart.Metadata{APIVersion: chart.APIVersionV2, Name: dependency.Name, Version: standInVersion},
			Files:    []*common.File{mark},
		})
	}
	return nil
}

// local loads a dependency from the directory that its repository names. The error is a *rendered.NotCovered without a
// place if the tree does not have it.
func (l *loading) local(dependency *chart.Dependency, dir string) (*chart.Chart, error) {
	below, ok := strings.CutPrefix(dependency.Repository, "file://")
	switch {
	case !ok && dependency.Repository == "":
		return nil, &rendered.NotCovered{Reason: fmt.Sprintf("the dependency %s is not in charts", dependency.Name)}
	case !ok || dir == "":
		return l.fetched(dependency)
	}
	target := path.Join(dir, below)
	if path.IsAbs(below) || !fs.ValidPath(target) {
		return nil, &rendered.NotCovered{Reason: fmt.Sprintf("the dependency %s is outside of the repository",
			dependency.Name)}
	}
	if _, err := fs.Stat(l.tree, path.Join(target, "Chart.yaml")); errors.Is(err, fs.ErrNotExist) {
		return nil, &rendered.NotCovered{Reason: fmt.Sprintf("the dependency %s: there is no chart in %s",
			dependency.Name, target)}
	}
	c, err := l.directory(target)
	if err != nil {
		return nil, err
	}
	if dependency.Version != "" && !chartutil.IsCompatibleRange(dependency.Version, c.Metadata.Version) {
		return nil, fmt.Errorf("%s: the version of the chart is %s, its dependent asks for %s",
			target, c.Metadata.Version, dependency.Version)
	}
	return c, nil
}

// fetched loads a dependency that was fetched.
func (l *loading) fetched(dependency *chart.Dependency) (*chart.Chart, error) {
	dir := FetchedDir(dependency.Repository, dependency.Name, dependency.Version)
	if err := FetchError(l.tree, fmt.Sprintf("the dependency %s of %s", dependency.Name, dependency.Repository),
		dir); err != nil {
		return nil, err
	}
	if _, err := fs.Stat(l.tree, path.Join(dir, "Chart.yaml")); err != nil || !l.rendering {
		return nil, &rendered.NotCovered{Reason: fmt.Sprintf("the dependency %s is not in charts, but in %s",
			dependency.Name, dependency.Repository)}
	}
	return l.directory(dir)
}

// locked gives a dependency the version in Chart.lock, which `helm dependency build` gets.
func locked(c *chart.Chart, dependency *chart.Dependency) {
	if c.Lock == nil {
		return
	}
	for _, l := range c.Lock.Dependencies {
		if l != nil && l.Name == dependency.Name && l.Repository == dependency.Repository {
			dependency.Version = l.Version
		}
	}
}

// locate adds the place where a chart names its dependency with an index.
func (l *loading) locate(missing *rendered.NotCovered, index int, files map[string]file, place string) {
	missing.File = path.Join(place, "Chart.yaml")
	for _, name := range []string{"requirements.yaml", "Chart.yaml"} {
		f, ok := files[name]
		if !ok {
			continue
		}
		var written struct {
			Dependencies []yaml.Node `yaml:"dependencies"`
		}
		if yaml.Unmarshal(f.data, &written) == nil && index < len(written.Dependencies) {
			missing.File, missing.Line = f.path, written.Dependencies[index].Line
			return
		}
	}
}

// missingIn returns the first dependency that an enabled chart lacks, or nil.
func (l *loading) missingIn(c *chart.Chart) *rendered.NotCovered {
	for _, f := range c.Files {
		if missing := l.missing[f]; missing != nil {
			return missing
		}
	}
	for _, dependency := range c.Dependencies() {
		if missing := l.missingIn(dependency); missing != nil {
			return missing
		}
	}
	return nil
}

// Fetched holds what was fetched for a unit, in directories below the root of what a worker gets. Nothing there is a
// file of the tree.
const Fetched = ".fieldlock-fetched"

// unfetched is the only file of a chart that could not be fetched. It says why.
const unfetched = "unfetched"

// FetchedDir is where a worker finds a chart of a repository.
func FetchedDir(repository, name, version string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", strings.TrimSuffix(repository, "/"), name, version))
	return path.Join(Fetched, hex.EncodeToString(sum[:16]))
}

// Unfetched returns the files of a chart that could not be fetched.
func Unfetched(err error) map[string][]byte { return map[string][]byte{unfetched: []byte(err.Error())} }

// FetchError returns why the chart in a directory could not be fetched, as a *rendered.NotCovered without a place; nil
// if there is nothing to say.
func FetchError(tree fs.FS, what, dir string) error {
	reason, err := fs.ReadFile(tree, path.Join(dir, unfetched))
	if err != nil {
		return nil
	}
	return &rendered.NotCovered{Reason: fmt.Sprintf("%s cannot be fetched: %s", what, reason)}
}
