package kustomize

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// Kustomize runs the program helm for the charts of a kustomization. Here, Helm's engine renders them before kustomize
// starts, and kustomize gets a kustomization that names the objects as resources instead of the charts. It treats them
// as it treats what helm prints: the annotation that marks them is its own.

// chart follows the references of one entry of helmCharts.
func (k *kustomization) chart(w *walk, spec types.HelmChart) error {
	from := k.at(spec.Name)
	home := types.HelmDefaultHome
	if k.HelmGlobals != nil && k.HelmGlobals.ChartHome != "" {
		home = k.HelmGlobals.ChartHome
	}
	if spec.Version != "" && spec.Repo != "" {
		home = path.Join(home, spec.Name+"-"+spec.Version)
	}
	c := chart{HelmChart: spec, k: k, from: from, namespace: spec.Namespace}
	if c.namespace == "" {
		c.namespace = w.chartNamespace(k)
	}
	switch {
	case spec.Name == "" || strings.HasPrefix(spec.Name, "-") || strings.HasPrefix(spec.ReleaseName, "-"):
		return from.invalid("the name of a chart or release is empty or begins with -")
	case path.IsAbs(home):
		return from.notCovered("%s is an absolute path", home)
	case spec.NameTemplate != "":
		return from.notCovered("the name of the release comes from a template")
	}
	dir, isDir, err := w.disk.find(path.Join(top, k.dir, home, spec.Name))
	switch {
	case err == nil && isDir:
		c.dir = dir
	case spec.Repo == "":
		return from.invalid("there is no chart in %s, and no repo to get it from", path.Join(home, spec.Name))
	default:
		return k.fetchedChart(w, &c)
	}
	if err := k.chartValues(w, &c, path.Join(home, spec.Name)); err != nil {
		return err
	}
	files, err := helm.Files(w.disk.tree, c.dir)
	if err != nil {
		return err
	}
	for _, name := range files {
		w.files[name] = true
	}
	w.charts = append(w.charts, c)
	return nil
}

// fetchedChart finds a chart that was fetched, or notes that it has to be.
func (k *kustomization) fetchedChart(w *walk, c *chart) error {
	if w.options.Elsewhere != nil {
		*w.options.Elsewhere = append(*w.options.Elsewhere,
			helm.Dependency{Repository: c.Repo, Name: c.Name, Version: c.Version})
		return k.chartValues(w, c, "")
	}
	c.dir = helm.FetchedDir(c.Repo, c.Name, c.Version)
	valuesErr := k.chartValues(w, c, "")
	if err := helm.FetchError(w.disk.tree, fmt.Sprintf("the chart %s of %s", c.Name, c.Repo), c.dir); err != nil {
		return c.from.notCovered("%s", err)
	}
	if _, err := fs.Stat(w.disk.tree, path.Join(c.dir, "Chart.yaml")); err != nil {
		return w.lacking(k, c.from.notCovered("the chart %s of %s is not in this repository", c.Name, c.Repo))
	}
	if valuesErr != nil {
		return valuesErr
	}
	if c.ValuesFile == "" && (len(c.ValuesInline) == 0 || c.ValuesMerge != "replace") {
		c.values = path.Join(c.dir, "values.yaml")
	}
	w.charts = append(w.charts, *c)
	return nil
}

// chartValues finds the values files of a chart, which kustomize reads like other files of the kustomization. The chart
// is in a directory; "" for one that is not in the tree, whose own values are not looked for.
func (k *kustomization) chartValues(w *walk, c *chart, dir string) (err error) {
	if len(c.ValuesInline) == 0 || c.ValuesMerge != "replace" {
		ref := c.ValuesFile
		if ref == "" && dir != "" {
			ref = path.Join(dir, "values.yaml")
		}
		if ref != "" {
			c.values, err = w.file(k.dir, ref, c.from)
		}
	}
	for _, ref := range c.AdditionalValuesFiles {
		name, missing := w.file(k.dir, ref, c.from)
		if err == nil {
			err = missing
		}
		c.more = append(c.more, name)
	}
	return err
}

// chartNamespace returns the namespace of charts that name none: that of the kustomization, or of the nearest one that
// includes it and has one.
func (w *walk) chartNamespace(k *kustomization) string {
	if k.Namespace != "" {
		return k.Namespace
	}
	return w.inherited()
}

// inherited returns the namespace of the nearest kustomization that includes the present one and has a namespace.
func (w *walk) inherited() string {
	for _, namespace := range slices.Backward(w.namespaces) {
		if namespace != "" {
			return namespace
		}
	}
	return ""
}

// checkNamespaces refuses charts where a kustomization is included twice with different namespaces: kustomize renders
// its charts once for each, and only one of them can take their place.
func (w *walk) checkNamespaces() error {
	if len(w.charts) == 0 || w.twice == "" {
		return nil
	}
	return w.charts[0].from.notCovered("%s is included with two namespaces, which decide about charts", w.twice)
}

// renderCharts renders all charts and puts their objects in their place.
func (w *walk) renderCharts(o Options) error {
	for i, c := range w.charts {
		objects, err := c.render(w.disk.tree, o)
		if err != nil {
			return err
		}
		for j, object := range objects {
			name := path.Join(c.k.dir, fmt.Sprintf(".chart-%d-%d.yaml", i, j))
			content, err := w.mark(object.YAML)
			if err != nil {
				return &rendered.Invalid{File: object.File, Err: err}
			}
			w.disk.generate(name, content)
			c.k.charts = append(c.k.charts, path.Base(name))
		}
	}
	return nil
}

// render returns the objects of one chart.
func (c *chart) render(tree fs.FS, o Options) ([]rendered.Object, error) {
	values, err := c.allValues(tree)
	if err != nil {
		return nil, &rendered.Invalid{File: c.from.file, Line: line(c.from.content, c.Name), Err: err}
	}
	release := helm.Release{
		Name: c.ReleaseName, Namespace: c.namespace, Values: values,
		Cluster: o.Cluster.With(c.KubeVersion, slices.Concat(o.Cluster.APIVersions, c.ApiVersions)),
	}
	all, err := helm.Render(tree, c.dir, release)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(o rendered.Object) bool {
		return o.Role == rendered.CRD && !c.IncludeCRDs || o.Role == rendered.Test && (c.SkipTests || c.SkipHooks) ||
			o.Role == rendered.Hook && c.SkipHooks
	}), nil
}

// allValues merges the values of the kustomization with the values file, and the additional files over both.
func (c *chart) allValues(tree fs.FS) (map[string]any, error) {
	content := []byte("{}")
	var err error
	if c.values != "" {
		if content, err = helm.ReadValues(tree, c.values); err != nil {
			return nil, err
		}
	}
	if len(c.ValuesInline) > 0 {
		if content, err = c.withInline(content); err != nil {
			return nil, err
		}
	}
	values, err := loader.LoadValues(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	return helm.MergedFiles(tree, values, c.more)
}

// withInline merges valuesInline with the values file, as valuesMerge says.
func (c *chart) withInline(content []byte) ([]byte, error) {
	inline, err := kyaml.FromMap(c.ValuesInline)
	if err != nil {
		return nil, err
	}
	if c.ValuesMerge == "replace" {
		return yaml.Marshal(c.ValuesInline)
	}
	file, err := kyaml.Parse(string(content))
	if err != nil {
		return nil, err
	}
	var merged *kyaml.RNode
	switch c.ValuesMerge {
	case "", "override":
		merged, err = merge2.Merge(inline, file, kyaml.MergeOptions{})
	case "merge":
		merged, err = merge2.Merge(file, inline, kyaml.MergeOptions{})
	default:
		return nil, fmt.Errorf("valuesMerge is %q; it can be merge, override or replace", c.ValuesMerge)
	}
	if err != nil {
		return nil, err
	}
	text, err := merged.String()
	return []byte(text), err
}

// mark adds the annotation by which kustomize knows that an object comes from a chart: it does not change its
// namespace.
func (w *walk) mark(object []byte) ([]byte, error) {
	resources, err := w.factory.SliceFromBytes(object)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	for _, r := range resources {
		if err := r.PipeE(kyaml.SetAnnotation(konfig.HelmGeneratedAnnotation, "true")); err != nil {
			return nil, err
		}
		content, err := r.AsYAML()
		if err != nil {
			return nil, err
		}
		text.WriteString("---\n")
		text.Write(content)
	}
	return text.Bytes(), nil
}
