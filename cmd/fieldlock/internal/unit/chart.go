package unit

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/worker"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/settings"
)

// chartSpec is how a chart is rendered.
type chartSpec struct {
	Name, Namespace string   // of the release, "" for the default
	Values          []string // files
	KubeVersion     string
	APIVersions     []string
	Upgrade         bool
}

// charts are the charts that can be installed, each once with its own values and once with each file of values that comes
// with it.
func charts() *kind {
	k := &kind{name: "chart"}
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
				units = append(units, k.chart(c.Dir, r, o))
			}
		}
		return units, nil
	}
	k.at = func(t Tree, dir string, o *Options) []*Unit {
		var units []*Unit
		for _, r := range o.releases(helm.At(t, dir)) {
			units = append(units, k.chart(dir, r, o))
		}
		if !exists(t, path.Join(dir, "Chart.yaml")) {
			return nil
		}
		return units
	}
	k.reads = func(t Tree, u *Unit) ([]string, error) {
		files, err := helm.Files(t, u.dir)
		spec := decode[chartSpec](u.spec)
		for _, name := range spec.Values {
			if !exists(t, name) {
				return files, &rendered.Invalid{File: u.File, Err: fmt.Errorf("the tree has no file %s, which the settings name as values of the chart", name)}
			}
		}
		return sorted(slices.Concat(files, spec.Values)), err
	}
	k.render = renderer(func(_ context.Context, files fs.FS, job *worker.Job, s *chartSpec) ([]rendered.Object, error) {
		return helm.Render(files, job.Dir, helm.Release{
			Name: s.Name, Namespace: s.Namespace,
			ValuesFiles: s.Values, KubeVersion: s.KubeVersion, APIVersions: s.APIVersions, Upgrade: s.Upgrade, Lacking: job.Lacking,
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

// chart returns the unit of a chart as one release.
func (k *kind) chart(dir string, r settings.Release, o *Options) *Unit {
	u := &Unit{Kind: k.name, Name: dir, File: path.Join(dir, "Chart.yaml"), kind: k, dir: dir, random: true, Namespace: r.Namespace}
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
	u.spec = encode(chartSpec{Name: r.Name, Namespace: r.Namespace, Values: r.Values, KubeVersion: o.KubeVersion, APIVersions: o.APIVersions})
	u.owns = func(name string) bool { return inChart(dir, name) }
	return u
}

// inChart reports whether a file belongs to the chart in a directory. Other manifests in the directory do not.
func inChart(dir, name string) bool {
	if !below(name, dir) {
		return false
	}
	name = strings.TrimPrefix(name, dir+"/")
	first, rest, _ := strings.Cut(name, "/")
	switch {
	case rest == "":
		known := name == "Chart.yaml" || name == "Chart.lock" || name == "requirements.yaml" || strings.HasPrefix(name, "values")
		return known || helm.IsVariant(name)
	case first == "ci":
		return helm.IsVariant(name)
	}
	return first == "templates" || first == "crds" || first == "charts"
}

// isBeside reports whether a file is in the directory of a chart that a unit reads, and belongs to none. A tool that renders the chart
// does not deploy such a file, so it is compared as it is written.
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

// upgrading matches a template that may print something else for an upgrade than for an installation.
var upgrading = regexp.MustCompile(`\.IsUpgrade\b|\.IsInstall\b|\.Revision\b`)

// pairUpgrades adds comparisons of what upgrades apply, for charts that may print something else then.
func (c *comparison) pairUpgrades() {
	for _, p := range slices.Clip(c.pairs) {
		if p.new == nil || p.old == nil || p.forced || !p.changed || c.uninstalls(p) != "" || !c.tellsUpgrades(c.news, p.new) && !c.tellsUpgrades(c.olds, p.old) {
			continue
		}
		c.pairs = append(c.pairs, unitPair{new: p.new.upgrade(), old: p.old.upgrade(), changed: true, installs: &p})
	}
}

// tellsUpgrades reports whether Helm deploys a unit and its templates may print something else for an upgrade. A changed archive may, too.
func (c *comparison) tellsUpgrades(s *side, u *Unit) bool {
	if u.Err != nil || u.Kind != "chart" && u.Kind != "HelmRelease" {
		return false
	}
	return slices.ContainsFunc(u.Reads, func(name string) bool {
		if strings.HasSuffix(name, ".tgz") {
			return state(c.news.tree, name) != state(c.olds.tree, name)
		}
		data, err := u.in(s.tree).ReadFile(name)
		return err == nil && upgrading.Match(data)
	})
}

// upgrade returns the unit as an upgrade applies it.
func (u *Unit) upgrade() *Unit {
	again := *u
	again.Name += " as an upgrade"
	again.digestIn = nil
	if u.Kind == "chart" {
		spec := decode[chartSpec](u.spec)
		spec.Upgrade = true
		again.spec = encode(spec)
		return &again
	}
	spec := decode[definedSpec](u.spec)
	spec.Upgrade = true
	again.spec = encode(spec)
	return &again
}

// unlikeInstalled returns the objects of an upgrade on both sides, without those that an installation prints alike.
func (c *comparison) unlikeInstalled(p unitPair, news, olds []Object) (newRest, oldRest []Object) {
	newInstalled, err := c.news.render(p.installs.new)
	oldInstalled, oldErr := c.olds.render(p.installs.old)
	if err != nil || oldErr != nil {
		return news, olds
	}
	equal := func(a, b *Object) bool { return jsonvalue.Equal(a.Object, b.Object) }
	upgraded := [][2]map[named][]*Object{{byName(news), byName(newInstalled)}, {byName(olds), byName(oldInstalled)}}
	alike := func(o Object) bool {
		name := namedAs(o.Document)
		return !slices.ContainsFunc(upgraded, func(side [2]map[named][]*Object) bool {
			return !slices.EqualFunc(side[0][name], side[1][name], equal)
		})
	}
	return slices.DeleteFunc(slices.Clone(news), alike), slices.DeleteFunc(slices.Clone(olds), alike)
}

// asking matches a template that asks the cluster.
var asking = regexp.MustCompile(`[\s({|]lookup\s`)

// noteLookups warns of the changed templates of a unit that ask the cluster: what they print there may be something else.
func (c *comparison) noteLookups(p unitPair) {
	if p.new.Kind == "kustomization" || p.installs != nil || p.forced {
		return
	}
	for _, name := range p.new.Reads {
		if !strings.Contains(name, "templates/") || state(p.new.in(c.news.tree), name) == state(c.olds.tree, name) {
			continue
		}
		scan(p.new.in(c.news.tree), name, func(data []byte) {
			if slices.ContainsFunc(action.FindAll(data, -1), asking.Match) {
				c.out.Warnings = append(c.out.Warnings, c.news.tree.Name(name)+
					": it asks the cluster with lookup, which finds nothing here; in a cluster, the template may print something else")
			}
		})
	}
}
