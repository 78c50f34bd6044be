// Package argo renders what Argo CD applies from a tree of files.
//
// An Application names one or more sources; each is a directory of a repository that holds a chart, a kustomization or plain
// manifests. An ApplicationSet makes Applications from a template and generators. Both are read as plain fields, so any
// version of their kinds will do:
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
// github.com/argoproj/argo-cd: reposerver/repository/repository.go for sources, util/kustomize and util/helm for the two
// tools, util/app/discovery for what a directory is, and applicationset/ for ApplicationSets. Kustomize's own code and
// Helm's do the rendering: packages kustomize and helm beside this one.
//
// # What is not covered
//
// Whatever the tree does not hold is a [*rendered.NotCovered]: charts of Helm repositories, other repositories, plugins,
// jsonnet, files of values behind a URL, the generators that ask a cluster or a service. Settings of the installation of
// Argo CD, such as its build options for kustomize, are not known; Options has those that matter.
//
// Nothing but the tree is read. Templates of ApplicationSets are Go templates: they cannot be interrupted, so call [Generate]
// on untrusted input in a process that can be killed, like [Application.Render].
package argo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
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

// ParseApplication reads an Application. It returns a *rendered.NotCovered, without a file, for one whose manifests Argo CD
// writes to a branch before it applies them, and an error for fields of the wrong type and for one without a source.
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
		Name: o.Metadata.Name, Namespace: o.Metadata.Namespace, Project: o.Spec.Project, Destination: o.Spec.Destination,
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

// UseFetched takes the chart of a Helm repository from a directory, to which it was fetched. Files then leaves out those of the chart.
func (s *Source) UseFetched(dir string) { s.Path, s.Chart, s.InTree, s.Fetched = dir, "", true, true }

// OnlyRef reports whether a source is there for others to refer to, and renders nothing.
func (s *Source) OnlyRef() bool { return s.Ref != "" && !s.pathWritten && s.Chart == "" && !s.Fetched }

// maxGenerated is how many sets of parameters an ApplicationSet may generate.
const maxGenerated = 10_000

// Trees returns the tree of a repository at a revision: what a git generator reads. The error is a *rendered.NotCovered for
// one that is not there.
type Trees func(repoURL, revision string) (fs.FS, error)

// applicationSet are the fields of an ApplicationSet. The template stays as written.
type applicationSet struct {
	Metadata struct{ Name, Namespace string }
	Spec     struct {
		GoTemplate        bool
		GoTemplateOptions []string
		Generators        []map[string]any
		Template          map[string]any
		TemplatePatch     *string
		SyncPolicy        struct{ PreserveResourcesOnDeletion bool }
	}
}

// Generate returns the Applications of an ApplicationSet, in the order of its generators.
//
// It returns a *rendered.NotCovered for a generator that asks a cluster or a service, and an error for what Argo CD refuses
// and for more than 10,000 Applications. Its templates can run for any time.
func Generate(object map[string]any, trees Trees) ([]map[string]any, error) {
	var set applicationSet
	if err := rendered.Decode(object, &set); err != nil {
		return nil, fmt.Errorf("not an ApplicationSet of Argo CD: %w", err)
	}
	g := &generation{template: templating{set.Spec.GoTemplate, set.Spec.GoTemplateOptions}, trees: trees}
	var applications []map[string]any
	for _, written := range slices.Concat(apart(set.Spec.Generators)...) {
		sets, template, err := g.parameters(written, nil)
		if err != nil {
			return nil, fmt.Errorf("the ApplicationSet %s: %w", set.Metadata.Name, err)
		}
		template = filled(template, set.Spec.Template)
		for _, parameters := range sets {
			application, err := set.application(g.template, template, parameters)
			if err != nil {
				return nil, fmt.Errorf("the ApplicationSet %s: %w", set.Metadata.Name, err)
			}
			applications = append(applications, application)
		}
	}
	return applications, nil
}

// generatorKinds are the kinds of generators in the order in which Argo CD runs those that are written as one.
var generatorKinds = []string{
	"list", "clusters", "git", "scmProvider", "clusterDecisionResource", "pullRequest", "matrix", "merge", "plugin",
}

// apart splits generators of several kinds. One without a kind generates nothing.
func apart(generators []map[string]any) [][]map[string]any {
	var result [][]map[string]any
	for _, written := range generators {
		var single []map[string]any
		for _, kind := range generatorKinds {
			if written[kind] != nil {
				single = append(single, map[string]any{kind: written[kind], "selector": written["selector"]})
			}
		}
		result = append(result, single)
	}
	return result
}

// application makes one Application of a template and parameters.
func (set *applicationSet) application(t templating, template, parameters map[string]any) (map[string]any, error) {
	application := map[string]any{}
	if spec, ok := template["spec"]; ok {
		application["spec"] = spec
	}
	metadata, _ := template["metadata"].(map[string]any)
	kept := map[string]any{}
	for _, field := range []string{"name", "annotations", "labels", "finalizers"} {
		if value, ok := metadata[field]; ok {
			kept[field] = value
		}
	}
	application["metadata"] = kept
	if len(parameters) > 0 {
		replaced, err := t.all(application, parameters)
		if err != nil {
			return nil, err
		}
		application, _ = replaced.(map[string]any)
		kept, _ = application["metadata"].(map[string]any)
		if finalizers, _ := kept["finalizers"].([]any); len(finalizers) == 0 && !set.Spec.SyncPolicy.PreserveResourcesOnDeletion {
			kept["finalizers"] = []any{resourcesFinalizer}
		}
	}
	if set.Spec.TemplatePatch != nil {
		patch, err := t.text(*set.Spec.TemplatePatch, parameters)
		if err != nil {
			return nil, fmt.Errorf("templatePatch: %w", err)
		}
		if application, err = patched(application, patch); err != nil {
			return nil, fmt.Errorf("templatePatch: %w", err)
		}
	}
	application["apiVersion"], application["kind"] = "argoproj.io/v1alpha1", "Application"
	if metadata, ok := application["metadata"].(map[string]any); ok && set.Metadata.Namespace != "" {
		metadata["namespace"] = set.Metadata.Namespace
	}
	return application, nil
}

// patched merges a patch into an Application. It cannot change the project. Argo CD merges strategically, which differs from
// a merge of JSON only for finalizers: those of the patch are added.
func patched(application map[string]any, patch string) (map[string]any, error) {
	converted, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		return nil, err
	}
	if bytes.Equal(bytes.TrimSpace(converted), []byte("null")) {
		return application, nil
	}
	var added struct{ Metadata struct{ Finalizers []any } }
	if err := json.Unmarshal(converted, &added); err != nil {
		return nil, err
	}
	before, err := json.Marshal(application)
	if err != nil {
		return nil, err
	}
	after, err := jsonpatch.MergePatch(before, converted)
	if err != nil {
		return nil, err
	}
	var result map[string]any
	if err := json.Unmarshal(after, &result); err != nil {
		return nil, err
	}
	if finalizers := yamldoc.At(application, "metadata", "finalizers"); finalizers != nil && len(added.Metadata.Finalizers) > 0 {
		list, _ := finalizers.([]any)
		list = slices.DeleteFunc(slices.Clone(list), func(f any) bool { return slices.Contains(added.Metadata.Finalizers, f) })
		metadata, _ := result["metadata"].(map[string]any)
		metadata["finalizers"] = append(added.Metadata.Finalizers, list...)
	}
	if spec, ok := result["spec"].(map[string]any); ok {
		delete(spec, "project")
		if project := yamldoc.At(application, "spec", "project"); project != nil {
			spec["project"] = project
		}
	}
	return result, nil
}

// filled returns a template of a generator with what only the base has.
func filled(template, base map[string]any) map[string]any {
	result := maps.Clone(template)
	if result == nil {
		result = map[string]any{}
	}
	for name, value := range base {
		own, isTable := result[name].(map[string]any)
		below, ok := value.(map[string]any)
		switch {
		case isTable && ok:
			result[name] = filled(own, below)
		case isEmpty(result[name]):
			result[name] = value
		}
	}
	return result
}

// isEmpty reports whether a value is the zero value of its type in Argo CD.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == ""
	case bool:
		return !value
	case float64:
		return value == 0
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	}
	return false
}

// overridden returns parameters with those of another set over them; tables are merged.
func overridden(parameters, over map[string]any) map[string]any {
	result := maps.Clone(parameters)
	if result == nil {
		result = map[string]any{}
	}
	for name, value := range over {
		before, isTable := result[name].(map[string]any)
		after, ok := value.(map[string]any)
		if isTable && ok && len(before) > 0 {
			result[name] = overridden(before, after)
		} else {
			result[name] = value
		}
	}
	return result
}

// flattened returns parameters as labels: "a.b" for a field of a table, "a.0" for an item of a list.
func flattened(parameters map[string]any) map[string]string {
	flat := map[string]string{}
	var add func(prefix string, value any)
	add = func(prefix string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for name, below := range value {
				add(prefix+"."+name, below)
			}
		case []any:
			for i, below := range value {
				add(fmt.Sprintf("%s.%d", prefix, i), below)
			}
		case []string:
			flat[strings.TrimPrefix(prefix, ".")] = fmt.Sprint(value)
		default:
			flat[strings.TrimPrefix(prefix, ".")] = fmt.Sprint(value)
		}
	}
	add("", parameters)
	return flat
}
