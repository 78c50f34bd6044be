package flux

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/strvals"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// ParseHelmRelease reads a HelmRelease. It returns an error for another kind, for fields of the wrong type, and for one
// without a chart.
func ParseHelmRelease(object map[string]any) (*HelmRelease, error) {
	o, err := read[helmReleaseSpec](object, helmReleaseGroup, "HelmRelease")
	if err != nil {
		return nil, err
	}
	h := &HelmRelease{
		Name: o.Metadata.Name, Namespace: o.Metadata.Namespace,
		Force:       o.Spec.Upgrade.Force,
		InstallCRDs: o.Spec.Install.CRDs, UpgradeCRDs: o.Spec.Upgrade.CRDs, spec: o.Spec,
	}
	h.nameRelease()
	h.policies()
	switch {
	case o.Spec.Chart != nil:
		h.setChart(o.Spec.Chart.Spec)
	case o.Spec.ChartRef != nil:
		h.Source = o.Spec.ChartRef.from(h.Namespace)
	default:
		return nil, fmt.Errorf("the HelmRelease %s/%s has no chart", h.Namespace, h.Name)
	}
	return h, nil
}

// nameRelease sets the name and the namespaces of Helm's release. Helm allows 53 characters: a longer name ends with a
// hash.
func (h *HelmRelease) nameRelease() {
	h.Release, h.ReleaseNamespace, h.StorageNamespace = h.Name, h.Namespace, h.Namespace
	if h.spec.TargetNamespace != "" {
		h.Release, h.ReleaseNamespace = h.spec.TargetNamespace+"-"+h.Name, h.spec.TargetNamespace
	}
	if h.spec.ReleaseName != "" {
		h.Release = h.spec.ReleaseName
	}
	if h.spec.StorageNamespace != "" {
		h.StorageNamespace = h.spec.StorageNamespace
	}
	if len(h.Release) > 53 {
		h.Release = h.Release[:40] + "-" + fmt.Sprintf("%x", sha256.Sum256([]byte(h.Release)))[:12]
	}
}

// Reinstalls returns why the controller uninstalls the release of the old HelmRelease before it installs the release of
// h, "" if it upgrades the release. The names of the charts are those in their Chart.yaml. The rules are those of
// ReleaseTargetChanged (internal/action/verify.go) and reconcileRelease (internal/controller/helmrelease_controller.go)
// of helm-controller.
func (h *HelmRelease) Reinstalls(old *HelmRelease, chart, oldChart string) string {
	const first = "Flux uninstalls the release first, since its "
	switch {
	case h.StorageNamespace != old.StorageNamespace:
		return first + "storage namespace changes"
	case h.ReleaseNamespace != old.ReleaseNamespace:
		return first + "target namespace changes"
	case h.Release != old.Release:
		return first + "name changes"
	case chart != oldChart && h.spec.Upgrade.ChartNameChangeStrategy != "InPlaceUpdate":
		return first + "chart has another name"
	}
	return ""
}

// policies sets what is done with CRDs where the object does not say.
func (h *HelmRelease) policies() {
	if h.InstallCRDs == "" {
		h.InstallCRDs = "Create"
		if h.spec.Install.SkipCRDs {
			h.InstallCRDs = "Skip"
		}
	}
	if h.UpgradeCRDs == "" {
		h.UpgradeCRDs = "Create"
	}
}

func (h *HelmRelease) setChart(spec chartSpec) {
	h.spec.Chart = &struct{ Spec chartSpec }{spec}
	h.Chart, h.Source = spec.Chart, spec.SourceRef.from(h.Namespace)
	switch h.Source.Kind {
	case "GitRepository", "Bucket":
		h.Chart = inside(spec.Chart)
	}
}

// UseChart takes the chart from the HelmChart that the release refers to.
func (h *HelmRelease) UseChart(object map[string]any) error {
	var o struct{ Spec chartSpec }
	if err := rendered.Decode(object, &o); err != nil {
		return fmt.Errorf("not a HelmChart of Flux: %w", err)
	}
	namespace := h.Source.Namespace
	h.setChart(o.Spec)
	if o.Spec.SourceRef.Namespace == "" {
		h.Source.Namespace = namespace
	}
	return nil
}

// Version returns the version of the chart, which may be a range; "" for any.
func (h *HelmRelease) Version() string {
	if h.spec.Chart == nil {
		return ""
	}
	return h.spec.Chart.Spec.Version
}

// UseFetched takes the chart from a directory, to which it was fetched. Files then leaves out those of the chart.
func (h *HelmRelease) UseFetched(dir string) { h.Chart, h.InTree, h.Fetched = dir, true, true }

// ValuesFrom returns the ConfigMaps and Secrets that values come from, in order.
func (h *HelmRelease) ValuesFrom() []Reference {
	var all []Reference
	for _, from := range h.spec.ValuesFrom {
		all = append(all, Reference{Kind: from.Kind, Namespace: h.Namespace, Name: from.Name})
	}
	return all
}

// elsewhere returns the reason why the tree does not have the chart, or nil. Its file is known to who read the object.
func (h *HelmRelease) elsewhere() error {
	if h.InTree {
		return nil
	}
	source := fmt.Sprintf("the %s %s/%s", h.Source.Kind, h.Source.Namespace, h.Source.Name)
	if h.Chart == "" {
		return &rendered.NotCovered{Reason: "its chart is in " + source}
	}
	return &rendered.NotCovered{Reason: fmt.Sprintf("its chart %s is in %s", h.Chart, source)}
}

// Files returns the files of the tree that rendering reads, sorted: those of the chart, and files of values that its
// source merges. It returns a *rendered.NotCovered if the chart is not in the tree.
func (h *HelmRelease) Files(tree fs.FS) ([]string, error) {
	if err := h.elsewhere(); err != nil {
		return nil, err
	}
	if h.Fetched {
		return nil, nil
	}
	files, err := helm.Files(tree, h.Chart)
	if err != nil {
		return nil, err
	}
	files = append(files, h.defaults(tree)...)
	slices.Sort(files)
	return slices.Compact(files), nil
}

// defaults returns the files that take the place of the chart's values.yaml; nil if there are none. Their paths are
// below the root of the source.
func (h *HelmRelease) defaults(tree fs.FS) []string {
	if h.spec.Chart == nil {
		return nil
	}
	spec := h.spec.Chart.Spec
	written := spec.ValuesFiles
	if len(written) == 0 && spec.ValuesFile != "" {
		written = []string{spec.ValuesFile}
	}
	var files []string
	for _, name := range written {
		name = inside(name)
		if h.Fetched {
			name = path.Join(h.Chart, name)
		}
		if _, err := fs.Stat(tree, name); err != nil && spec.IgnoreMissingValuesFiles {
			continue
		}
		files = append(files, name)
	}
	return files
}

// Build renders what the controller applies: the objects of the chart with the values of the release, in Helm's order,
// after its post-renderers. Objects of crds have a role only if upgrades leave them alone, and are left out if they are
// skipped. The labels that the controller adds to all objects, which name the HelmRelease, are left out.
//
// The function lookup gives the objects that values come from; nil has none. A value of a targetPath that the tree does
// not tell, because its Secret is encrypted or missing, makes the objects that depend on it Unknown as a whole. Whole
// files of values that it does not tell are a *rendered.NotCovered, like a chart elsewhere.
//
// Build has the errors and the limits of [helm.Render]: call it in a process that can be killed.
func (h *HelmRelease) Build(ctx context.Context, files fs.FS, lookup Lookup,
	cluster rendered.Cluster) ([]rendered.Object, error) {
	if err := h.elsewhere(); err != nil {
		return nil, err
	}
	values, unknown, err := h.values(lookup, markers[0])
	if err != nil {
		return nil, err
	}
	objects, err := h.render(ctx, files, values, cluster)
	if err != nil || !unknown {
		return objects, err
	}
	for _, marker := range markers[1:] {
		values, _, err := h.values(lookup, marker)
		if err != nil {
			return nil, err
		}
		others, err := h.render(ctx, files, values, cluster)
		if err != nil && marker == "" {
			continue // the chart refuses an empty value, so the value is not empty
		}
		if err != nil || len(others) != len(objects) {
			return nil, &rendered.NotCovered{Reason: "what it renders depends on values that the tree does not have"}
		}
		for i := range objects {
			if string(objects[i].YAML) != string(others[i].YAML) {
				objects[i].Unknown = []string{""}
			}
		}
	}
	return objects, nil
}

// render renders the chart with values.
func (h *HelmRelease) render(
	ctx context.Context, files fs.FS, values map[string]any, cluster rendered.Cluster,
) ([]rendered.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	objects, err := helm.Render(files, h.Chart, helm.Release{
		Name: h.Release, Namespace: h.ReleaseNamespace, Defaults: h.defaults(files), Values: values,
		Cluster: cluster, SkipSchema: h.spec.Install.DisableSchemaValidation,
		Upgrade: h.Upgrading, Lacking: h.Lacking,
	})
	if err != nil {
		return nil, err
	}
	if objects, err = h.postRender(ctx, objects); err != nil {
		return nil, err
	}
	objects = slices.DeleteFunc(objects, func(o rendered.Object) bool {
		return o.Role == rendered.CRD && h.InstallCRDs == "Skip" && h.UpgradeCRDs == "Skip"
	})
	for i := range objects {
		if objects[i].Role == rendered.CRD && h.UpgradeCRDs == "CreateReplace" {
			objects[i].Role = ""
		}
	}
	return objects, nil
}

// markers stand for a value that the tree does not tell. What is the same with all of them does not depend on it, as
// far as can be seen: two texts that have nothing in common, and the empty one.
var markers = []string{"unknown-7f3a", "another-29c4", ""}

// values merges the values of a release: those of ConfigMaps and Secrets in order, and its own over them. The marker is
// used for unknown values of a targetPath, and unknown reports whether there are any.
//
// The rules are those of ChartValuesFromReferences in github.com/fluxcd/pkg/chartutil v1.27.0. A targetPath there sets
// a value in a table that can be shared with the release's own values, which then keep it; otherwise they overwrite it.
func (h *HelmRelease) values(lookup Lookup, marker string) (values map[string]any, unknown bool, err error) {
	own, _ := jsonvalue.Clone(h.spec.Values).(map[string]any)
	result := map[string]any{}
	for _, from := range h.spec.ValuesFrom {
		text, ok, err := h.valuesText(from, lookup)
		switch {
		case err != nil:
			return nil, false, err
		case !ok && from.Optional:
			continue
		case !ok && from.TargetPath == "":
			return nil, false, &rendered.NotCovered{
				Reason: fmt.Sprintf("its values are in the %s %s/%s, which the tree does not tell",
					from.Kind, h.Namespace, from.Name),
			}
		case !ok:
			text, unknown = marker, true
		}
		if from.TargetPath == "" {
			read := map[string]any{}
			if err := yaml.Unmarshal([]byte(text), &read); err != nil {
				return nil, false, fmt.Errorf("the values in the %s %s/%s: %w", from.Kind, h.Namespace, from.Name, err)
			}
			result = helm.Merged(result, read)
			continue
		}
		result = helm.Merged(result, own)
		if err := setPath(result, from, text); err != nil {
			return nil, false, fmt.Errorf("the targetPath %s: %w", from.TargetPath, err)
		}
	}
	return helm.Merged(result, own), unknown, nil
}

// setPath sets a value as `helm --set` does, a quoted one as a text, or as it is written.
func setPath(values map[string]any, from valuesReference, text string) error {
	quoted := strings.HasPrefix(text, "'") && strings.HasSuffix(text, "'") ||
		strings.HasPrefix(text, `"`) && strings.HasSuffix(text, `"`)
	switch {
	case from.Literal:
		escape := strings.NewReplacer(`\`, `\\`, `,`, `\,`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`)
		return strvals.ParseIntoString(from.TargetPath+"="+escape.Replace(text), values)
	case quoted:
		return strvals.ParseIntoString(from.TargetPath+"="+strings.Trim(text, `'"`), values)
	}
	return strvals.ParseInto(from.TargetPath+"="+text, values)
}

// valuesText returns the values that a ConfigMap or Secret has, or false if the tree does not tell.
func (h *HelmRelease) valuesText(from valuesReference, lookup Lookup) (string, bool, error) {
	if from.Kind != "ConfigMap" && from.Kind != "Secret" {
		return "", false, fmt.Errorf("values come from a ConfigMap or Secret, not from a %s", from.Kind)
	}
	if lookup == nil {
		return "", false, nil
	}
	object, ok := lookup(from.Kind, h.Namespace, from.Name)
	if !ok {
		return "", false, nil
	}
	key := cmp.Or(from.ValuesKey, "values.yaml")
	text, has := textsOf(object)[key]
	switch {
	case !has && from.Optional:
		return "", false, nil
	case !has:
		return "", false, fmt.Errorf("the %s %s/%s has no %s", from.Kind, h.Namespace, from.Name, key)
	case text == nil:
		return "", false, nil
	}
	return *text, true, nil
}
