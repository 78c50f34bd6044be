package argo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/kustomize"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// Options are what Argo CD knows besides the Application.
type Options struct {
	// KubeVersion and APIVersions describe the cluster for charts, as in helm.Release. A source can have its own.
	KubeVersion string
	APIVersions []string
	// Anywhere lets kustomizations read files outside of their directories: Argo CD's build option
	// "--load-restrictor LoadRestrictionsNone".
	Anywhere bool
	// Revision is the commit that a source can name as $ARGOCD_APP_REVISION. Give both sides of a comparison the same one.
	Revision string
	// NoOrigins makes kustomizations print JSON without origins: see [kustomize.Options].
	NoOrigins bool
	// Lacking has the meaning of the field of the same name in kustomize.Options and helm.Release.
	Lacking *rendered.Lacking
}

// kind is what a source holds.
type kind string

const (
	directoryKind kind = "directory"
	helmKind      kind = "Helm"
	kustomizeKind kind = "kustomize"
)

// Files returns the files of the tree that rendering a source reads, sorted. The tree is that of the source.
func (a *Application) Files(tree fs.FS, source int) ([]string, error) {
	s, overrides, err := a.resolve(tree, source)
	if s == nil || err != nil {
		return nil, err
	}
	if s.Fetched {
		return a.referredFiles(tree, s, a.environment(s, Options{})), nil
	}
	kind, err := s.kind(tree)
	if err != nil {
		return nil, err
	}
	var files []string
	switch kind {
	case helmKind:
		files, err = a.helmFiles(tree, s, a.environment(s, Options{}))
	case kustomizeKind:
		var edited []byte
		if edited, err = s.kustomization(tree, a.environment(s, Options{})); err == nil {
			files, err = kustomize.Files(tree, s.Path, kustomize.Options{Anywhere: true, Kustomization: edited, Elsewhere: a.Elsewhere, Lacking: a.Lacking})
		}
	default:
		files, err = s.manifestFiles(tree)
	}
	if err != nil {
		return nil, err
	}
	files = slices.Concat(files, overrides)
	slices.Sort(files)
	return slices.Compact(files), nil
}

// Render returns the objects of a source in the order in which Argo CD reads them, as they are written: without the namespace
// of the destination. Of a chart, hooks and tests keep their roles; objects of crds have none, since Argo CD updates them. A
// source that others only refer to has no objects.
//
// It returns a *rendered.NotCovered for what the tree does not have, and an error where Argo CD would report one.
func (a *Application) Render(ctx context.Context, tree fs.FS, source int, o Options) ([]rendered.Object, error) {
	s, _, err := a.resolve(tree, source)
	if s == nil || err != nil {
		return nil, err
	}
	kind := helmKind
	if !s.Fetched {
		if kind, err = s.kind(tree); err != nil {
			return nil, err
		}
	}
	switch kind {
	case helmKind:
		return a.renderChart(tree, s, o)
	case kustomizeKind:
		edited, err := s.kustomization(tree, a.environment(s, o))
		if err != nil {
			return nil, err
		}
		return kustomize.Build(ctx, tree, s.Path, s.buildOptions(edited, o))
	default:
		return s.manifests(tree)
	}
}

// Builds returns the directory of the kustomization that an Application deploys unchanged, as `kubectl kustomize` builds it. dir is "" for any
// other Application: one with several sources, or with options for kustomize.
func (a *Application) Builds(tree fs.FS) (dir string) {
	if len(a.Sources) != 1 {
		return ""
	}
	s, overrides, err := a.resolve(tree, 0)
	if s == nil || err != nil || s.Fetched || len(overrides) > 0 || s.spec.Kustomize != nil {
		return ""
	}
	if kind, err := s.kind(tree); err != nil || kind != kustomizeKind {
		return ""
	}
	return s.Path
}

// buildOptions are those of a kustomization, with the cluster that charts in it ask about.
func (s *Source) buildOptions(edited []byte, o Options) kustomize.Options {
	build := kustomize.Options{Anywhere: o.Anywhere, Kustomization: edited, KubeVersion: o.KubeVersion, APIVersions: o.APIVersions, NoOrigins: o.NoOrigins, JSON: o.NoOrigins, Lacking: o.Lacking}
	if spec := s.spec.Kustomize; spec != nil && spec.KubeVersion != "" {
		build.KubeVersion = spec.KubeVersion
	}
	if spec := s.spec.Kustomize; spec != nil && len(spec.APIVersions) > 0 {
		build.APIVersions = spec.APIVersions
	}
	return build
}

// resolve returns a source as it is after the overrides in its directory, and their files; nil for a source that renders
// nothing.
func (a *Application) resolve(tree fs.FS, source int) (s *Source, overrides []string, err error) {
	resolved := a.Sources[source]
	switch {
	case resolved.OnlyRef():
		return nil, nil, nil
	case resolved.Chart != "":
		return nil, nil, notCovered("the chart %s is in the repository %s", resolved.Chart, resolved.RepoURL)
	case !resolved.InTree:
		return nil, nil, notCovered("the source is in %s at %s", resolved.RepoURL, resolved.revision())
	}
	if resolved.Fetched {
		return &resolved, nil, nil
	}
	if info, err := fs.Stat(tree, resolved.Path); err != nil || !info.IsDir() {
		return nil, nil, fmt.Errorf("%s: there is no such directory", resolved.Path)
	}
	for _, name := range []string{".argocd-source.yaml", ".argocd-source-" + a.Name + ".yaml"} {
		file := path.Join(resolved.Path, name)
		content, err := fs.ReadFile(tree, file)
		if errors.Is(err, fs.ErrNotExist) || !fs.ValidPath(file) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if err := resolved.override(content); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		overrides = append(overrides, file)
	}
	return &resolved, overrides, nil
}

// revision is the target revision in words.
func (s *Source) revision() string {
	if s.TargetRevision == "" {
		return "HEAD"
	}
	return s.TargetRevision
}

// override merges a file .argocd-source.yaml into a source. It cannot change where the source is.
func (s *Source) override(content []byte) error {
	patch, err := yaml.YAMLToJSON(content)
	if err != nil {
		return err
	}
	spec, err := json.Marshal(s.spec)
	if err != nil {
		return err
	}
	merged, err := jsonpatch.MergePatch(spec, patch)
	if err != nil {
		return err
	}
	var changed sourceSpec
	if err := json.Unmarshal(merged, &changed); err != nil {
		return err
	}
	s.spec.Helm, s.spec.Kustomize, s.spec.Directory, s.spec.Plugin = changed.Helm, changed.Kustomize, changed.Directory, changed.Plugin
	return nil
}

// kind tells what a source holds: what its fields say, else what is in its directory. Empty fields say nothing. Like Argo CD,
// it takes the last of Chart.yaml and a kustomization file in the order of names.
func (s *Source) kind(tree fs.FS) (kind, error) {
	var kinds []kind
	if s.spec.Kustomize != nil && !reflect.ValueOf(*s.spec.Kustomize).IsZero() {
		kinds = append(kinds, kustomizeKind)
	}
	if s.spec.Helm != nil && !reflect.ValueOf(*s.spec.Helm).IsZero() {
		kinds = append(kinds, helmKind)
	}
	if s.spec.Directory != nil && !reflect.ValueOf(*s.spec.Directory).IsZero() {
		kinds = append(kinds, directoryKind)
	}
	switch {
	case s.spec.Plugin != nil && len(kinds) == 0:
		return "", notCovered("the source is rendered by a plugin")
	case len(kinds) > 1 || s.spec.Plugin != nil:
		return "", fmt.Errorf("%s: the source is of several kinds: %v", s.Path, kinds)
	case len(kinds) == 1:
		return kinds[0], nil
	}
	entries, err := fs.ReadDir(tree, s.Path)
	if err != nil {
		return "", err
	}
	found := directoryKind
	for _, entry := range entries {
		switch name := entry.Name(); {
		case entry.IsDir():
		case strings.HasSuffix(name, "Chart.yaml"):
			found = helmKind
		case slices.Contains(konfig.RecognizedKustomizationFileNames(), name):
			found = kustomizeKind
		}
	}
	return found, nil
}

// environment are the variables that the fields of a source can name.
func (a *Application) environment(s *Source, o Options) func(string) string {
	variables := map[string]string{
		"ARGOCD_APP_NAME":                   a.Name,
		"ARGOCD_APP_NAMESPACE":              a.Destination.Namespace,
		"ARGOCD_APP_PROJECT_NAME":           a.Project,
		"ARGOCD_APP_REVISION":               o.Revision,
		"ARGOCD_APP_REVISION_SHORT":         o.Revision[:min(7, len(o.Revision))],
		"ARGOCD_APP_REVISION_SHORT_8":       o.Revision[:min(8, len(o.Revision))],
		"ARGOCD_APP_SOURCE_REPO_URL":        s.RepoURL,
		"ARGOCD_APP_SOURCE_PATH":            s.spec.Path,
		"ARGOCD_APP_SOURCE_TARGET_REVISION": s.TargetRevision,
		"$":                                 "$",
	}
	return func(text string) string { return os.Expand(text, func(name string) string { return variables[name] }) }
}

// insideTree cleans a path below the root of a repository.
func insideTree(written string) (string, error) {
	cleaned := path.Clean(strings.TrimPrefix(written, "/"))
	if !fs.ValidPath(cleaned) {
		return "", fmt.Errorf("the path %q leaves the repository", written)
	}
	return cleaned, nil
}

func notCovered(format string, args ...any) *rendered.NotCovered {
	return &rendered.NotCovered{Reason: fmt.Sprintf(format, args...)}
}
