package helm

import (
	"io/fs"
	"path"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"sigs.k8s.io/yaml"
)

// Chart is a chart of a tree that can be installed.
type Chart struct {
	// Dir is its directory, "." for the root of the tree.
	Dir string
	// Variants are the files of values that the chart is rendered with, one by one: its ci/*-values.yaml, and those
	// beside values.yaml that are named for an environment (IsVariant), sorted. It is also rendered without any.
	Variants []string
}

// Charts returns the charts of a tree that are units: the directories with a Chart.yaml, except libraries, and except
// what is in the charts directory of another chart, which is a part of that. A Chart.yaml that cannot be read as one
// counts, and rendering it tells why. The cost is a walk over the directories of the tree; links to directories are not
// followed.
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

// installable reports whether a chart is one that Helm installs: a library is not.
func installable(m *chart.Metadata) bool { return m.Type == "" || m.Type == "application" }

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
