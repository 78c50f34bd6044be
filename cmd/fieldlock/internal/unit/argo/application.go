// Package argo renders what Argo CD applies from a tree of files.
//
// An Application names one or more sources; each is a directory of a repository that holds a chart, a kustomization or
// plain manifests. An ApplicationSet makes Applications from a template and generators. Both are read as plain fields,
// so any version of their kinds will do:
//
//	apps, err := argo.Generate(applicationSet, trees)       // []map[string]any
//	app, err := argo.ParseApplication(apps[0])
//	app.Sources[0].InTree = true                            // the caller decides by RepoURL and TargetRevision
//	files, err := app.Files(tree, 0)
//	objects, err := app.Render(ctx, tree, 0, argo.Options{})
//
// # Whose rules
//
// Argo CD's module needs hundreds of others, so its rules are written here again, after release v3.5.1 of
// github.com/argoproj/argo-cd: reposerver/repository/repository.go for sources, util/kustomize and util/helm for the
// two tools, util/app/discovery for what a directory is, and applicationset/ for ApplicationSets. Kustomize's own code
// and Helm's do the rendering: packages kustomize and helm beside this one.
//
// # What is not covered
//
// Whatever the tree does not hold is a [*rendered.NotCovered]: charts of Helm repositories, other repositories,
// plugins, jsonnet, files of values behind a URL, the generators that ask a cluster or a service. Settings of the
// installation of Argo CD, such as its build options for kustomize, are not known; Options has those that matter.
//
// Nothing but the tree is read. Templates of ApplicationSets are Go templates: they cannot be interrupted, so call
// [Generate] on untrusted input in a process that can be killed, like [Application.Render].
//
// # Chapters
//
// The chapters, each of which uses only those below it:
//
//	set            the Applications of an ApplicationSet
//	generator      the parameters of its template: lists, matrices, merges
//	generator_git  parameters from the directories and files of a repository
//	template       values and templates of an ApplicationSet filled in
//	source         what a source of an Application reads and renders
//	chart          a source that is a chart
//	directory      a source that is a directory of manifests
//	kustomization  a source that is a kustomization
//	ignored        fields that a sync leaves as they are
//	pattern        files that a pattern matches
//	application    an Application and its sources, as they are written
package argo

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

// Application is what an Application says about how it is deployed.
type Application struct {
	Name, Namespace, Project string
	// Sources are those of spec.sources, else the one of spec.source.
	Sources     []Source
	Destination Destination
	// ServerSideApply and Replace are the sync options of these names for all objects. Argo CD has no such option for
	// Force.
	ServerSideApply, Replace bool
	// Prune reports whether a sync without a person deletes what is gone.
	Prune bool
	// SyncOptions are all options as written: "CreateNamespace=true".
	SyncOptions []string
	// Elsewhere has the meaning of the field of the same name in kustomize.Options.
	Elsewhere *[]helm.Dependency
	// Lacking has the meaning of the field of the same name in kustomize.Options.
	Lacking *rendered.Lacking

	ignores []ignored
}

// Destination is where an Application is deployed.
type Destination struct {
	Server, Name, Namespace string
}

// Source is a source of an Application.
type Source struct {
	// RepoURL and TargetRevision are as written: a branch, tag, commit or "HEAD", and "" for HEAD.
	RepoURL, TargetRevision string
	// Path is the directory below the root of the repository, "." for the root itself.
	Path string
	// Chart is the name of a chart, if the source is a Helm repository.
	Chart string
	// Ref is the name by which other sources name files of this one: "$values/env.yaml".
	Ref string
	// InTree is for the caller to set: the tree that Files and Render are given is this source, at its revision.
	InTree bool
	// Fetched is set by UseFetched.
	Fetched bool

	spec sourceSpec
	// pathWritten tells a source of files from one that others only refer to.
	pathWritten bool
}

// sourceSpec has the fields of a source that decide what is rendered.
type sourceSpec struct {
	RepoURL        string         `json:"repoURL"`
	Path           string         `json:"path"`
	TargetRevision string         `json:"targetRevision"`
	Chart          string         `json:"chart"`
	Ref            string         `json:"ref"`
	Helm           *helmSpec      `json:"helm,omitempty"`
	Kustomize      *kustomizeSpec `json:"kustomize,omitempty"`
	Directory      *directorySpec `json:"directory,omitempty"`
	Plugin         map[string]any `json:"plugin,omitempty"`
}

// parameter is a value that is set after all values are merged. A file parameter has a path.
type parameter struct {
	Name        string `json:"name,omitempty"`
	Value       string `json:"value,omitempty"`
	ForceString bool   `json:"forceString,omitempty"`
	Path        string `json:"path,omitempty"`
}

// kustomizeSpec are the fields of a source that is a kustomization. Argo CD runs `kustomize edit` for most of them.
type kustomizeSpec struct {
	NamePrefix                string            `json:"namePrefix,omitempty"`
	NameSuffix                string            `json:"nameSuffix,omitempty"`
	Images                    []string          `json:"images,omitempty"`
	CommonLabels              map[string]string `json:"commonLabels,omitempty"`
	CommonAnnotations         map[string]string `json:"commonAnnotations,omitempty"`
	ForceCommonLabels         bool              `json:"forceCommonLabels,omitempty"`
	ForceCommonAnnotations    bool              `json:"forceCommonAnnotations,omitempty"`
	CommonAnnotationsEnvsubst bool              `json:"commonAnnotationsEnvsubst,omitempty"`
	LabelWithoutSelector      bool              `json:"labelWithoutSelector,omitempty"`
	LabelIncludeTemplates     bool              `json:"labelIncludeTemplates,omitempty"`
	Namespace                 string            `json:"namespace,omitempty"`
	Replicas                  []replica         `json:"replicas,omitempty"`
	Patches                   []types.Patch     `json:"patches,omitempty"`
	Components                []string          `json:"components,omitempty"`
	IgnoreMissingComponents   bool              `json:"ignoreMissingComponents,omitempty"`
	Version                   string            `json:"version,omitempty"`
	KubeVersion               string            `json:"kubeVersion,omitempty"`
	APIVersions               []string          `json:"apiVersions,omitempty"`
}

type replica struct {
	Name  string             `json:"name"`
	Count intstr.IntOrString `json:"count"`
}

// directorySpec are the fields of a source of plain manifests.
type directorySpec struct {
	Recurse          bool
	Include, Exclude string
	Jsonnet          *struct {
		ExtVars []any    `json:"extVars,omitempty"`
		TLAs    []any    `json:"tlas,omitempty"`
		Libs    []string `json:"libs,omitempty"`
	} `json:"jsonnet,omitempty"`
}

// ignored is one entry of ignoreDifferences.
type ignored struct {
	Group, Kind, Name, Namespace string
	JSONPointers                 []string `json:"jsonPointers"`
	JQPathExpressions            []string `json:"jqPathExpressions"`
	ManagedFieldsManagers        []string `json:"managedFieldsManagers"`
}

// helmSpec are the fields of a source that is a chart.
type helmSpec struct {
	ValueFiles  []string `json:"valueFiles,omitempty"`
	ReleaseName string   `json:"releaseName,omitempty"`
	Values      string   `json:"values,omitempty"`
	// ValuesObject wins over Values.
	ValuesObject            json.RawMessage `json:"valuesObject,omitempty"`
	Namespace               string          `json:"namespace,omitempty"`
	KubeVersion             string          `json:"kubeVersion,omitempty"`
	APIVersions             []string        `json:"apiVersions,omitempty"`
	Version                 string          `json:"version,omitempty"`
	IgnoreMissingValueFiles bool            `json:"ignoreMissingValueFiles,omitempty"`
	SkipCRDs                bool            `json:"skipCrds,omitempty"`
	SkipTests               bool            `json:"skipTests,omitempty"`
	SkipSchema              bool            `json:"skipSchemaValidation,omitempty"`
	PassCredentials         bool            `json:"passCredentials,omitempty"`
	Parameters              []parameter     `json:"parameters,omitempty"`
	FileParameters          []parameter     `json:"fileParameters,omitempty"` // values that are texts of files
}

// named returns the paths of files that the source names: files of values, then the texts of parameters.
func (h *helmSpec) named() []string {
	if h == nil {
		return nil
	}
	all := slices.Clone(h.ValueFiles)
	for _, p := range h.FileParameters {
		all = append(all, p.Path)
	}
	return all
}

// ParseApplication reads an Application. It returns a *rendered.NotCovered, without a file, for one whose manifests
// Argo CD writes to a branch before it applies them, and an error for fields of the wrong type and for one without a
// source.
func ParseApplication(object map[string]any) (*Application, error) {
	var o struct {
		Metadata struct{ Name, Namespace string }
		Spec     struct {
			Project     string
			Source      *sourceSpec
			Sources     []sourceSpec
			Hydrator    map[string]any `json:"sourceHydrator"`
			Destination Destination
			Ignores     []ignored `json:"ignoreDifferences"`
			SyncPolicy  struct {
				Automated *struct {
					Prune   bool
					Enabled *bool
				}
				SyncOptions []string
			}
		}
	}
	if err := rendered.Decode(object, &o); err != nil {
		return nil, fmt.Errorf("not an Application of Argo CD: %w", err)
	}
	a := &Application{
		Name: o.Metadata.Name, Namespace: o.Metadata.Namespace, Project: o.Spec.Project,
		Destination: o.Spec.Destination,
		SyncOptions: o.Spec.SyncPolicy.SyncOptions, ignores: o.Spec.Ignores,
		ServerSideApply: slices.Contains(o.Spec.SyncPolicy.SyncOptions, "ServerSideApply=true"),
		Replace:         slices.Contains(o.Spec.SyncPolicy.SyncOptions, "Replace=true"),
	}
	if automated := o.Spec.SyncPolicy.Automated; automated != nil && (automated.Enabled == nil || *automated.Enabled) {
		a.Prune = automated.Prune
	}
	specs := o.Spec.Sources
	switch {
	case len(specs) > 0:
	case o.Spec.Hydrator != nil:
		return nil, &rendered.NotCovered{Reason: "its manifests are written to a branch by Argo CD's hydrator"}
	case o.Spec.Source == nil:
		return nil, fmt.Errorf("the Application %s has no source", a.Name)
	default:
		specs = []sourceSpec{*o.Spec.Source}
	}
	for _, spec := range specs {
		s := Source{
			RepoURL: spec.RepoURL, TargetRevision: spec.TargetRevision, Chart: spec.Chart, Ref: spec.Ref,
			spec: spec, pathWritten: spec.Path != "",
		}
		var err error
		if s.Path, err = insideTree(spec.Path); err != nil {
			return nil, fmt.Errorf("the Application %s: %w", a.Name, err)
		}
		a.Sources = append(a.Sources, s)
	}
	return a, nil
}

// UseFetched takes the chart of a Helm repository from a directory, to which it was fetched. Files then leaves out
// those of the chart.
func (s *Source) UseFetched(dir string) { s.Path, s.Chart, s.InTree, s.Fetched = dir, "", true, true }

// OnlyRef reports whether a source is there for others to refer to, and renders nothing.
func (s *Source) OnlyRef() bool { return s.Ref != "" && !s.pathWritten && s.Chart == "" && !s.Fetched }

// ReadsTexts reports whether a source has values that are texts of files, which need not be YAML.
func (s *Source) ReadsTexts() bool { return s.spec.Helm != nil && len(s.spec.Helm.FileParameters) > 0 }

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

// Options are what Argo CD knows besides the Application.
type Options struct {
	// Cluster is what charts learn. A source can have its own.
	Cluster rendered.Cluster
	// JSON makes kustomizations print JSON, which costs less to print and to read.
	JSON bool
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

// kind tells what a source holds: what its fields say, else what is in its directory. Empty fields say nothing. Like
// Argo CD, it takes the last of Chart.yaml and a kustomization file in the order of names.
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

// revision is the target revision in words.
func (s *Source) revision() string {
	if s.TargetRevision == "" {
		return "HEAD"
	}
	return s.TargetRevision
}

// environment are the variables that the fields of a source can name.
func (a *Application) environment(s *Source) func(string) string {
	variables := map[string]string{
		"ARGOCD_APP_NAME":                   a.Name,
		"ARGOCD_APP_NAMESPACE":              a.Destination.Namespace,
		"ARGOCD_APP_PROJECT_NAME":           a.Project,
		"ARGOCD_APP_SOURCE_REPO_URL":        s.RepoURL,
		"ARGOCD_APP_SOURCE_PATH":            s.spec.Path,
		"ARGOCD_APP_SOURCE_TARGET_REVISION": s.TargetRevision,
		"$":                                 "$",
	}
	return func(text string) string { return os.Expand(text, func(name string) string { return variables[name] }) }
}
