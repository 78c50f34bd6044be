// Package helm renders the charts of a tree as `helm template` does, object by object and in its order, with Helm's own
// loader, values and engine.
//
// A tree is an [fs.FS] whose paths are below the root of the repository; everything is read through it, so a link that
// leaves the tree is an error of the tree. Nothing else is read: no disk, no network, no environment. The function
// lookup finds nothing, and a schema that refers to another document accepts what that document would judge.
//
// [Charts] finds the charts that can be installed, [Files] lists what rendering one of them reads, [Render] renders it:
//
//	charts, err := helm.Charts(tree)
//	objects, err := helm.Render(tree, charts[0].Dir, helm.Release{})
//
// A dependency is taken from the chart's charts directory, as a directory or an archive, else from the chart of the
// tree that its `file://` repository names, as `helm dependency build` would pack it. A dependency that the tree does
// not have makes the chart a [*rendered.NotCovered], unless its condition or tags disable it for the values that are
// rendered.
//
// Sizes are bounded before anything is rendered: all files of a chart and its dependencies, unpacked, stay below Helm's
// 100 MiB, a file of values below 10 MiB. Time and memory of the templates are not: a template can loop as long as it
// likes, and Helm's engine cannot be stopped. Render untrusted charts in a process that can be killed.
//
// Templates can draw random values (randAlphaNum, genCA, uuidv4) and read the clock (now). Two calls of Render with the
// same input differ only there.
//
// The chapters, each of which uses only those below it:
//
//	render   what Helm prints for a chart, as objects
//	find     the charts of a tree
//	lacking  what decides about what a chart lacks
//	files    the files of the tree that rendering a chart reads
//	chart    a chart and its dependencies, read from the tree
//	values   the values of a release, and the schemas that judge them
package helm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	release "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"helm.sh/helm/v4/pkg/strvals"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Release is what a chart is rendered with.
type Release struct {
	// Name is the name of the release; "" means the name of the chart.
	Name string
	// Namespace is that of the release; "" means "default".
	Namespace string
	// Defaults, if not nil, are paths in the tree, of files that are merged and take the place of the chart's
	// values.yaml.
	Defaults []string
	// ValuesFiles are paths in the tree, of files that are merged in this order. Values are merged over them.
	ValuesFiles []string
	Values      map[string]any
	// Set, SetString and SetFile change the values as Helm's flags of these names do: "a.b=c". The files of SetFile are
	// paths in the tree.
	Set, SetString, SetFile []string
	rendered.Cluster
	// Upgrade renders what an upgrade applies, not an installation.
	Upgrade bool
	// Lacking, unless nil, takes the dependencies that the tree lacks, without which the chart is then rendered.
	Lacking *rendered.Lacking
	// SkipSchema renders values that the schema of the chart refuses.
	SkipSchema bool
}

// Render returns what `helm template --include-crds` prints for the chart in a directory of the tree: the documents of
// crds, the ordinary objects in the order in which Helm installs them, then hooks and tests. The role of an object
// tells them apart. Its file is the one in the tree that holds the template: the archive, if the template is packed.
//
// It returns a *rendered.NotCovered if an enabled dependency is missing, unless the release has a Lacking, and an error
// if Helm would refuse the chart.
func Render(tree fs.FS, dir string, r Release) (objects []rendered.Object, err error) {
	defer recovered(dir, &err)
	l := newLoading(tree)
	l.rendering = true
	c, err := l.directory(path.Clean(dir))
	if err != nil {
		return nil, err
	}
	if !installable(c.Metadata) {
		return nil, fmt.Errorf("%s: a chart of type %s cannot be installed", dir, c.Metadata.Type)
	}
	if r.Defaults != nil {
		if c.Values, err = MergedFiles(tree, map[string]any{}, r.Defaults); err != nil {
			return nil, err
		}
	}
	values, err := r.values(tree)
	if err != nil {
		return nil, err
	}
	if err := chartutil.ProcessDependencies(c, values); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if missing := l.missingIn(c); missing != nil {
		if err := r.Lacking.Lacks(missing); err != nil {
			return nil, err
		}
		// Notes print no objects, and often use templates of the missing dependency.
		c.Templates = slices.DeleteFunc(slices.Clone(c.Templates), func(t *common.File) bool { return isNotes(t.Name) })
	}
	if err := l.leaveOutEncrypted(c, r.Lacking); err != nil {
		return nil, err
	}
	files, err := r.execute(c, values)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, shortened(err))
	}
	if objects, err = l.objects(c, files); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return objects, nil
}

// values merges what a release sets, in Helm's order: its files, its values, and what `--set`, `--set-string` and
// `--set-file` would.
func (r *Release) values(tree fs.FS) (map[string]any, error) {
	values, err := MergedFiles(tree, map[string]any{}, r.ValuesFiles)
	if err != nil {
		return nil, err
	}
	values = Merged(values, r.Values)
	for _, set := range r.Set {
		if err := strvals.ParseInto(set, values); err != nil {
			return nil, fmt.Errorf("the value %q cannot be set: %w", set, err)
		}
	}
	for _, set := range r.SetString {
		if err := strvals.ParseIntoString(set, values); err != nil {
			return nil, fmt.Errorf("the value %q cannot be set: %w", set, err)
		}
	}
	for _, set := range r.SetFile {
		read := func(name []rune) (any, error) {
			data, err := ReadValues(tree, string(name))
			return string(data), err
		}
		if err := strvals.ParseIntoFile(set, values, read); err != nil {
			return nil, fmt.Errorf("the value %q cannot be set: %w", set, err)
		}
	}
	return values, nil
}

// leaveOutEncrypted leaves out the templates of a chart and its dependencies that git-crypt has encrypted.
func (l *loading) leaveOutEncrypted(c *chart.Chart, lacking *rendered.Lacking) error {
	var failed error
	c.Templates = slices.DeleteFunc(slices.Clone(c.Templates), func(t *common.File) bool {
		if !yamldoc.IsEncrypted(t.Data) {
			return false
		}
		failed = cmp.Or(failed, lacking.Lacks(rendered.Encrypted(l.origins[t], 0, l.origins[t])))
		return true
	})
	for _, dependency := range c.Dependencies() {
		failed = cmp.Or(failed, l.leaveOutEncrypted(dependency, lacking))
	}
	return failed
}

// execute runs the templates. The result has what each printed, by its name in Helm.
func (r *Release) execute(c *chart.Chart, values map[string]any) (map[string]string, error) {
	capabilities, err := r.capabilities()
	if err != nil {
		return nil, err
	}
	if want := c.Metadata.KubeVersion; want != "" &&
		!chartutil.IsCompatibleRange(want, capabilities.KubeVersion.String()) {
		return nil, fmt.Errorf("the chart requires Kubernetes %s; this is %s", want, capabilities.KubeVersion.Version)
	}
	options := common.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, Revision: 1, IsInstall: true}
	if r.Upgrade {
		options.Revision, options.IsInstall, options.IsUpgrade = 2, false, true
	}
	if options.Name == "" {
		options.Name = c.Name()
	}
	if options.Namespace == "" {
		options.Namespace = "default"
	}
	top, err := util.ToRenderValuesWithSchemaValidation(c, values, options, capabilities, true)
	if err != nil {
		return nil, err
	}
	if all, ok := top["Values"].(common.Values); ok && !r.SkipSchema {
		if err := validate(c, all); err != nil {
			return nil, err
		}
	}
	return engine.Engine{}.RenderWithContext(context.Background(), c, top)
}

// shortened leaves out the middle of an error that is too long to read: one of templates in each other names all of
// them, and the last one has the reason.
func shortened(err error) error {
	const begin, end = 300, 500
	text := err.Error()
	if len(text) <= begin+end {
		return err
	}
	return errors.New(strings.ToValidUTF8(text[:begin], "") + " … " + strings.ToValidUTF8(text[len(text)-end:], ""))
}

func (r *Release) capabilities() (*common.Capabilities, error) {
	c := common.DefaultCapabilities.Copy()
	if r.KubeVersion != "" {
		version, err := common.ParseKubeVersion(r.KubeVersion)
		if err != nil {
			return nil, fmt.Errorf("the version of Kubernetes is %q: %w", r.KubeVersion, err)
		}
		c.KubeVersion = *version
	}
	c.APIVersions = slices.Concat(c.APIVersions, r.APIVersions)
	return c, nil
}

// objects splits what the templates printed into objects and sorts them as Helm does. Notes are not objects.
func (l *loading) objects(c *chart.Chart, files map[string]string) ([]rendered.Object, error) {
	origins := map[string]string{}
	l.namedOrigins(c, origins)
	for name := range files {
		if isNotes(name) {
			delete(files, name)
		}
	}
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, err
	}
	objects, err := l.crds(c)
	if err != nil {
		return nil, err
	}
	for _, m := range manifests {
		head := m.Head
		if head.Kind != "" || head.Version != "" || head.Metadata != nil || !empty(m.Content) {
			objects = append(objects, rendered.Object{YAML: text(m.Content), File: origins[m.Name]})
		}
	}
	for _, h := range hooks {
		role := rendered.Hook
		if slices.Contains(h.Events, release.HookTest) {
			role = rendered.Test
		}
		objects = append(objects, rendered.Object{YAML: text(h.Manifest), File: origins[h.Path], Role: role})
	}
	return objects, nil
}

// isNotes reports whether a template prints notes for people, as Helm tells them from manifests.
func isNotes(name string) bool { return strings.HasSuffix(name, "NOTES.txt") }

// text returns a manifest as Helm prints and applies it. The line break at its end can be part of a value.
func text(manifest string) []byte { return []byte(manifest + "\n") }

// namedOrigins maps the names that Helm gives to the templates of a chart and its dependencies to files of the tree.
func (l *loading) namedOrigins(c *chart.Chart, origins map[string]string) {
	for _, t := range c.Templates {
		origins[path.Join(c.ChartFullPath(), t.Name)] = l.origins[t]
	}
	for _, dependency := range c.Dependencies() {
		l.namedOrigins(dependency, origins)
	}
}

// crds returns the documents in the crds directories of a chart and its enabled dependencies. They are not templates.
func (l *loading) crds(c *chart.Chart) ([]rendered.Object, error) {
	var objects []rendered.Object
	for _, crd := range c.CRDObjects() {
		documents := releaseutil.SplitManifests(string(crd.File.Data))
		inOrder := func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) } // manifest-2 before manifest-10
		for _, key := range slices.SortedFunc(maps.Keys(documents), inOrder) {
			if !empty(documents[key]) {
				objects = append(objects, rendered.Object{
					YAML: text(documents[key]), File: l.origins[crd.File], Role: rendered.CRD,
				})
			}
		}
	}
	return objects, nil
}

// empty reports whether a document holds nothing but comments.
func empty(document string) bool {
	var decoded any
	return yaml.Unmarshal([]byte(document), &decoded) == nil && decoded == nil
}
