package helm

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/ignore"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// What a chart may cost before it is rendered. maxBytes is Helm's own limit, here for a chart with all its dependencies.
const (
	maxBytes  = 100 << 20
	maxFiles  = 50_000
	maxNested = 32 // directories, links and dependencies in each other
)

// Files returns the paths of all files that rendering the chart in dir reads, sorted: those of its directory that
// .helmignore does not leave out, and those of its `file://` dependencies. They do not depend on values: a disabled
// dependency is among them. A dependency that the tree does not have is no error here.
func Files(tree fs.FS, dir string) (files []string, err error) {
	defer recovered(dir, &err)
	l := newLoading(tree)
	if _, err := l.directory(path.Clean(dir)); err != nil {
		return nil, err
	}
	slices.Sort(l.read)
	return slices.Compact(l.read), nil
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
	// rendering is set in a worker, which has what was fetched. elsewhere, unless nil, lists the missing ones in repositories.
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
			files = append(files, file{name: name, path: path.Join(dir, name), data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))})
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
		return fmt.Errorf("%s: the chart and its dependencies have more than %d MiB or %d files", name, maxBytes>>20, maxFiles)
	}
	return nil
}

// chart makes a chart of its files, with its dependencies. The place is where errors locate it; dir is its directory in the
// tree, "" for a chart in an archive.
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
	if i := slices.IndexFunc(own, func(f *archive.BufferedFile) bool { return isValues(f.Name) && len(f.Data) > maxValues }); i >= 0 {
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

// packed adds the dependencies in the charts directory of a chart. As in Helm, a name that begins with "_" or "." hides one.
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

// Chart is a chart of a tree that can be installed.
type Chart struct {
	// Dir is its directory, "." for the root of the tree.
	Dir string
	// Variants are the files of values that the chart is rendered with, one by one: its ci/*-values.yaml, and those beside
	// values.yaml that are named for an environment (IsVariant), sorted. It is also rendered without any.
	Variants []string
}

// Charts returns the charts of a tree that are units: the directories with a Chart.yaml, except libraries, and except what
// is in the charts directory of another chart, which is a part of that. A Chart.yaml that cannot be read as one counts, and
// rendering it tells why. The cost is a walk over the directories of the tree; links to directories are not followed.
func Charts(tree fs.FS) ([]Chart, error) {
	var charts []Chart
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if entry.Name() == ".git" {
				return fs.SkipDir
			}
			return nil
		}
		if entry.Name() != "Chart.yaml" || IsPart(tree, path.Dir(name)) {
			return nil
		}
		if data, err := ReadValues(tree, name); err == nil {
			var m chart.Metadata
			if yaml.Unmarshal(data, &m) == nil && !installable(&m) {
				return nil
			}
		}
		charts = append(charts, Chart{Dir: path.Dir(name), Variants: variants(tree, path.Dir(name))})
		return nil
	})
	return charts, err
}

// At returns the chart in a directory, whether it can be installed or not.
func At(tree fs.FS, dir string) Chart { return Chart{Dir: dir, Variants: variants(tree, dir)} }

// Name returns the name in the Chart.yaml of a directory, "" if it cannot be read.
func Name(tree fs.FS, dir string) string {
	var m chart.Metadata
	if data, err := ReadValues(tree, path.Join(dir, "Chart.yaml")); err != nil || yaml.Unmarshal(data, &m) != nil {
		return ""
	}
	return m.Name
}

// IsPart reports whether a directory is below the charts directory of a chart.
func IsPart(tree fs.FS, dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		parent := path.Dir(dir)
		if path.Base(parent) != "charts" {
			continue
		}
		if _, err := fs.Stat(tree, path.Join(path.Dir(parent), "Chart.yaml")); err == nil {
			return true
		}
	}
	return false
}

// variants returns the files of values that come with a chart.
func variants(tree fs.FS, dir string) []string {
	var files []string
	for _, sub := range []string{".", "ci"} {
		entries, _ := fs.ReadDir(tree, path.Join(dir, sub))
		for _, entry := range entries {
			if !entry.IsDir() && IsVariant(path.Join(sub, entry.Name())) {
				files = append(files, path.Join(dir, sub, entry.Name()))
			}
		}
	}
	slices.Sort(files)
	return files
}

// IsVariant reports whether a file, by its path in the directory of a chart, holds values for another installation of the chart:
// ci/*-values.yaml, which chart-testing tries, and values-*.yaml, values.*.yaml and *-values.yaml beside values.yaml, one for each
// environment.
func IsVariant(name string) bool {
	dir, base := path.Split(name)
	base, isYAML := strings.CutSuffix(base, ".yaml")
	switch {
	case !isYAML:
		return false
	case dir == "ci/":
		return strings.HasSuffix(base, "-values")
	}
	return dir == "" && (strings.HasPrefix(base, "values-") || strings.HasPrefix(base, "values.") || strings.HasSuffix(base, "-values"))
}
