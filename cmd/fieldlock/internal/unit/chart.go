package unit

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/worker"
	"github.com/fieldlock/fieldlock/internal/settings"
)

// chartSpec is how a chart is rendered.
type chartSpec struct {
	Name, Namespace string   // of the release, "" for the default
	Values          []string // files
	Cluster         rendered.Cluster
	Upgrade         bool
}

// chartKind are the charts that can be installed, each once with its own values and once with each file of values that
// comes with it.
func chartKind() *unitKind {
	k := &unitKind{name: "chart"}
	k.find = func(t Tree, o *Options) ([]*Unit, error) {
		found, err := helm.Charts(t)
		if err != nil {
			return nil, err
		}
		var units []*Unit
		for _, c := range found {
			if isHidden(c.Dir) {
				continue
			}
			for _, r := range o.releases(c) {
				units = append(units, k.newChart(c.Dir, r, o))
			}
		}
		return units, nil
	}
	k.at = func(t Tree, dir string, o *Options) []*Unit {
		var units []*Unit
		for _, r := range o.releases(helm.At(t, dir)) {
			units = append(units, k.newChart(dir, r, o))
		}
		if !exists(t, path.Join(dir, "Chart.yaml")) {
			return nil
		}
		return units
	}
	k.reads = func(t Tree, u *Unit) ([]string, error) {
		files, err := helm.UsedFiles(t, u.dir)
		spec := decode[chartSpec](u.spec)
		u.lacking.Decides = helm.Decides(u.dir, slices.Concat(files, spec.Values))
		for _, name := range spec.Values {
			if !exists(t, name) {
				return files, &rendered.Invalid{File: u.File,
					Err: fmt.Errorf("the tree has no file %s, which the settings name as values of the chart", name)}
			}
		}
		return sorted(slices.Concat(files, spec.Values)), err
	}
	k.render = renderer(func(_ context.Context, files fs.FS, job *worker.Job, s *chartSpec) ([]rendered.Object, error) {
		return helm.Render(files, job.Dir, helm.Release{
			Name: s.Name, Namespace: s.Namespace,
			ValuesFiles: s.Values, Cluster: s.Cluster, Upgrade: s.Upgrade, Lacking: job.Lacking,
		})
	})
	return k
}

// releases returns the renderings of a chart.
func (o *Options) releases(c helm.Chart) []settings.Release {
	if list, ok := o.Charts[c.Dir]; ok {
		return list
	}
	all := []settings.Release{{}}
	for _, file := range c.Variants {
		all = append(all, settings.Release{Values: []string{file}})
	}
	return all
}

// newChart returns the unit of a chart as one release.
func (k *unitKind) newChart(dir string, r settings.Release, o *Options) *Unit {
	u := &Unit{Kind: k.name, Name: dir, File: path.Join(dir, "Chart.yaml"), kind: k, dir: dir, random: true,
		Namespace: r.Namespace}
	if r.Name != "" || r.Namespace != "" {
		u.Name += " as " + path.Join(r.Namespace, r.Name)
	}
	if len(r.Values) > 0 {
		var names []string
		for _, v := range r.Values {
			names = append(names, strings.TrimPrefix(v, dir+"/"))
		}
		u.Name += " with " + strings.Join(names, ", ")
	}
	u.spec = encode(chartSpec{Name: r.Name, Namespace: r.Namespace, Values: r.Values, Cluster: o.Cluster})
	u.owns = func(name string) bool { return inChart(dir, name) }
	return u
}

// inChart reports whether a file belongs to the chart in a directory. Other manifests in the directory do not.
func inChart(dir, name string) bool {
	if !rendered.Below(name, dir) {
		return false
	}
	name = strings.TrimPrefix(name, dir+"/")
	first, rest, _ := strings.Cut(name, "/")
	switch {
	case rest == "":
		known := name == "Chart.yaml" || name == "Chart.lock" || name == "requirements.yaml" ||
			strings.HasPrefix(name, "values")
		return known || helm.IsVariant(name)
	case first == "ci":
		return helm.IsVariant(name)
	}
	return first == "templates" || first == "crds" || first == "charts"
}

// isBeside reports whether a file is in the directory of a chart that a unit reads, and belongs to none. A tool that
// renders the chart does not deploy such a file, so it is compared as it is written.
func isBeside(reads []string, name string) bool {
	beside := false
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if _, isChart := slices.BinarySearch(reads, path.Join(dir, "Chart.yaml")); isChart {
			if inChart(dir, name) {
				return false
			}
			beside = true
		}
		if dir == "." {
			return beside
		}
	}
}
