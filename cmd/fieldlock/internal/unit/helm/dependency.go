package helm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// standInVersion is the version of the charts that stand for missing dependencies.
const standInVersion = "0.0.0"

// dependencies adds the dependencies that Chart.yaml names and the charts directory lacks.
//
// Whether a missing dependency is enabled is known only with the values, and Helm decides it: a chart without templates
// stands for the dependency, and when Helm has removed the disabled dependencies, missingIn looks for those that are left.
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

// local loads a dependency from the directory that its repository names. The error is a *rendered.NotCovered without a place
// if the tree does not have it.
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
		return nil, &rendered.NotCovered{Reason: fmt.Sprintf("the dependency %s is outside of the repository", dependency.Name)}
	}
	if _, err := fs.Stat(l.tree, path.Join(target, "Chart.yaml")); errors.Is(err, fs.ErrNotExist) {
		return nil, &rendered.NotCovered{Reason: fmt.Sprintf("the dependency %s: there is no chart in %s", dependency.Name, target)}
	}
	c, err := l.directory(target)
	if err != nil {
		return nil, err
	}
	if dependency.Version != "" && !chartutil.IsCompatibleRange(dependency.Version, c.Metadata.Version) {
		return nil, fmt.Errorf("%s: the version of the chart is %s, its dependent asks for %s", target, c.Metadata.Version, dependency.Version)
	}
	return c, nil
}

// Fetched holds what was fetched for a unit, in directories below the root of what a worker gets. Nothing there is a file of the
// tree.
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

// FetchError returns why the chart in a directory could not be fetched, as a *rendered.NotCovered without a place; nil if there is
// nothing to say.
func FetchError(tree fs.FS, what, dir string) error {
	reason, err := fs.ReadFile(tree, path.Join(dir, unfetched))
	if err != nil {
		return nil
	}
	return &rendered.NotCovered{Reason: fmt.Sprintf("%s cannot be fetched: %s", what, reason)}
}

// fetched loads a dependency that was fetched.
func (l *loading) fetched(dependency *chart.Dependency) (*chart.Chart, error) {
	dir := FetchedDir(dependency.Repository, dependency.Name, dependency.Version)
	if err := FetchError(l.tree, fmt.Sprintf("the dependency %s of %s", dependency.Name, dependency.Repository), dir); err != nil {
		return nil, err
	}
	if _, err := fs.Stat(l.tree, path.Join(dir, "Chart.yaml")); err != nil || !l.rendering {
		return nil, &rendered.NotCovered{Reason: fmt.Sprintf("the dependency %s is not in charts, but in %s", dependency.Name, dependency.Repository)}
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

// Dependency is a dependency of a chart that is in a repository.
type Dependency struct{ Repository, Name, Version string }

// Elsewhere lists the dependencies that the chart in a directory names, or one of those that the tree has, and that are in
// repositories. They do not depend on values: a disabled dependency is among them.
func Elsewhere(tree fs.FS, dir string) (list []Dependency, err error) {
	defer recovered(dir, &err)
	l := newLoading(tree)
	l.elsewhere = &list
	_, err = l.directory(path.Clean(dir))
	return list, err
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
