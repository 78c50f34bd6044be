package argo

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
)

// resourcesFinalizer begins the finalizers with which Argo CD deletes the objects of a deleted Application.
const resourcesFinalizer = "resources-finalizer.argocd.argoproj.io"

// Application is what an Application says about how it is deployed.
type Application struct {
	Name, Namespace, Project string
	// Sources are those of spec.sources, else the one of spec.source.
	Sources     []Source
	Destination Destination
	// ServerSideApply and Replace are the sync options of these names for all objects. Argo CD has no such option for Force.
	ServerSideApply, Replace bool
	// Automated reports whether changes are applied without a person; Prune, whether what is gone is then deleted; SelfHeal,
	// whether what others changed is changed back.
	Automated, Prune, SelfHeal bool
	// SyncOptions are all options as written: "CreateNamespace=true".
	SyncOptions []string
	// Cascade reports whether deleting the Application deletes its objects, by a finalizer.
	Cascade bool
	// Elsewhere has the meaning of the field of the same name in kustomize.Options.
	Elsewhere *[]helm.Dependency
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

// ParseApplication reads an Application. It returns a *rendered.NotCovered, without a file, for one whose manifests Argo CD
// writes to a branch before it applies them, and an error for fields of the wrong type and for one without a source.
func ParseApplication(object map[string]any) (*Application, error) {
	content, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var o struct {
		Metadata struct {
			Name, Namespace string
			Finalizers      []string
		}
		Spec struct {
			Project     string
			Source      *sourceSpec
			Sources     []sourceSpec
			Hydrator    map[string]any `json:"sourceHydrator"`
			Destination Destination
			SyncPolicy  struct {
				Automated *struct {
					Prune, SelfHeal bool
					Enabled         *bool
				}
				SyncOptions []string
			}
		}
	}
	if err := json.Unmarshal(content, &o); err != nil {
		return nil, fmt.Errorf("not an Application of Argo CD: %w", err)
	}
	a := &Application{
		Name: o.Metadata.Name, Namespace: o.Metadata.Namespace, Project: o.Spec.Project, Destination: o.Spec.Destination,
		SyncOptions:     o.Spec.SyncPolicy.SyncOptions,
		ServerSideApply: slices.Contains(o.Spec.SyncPolicy.SyncOptions, "ServerSideApply=true"),
		Replace:         slices.Contains(o.Spec.SyncPolicy.SyncOptions, "Replace=true"),
		Cascade: slices.ContainsFunc(o.Metadata.Finalizers, func(f string) bool {
			return f == resourcesFinalizer || strings.HasPrefix(f, resourcesFinalizer+"/")
		}),
	}
	if automated := o.Spec.SyncPolicy.Automated; automated != nil && (automated.Enabled == nil || *automated.Enabled) {
		a.Automated, a.Prune, a.SelfHeal = true, automated.Prune, automated.SelfHeal
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
		if s.Path, err = insideTree(spec.Path); err != nil {
			return nil, fmt.Errorf("the Application %s: %w", a.Name, err)
		}
		a.Sources = append(a.Sources, s)
	}
	return a, nil
}

// UseFetched takes the chart of a Helm repository from a directory, to which it was fetched. Files then leaves out those of the chart.
func (s *Source) UseFetched(dir string) { s.Path, s.Chart, s.InTree, s.Fetched = dir, "", true, true }

// OnlyRef reports whether a source is there for others to refer to, and renders nothing.
func (s *Source) OnlyRef() bool { return s.Ref != "" && !s.pathWritten && s.Chart == "" && !s.Fetched }
