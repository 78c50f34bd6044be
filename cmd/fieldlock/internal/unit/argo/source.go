package argo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/kustomize"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// An Application with several sources is rendered without those that the tree lacks. For example, of this one the
// manifests in app are checked:
//
//	sources:
//	- {repoURL: https://charts.example.com, chart: db, targetRevision: 1.2.0, helm: {valueFiles: [$values/db.yaml]}}
//	- {repoURL: https://example.com/team/deploy.git, path: app, ref: values}

// Lacks returns why a source is not in the tree, if the Application is rendered without it: if another source is in the
// tree. It is nil for any other source.
func (a *Application) Lacks(source int) *rendered.NotCovered {
	rest := slices.ContainsFunc(a.Sources, func(s Source) bool { return !s.OnlyRef() && s.missing() == nil })
	if s := &a.Sources[source]; rest && !s.OnlyRef() {
		return s.missing()
	}
	return nil
}

// Files returns the files of the tree that rendering a source reads, sorted. The tree is that of the source.
func (a *Application) Files(tree fs.FS, source int) ([]string, error) {
	s, overrides, err := a.resolve(tree, source)
	if s == nil || err != nil {
		return nil, err
	}
	if s.Fetched {
		return a.referredFiles(tree, s, a.environment(s)), nil
	}
	kind, err := s.kind(tree)
	if err != nil {
		return nil, err
	}
	var files []string
	switch kind {
	case helmKind:
		files, err = a.helmFiles(tree, s, a.environment(s))
		a.Lacking.DecidedBy(helm.Decides(s.Path, files))
	case kustomizeKind:
		var edited []byte
		if edited, err = s.kustomization(tree, a.environment(s)); err == nil {
			files, err = kustomize.Files(tree, s.Path,
				kustomize.Options{Anywhere: true, Kustomization: edited, Elsewhere: a.Elsewhere, Lacking: a.Lacking})
		}
	default:
		if files, err = s.manifestFiles(tree); err == nil {
			files = append(files, s.imported(tree, files)...)
		}
		a.Lacking.DecidedBy(decides(files))
	}
	if err != nil {
		return nil, err
	}
	files = slices.Concat(files, overrides)
	slices.Sort(files)
	return slices.Compact(files), nil
}

// Render returns the objects of a source in the order in which Argo CD reads them, as they are written: without the
// namespace of the destination. Of a chart, hooks and tests keep their roles; objects of crds have none, since Argo CD
// updates them. A source that others only refer to has no objects.
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
		edited, err := s.kustomization(tree, a.environment(s))
		if err != nil {
			return nil, err
		}
		return kustomize.Build(ctx, tree, s.Path, s.buildOptions(edited, o))
	default:
		return s.manifests(tree, o.Lacking)
	}
}

// Builds returns the directory of the kustomization that an Application deploys unchanged, as `kubectl kustomize`
// builds it. dir is "" for any other Application: one with several sources, or with options for kustomize.
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
	build := kustomize.Options{Kustomization: edited, Cluster: o.Cluster, JSON: o.JSON, Lacking: o.Lacking}
	if spec := s.spec.Kustomize; spec != nil {
		build.Cluster = o.Cluster.With(spec.KubeVersion, spec.APIVersions)
	}
	return build
}

// resolve returns a source as it is after the overrides in its directory, and their files; nil for a source that
// renders nothing.
func (a *Application) resolve(tree fs.FS, source int) (s *Source, overrides []string, err error) {
	resolved := a.Sources[source]
	if resolved.OnlyRef() {
		return nil, nil, nil
	}
	if missing := resolved.missing(); missing != nil {
		return nil, nil, missing
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

// missing returns why a source is not in the tree; nil if it is.
func (s *Source) missing() *rendered.NotCovered {
	switch {
	case s.Chart != "":
		return notCovered("the chart %s is in the repository %s", s.Chart, s.RepoURL)
	case !s.InTree:
		return notCovered("the source is in %s at %s", s.RepoURL, s.revision())
	}
	return nil
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
