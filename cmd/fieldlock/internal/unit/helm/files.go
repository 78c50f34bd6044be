package helm

import (
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/ignore"
)

// Files returns the paths of all files that rendering the chart in dir reads, sorted: those of its directory that
// .helmignore does not leave out, and those of its `file://` dependencies. They do not depend on values: a disabled
// dependency is among them. A dependency that the tree does not have is no error here.
func Files(tree fs.FS, dir string) ([]string, error) {
	_, l, err := loaded(tree, dir)
	return sorted(l.read), err
}

// UsedFiles returns the paths of the files that rendering the chart in dir with values of its own reads, sorted. These
// are [Files] without those that Helm has no use for, such as a README and values for another installation, unless a
// template or a value asks for .Files.
func UsedFiles(tree fs.FS, dir string) ([]string, error) {
	c, l, err := loaded(tree, dir)
	if err == nil && !asksForFiles(c) {
		useless := l.useless(c)
		l.read = slices.DeleteFunc(l.read, func(name string) bool { return useless[name] })
	}
	return sorted(l.read), err
}

// loaded loads a chart to tell its files.
func loaded(tree fs.FS, dir string) (c *chart.Chart, l *loading, err error) {
	defer recovered(dir, &err)
	l = newLoading(tree)
	if c, err = l.directory(path.Clean(dir)); err != nil {
		l.read = nil
	}
	return c, l, err
}

func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// askingForFiles matches how templates ask for the files of their chart, not readOnlyRootFilesystem.
var askingForFiles = regexp.MustCompile("[.\"`]Files\\b")

// asksForFiles reports whether a chart or a dependency has text that may ask for .Files: values are templates, too,
// where tpl renders them.
func asksForFiles(c *chart.Chart) bool {
	return slices.ContainsFunc(c.Raw, func(f *common.File) bool {
		return path.Ext(f.Name) != ".md" && askingForFiles.Match(f.Data)
	}) || slices.ContainsFunc(c.Dependencies(), asksForFiles)
}

// useless returns the files of a chart and its dependencies that only .Files gives to templates.
func (l *loading) useless(c *chart.Chart) map[string]bool {
	names := map[string]bool{}
	for _, f := range c.Files {
		used := strings.HasPrefix(f.Name, "crds/") || strings.HasPrefix(f.Name, "requirements.") ||
			f.Name == ignore.HelmIgnore
		if name := l.origins[f]; !used && strings.HasSuffix("/"+name, "/"+f.Name) { // no file of an archive
			names[name] = true
		}
	}
	for _, dependency := range c.Dependencies() {
		maps.Copy(names, l.useless(dependency))
	}
	return names
}
